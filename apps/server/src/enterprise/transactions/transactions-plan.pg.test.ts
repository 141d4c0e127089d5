/**
 * How many rows PostgreSQL reads for one page of a tenant, by its own count, when filters match few of very many rows.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import type { Database, Sql } from '../../db/index.ts'
import { ownedBySuite } from '../../oauth/test-oauth.ts'
import type { Owner } from '../../owner.ts'
import { createEnterprise } from '../index.ts'
import { insertAssets, insertConnection, insertTenant, insertUser, putGrant } from '../test-tenant.ts'
import type { TransactionRequest } from './transactions-store.ts'

const total = 50_000
/** These are the oldest rows, so that a walk from the newest would pass every other row before it reached them. */
const rare = 3
/**
 * The 100 rows of the first step, one step per kind, up to 1,000 rows of a filter that is not rare enough, and the
 * page. Each row is also checked against its grant, client and connection.
 */
const examinedMax = 12_000

/**
 * One user's long history: two connections of Kraken, three rows of another provider; trades and deposits by the ten
 * thousand, three fees; BTC in every row, RARE in three. Beside it one user with five rows and one with none.
 */
async function seed(db: Database): Promise<number> {
  const tenant = await insertTenant(db, 'ten_a', ['cli_a'])
  await insertAssets(db, [
    ['crypto:btc', 'BTC'],
    ['crypto:rare', 'RARE'],
  ])
  const owners: Owner[] = []
  for (const userId of ['usr_big', 'usr_b', 'usr_c']) {
    const owner = await insertUser(db, tenant, userId)
    await putGrant(db, owner, { clientId: 'cli_a', scopes: ['transactions:read'] })
    owners.push(owner)
  }
  const [big, other] = owners
  assert.ok(big && other)
  const connections: [Owner, number, string, string][] = [
    [big, 1, 'con_1', 'kraken'],
    [big, 2, 'con_2', 'kraken'],
    [big, 3, 'con_rare', 'bitcoin'],
    [other, 1, 'con_b', 'ethereum'],
  ]
  for (const [owner, connectionKey, connectionId, providerId] of connections) {
    await insertConnection(db, owner, { connectionKey, connectionId, providerId })
  }
  const columns = `(user_key, tenant_key, occurred_at, id, connection_key, provider_id, group_key, type, category,
    change_seq, updated_at, pending, staked_legs, document)`
  await db.execute(`
    insert into transactions ${columns}
    select ${big.userKey}, ${tenant.tenantKey}, timestamptz '2020-01-01Z' + n * interval '1 minute', lpad(n::text, 32, '0')::uuid,
      case when n <= ${rare} then 3 else 1 + n % 2 end,
      case when n <= ${rare} then 'bitcoin' else 'kraken' end, n::text,
      (case when n <= ${rare} then 'output_only' when n % 3 = 0 then 'receive' else 'input_and_output' end)::transaction_type,
      (case when n <= ${rare} then 'fee' when n % 3 = 0 then 'deposit' else 'trade' end)::transaction_category,
      (extract(epoch from changed_at) * 1000)::bigint << 20, changed_at, false, 0, '"x":1}'
    from generate_series(1, ${total}) n, lateral (
      select case when n <= ${rare} then timestamptz '2026-02-01Z' else timestamptz '2026-01-01Z' end as changed_at) c;
    insert into transactions ${columns}
    select ${other.userKey}, ${tenant.tenantKey}, timestamptz '2019-01-01Z' + n * interval '1 minute', lpad('b' || n, 32, '0')::uuid,
      1, 'ethereum', n::text, 'send', 'gift', (extract(epoch from timestamptz '2026-01-01Z') * 1000)::bigint << 20,
      timestamptz '2026-01-01Z', false, 0, '"x":1}' from generate_series(1, 5) n;
    insert into postings (user_key, asset_key, occurred_at, transaction_id, ordinal, connection_key, staked, side, spam, amount)
    select t.user_key, a.asset_key, t.occurred_at, t.id, a.asset_key, t.connection_key, false, 'i', false, 1
    from transactions t, assets a where t.user_key = ${big.userKey} and (a.symbol = 'BTC' or t.category = 'fee');
    update connections set shown_at = '2025-12-01Z', shown_seq = 1;
    update user_ledgers set change_seq = (extract(epoch from timestamptz '2026-02-01Z') * 1000)::bigint << 20;
    alter table transactions alter id set statistics 1000;
    alter table postings alter transaction_id set statistics 1000`)
  // The statistics come from every row instead of a sample, so that PostgreSQL chooses the same plans each time.
  for (const table of ['transactions', 'postings', 'connections', 'grants', 'user_ledgers', 'assets']) {
    await db.execute(`vacuum analyze ${table}`)
  }
  return tenant.tenantKey
}

