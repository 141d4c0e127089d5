/** What a tenant sees while consents end: by revocation, by the clock, with their client, and at the tenant's own wish. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTenants } from '../../tenants/index.ts'
import { openResource } from '../test-resource.ts'

interface Body {
  data: unknown
  removed?: { id: string }[]
}
type Row = { user_id: string }

const ways = ['revoked', 'expired', 'disabled', 'deleted', 'kept'] as const
const each = 5
const everybody = ways.flatMap((way) => Array.from({ length: each }, (_, n) => ({ way, id: `usr_${way}_${n}`, n })))
const scopes = ['assets:read', 'providers:read', 'transactions:read']

describe('while consents end', async () => {
  const api = await openResource()
  const { db } = api.service
  const { tenant_id: tenantId } = await db.row<{ tenant_id: string }>(
    `select tenant_id from clients where id = 'cli_enterprise'`,
  )

  /** One connection, one position of 1 BTC, two transactions and one that is gone. */
  async function addUser(id: string, of: { clientId?: string; scopes?: string[]; lastsSeconds?: number } = {}) {
    const key = [tenantId, id]
    await db.execute('insert into users (tenant_id, id, external_user_id) values ($1, $2, $2)', key)
    await db.execute(
      `insert into grants (tenant_id, user_id, client_id, id, scopes, consent, granted_at, expires_at)
       values ($1, $2, $3, 'grt_' || $2, $4, '{}', assay_now(), assay_now() + make_interval(secs => $5))`,
      [...key, of.clientId ?? 'cli_demo', of.scopes ?? scopes, of.lastsSeconds ?? 31_536_000],
    )
    await db.execute(
      `insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane, added_at)
       values ($1, $2, 'con_' || $2, 'kraken', 'api_key', 'active', $2, assay_now())`,
      key,
    )
    await db.execute(
      `insert into holdings (tenant_id, user_id, connection_id, provider_id, asset_id, asset_symbol, asset_name, liquid, staked, fetched_at)
       values ($1, $2, 'con_' || $2, 'kraken', 'crypto:bitcoin', 'BTC', 'Bitcoin', 1, 0, assay_now())`,
      key,
    )
    await db.execute(
      `with made as (
         insert into transactions (tenant_id, user_id, id, connection_id, provider_id, group_key, occurred_at, type, category, updated_at, document)
         select $1, $2, 'txn_' || n || $2, 'con_' || $2, 'kraken', n::text, '2026-01-01', 'send', 'withdrawal', assay_now(), '"type":"send"}'
         from generate_series(1, 2) n returning *)
       insert into transaction_assets (tenant_id, user_id, asset_symbol, occurred_at, id)
       select tenant_id, user_id, 'BTC', occurred_at, id from made`,
      key,
    )
    await db.execute(`insert into removed_transactions values ($1, $2, 'gone ' || $2, assay_now())`, key)
  }

  const usersOf = ({ data }: Body): string[] => [...new Set((data as Row[]).map((row) => row.user_id))]
  const countOf = (data: unknown, name: string): number => Number((data as Record<string, unknown>)[name] ?? 0)
  const firstOf = (data: unknown): unknown => (data as unknown[])[0] ?? {}
  const all = everybody.map(({ id }) => id).join(',')

  interface Read {
    path: string
    body?: object
    /** The users in the answer, or how many there are in a sum. */
    shown: (body: Body) => string[] | number
    /** What a consent must cover; undefined: anything. */
    scope?: string
  }
  const transactionReads = [
    '',
    '&types=send',
    '&asset_symbols=BTC',
    '&provider_ids=kraken&categories=withdrawal',
    `&user_ids=${all}`,
    '&updated_since=2020-01-01T00:00:00Z',
  ].map((filter): Read => ({ path: `/transactions?limit=100${filter}`, shown: usersOf, scope: 'transactions:read' }))
  const reads: Read[] = [
    ...transactionReads,
    {
      path: '/transactions?limit=1&updated_since=2020-01-01T00:00:00Z',
      shown: ({ removed = [] }) => removed.map(({ id }) => id.replace('gone ', '')),
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

  it('no answer that was asked for after an end was acknowledged shows anything of that user', async () => {
    const tenants = createTenants({ db })
    for (let n = 0; n < each; n += 1) {
      await db.execute(
        `insert into clients (id, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only, require_code_verifier)
         values ($1, $2, $1, '{}', '{}', '{}', false, false)`,
        [`cli_${n}`, tenantId],
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
      revoked: (id) => db.execute('update grants set revoked_at = assay_now() where user_id = $1', [id]),
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
        const gone = before[turn % before.length]
        if (gone === undefined) continue
        for (const part of ['', '/assets', '/transactions']) {
          assert.equal((await ask(token, `/users/${gone}${part}`)).status, 404, `${gone}${part}`)
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
    await db.execute('update grants set revoked_at = assay_now() where tenant_id = $1', [tenantId])
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
