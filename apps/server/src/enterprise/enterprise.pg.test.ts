import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { noteUser } from '../notices.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { Owner, Tenant } from '../owner.ts'
import { createEnterprise, type Enterprise } from './index.ts'
import {
  insertAssets,
  insertConnection,
  insertTenant,
  insertUser,
  putGrant,
  putTransaction,
  replaceHoldings,
} from './test-tenant.ts'

const all = ['providers:read', 'assets:read', 'transactions:read']

/** Users by what their consents allow; each has one connection, one position and three transactions. */
const people: Record<string, { scopes: string[]; state?: 'revoked' | 'expired'; client?: string }[]> = {
  usr_all: [{ scopes: all }],
  usr_two_grants: [{ scopes: ['assets:read'] }, { scopes: ['transactions:read'], client: 'cli_b' }],
  usr_revoked: [{ scopes: all, state: 'revoked' }],
  usr_expired: [{ scopes: all, state: 'expired' }],
  usr_disabled_client: [{ scopes: all, client: 'cli_off' }],
  usr_assets_only: [{ scopes: ['assets:read'] }],
  usr_nothing: [],
}

const seqAt = (time: number): string => String(BigInt(time) << 20n)

/** The third transaction is pending: it has no postings. */
async function seedUser(db: Database, tenant: Tenant, name: string, grants: (typeof people)[string]): Promise<Owner> {
  const owner = await insertUser(db, tenant, name)
  for (const { scopes, state, client = 'cli_a' } of grants) {
    await putGrant(db, owner, { clientId: client, scopes, ...(state === 'expired' ? { lastsSeconds: -1 } : {}) })
    if (state === 'revoked') {
      await db.execute('update grants set revoked_at = $2 where user_key = $1', [owner.userKey, db.now()])
    }
  }
  await insertConnection(db, owner, { connectionKey: 1, connectionId: `con_${name}` })
  await replaceHoldings(db, owner, 1, [{ assetId: 'crypto:bitcoin', liquid: '0.1', staked: '0.000000000000000001' }])
  const shownSeq = seqAt(Date.parse('2026-02-01'))
  await db.execute(
    `update connections set shown_seq = $2::bigint, shown_at = '2026-02-01', balances_at = $3 where user_key = $1`,
    [owner.userKey, shownSeq, db.now()],
  )
  for (const n of [1, 2, 3]) {
    await putTransaction(db, owner, {
      id: `${owner.userKey.padStart(31, '0')}${n}`,
      connectionKey: 1,
      occurredAt: `2026-01-0${n}T00:00:00.000Z`,
      changeSeq: String(BigInt(shownSeq) - BigInt(n)),
      assetId: 'crypto:bitcoin',
      pending: n === 3,
    })
  }
  await db.execute('update user_ledgers set change_seq = $2::bigint where user_key = $1', [owner.userKey, shownSeq])
  await noteUser(db, owner)
  return owner
}

