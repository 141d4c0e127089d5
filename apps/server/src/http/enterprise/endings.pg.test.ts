/**
 * What a tenant sees while consents end: by revocation, by expiry, with their client, or because the tenant ends them.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  insertAssets,
  insertConnection,
  insertUser,
  putGrant,
  putTransaction,
  replaceHoldings,
} from '../../enterprise/test-tenant.ts'
import { noteAllUsers, noteUser } from '../../notices.ts'
import type { Owner, Tenant } from '../../owner.ts'
import { createTenants } from '../../tenants/index.ts'
import { openResource } from '../test-resource.ts'

interface Body {
  data: unknown
  removed?: { id: string }[]
}
type Row = { user_id: string; op?: string }

const ways = ['revoked', 'expired', 'disabled', 'deleted', 'kept'] as const
const each = 5
const everybody = ways.flatMap((way) => Array.from({ length: each }, (_, n) => ({ way, id: `usr_${way}_${n}`, n })))
const scopes = ['assets:read', 'providers:read', 'transactions:read']

describe('while consents end', async () => {
  const api = await openResource()
  const { db } = api.service
  const tenant = await db.row<Tenant>(
    `select tenant_key as "tenantKey", tenant_id as "tenantId" from clients where id = 'cli_enterprise'`,
  )
  await insertAssets(db, [['crypto:bitcoin', 'BTC']])
  const owners = new Map<string, Owner>()
  /** The id of a removed transaction → the user it belonged to. */
  const gone = new Map<string, string>()

  /** One connection, one position of 1 BTC, two transactions and one that is gone. */
  async function addUser(id: string, of: { clientId?: string; scopes?: string[]; lastsSeconds?: number } = {}) {
    const owner = await insertUser(db, tenant, id)
    owners.set(id, owner)
    const { clientId = 'cli_demo', scopes: given = scopes, lastsSeconds = 31_536_000 } = of
    await putGrant(db, owner, { clientId, scopes: given, lastsSeconds })
    await insertConnection(db, owner, { connectionKey: 1, connectionId: `con_${id}` })
    await db.execute('update connections set balances_at = $2 where user_key = $1', [owner.userKey, db.now()])
    await replaceHoldings(db, owner, 1, [{ assetId: 'crypto:bitcoin', liquid: '1', staked: '0' }])
    const seq = BigInt(Date.parse(db.now())) << 20n
    const idOf = (n: number): string => `${owner.userKey.padStart(31, '0')}${n}`
    for (const n of [1, 2]) {
      await putTransaction(db, owner, {
        ...{ id: idOf(n), connectionKey: 1, assetId: 'crypto:bitcoin', changeSeq: String(seq + BigInt(n)) },
        occurredAt: '2026-01-01T00:00:00.000Z',
      })
    }
    await db.execute(
      `insert into removed_transactions (user_key, id, tenant_key, connection_key, change_seq, removed_at)
       values ($1, $2::uuid, $3, 1, $4::bigint, $5)`,
      [owner.userKey, idOf(3), owner.tenantKey, String(seq + 3n), db.now()],
    )
    gone.set(`txn_${idOf(3)}`, id)
    await db.execute('update user_ledgers set change_seq = $2::bigint where user_key = $1', [
      owner.userKey,
      String(seq + 3n),
    ])
    await noteUser(db, owner)
  }
  const ownerOf = (id: string): Owner => owners.get(id) ?? assert.fail(id)

  const usersOf = ({ data }: Body): string[] => [...new Set((data as Row[]).map((row) => row.user_id))]
  const countOf = (data: unknown, name: string): number => Number((data as Record<string, unknown>)[name] ?? 0)
  const firstOf = (data: unknown): unknown => (data as unknown[])[0] ?? {}
  const all = everybody.map(({ id }) => id).join(',')

  interface Read {
    path: string
    body?: object
    /** The users in the answer or, for a sum, their number. */
    shown: (body: Body) => string[] | number
    /** What a consent must cover. Undefined means that any consent is enough. */
    scope?: string
  }
  const transactionReads = [
    '',
    '&types=receive',
    '&asset_symbols=BTC',
    '&provider_ids=kraken&categories=deposit',
    `&user_ids=${all}`,
    '&updated_since=2020-01-01T00:00:00Z',
  ].map((filter): Read => ({ path: `/transactions?limit=100${filter}`, shown: usersOf, scope: 'transactions:read' }))
  const reads: Read[] = [
    ...transactionReads,
    {
      path: '/transactions?limit=100&types=send&updated_since=2020-01-01T00:00:00Z',
      shown: ({ removed = [] }) => removed.map(({ id }) => gone.get(id) ?? id),
      scope: 'transactions:read',
    },
    {
      path: '/changes?limit=100',
      shown: ({ data }) => usersOf({ data: (data as Row[]).filter(({ op }) => op === 'upsert') }),
      scope: 'transactions:read',
    },
    { path: '/users?limit=100', shown: usersOf },
    { path: '/users/search', shown: usersOf, body: { limit: 100 } },
    { path: '/accounts?limit=100', shown: usersOf, scope: 'providers:read' },
    { path: '/stats/users', shown: ({ data }) => countOf(data, 'users') },
    { path: '/stats/users', shown: ({ data }) => countOf(data, 'users_with_accounts'), scope: 'providers:read' },
    {
      path: '/stats/accounts-by-provider',
      shown: ({ data }) => countOf(firstOf(data), 'accounts'),
      scope: 'providers:read',
    },
    { path: '/stats/balances', shown: ({ data }) => countOf(data, 'users'), scope: 'assets:read' },
    { path: '/stats/top-assets', shown: ({ data }) => countOf(firstOf(data), 'total_holdings'), scope: 'assets:read' },
  ]
  const ask = (token: string, path: string, body?: object) =>
    api.call<Body>(body === undefined ? 'GET' : 'POST', `/enterprise/v2${path}`, token, body)

  it('no request made after an end was acknowledged returns anything of that user', async () => {
    const tenants = createTenants({ db })
    for (let n = 0; n < each; n += 1) {
      await db.execute(
        `insert into clients (id, tenant_key, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only,
           require_code_verifier, created_at)
         values ($1, $2, $3, $1, '{}', '{}', '{}', false, false, $4)`,
        [`cli_${n}`, tenant.tenantKey, tenant.tenantId, db.now()],
      )
    }
    for (const { id, way, n } of everybody) {
      await addUser(id, {
        ...(way === 'disabled' ? { clientId: `cli_${n}` } : {}),
        ...(way === 'expired' ? { lastsSeconds: 60 * (n + 1) } : {}),
      })
    }
    const [manager, ...tokens] = await Promise.all([1, 2, 3, 4].map(() => api.enterpriseToken()))
    assert.ok(manager)

    const end: Record<(typeof ways)[number], (id: string, n: number) => Promise<unknown>> = {
      revoked: (id) =>
        db.transaction(async (tx) => {
          await tx.execute('update grants set revoked_at = $2 where user_key = $1', [ownerOf(id).userKey, tx.now()])
          await noteUser(tx, ownerOf(id))
        }),
      expired: () => api.moveClock(61),
      disabled: (_, n) => tenants.disableClient(`cli_${n}`),
      deleted: async (id) => {
        const { status } = await api.call('DELETE', `/enterprise/v2/users/${id}`, manager)
        assert.equal(status, 200)
      },
      kept: async () => undefined,
    }
    const ended = new Set<string>()
    let ending = true
    async function endAll(): Promise<void> {
      for (let n = 0; n < each; n += 1) {
        for (const way of ways) {
          const id = `usr_${way}_${n}`
          await end[way](id, n)
          if (way !== 'kept') ended.add(id)
        }
      }
      ending = false
    }
    async function readOn(token: string, from: number): Promise<void> {
      for (let turn = from; ending; turn += 1) {
        const read = reads[turn % reads.length]
        assert.ok(read)
        const { path, shown, body } = read
        const before = [...ended]
        const answer = await ask(token, path, body)
        assert.equal(answer.status, 200, answer.text)
        const seen = shown(answer.body)
        if (typeof seen === 'number') assert.ok(seen <= everybody.length - before.length, `${path}: ${seen}`)
        else
          assert.deepEqual(
            seen.filter((id) => before.includes(id)),
            [],
            path,
          )
        const past = before[turn % before.length]
        if (past === undefined) continue
        for (const part of ['', '/assets', '/transactions']) {
          assert.equal((await ask(token, `/users/${past}${part}`)).status, 404, `${past}${part}`)
        }
      }
    }
    await Promise.all([endAll(), ...tokens.map((token, index) => readOn(token, index * 5))])

    const kept = everybody.filter(({ way }) => way === 'kept').map(({ id }) => id)
    for (const { path, shown, body } of reads) {
      const seen = shown((await ask(manager, path, body)).body)
      if (typeof seen === 'number') assert.equal(seen, kept.length, path)
      else assert.deepEqual(seen.toSorted(), kept, path)
    }
    await db.execute('update grants set revoked_at = $2 where tenant_key = $1', [tenant.tenantKey, db.now()])
    await noteAllUsers(db, tenant)
  })

  it('each endpoint shows what the scopes of the consent cover, and nothing else', async () => {
    const token = await api.enterpriseToken()
    for (const scope of scopes) await addUser(`usr_only_${scope}`, { scopes: [scope] })
    await addUser('usr_only_nothing', { scopes: ['offline_access'] })
    for (const { path, shown, body, scope: needed } of reads.filter(({ path }) => !path.includes('user_ids'))) {
      const seen = shown((await ask(token, path, body)).body)
      const expected = (needed === undefined ? [...scopes, 'nothing'] : [needed]).map((scope) => `usr_only_${scope}`)
      if (typeof seen === 'number') assert.equal(seen, expected.length, path)
      else assert.deepEqual(seen.toSorted(), expected.toSorted(), path)
    }
    for (const scope of scopes) {
      const statusOf = async (part: string): Promise<number> =>
        (await ask(token, `/users/usr_only_${scope}${part}`)).status
      assert.deepEqual(
        [await statusOf(''), await statusOf('/assets'), await statusOf('/transactions')],
        [200, scope === 'assets:read' ? 200 : 404, scope === 'transactions:read' ? 200 : 404],
        scope,
      )
    }
  })
})
