/** How PostgreSQL finds a page, from its own plans: which index leads, and how many rows it reads. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestDatabase, testDatabase } from '../../../../test/postgres.ts'
import type { Database, Sql } from '../db/index.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import { readChanges } from './changes-store.ts'
import { readKnownAt } from './known-at-store.ts'
import type { TransactionPoint, TransactionFilters } from './pages-query-store.ts'
import { finishPage, readTransactions } from './pages-store.ts'
import { addAssets, addConnection, addUser, seqAt, type TestUser } from './test-portfolio.ts'

const total = 50_000
/** These are the oldest rows, so that a walk from the newest would pass every other row before it reached them. */
const rare = 3
/**
 * The 100 rows of the first step, one step per kind, up to 250 rows of a filter that is not rare enough, and the page.
 */
const examinedMax = 3_000
/** Users with a few rows each, so that PostgreSQL estimates few rows for every user. */
const others = 2_000
const rowsOfOthers = 20

/**
 * One user's long history: two connections of Kraken, three rows of another provider; trades and deposits by the ten
 * thousand, three fees; BTC in every row, USD in every deposit and in one trade of 3,000, RARE in three rows. Trades
 * changed six hours after deposits.
 * Beside it many users with a few rows.
 */
async function seed(db: Database): Promise<TestUser> {
  const big = await addUser(db, 'big')
  await addConnection(db, big, { key: 1, id: 'con_1' })
  await addConnection(db, big, { key: 2, id: 'con_2' })
  await addConnection(db, big, { key: 3, id: 'con_rare', providerId: 'bitcoin' })
  await addAssets(db, ['BTC', 'RARE', 'USD'])
  const columns = `user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type, category, pending,
    staked_legs, provider_id, group_key, document`
  await db.execute(
    `insert into transactions (${columns})
     select $1::bigint, md5(n::text)::uuid, timestamptz '2020-01-01Z' + n * interval '1 minute',
       case when n <= ${rare} then $3::bigint when n % 3 = 0 then $2::bigint else $4::bigint end + n,
       case when n <= ${rare} then timestamptz '2026-02-01Z' when n % 3 = 0 then timestamptz '2026-01-01Z'
         else timestamptz '2026-01-01 06:00Z' end,
       case when n <= ${rare} then 3 else 1 + n % 2 end, 1,
       (case when n <= ${rare} then 'output_only' when n % 3 = 0 then 'receive' else 'input_and_output' end)::transaction_type,
       (case when n <= ${rare} then 'fee' when n % 3 = 0 then 'deposit' else 'trade' end)::transaction_category,
       false, 0, case when n <= ${rare} then 'bitcoin' else 'kraken' end, n::text, '"x":1}'
     from generate_series(1, ${total}) n`,
    [
      big.userKey,
      ...['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-01-01T06:00:00.000Z'].map((at) => seqAt(at)),
    ],
  )
  await db.execute(
    `insert into transactions (${columns})
     select u, md5(u || ' ' || n)::uuid, timestamptz '2019-01-01Z' + n * interval '1 minute', n, timestamptz '2026-01-01Z', 1, 1,
       'send', 'gift', false, 0, 'ethereum', n::text, '"x":1}'
     from generate_series(1, ${others}) u, generate_series(1, ${rowsOfOthers}) n`,
    [],
  )
  await db.execute(
    `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type, status,
       key_lane, created_at, added_at, shown_at, shown_seq)
     select u, 1, 'con_of_' || u, 1, 'ten_a', 'usr_' || u, 'ethereum', 'wallet', 'active', u::text, $1, $1, $1, 0
     from generate_series(1, ${others}) u`,
    [db.now()],
  )
  await db.execute(
    `insert into postings (user_key, occurred_at, transaction_id, asset_key, connection_key, ordinal, staked, side, spam, amount)
     select t.user_key, t.occurred_at, t.id, a.asset_key, t.connection_key, 0, false, 'i', false, 1
     from transactions t, assets a where a.symbol = 'BTC' or (a.symbol = 'RARE' and t.category = 'fee') or (a.symbol = 'USD' and (t.category = 'deposit' or t.group_key::integer % 3000 = 1 and t.category = 'trade'))`,
    [],
  )
  // The statistics come from every row instead of a sample, so that PostgreSQL chooses the same plans each time.
  await db.execute(`alter table transactions alter id set statistics 1000;
    alter table postings alter transaction_id set statistics 1000`)
  await db.execute('vacuum analyze transactions, postings, connections, assets')
  return big
}

