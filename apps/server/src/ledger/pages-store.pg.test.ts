import { categories, transactionTypes } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { TransactionFilters } from './pages-query-store.ts'
import { findTransaction, listRemoved, listTransactions } from './pages-store.ts'
import { addConnection } from './test-ledger.ts'

interface Row {
  id: string
  connectionId: string
  providerId: string
  occurredAt: string
  updatedAt: string
  type: string
  category: string
  symbols: string[]
}

const owner = { tenantId: 'ten_a', userId: 'usr_a' }
const symbols = ['BTC', 'ETH', 'USD', 'ltc', 'LTC']
const providers = ['kraken', 'another']
const connections = ['con_a', 'con_b', 'con_c']
const timeOf = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString()

/** Few moments for many rows, so that most of them are equal. */
function rowsFor(count: number): Row[] {
  const pick = <T>(from: readonly T[], index: number): T => from[index % from.length] as T
  const connectionOf = (index: number): string => pick(connections, index * 5 + (index >> 3))
  return Array.from({ length: count }, (_, index) => ({
    id: `txn_${String((index * 7_919) % 100_003).padStart(6, '0')}`,
    connectionId: connectionOf(index),
    // All rows of a connection are of one provider.
    providerId: pick(providers, connections.indexOf(connectionOf(index))),
    occurredAt: timeOf((index * 31) % 17),
    updatedAt: timeOf((index * 13) % 40),
    type: pick(transactionTypes, index * 3),
    category: pick(categories, index * 11),
    symbols: [...new Set([pick(symbols, index), pick(symbols, index * index)])],
  }))
}

async function insert(db: Database, rows: readonly Row[], of: typeof owner = owner): Promise<void> {
  for (const row of rows) {
    await db.execute(
      `insert into transactions (tenant_id, user_id, occurred_at, id, connection_id, provider_id, group_key, type, category,
         updated_at, document) values ($1, $2, $3, $4, $5, $6, $4, $7, $8, $9, '"x":1}')`,
      [
        of.tenantId,
        of.userId,
        row.occurredAt,
        row.id,
        row.connectionId,
        row.providerId,
        row.type,
        row.category,
        row.updatedAt,
      ],
    )
    for (const symbol of row.symbols) {
      await db.execute('insert into transaction_assets values ($1, $2, $3, $4, $5)', [
        of.tenantId,
        of.userId,
        symbol,
        row.occurredAt,
        row.id,
      ])
    }
  }
}

const isWanted = <T>(wanted: readonly T[] | undefined, value: T): boolean =>
  wanted === undefined || wanted.includes(value)

/** The contract's words, over plain arrays. */
function expectedIds(rows: readonly Row[], filters: TransactionFilters): string[] {
  return rows
    .filter(
      (row) =>
        (filters.startTime === undefined || row.occurredAt >= filters.startTime) &&
        (filters.endTime === undefined || row.occurredAt < filters.endTime) &&
        (filters.updatedSince === undefined || row.updatedAt >= filters.updatedSince) &&
        isWanted(filters.types, row.type) &&
        isWanted(filters.categories, row.category) &&
        isWanted(filters.providerIds, row.providerId) &&
        isWanted(filters.connectionIds, row.connectionId) &&
        (filters.assetSymbols === undefined || row.symbols.some((symbol) => filters.assetSymbols?.includes(symbol))),
    )
    .toSorted((a, b) => (`${a.occurredAt} ${a.id}` < `${b.occurredAt} ${b.id}` ? 1 : -1))
    .map(({ id }) => id)
}

async function walk(db: Database, filters: TransactionFilters, limit: number): Promise<string[]> {
  const ids: string[] = []
  let after: { occurredAt: string; id: string } | undefined
  for (;;) {
    const page = await listTransactions(db, owner, { filters, limit, after })
    ids.push(...page.map(({ id }) => id))
    const last = page.at(-1)
    if (last === undefined || page.length < limit) return ids
    after = { occurredAt: last.occurred_at, id: last.id }
  }
}

