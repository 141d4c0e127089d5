import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import { createEnterprise, type Enterprise } from './index.ts'

const all = ['providers:read', 'assets:read', 'transactions:read']
const tenant = 'ten_a'

/** Users by what their consents allow; each has one connection, one position and three transactions. */
const people: Record<string, { scopes: string[]; state?: 'revoked' | 'expired'; client?: string; tenant?: string }[]> =
  {
    usr_all: [{ scopes: all }],
    usr_two_grants: [{ scopes: ['assets:read'] }, { scopes: ['transactions:read'], client: 'cli_b' }],
    usr_revoked: [{ scopes: all, state: 'revoked' }],
    usr_expired: [{ scopes: all, state: 'expired' }],
    usr_disabled_client: [{ scopes: all, client: 'cli_off' }],
    usr_assets_only: [{ scopes: ['assets:read'] }],
    usr_nothing: [],
  }

async function seed(db: Database): Promise<void> {
  await db.execute(`insert into tenants (id, name) values ('ten_a', 'A'), ('ten_b', 'B')`, [])
  for (const [id, owner] of [
    ['cli_a', 'ten_a'],
    ['cli_b', 'ten_a'],
    ['cli_off', 'ten_a'],
    ['cli_other', 'ten_b'],
  ]) {
    await db.execute(
      `insert into clients (id, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only, require_code_verifier, disabled_at)
       values ($1, $2, $1, '{}', '{}', '{}', false, false, case when $1 = 'cli_off' then assay_now() end)`,
      [id, owner],
    )
  }
  for (const [user, grants] of Object.entries(people)) await seedUser(db, tenant, user, grants)
  await seedUser(db, 'ten_b', 'usr_foreign', [{ scopes: all, client: 'cli_other' }])
}

async function seedUser(db: Database, owner: string, user: string, grants: (typeof people)[string]): Promise<void> {
  const key = [owner, user]
  await db.execute('insert into users (tenant_id, id, external_user_id) values ($1, $2, $2)', key)
  for (const { scopes, state, client = 'cli_a' } of grants) {
    await db.execute(
      `insert into grants (tenant_id, user_id, client_id, id, scopes, consent, granted_at, expires_at, revoked_at)
       values ($1, $2, $3, 'grt_' || $2 || $3, $4, '{}', assay_now() - interval '2 days',
         assay_now() + case when $5 = 'expired' then interval '-1 second' else interval '1 year' end,
         case when $5 = 'revoked' then assay_now() end)`,
      [...key, client, scopes, state ?? 'live'],
    )
  }
  await db.execute(
    `insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane, added_at)
     values ($1, $2, 'con_' || $2, 'kraken', 'api_key', 'active', $2, assay_now())`,
    key,
  )
  await db.execute(
    `insert into holdings (tenant_id, user_id, connection_id, provider_id, asset_id, asset_symbol, asset_name, liquid, staked, fetched_at)
     values ($1, $2, 'con_' || $2, 'kraken', 'crypto:bitcoin', 'BTC', 'Bitcoin', 0.1, 0.000000000000000001, assay_now())`,
    key,
  )
  await db.execute(
    `with made as (
       insert into transactions (tenant_id, user_id, id, connection_id, provider_id, group_key, occurred_at, type, category, updated_at, document)
       select $1, $2, 'txn_' || $2 || n, 'con_' || $2, 'kraken', n::text, '2026-01-01'::timestamptz + n * interval '1 day',
         'send', 'withdrawal', assay_now(), '"type":"send"}'
       from generate_series(1, 3) n returning *)
     insert into transaction_assets (tenant_id, user_id, asset_symbol, occurred_at, id)
     select tenant_id, user_id, 'BTC', occurred_at, id from made`,
    key,
  )
}