interface Plan {
  'Node Type': string
  'Index Name'?: string
  'Relation Name'?: string
  'Index Cond'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

/** Counts the rows that scans touched; the nodes above them read nothing. */
function examinedBy(plan: Plan): number {
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const scanned = / Scan$/.test(plan['Node Type']) && !/^(CTE|Function|Subquery|WorkTable) /.test(plan['Node Type'])
  return scanned ? (plan['Actual Rows'] + removed) * plan['Actual Loops'] : 0
}

/** Values of our own statements: texts, numbers, bytes and lists of texts. */
function toLiteral(value: unknown): string {
  if (value === null) return 'null'
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`
  if (Array.isArray(value)) return `'{${value.join(',')}}'`
  if (typeof value === 'number') return String(value)
  assert.ok(typeof value === 'string')
  return `'${value}'`
}

describe('the plan of a page', async () => {
  const { db, connection } = await testDatabase(ownedBySuite())
  const big = await seed(db)

  /** The same database, which keeps the plans of its statements: custom plans or generic ones (as after five runs). */
  function spy(mode: 'custom' | 'generic') {
    const plans: Plan[] = []
    const ofStatements: number[] = []
    const rows: Sql['rows'] = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
      await db.transaction(async (tx) => {
        await tx.execute(`set local plan_cache_mode = force_${mode}_plan; prepare page as ${text}`)
        const [told] = await tx.rows<{ 'QUERY PLAN': { Plan: Plan }[] }>(
          `explain (analyze, buffers, format json) execute page(${values.map(toLiteral).join(', ')})`,
        )
        await tx.execute('deallocate page')
        const nodes = nodesOf(told?.['QUERY PLAN'][0]?.Plan as Plan)
        plans.push(...nodes)
        ofStatements.push(nodes.reduce((sum, node) => sum + examinedBy(node), 0))
      })
      return db.rows<Row>(text, values)
    }
    const first = async <Row>(...of: Parameters<Sql['row']>): Promise<Row> => (await rows<Row>(...of))[0] as Row
    return {
      sql: { ...db, rows, row: first, maybeRow: first } satisfies Sql,
      plans,
      /** By each statement. */
      ofStatements,
      examined: () => ofStatements.reduce((sum, count) => sum + count, 0),
    }
  }

  async function read(
    sql: Sql,
    filters: TransactionFilters,
    after: TransactionPoint | undefined,
    onTurn?: () => void,
  ): Promise<number> {
    const reading = await readTransactions(sql, big.access, { shape: 'v2', filters, limit: 30, after })
    assert.ok(reading !== undefined)
    const { items, end } = await finishPage(reading.result, (work) => {
      onTurn?.()
      return work()
    })
    // One row more than shown tells that there is a next page.
    return (items === '' ? 0 : items.split('\n').length) + (end === undefined ? 0 : 1)
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
  const middle = { occurredAt: '2020-01-18T00:00:00.000Z', id: 'ffffffff-0000-0000-0000-000000000000' }

  describe(`examines at most ${examinedMax} rows of ${total}, on the first page and on a deep page, with`, () => {
    for (const [title, [filters, count]] of Object.entries(cases)) {
      it(title, async () => {
        for (const mode of ['custom', 'generic'] as const) {
          for (const after of [undefined, middle]) {
            const { sql, examined } = spy(mode)
            assert.equal(await read(sql, filters, after), count, `${count} rows`)
            assert.ok(examined() <= examinedMax, `${mode}: ${examined()}`)
          }
        }
      })
    }
  })

  // Each filter has many rows, and hardly any match all of them: such a page looks at a whole history.
  const longWalks: Record<string, [filters: TransactionFilters, rows: number]> = {
    'a common asset and a common type': [{ assetSymbols: ['USD'], types: ['input_and_output'] }, 16],
    'several assets and a common category': [{ assetSymbols: ['USD', 'RARE'], categories: ['trade'] }, 16],
    'a common asset and many updates': [{ assetSymbols: ['USD'], updatedSince: '2026-01-01T03:00:00.000Z' }, 16],
    'a common type and many updates': [{ types: ['receive'], updatedSince: '2026-01-01T03:00:00.000Z' }, 0],
  }
  describe('leaves its place to others after every few thousand rows, with', () => {
    for (const [title, [filters, count]] of Object.entries(longWalks)) {
      it(title, async () => {
        for (const mode of ['custom', 'generic'] as const) {
          const { sql, ofStatements } = spy(mode)
          let turns = 0
          assert.equal(await read(sql, filters, undefined, () => (turns += 1)), count)
          // A row, its posting, and both once more for the end of the step.
          assert.ok(Math.max(...ofStatements) <= 3 * 2_000, `${mode}: ${ofStatements.join()}`)
          assert.ok(turns >= ofStatements.length / 2, `${turns} turns for ${ofStatements.length} statements`)
        }
      })
    }
  })

  it('of an earlier moment leaves its place to others, too, when hardly any row was known or is of the connection', async () => {
    const knownAt = db.now()
    for (const mode of ['custom', 'generic'] as const) {
      for (const [connectionId, count] of Object.entries({ con_rare: rare, con_x: 0 })) {
        const { sql, ofStatements } = spy(mode)
        const request = { filters: { connectionIds: [connectionId] }, knownAt, limit: 30, after: undefined }
        const reading = await readKnownAt(sql, big.access, request)
        assert.ok(reading !== undefined)
        const before = ofStatements.length
        let turns = 0
        const { items } = await finishPage(reading.result, (work) => {
          turns += 1
          return work()
        })
        assert.equal(items === '' ? 0 : items.split('\n').length, count)
        // A row, and once more for the end of the step.
        assert.ok(Math.max(...ofStatements) <= 3 * 2_000, `${mode}: ${ofStatements.join()}`)
        assert.equal(turns, ofStatements.length - before)
      }
    }
  })

  for (const [title, after] of [
    ['the first page', undefined],
    ['a deep page', middle],
  ] as const) {
    it(`of ${title} is one range of transactions_page of 31 rows: no sort, no scan of the table`, async () => {
      for (const mode of ['custom', 'generic'] as const) {
        const { sql, plans } = spy(mode)
        await read(sql, {}, after)
        const [scan, ...more] = plans.filter((node) => node['Relation Name'] === 'transactions')
        assert.deepEqual(more, [])
        assert.deepEqual([scan?.['Node Type'], scan?.['Index Name']], ['Index Scan', 'transactions_page'])
        assert.equal(scan === undefined ? 0 : examinedBy(scan), 31)
        const sorts = plans.filter((node) => node['Node Type'].endsWith('Sort') && node['Actual Rows'] > 0)
        assert.deepEqual(sorts, [])
      }
    })
  }

  it('of one period has the period in its index range', async () => {
    const { sql, plans } = spy('generic')
    await read(sql, { startTime: '2020-01-02T00:00:00.000Z', endTime: '2020-01-05T00:00:00.000Z' }, undefined)
    const scan = plans.find((node) => node['Index Name'] === 'transactions_page')
    assert.match(scan?.['Index Cond'] ?? '', /occurred_at >=.*occurred_at </)
  })

  it('by asset reads the postings by their key', async () => {
    const { sql, plans } = spy('generic')
    await read(sql, { assetSymbols: ['BTC'] }, middle)
    const names = plans.map((node) => node['Index Name'])
    assert.ok(names.includes('postings_asset'), names.join())
    assert.deepEqual(
      plans.filter((node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] === 'transactions'),
      [],
    )
  })

  it('is planned once for all limits and positions, not for each request', async (t) => {
    const fresh = openTestDatabase(connection)
    t.after(() => fresh.close())
    await fresh.transaction(async (tx) => {
      for (let request = 0; request < 20; request += 1) {
        const limit = 1 + ((request * 37) % 100)
        await readTransactions(tx, big.access, {
          shape: 'v2',
          filters: {},
          limit,
          after: request < 10 ? undefined : middle,
        })
        await readChanges(tx, big.access, { after: { seq: '0', sub: '0' }, removedAfterSeq: undefined, limit })
      }
      const prepared = await tx.rows<{ custom_plans: string; generic_plans: string }>(
        `select custom_plans, generic_plans from pg_prepared_statements where statement like 'with caller%'`,
      )
      assert.deepEqual(prepared.map((row) => `${row.custom_plans} then ${row.generic_plans}`).toSorted(), [
        '5 then 15',
        '5 then 5',
        '5 then 5',
      ])
    })
  })

  it('of changes examines a few rows for each connection, on the first page and on a deep one', async () => {
    for (const mode of ['custom', 'generic'] as const) {
      for (const seq of ['0', seqAt('2026-01-01T00:00:00.000Z', 25_000), seqAt('2027-01-01T00:00:00.000Z')]) {
        const { sql, examined } = spy(mode)
        await readChanges(sql, big.access, { after: { seq, sub: '0' }, removedAfterSeq: seq, limit: 30 })
        // 31 entries for each of three connections, then the page by its keys.
        assert.ok(examined() <= 200, `${mode} after ${seq}: ${examined()}`)
      }
    }
  })
})