describe('a walk over transactions', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const rows = rowsFor(160)
  await insert(db, rows)
  await insert(db, rowsFor(20), { tenantId: 'ten_a', userId: 'usr_b' })
  await insert(db, rowsFor(20), { tenantId: 'ten_b', userId: 'usr_a' })

  it('returns every row once, newest first, also where moments are equal, whatever the page size', async () => {
    for (const limit of [1, 2, 7, 30, 100, 160, 161]) {
      assert.deepEqual(await walk(db, {}, limit), expectedIds(rows, {}), `limit ${limit}`)
    }
  })

  const some = <T>(values: readonly T[]): fc.Arbitrary<T[] | undefined> =>
    fc.option(fc.subarray([...values], { minLength: 1 }), { nil: undefined, freq: 2 })
  const moment = fc.option(fc.integer({ min: 0, max: 20 }).map(timeOf), { nil: undefined, freq: 1 })
  const filtersIn: fc.Arbitrary<TransactionFilters> = fc.record({
    startTime: moment,
    endTime: moment,
    updatedSince: moment,
    types: some(transactionTypes),
    categories: some(categories),
    providerIds: some(providers),
    connectionIds: some([...connections, 'con_of_somebody_else']),
    assetSymbols: some([...symbols, 'XYZ']),
  })

  it('with any filters together returns what they say', async () => {
    const property = fc.asyncProperty(filtersIn, fc.integer({ min: 1, max: 40 }), async (filters, limit) => {
      assert.deepEqual(await walk(db, filters, limit), expectedIds(rows, filters))
    })
    await fc.assert(property, { numRuns: 60 })
  })

  for (const name of ['types', 'categories', 'providerIds', 'connectionIds', 'assetSymbols'] as const) {
    const values = {
      types: transactionTypes,
      categories,
      providerIds: providers,
      connectionIds: connections,
      assetSymbols: symbols,
    }
    it(`with ${name} alone returns what it says`, async () => {
      for (const value of values[name]) {
        const filters = { [name]: [value] }
        assert.deepEqual(await walk(db, filters, 9), expectedIds(rows, filters), value)
      }
    })
  }

  it('by two assets returns a trade of both once', async () => {
    const filters = { assetSymbols: ['BTC', 'ETH', 'USD', 'ltc', 'LTC'] }
    assert.ok(rows.some((row) => row.symbols.length === 2))
    assert.deepEqual(await walk(db, filters, 10), expectedIds(rows, {}))
  })

  it('tells symbols apart by case', async () => {
    const [small, large] = [
      await walk(db, { assetSymbols: ['ltc'] }, 50),
      await walk(db, { assetSymbols: ['LTC'] }, 50),
    ]
    assert.ok(small.length > 0 && large.length > 0)
    assert.notDeepEqual(small, large)
  })

  it('leaves out the rows of a connection that is still its session’s, on every path', async () => {
    await addConnection(db, { ...owner, connectionId: 'con_b' }, { sessionId: 'a session' })
    const settled = rows.filter((row) => row.connectionId !== 'con_b')
    assert.deepEqual(await walk(db, {}, 30), expectedIds(settled, {}))
    const filters = { assetSymbols: ['BTC', 'ETH'] }
    assert.deepEqual(await walk(db, filters, 30), expectedIds(settled, filters))
    const hidden = rows.find((row) => row.connectionId === 'con_b')
    assert.equal(await findTransaction(db, owner, hidden?.id ?? ''), undefined)
    await db.execute("delete from connections where id = 'con_b'")
  })

  it('is not disturbed by rows that arrive meanwhile', async () => {
    const before = expectedIds(rows, {})
    const [first, second] = [timeOf(100), timeOf(0)]
    const extra = rowsFor(2).map((row, index) => ({
      ...row,
      id: `txn_x${index}`,
      occurredAt: index === 0 ? first : second,
    }))
    const page = await listTransactions(db, owner, { filters: {}, limit: 50, after: undefined })
    await insert(db, extra)
    const last = page.at(-1)
    assert.ok(last)
    const rest = await listTransactions(db, owner, {
      filters: {},
      limit: 500,
      after: { occurredAt: last.occurred_at, id: last.id },
    })
    const seen = [...page, ...rest].map(({ id }) => id)
    assert.deepEqual(
      seen.filter((id) => !id.startsWith('txn_x')),
      before,
    )
    assert.equal(new Set(seen).size, seen.length)
    await db.execute("delete from transactions where id like 'txn_x%'")
    await db.execute("delete from transaction_assets where id like 'txn_x%'")
  })
})