describe('what a tenant sees', async () => {
  let db: Database
  let enterprise: Enterprise
  const owner = ownedBySuite()

  before(async () => {
    db = (await testDatabase(owner)).db
    enterprise = createEnterprise({ db, endGrants: async () => 0 })
    await seed(db)
  })

  const first = { limit: 100, after: undefined }
  const usersOf = (rows: readonly { user_id: string }[]): string[] => [...new Set(rows.map((row) => row.user_id))]

  it('users: only those with a live grant, with what their grants cover together', async () => {
    const rows = await enterprise.listUsers(tenant, first)
    assert.deepEqual(
      rows.map(({ user_id: id, scopes, connection_count: count }) => [id, scopes, count]),
      [
        ['usr_all', ['assets:read', 'providers:read', 'transactions:read'], 1],
        ['usr_assets_only', ['assets:read'], null],
        ['usr_two_grants', ['assets:read', 'transactions:read'], null],
      ],
    )
    for (const hidden of ['usr_revoked', 'usr_expired', 'usr_disabled_client', 'usr_nothing', 'usr_foreign', 'x']) {
      await assert.rejects(enterprise.getUser(tenant, hidden), { code: 'not_found' }, hidden)
    }
  })

  it('transactions: only of users whose live grant covers them, by whatever filter they are asked for', async () => {
    const everybody = [...Object.keys(people), 'usr_foreign']
    const filters = [
      {},
      { userIds: everybody },
      { assetSymbols: ['BTC', 'ETH'] },
      { types: ['send'] },
      { categories: ['withdrawal'], providerIds: ['kraken'] },
      { connectionIds: everybody.map((user) => `con_${user}`) },
      { updatedSince: '2020-01-01T00:00:00.000Z', startTime: '2026-01-01T00:00:00.000Z' },
    ]
    for (const wanted of filters) {
      const rows = await enterprise.listTransactions(tenant, { ...first, filters: wanted })
      assert.deepEqual(usersOf(rows).toSorted(), ['usr_all', 'usr_two_grants'], JSON.stringify(wanted))
      assert.equal(rows.length, 6)
      const keys = rows.map((row) => `${row.occurred_at} ${row.id}`)
      assert.deepEqual(keys, keys.toSorted().toReversed())
    }
  })

  it('transactions: a walk by single rows meets every row once', async () => {
    const seen: string[] = []
    let after: { occurredAt: string; id: string } | undefined
    for (;;) {
      const [row] = await enterprise.listTransactions(tenant, { limit: 1, after, filters: {} })
      if (row === undefined) break
      seen.push(row.id)
      after = { occurredAt: row.occurred_at, id: row.id }
    }
    assert.equal(new Set(seen).size, 6)
    assert.equal(seen.length, 6)
  })

  it('a user whose grant does not cover it is as missing as one that is', async () => {
    const page = { ...first, filters: {} }
    await assert.rejects(enterprise.listTransactionsOf(tenant, 'usr_assets_only', page), { code: 'not_found' })
    await assert.rejects(enterprise.listTransactionsOf(tenant, 'usr_nobody', page), { code: 'not_found' })
    assert.equal((await enterprise.listTransactionsOf(tenant, 'usr_two_grants', page)).length, 3)
    assert.equal((await enterprise.listPositions(tenant, 'usr_assets_only', first)).length, 1)
    await assert.rejects(enterprise.listPositions(tenant, 'usr_revoked', first), { code: 'not_found' })
    await assert.rejects(enterprise.listPositions(tenant, 'usr_foreign', first), { code: 'not_found' })
  })

  it('connections: only of users whose live grant covers providers', async () => {
    assert.deepEqual(usersOf(await enterprise.listAccounts(tenant, first)), ['usr_all'])
  })

  it('sums: exact, over covered rows alone, without guessing prices', async () => {
    const { as_of: asOf, data: sums } = await enterprise.sumBalances(tenant)
    assert.match(asOf, /Z$/)
    assert.deepEqual(sums, {
      value_in_usd: '0',
      users: 3,
      positions: 3,
      positions_without_price: 3,
    })
    await db.execute(
      `insert into current_prices (asset_id, price_in_usd, source, fetched_at) values ('crypto:bitcoin', 3, 'test', assay_now())`,
      [],
    )
    assert.equal((await enterprise.sumBalances(tenant)).data.value_in_usd, '0.900000000000000009')
    const { data: assets } = await enterprise.listTopAssets(tenant)
    assert.deepEqual(
      assets.map(({ asset_symbol: symbol, total_holdings: held, users }) => [symbol, held, users]),
      [['BTC', '0.300000000000000003', 3]],
    )
    const { data: accounts } = await enterprise.countAccounts(tenant)
    assert.deepEqual(accounts, [{ provider_id: 'kraken', accounts: 1, users: 1 }])
    assert.deepEqual((await enterprise.countUsers(tenant)).data, { users: 3, users_with_accounts: 1 })
  })

  it('nothing of a connection whose session has not been redeemed', async () => {
    await db.execute(`update connections set session_id = 'ses' where user_id = 'usr_all'`, [])
    assert.deepEqual(usersOf(await enterprise.listTransactions(tenant, { ...first, filters: {} })), ['usr_two_grants'])
    assert.deepEqual(await enterprise.listAccounts(tenant, first), [])
    assert.deepEqual(await enterprise.listPositions(tenant, 'usr_all', first), [])
    await db.execute('update connections set session_id = null', [])
  })

  it('a page is read from its index in order, without sorting the tenant’s rows', async () => {
    await db.execute(
      `insert into transactions (tenant_id, user_id, id, connection_id, provider_id, group_key, occurred_at, type, category, updated_at, document)
       select 'ten_a', 'usr_all', 'txn_bulk' || n, 'con_usr_all', 'kraken', 'bulk' || n, '2025-01-01'::timestamptz + n * interval '1 minute',
         'send', 'withdrawal', assay_now(), '"type":"send"}' from generate_series(1, 20000) n`,
      [],
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
    const after = { occurredAt: '2025-01-10T00:00:00.000Z', id: 'txn_bulk5' }
    await createEnterprise({ db: spy, endGrants: async () => 0 }).listTransactions(tenant, {
      limit: 31,
      after,
      filters: {},
    })
    assert.match(statements[0] ?? '', /transactions_tenant_page/)
    assert.doesNotMatch(statements[0] ?? '', /Sort|Seq Scan on transactions/)
  })
})