describe('what a tenant sees', async () => {
  let db: Database
  let enterprise: Enterprise
  let tenantKey: number
  const owners = new Map<string, Owner>()
  const suite = ownedBySuite()
  const keyOf = (name: string): string => owners.get(name)?.userKey ?? ''

  before(async () => {
    db = (await testDatabase(suite)).db
    enterprise = createEnterprise({ db, endGrants: async () => 0 })
    await insertAssets(db, [
      ['crypto:bitcoin', 'BTC'],
      ['crypto:ethereum', 'ETH'],
    ])
    const tenant = await insertTenant(db, 'ten_a', ['cli_a', 'cli_b', 'cli_off'])
    await db.execute(`update clients set disabled_at = $1 where id = 'cli_off'`, [db.now()])
    for (const [name, grants] of Object.entries(people)) owners.set(name, await seedUser(db, tenant, name, grants))
    const other = await insertTenant(db, 'ten_b', ['cli_other'])
    owners.set('usr_foreign', await seedUser(db, other, 'usr_foreign', [{ scopes: all, client: 'cli_other' }]))
    tenantKey = tenant.tenantKey
  })

  const first = { limit: 100, after: undefined }
  const usersOf = (rows: readonly { user_id: string }[]): string[] => [...new Set(rows.map((row) => row.user_id))]
  const everybody = [...Object.keys(people), 'usr_foreign']

  it('users: only those with a live grant, with what their grants cover together', async () => {
    const rows = await enterprise.listUsers(tenantKey, first)
    assert.deepEqual(
      rows.map(({ user_id: id, scopes, connection_count: count }) => [id, scopes, count]),
      [
        ['usr_all', ['assets:read', 'providers:read', 'transactions:read'], 1],
        ['usr_assets_only', ['assets:read'], null],
        ['usr_two_grants', ['assets:read', 'transactions:read'], null],
      ],
    )
    for (const hidden of ['usr_revoked', 'usr_expired', 'usr_disabled_client', 'usr_nothing', 'usr_foreign', 'x']) {
      await assert.rejects(enterprise.getUser(tenantKey, hidden), { code: 'not_found' }, hidden)
    }
  })

  it('transactions: shows only users whose live grant covers them, with every filter', async () => {
    const filters = [
      {},
      { userIds: everybody },
      { assetSymbols: ['BTC', 'ETH'] },
      { assetSymbols: ['BTC'], userIds: everybody },
      { types: ['receive'] },
      { categories: ['deposit'], providerIds: ['kraken'] },
      { categories: ['deposit'], providerIds: ['kraken'], userIds: everybody },
      { connectionIds: everybody.map((user) => `con_${user}`) },
      { connectionIds: everybody.map((user) => `con_${user}`), assetSymbols: ['BTC'], types: ['receive'] },
      { updatedSince: '2020-01-01T00:00:00.000Z', startTime: '2026-01-01T00:00:00.000Z' },
      { updatedSince: '2026-02-01T00:00:00.000Z', userIds: everybody },
      { updatedSince: '2026-02-01T00:00:00.000Z', types: ['receive', 'send'], assetSymbols: ['BTC'] },
    ]
    for (const wanted of filters) {
      // A limit as large as the table, so that no query path is skipped because an earlier one filled the page.
      for (const limit of [6, 100]) {
        const rows = await enterprise.listTransactions(tenantKey, { ...first, limit, filters: wanted })
        assert.deepEqual(usersOf(rows).toSorted(), ['usr_all', 'usr_two_grants'], JSON.stringify(wanted))
        assert.equal(rows.length, 6, JSON.stringify(wanted))
        const keys = rows.map((row) => `${row.occurred_at} ${row.id}`)
        assert.deepEqual(keys, keys.toSorted().toReversed())
        assert.deepEqual(new Set(rows.map((row) => row.updated_at)), new Set(['2026-02-01T00:00:00.000Z']))
      }
    }
    const none = [
      { assetSymbols: ['ETH'] },
      { types: ['send'] },
      { updatedSince: '2026-02-01T00:00:00.001Z' },
      { userIds: ['usr_all'], connectionIds: ['con_usr_two_grants'] },
      { providerIds: ['bitcoin'], userIds: everybody },
      { endTime: '2026-01-01T00:00:00.000Z', assetSymbols: ['BTC'] },
    ]
    for (const wanted of none) {
      const rows = await enterprise.listTransactions(tenantKey, { ...first, filters: wanted })
      assert.deepEqual(rows, [], JSON.stringify(wanted))
    }
  })

  it('transactions: paging one row at a time returns every row once, whichever index leads', async () => {
    for (const filters of [{}, { assetSymbols: ['BTC'] }, { types: ['receive'] }, { userIds: everybody }]) {
      const seen: string[] = []
      let after: { occurredAt: string; id: string } | undefined
      for (;;) {
        const [row] = await enterprise.listTransactions(tenantKey, { limit: 1, after, filters })
        if (row === undefined) break
        seen.push(row.id)
        after = { occurredAt: row.occurred_at, id: row.id }
      }
      assert.equal(new Set(seen).size, 6, JSON.stringify(filters))
      assert.equal(seen.length, 6, JSON.stringify(filters))
    }
  })

  it('a transaction with two postings of an asset counts once on a page', async () => {
    await db.execute(
      `insert into postings (user_key, asset_key, occurred_at, transaction_id, ordinal, connection_key, staked, side, spam, amount)
       select user_key, asset_key, occurred_at, transaction_id, 1, connection_key, staked, 'f', spam, -1
       from postings where user_key = $1`,
      [keyOf('usr_all')],
    )
    const filters = { assetSymbols: ['BTC'], userIds: ['usr_all'] }
    const rows = await enterprise.listTransactions(tenantKey, { limit: 3, after: undefined, filters })
    assert.equal(new Set(rows.map((row) => row.id)).size, 3)
    await db.execute(`delete from postings where side = 'f'`)
  })

  it('a user whose grant does not cover the data is reported exactly like an unknown user', async () => {
    const page = { ...first, filters: {} }
    await assert.rejects(enterprise.listTransactionsOf(tenantKey, 'usr_assets_only', page), { code: 'not_found' })
    await assert.rejects(enterprise.listTransactionsOf(tenantKey, 'usr_nobody', page), { code: 'not_found' })
    assert.equal((await enterprise.listTransactionsOf(tenantKey, 'usr_two_grants', page)).length, 3)
    const { userKey } = await enterprise.getCovered(tenantKey, 'usr_assets_only', 'assets:read')
    assert.equal((await enterprise.listPositions(userKey, first)).length, 1)
    for (const name of ['usr_revoked', 'usr_foreign']) {
      await assert.rejects(enterprise.getCovered(tenantKey, name, 'assets:read'), { code: 'not_found' })
    }
    assert.deepEqual(await enterprise.listPositions(keyOf('usr_revoked'), first), [])
  })

  it('connections: shows only users whose live grant covers providers', async () => {
    assert.deepEqual(usersOf(await enterprise.listAccounts(tenantKey, first)), ['usr_all'])
  })

  it('sums: exact, over covered rows only, with no guessed prices', async () => {
    const { asOf, data: sums } = await enterprise.sumBalances(tenantKey)
    assert.match(asOf, /Z$/)
    assert.deepEqual(sums, {
      value_in_usd: '0',
      users: 3,
      positions: 3,
      positions_without_price: 3,
    })
    await db.execute(
      `insert into current_prices (asset_id, price_in_usd, source, method, fetched_at)
       values ('crypto:bitcoin', 3, 'test', 'simple_price', $1)`,
      [db.now()],
    )
    assert.equal((await enterprise.sumBalances(tenantKey)).data.value_in_usd, '0.900000000000000009')
    const { data: assets } = await enterprise.listTopAssets(tenantKey)
    assert.deepEqual(
      assets.map(({ asset_symbol: symbol, total_holdings: held, users }) => [symbol, held, users]),
      [['BTC', '0.300000000000000003', 3]],
    )
    const { data: accounts } = await enterprise.countAccounts(tenantKey)
    assert.deepEqual(accounts, [{ provider_id: 'kraken', accounts: 1, users: 1 }])
    assert.deepEqual((await enterprise.countUsers(tenantKey)).data, { users: 3, users_with_accounts: 1 })
  })

  it('shows no data of a connection whose session has not been redeemed', async () => {
    await db.execute(`update connections set session_id = 'ses' where user_key = $1`, [keyOf('usr_all')])
    for (const filters of [{}, { assetSymbols: ['BTC'] }, { types: ['receive'] }, { connectionIds: ['con_usr_all'] }]) {
      const rows = await enterprise.listTransactions(tenantKey, { ...first, filters })
      assert.equal(usersOf(rows).includes('usr_all'), false, JSON.stringify(filters))
    }
    assert.deepEqual(await enterprise.listAccounts(tenantKey, first), [])
    assert.deepEqual(await enterprise.listPositions(keyOf('usr_all'), first), [])
    await db.execute('update connections set session_id = null', [])
  })

  it('lists the ids of a removed connection page by page, before and after its rows are destroyed', async () => {
    const hiddenAt = Date.parse(db.now())
    const request = { since: '2026-03-01T00:00:00.000Z', limit: 2, after: undefined }
    assert.deepEqual(await enterprise.listRemoved(tenantKey, request), [])
    await db.execute(`update connections set status = 'removed', hidden_seq = $2::bigint where user_key = $1`, [
      keyOf('usr_two_grants'),
      seqAt(hiddenAt),
    ])
    const walk = async (more: { userIds?: string[] } = {}): Promise<{ id: string; removed_at: string }[]> => {
      const seen: { id: string; removed_at: string }[] = []
      for (let after: { removedAt: string; id: string } | undefined; ;) {
        const rows = await enterprise.listRemoved(tenantKey, { ...request, ...more, after })
        seen.push(...rows)
        const last = rows.at(-1)
        if (last === undefined) return seen
        after = { removedAt: last.removed_at, id: last.id }
      }
    }
    const before = await walk()
    assert.equal(before.length, 3)
    assert.deepEqual(new Set(before.map((row) => row.removed_at)), new Set([new Date(hiddenAt).toISOString()]))
    assert.deepEqual(await walk({ userIds: ['usr_all'] }), [])
    assert.deepEqual(usersOf(await enterprise.listTransactions(tenantKey, { ...first, filters: {} })), ['usr_all'])
    await db.execute(
      `with gone as (delete from transactions where user_key = $1 returning *)
       insert into removed_transactions (user_key, id, tenant_key, connection_key, change_seq, former_seq, removed_at)
       select user_key, id, tenant_key, connection_key, $2::bigint, change_seq, $3 from gone`,
      [keyOf('usr_two_grants'), seqAt(hiddenAt), new Date(hiddenAt).toISOString()],
    )
    assert.deepEqual(await walk(), before)
    const later = { ...request, since: new Date(hiddenAt + dayMs).toISOString() }
    assert.deepEqual(await enterprise.listRemoved(tenantKey, later), [])
    await db.execute('update grants set revoked_at = $2 where user_key = $1', [keyOf('usr_two_grants'), db.now()])
    assert.deepEqual(await walk(), [])
  })

  it('a page is read from its index in order, without sorting the tenant’s rows', async () => {
    await db.execute(
      `insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type,
         category, pending, staked_legs, provider_id, group_key, document)
       select $1::bigint, gen_random_uuid(), '2025-01-01'::timestamptz + n * interval '1 minute', n, '2025-01-01', 1, $2,
         'send', 'withdrawal', false, 0, 'kraken', 'bulk' || n, '"type":"send"}' from generate_series(1, 20000) n`,
      [keyOf('usr_all'), tenantKey],
    )
    await db.execute('analyze transactions', [])
    const statements: string[] = []
    const spy: Database = {
      ...db,
      rows: async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
        const plan = await db.rows<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
        statements.push(plan.map((line) => line['QUERY PLAN']).join('\n'))
        return []
      },
    }
    const after = { occurredAt: '2025-01-10T00:00:00.000Z', id: `txn_${'5'.repeat(32)}` }
    await createEnterprise({ db: spy, endGrants: async () => 0 }).listTransactions(tenantKey, {
      limit: 31,
      after,
      filters: {},
    })
    assert.match(statements[0] ?? '', /transactions_tenant_page/)
    assert.doesNotMatch(statements[0] ?? '', /Sort|Seq Scan on transactions/)
  })
})