describe('one transaction', () => {
  it('is found by its owner alone', async (t) => {
    const { db } = await testDatabase(t)
    const [row] = rowsFor(1)
    assert.ok(row)
    await insert(db, [row])
    assert.equal((await findTransaction(db, owner, row.id))?.document, '"x":1}')
    assert.equal(await findTransaction(db, { ...owner, userId: 'usr_b' }, row.id), undefined)
    assert.equal(await findTransaction(db, { ...owner, tenantId: 'ten_b' }, row.id), undefined)
  })

  it('that is gone is listed from the moment it went', async (t) => {
    const { db } = await testDatabase(t)
    const remove = 'insert into removed_transactions (tenant_id, user_id, id, removed_at) values ($1, $2, $3, $4)'
    for (const [userId, id, second] of [
      ['usr_a', 'txn_2', 2],
      ['usr_a', 'txn_1', 1],
      ['usr_b', 'txn_3', 3],
    ] as const) {
      await db.execute(remove, ['ten_a', userId, id, timeOf(second)])
    }
    const ids = async (second: number): Promise<string[]> =>
      (await listRemoved(db, owner, timeOf(second))).map(({ id }) => id)
    assert.deepEqual([await ids(1), await ids(2), await ids(3)], [['txn_1', 'txn_2'], ['txn_2'], []])
  })
})

describe('the page query', async () => {
  const { db } = await testDatabase(ownedBySuite())
  // Enough rows that a sequential scan would be a choice.
  await db.execute(`
    insert into transactions (tenant_id, user_id, occurred_at, id, connection_id, provider_id, group_key, type, category,
      updated_at, document)
    select 'ten_a', 'usr_' || (n % 20), timestamptz '2020-01-01Z' + n * interval '1 minute', 'txn_' || n, 'con_a',
      'kraken', n::text, 'receive', 'deposit', timestamptz '2026-01-01Z', '"x":1}'
    from generate_series(1, 20000) n;
    insert into transaction_assets select tenant_id, user_id, 'BTC', occurred_at, id from transactions;
    analyze transactions; analyze transaction_assets`)

  interface Plan {
    'Node Type': string
    'Index Name'?: string
    Plans?: Plan[]
  }
  const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

  /** The plan of what the store really sends. */
  async function explain(filters: TransactionFilters, after?: { occurredAt: string; id: string }): Promise<Plan[]> {
    let plan: Plan | undefined
    const explaining = {
      async rows<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
        const [answer] = await db.rows<{ 'QUERY PLAN': { Plan: Plan }[] }>(`explain (format json) ${text}`, values)
        plan = answer?.['QUERY PLAN'][0]?.Plan
        return []
      },
    }
    await listTransactions({ ...db, ...explaining }, { ...owner, userId: 'usr_7' }, { filters, limit: 31, after })
    assert.ok(plan)
    return nodesOf(plan)
  }

  const deep = { occurredAt: '2020-01-03T00:00:00.000Z', id: 'txn_2000' }
  for (const [title, after] of [
    ['the first page', undefined],
    ['a page in the depth', deep],
  ] as const) {
    it(`of ${title} is one range of transactions_page: no sort, no scan of the table`, async () => {
      const nodes = await explain({}, after)
      const types = nodes.map((node) => node['Node Type'])
      assert.ok(
        nodes.some((node) => node['Index Name'] === 'transactions_page'),
        types.join(),
      )
      assert.ok(!types.includes('Sort') && !types.includes('Incremental Sort'), types.join())
      const scans = nodes.filter((node) => node['Node Type'] === 'Seq Scan')
      assert.deepEqual(
        scans.map((node) => JSON.stringify(node)).filter((node) => node.includes('"transactions"')),
        [],
      )
    })
  }

  it('of one period has the period in the range', async () => {
    const filters = { startTime: '2020-01-02T00:00:00.000Z', endTime: '2020-01-05T00:00:00.000Z' }
    const nodes = await explain(filters)
    assert.ok(
      nodes.some(
        (node) =>
          node['Index Name'] === 'transactions_page' && /occurred_at >=.*occurred_at </.test(JSON.stringify(node)),
      ),
    )
  })

  it('by asset reads the narrow table by its key', async () => {
    const nodes = await explain({ assetSymbols: ['BTC'] }, deep)
    const names = nodes.map((node) => node['Index Name'])
    assert.ok(names.includes('transaction_assets_pkey'), names.join())
    assert.ok(!nodes.some((node) => node['Node Type'] === 'Seq Scan' && JSON.stringify(node).includes('transaction')))
  })
})