interface Plan {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** Counts the rows that scans touched; the nodes above them read nothing. */
function examinedBy(plan: Plan): number {
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const scanned = / Scan$/.test(plan['Node Type']) && !/^(CTE|Function|Subquery|WorkTable) /.test(plan['Node Type'])
  const own = scanned ? (plan['Actual Rows'] + removed) * plan['Actual Loops'] : 0
  return (plan.Plans ?? []).reduce((sum, child) => sum + examinedBy(child), own)
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `'{${value.join(',')}}'`
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

describe(`at most ${examinedMax} rows of ${total} are examined, on the first page and on a deep one`, async () => {
  const { db } = await testDatabase(ownedBySuite())
  const tenantKey = await seed(db)

  /**
   * The same database, which counts the rows its statements examine, with custom plans or with a generic one (as after
   * five runs).
   */
  function spy(mode: 'custom' | 'generic'): { sql: Database; examined: () => number } {
    let examined = 0
    const rows: Sql['rows'] = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
      await db.transaction(async (tx) => {
        await tx.execute(`set local plan_cache_mode = force_${mode}_plan; prepare page as ${text}`)
        const [explained] = await tx.rows<{ 'QUERY PLAN': { Plan: Plan }[] }>(
          `explain (analyze, buffers, format json) execute page(${values.map(literal).join(', ')})`,
        )
        await tx.execute('deallocate page')
        examined += examinedBy(explained?.['QUERY PLAN'][0]?.Plan as Plan)
      })
      return db.rows<Row>(text, values)
    }
    const row: Sql['row'] = async <Row>(...of: Parameters<Sql['row']>) => (await rows<Row>(...of))[0] as Row
    return { sql: { ...db, rows, row }, examined: () => examined }
  }

  const cases: Record<string, [filters: TransactionRequest['filters'], rows: number]> = {
    'no filter': [{}, 31],
    'a common type': [{ types: ['receive'] }, 31],
    'a rare type': [{ types: ['output_only'] }, rare],
    'a type that never occurs': [{ types: ['uncategorized'] }, 0],
    'a rare category': [{ categories: ['fee'] }, rare],
    'several categories, one of them rare': [{ categories: ['fee', 'airdrop'] }, rare],
    'a rare provider': [{ providerIds: ['bitcoin'] }, rare],
    'a rare connection': [{ connectionIds: ['con_rare'] }, rare],
    'a connection that is not there': [{ connectionIds: ['con_x'] }, 0],
    'a rare asset': [{ assetSymbols: ['RARE'] }, rare],
    'a rare and a common asset': [{ assetSymbols: ['RARE', 'BTC'] }, 31],
    'few updates': [{ updatedSince: '2026-01-15T00:00:00.000Z' }, rare],
    'no updates': [{ updatedSince: '2026-03-01T00:00:00.000Z' }, 0],
    'everything updated': [{ updatedSince: '2025-01-01T00:00:00.000Z' }, 31],
    'a common category and a common type that never meet': [{ categories: ['trade'], types: ['receive'] }, 0],
    'a common connection and a rare category': [{ connectionIds: ['con_1'], categories: ['fee'] }, 0],
    'a common provider and a rare type': [{ providerIds: ['kraken'], types: ['output_only'] }, 0],
    'a common asset and a rare category': [{ assetSymbols: ['BTC'], categories: ['fee'] }, rare],
    'a rare asset and a common category': [{ assetSymbols: ['RARE'], categories: ['trade'] }, 0],
    'few updates of a common type': [{ updatedSince: '2026-01-15T00:00:00.000Z', types: ['receive'] }, 0],
    'updates of all, of a rare type': [{ updatedSince: '2025-01-01T00:00:00.000Z', types: ['output_only'] }, rare],
    'few updates of a common asset': [{ updatedSince: '2026-01-15T00:00:00.000Z', assetSymbols: ['BTC'] }, rare],
    'a rare category in a period': [{ categories: ['fee'], startTime: '2020-01-01T00:02:00.000Z' }, 2],
  }
  const middle = { occurredAt: '2020-01-18T00:00:00.000Z', id: `txn_${'24480'.padStart(32, '0')}` }

  for (const [title, [filters, count]] of Object.entries(cases)) {
    it(title, async () => {
      for (const mode of ['custom', 'generic'] as const) {
        for (const after of [undefined, middle]) {
          for (const more of [{}, { userIds: ['usr_big'] }]) {
            const tenant = spy(mode)
            const enterprise = createEnterprise({ db: tenant.sql, endGrants: async () => 0 })
            const rows = await enterprise.listTransactions(tenantKey, {
              filters: { ...filters, ...more },
              limit: 31,
              after,
            })
            assert.equal(rows.length, count, JSON.stringify(more))
            assert.ok(tenant.examined() <= examinedMax, `${mode}: ${tenant.examined()} ${JSON.stringify(more)}`)
          }
        }
      }
    })
  }

  it('some users of a tenant, with five rows together', async () => {
    const tenant = spy('generic')
    const enterprise = createEnterprise({ db: tenant.sql, endGrants: async () => 0 })
    for (const more of [
      {},
      { types: ['send'] },
      { connectionIds: ['con_b'] },
      { updatedSince: '2020-01-01T00:00:00Z' },
    ]) {
      const filters = { userIds: ['usr_b', 'usr_c', 'usr_x'], ...more }
      assert.equal((await enterprise.listTransactions(tenantKey, { filters, limit: 31, after: undefined })).length, 5)
    }
    assert.ok(tenant.examined() <= 400, `${tenant.examined()}`)
  })
})
