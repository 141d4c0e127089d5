/** How many rows PostgreSQL looks at for one page, by its own count, when filters hit few of very many. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database, Sql } from '../db/index.ts'
import { createEnterprise } from '../enterprise/index.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { TransactionFilters } from './pages-query-store.ts'
import { listTransactions } from './pages-store.ts'

const total = 50_000
/** The oldest of all, so that a walk from the newest would pass every other row before it meets them. */
const rare = 3
/** 100 near ones, a step for each kind, up to 1,000 of a filter that is not rare enough, and the page. */
const examinedMax = 3_000

/**
 * One user's long history: two connections of Kraken, three rows of another provider; trades and deposits by the ten
 * thousand, three fees; BTC in every row, RARE in three. Beside it two users with a few rows.
 */
async function seed(db: Database): Promise<void> {
  await db.execute(`
    insert into tenants (id, name) values ('ten_a', 'A');
    insert into clients (id, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only, require_code_verifier)
    values ('cli_a', 'ten_a', 'A', '{}', '{}', '{}', false, false);
    insert into users (tenant_id, id, external_user_id) select 'ten_a', id, id from unnest('{usr_big,usr_b,usr_c}'::text[]) id;
    insert into grants (tenant_id, user_id, client_id, id, scopes, consent, granted_at, expires_at)
    select tenant_id, id, 'cli_a', id, '{transactions:read}', '{}', assay_now(), assay_now() + interval '1 year' from users;
    insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane, added_at) values
      ('ten_a', 'usr_big', 'con_1', 'kraken', 'api_key', 'active', '1', assay_now()),
      ('ten_a', 'usr_big', 'con_2', 'kraken', 'api_key', 'active', '2', assay_now()),
      ('ten_a', 'usr_big', 'con_rare', 'bitcoin', 'wallet', 'active', '3', assay_now()),
      ('ten_a', 'usr_b', 'con_b', 'ethereum', 'wallet', 'active', '4', assay_now());
    insert into transactions (tenant_id, user_id, occurred_at, id, connection_id, provider_id, group_key, type, category,
      updated_at, document)
    select 'ten_a', 'usr_big', timestamptz '2020-01-01Z' + n * interval '1 minute', 'txn_' || lpad(n::text, 8, '0'),
      case when n <= ${rare} then 'con_rare' else 'con_' || (1 + n % 2) end,
      case when n <= ${rare} then 'bitcoin' else 'kraken' end, n::text,
      case when n <= ${rare} then 'output_only' when n % 3 = 0 then 'receive' else 'input_and_output' end,
      case when n <= ${rare} then 'fee' when n % 3 = 0 then 'deposit' else 'trade' end,
      case when n <= ${rare} then timestamptz '2026-02-01Z' else timestamptz '2026-01-01Z' end, '"x":1}'
    from generate_series(1, ${total}) n;
    insert into transactions (tenant_id, user_id, occurred_at, id, connection_id, provider_id, group_key, type, category,
      updated_at, document)
    select 'ten_a', 'usr_b', timestamptz '2019-01-01Z' + n * interval '1 minute', 'txn_b' || n, 'con_b', 'ethereum', n::text,
      'send', 'gift', timestamptz '2026-01-01Z', '"x":1}' from generate_series(1, 5) n;
    insert into transaction_assets
    select tenant_id, user_id, symbol, occurred_at, id from transactions, unnest('{BTC,RARE}'::text[]) symbol
    where symbol = 'BTC' or category = 'fee'`)
  // Of every row and not of a sample: what PostgreSQL knows of the tables, and so its plans, are the same each time.
  await db.execute(`alter table transactions alter id set statistics 1000;
    alter table transaction_assets alter id set statistics 1000`)
  await db.execute('vacuum analyze transactions, transaction_assets, connections, grants')
}

interface Plan {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** What scans touched; what is made of it above them costs no reading. */
function examinedBy(plan: Plan): number {
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const scanned = / Scan$/.test(plan['Node Type']) && !/^(CTE|Function|Subquery|WorkTable) /.test(plan['Node Type'])
  const own = scanned ? (plan['Actual Rows'] + removed) * plan['Actual Loops'] : 0
  return (plan.Plans ?? []).reduce((sum, child) => sum + examinedBy(child), own)
}

const literal = (value: unknown): string =>
  Array.isArray(value) ? `'{${value.join(',')}}'` : typeof value === 'number' ? String(value) : `'${String(value)}'`

describe(`at most ${examinedMax} rows of ${total} are examined, on the first page and in the depth`, async () => {
  const { db } = await testDatabase(ownedBySuite())
  await seed(db)

  /** The same database, which adds up what its statements examine, planned for these values or, as after five runs, for any. */
  function spy(mode: 'custom' | 'generic'): { sql: Database; examined: () => number } {
    let examined = 0
    const rows: Sql['rows'] = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
      await db.transaction(async (tx) => {
        await tx.execute(`set local plan_cache_mode = force_${mode}_plan; prepare page as ${text}`)
        const [told] = await tx.rows<{ 'QUERY PLAN': { Plan: Plan }[] }>(
          `explain (analyze, buffers, format json) execute page(${values.map(literal).join(', ')})`,
        )
        await tx.execute('deallocate page')
        examined += examinedBy(told?.['QUERY PLAN'][0]?.Plan as Plan)
      })
      return db.rows<Row>(text, values)
    }
    const row: Sql['row'] = async <Row>(...of: Parameters<Sql['row']>) => (await rows<Row>(...of))[0] as Row
    return { sql: { ...db, rows, row }, examined: () => examined }
  }

  const cases: Record<string, [filters: TransactionFilters, rows: number]> = {
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
  const middle = { occurredAt: '2020-01-18T00:00:00.000Z', id: 'txn_00024480' }
  const owner = { tenantId: 'ten_a', userId: 'usr_big' }

  for (const [title, [filters, count]] of Object.entries(cases)) {
    it(title, async () => {
      for (const mode of ['custom', 'generic'] as const) {
        for (const after of [undefined, middle]) {
          const user = spy(mode)
          const own = await listTransactions(user.sql, owner, { filters, limit: 31, after })
          assert.equal(own.length, count, `${count} rows`)
          assert.ok(user.examined() <= examinedMax, `${mode}: ${user.examined()} for the user`)

          const tenant = spy(mode)
          const enterprise = createEnterprise({ db: tenant.sql, endGrants: async () => 0 })
          const all = await enterprise.listTransactions('ten_a', { filters, limit: 31, after })
          assert.equal(all.length, Math.max(count, Math.min(31, count + (title === 'no filter' ? 5 : 0))))
          // Each row is also held against its grant, client and connection.
          assert.ok(tenant.examined() <= 4 * examinedMax, `${mode}: ${tenant.examined()} for the tenant`)
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
      assert.equal((await enterprise.listTransactions('ten_a', { filters, limit: 31, after: undefined })).length, 5)
    }
    assert.ok(tenant.examined() <= 400, `${tenant.examined()}`)
  })
})
