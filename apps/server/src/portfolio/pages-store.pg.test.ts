import { categories, transactionTypes } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { InTurn } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import { endOf } from './changes-store.ts'
import { firstSeqAt, formOf, type TransactionPoint, type TransactionFilters } from './pages-query-store.ts'
import { finishPage, listTransactions, readRemoved, readTransaction, readTransactions } from './pages-store.ts'
import { listFurther } from './page-steps-store.ts'
import { addConnection, addRows, addUser, seqAt, toId, type TestRow, type TestUser } from './test-portfolio.ts'

interface Row extends TestRow {
  connectionId: string
  providerId: string
  updatedAt: string
  type: string
  category: string
  symbols: string[]
}

const symbols = ['BTC', 'ETH', 'USD', 'ltc', 'LTC']
const providers = ['kraken', 'another', 'kraken']
const connections = ['con_a', 'con_b', 'con_c']
/** When each connection was shown: the second one in the middle of the changes. */
const shown = [0, 20, 0]
const timeOf = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString()

/** Many rows share a few times, so that most times are equal. Some rows are pending and so have no postings. */
function rowsFor(count: number, name = ''): Row[] {
  const pick = <T>(from: readonly T[], index: number): T => from[index % from.length] as T
  return Array.from({ length: count }, (_, index) => {
    const connection = (index * 5 + (index >> 3)) % 3
    return {
      id: toId(`${name}${index}`),
      connectionKey: connection + 1,
      connectionId: pick(connections, connection),
      providerId: pick(providers, connection),
      occurredAt: timeOf((index * 31) % 17),
      updatedAt: timeOf((index * 13) % 40),
      changeSeq: seqAt(timeOf((index * 13) % 40), index),
      type: pick(transactionTypes, index * 3),
      category: pick(categories, index * 11),
      symbols: [...new Set([pick(symbols, index), pick(symbols, index * index)])],
      isPending: index % 7 === 3,
    }
  })
}

async function addHistory(db: Database, name: string, rows: readonly Row[]): Promise<TestUser> {
  const user = await addUser(db, name)
  for (const [index, id] of connections.entries()) {
    const second = shown[index] ?? 0
    await addConnection(db, user, {
      key: index + 1,
      id: `${id}_${name}`,
      providerId: providers[index] ?? '',
      shownAt: timeOf(second),
      shownSeq: seqAt(timeOf(second), 900_000),
    })
  }
  await addRows(db, user, rows)
  return user
}

const isWanted = <T>(wanted: readonly T[] | undefined, value: T): boolean =>
  wanted === undefined || wanted.includes(value)

/** The later of the row's own change and the moment its connection was shown. */
const updatedAtOf = (row: Row): string => {
  const shownAt = timeOf(shown[row.connectionKey - 1] ?? 0)
  return row.updatedAt > shownAt ? row.updatedAt : shownAt
}

/** The contract's rules, applied to plain arrays. */
function expectedIds(rows: readonly Row[], filters: TransactionFilters): string[] {
  return rows
    .filter(
      (row) =>
        (filters.startTime === undefined || row.occurredAt >= filters.startTime) &&
        (filters.endTime === undefined || row.occurredAt < filters.endTime) &&
        (filters.updatedSince === undefined || updatedAtOf(row) >= filters.updatedSince) &&
        isWanted(filters.types, row.type) &&
        isWanted(filters.categories, row.category) &&
        isWanted(filters.providerIds, row.providerId) &&
        isWanted(filters.connectionIds, `${row.connectionId}_a`) &&
        (filters.assetSymbols === undefined || row.symbols.some((symbol) => filters.assetSymbols?.includes(symbol))),
    )
    .toSorted((a, b) => (`${a.occurredAt} ${a.id}` < `${b.occurredAt} ${b.id}` ? 1 : -1))
    .map(({ id }) => id)
}

/** For one caller alone. */
const atOnce: InTurn = (work) => work()

const idsIn = (items: string): string[] => (JSON.parse(`[${items}]`) as { id: string }[]).map(({ id }) => id)

describe('a walk over transactions', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const rows = rowsFor(160)
  const ann = await addHistory(db, 'a', rows)
  await addHistory(db, 'b', rowsFor(20))

  async function readPage(filters: TransactionFilters, limit: number, after: TransactionPoint | undefined) {
    const reading = await readTransactions(db, ann.access, { shape: 'v2', filters, limit, after })
    assert.ok(reading !== undefined)
    return finishPage(reading.result, atOnce)
  }

  async function walk(filters: TransactionFilters, limit: number): Promise<string[]> {
    const ids: string[] = []
    for (let after: TransactionPoint | undefined; ;) {
      const { items, end } = await readPage(filters, limit, after)
      const found = idsIn(items)
      assert.ok(end === undefined ? found.length <= limit : found.length === limit, 'every page but the last is full')
      ids.push(...found)
      if (end === undefined) return ids
      after = end
    }
  }

  /** Walks the rows like an export does. */
  async function walkRows(filters: TransactionFilters, limit: number): Promise<string[]> {
    const ids: string[] = []
    for (let after: TransactionPoint | undefined; ;) {
      const page = await listTransactions(db, ann, { filters, limit, after }, atOnce)
      ids.push(...page.flatMap(({ item }) => idsIn(item)))
      const last = page.at(-1)
      if (last === undefined || page.length < limit) return ids
      after = { occurredAt: last.occurred_at, id: last.id }
    }
  }

  it('returns every row once, newest first, even where times are equal, for every page size', async () => {
    for (const limit of [1, 2, 7, 30, 100, 160, 161]) {
      assert.deepEqual(await walk({}, limit), expectedIds(rows, {}), `limit ${limit}`)
      assert.deepEqual(await walkRows({}, limit), expectedIds(rows, {}), `limit ${limit}`)
    }
  })

  /** Walks in steps of a few rows, as over a long history. */
  async function walkSteps(filters: TransactionFilters, limit: number): Promise<string[]> {
    const sizes = { rareMax: 0, stepMax: 3 }
    const ids: string[] = []
    for (let after: TransactionPoint | undefined; ;) {
      const page = await listFurther(db, ann, { shape: 'v2', filters, limit, after }, atOnce, sizes)
      ids.push(...page.flatMap(({ item }) => idsIn(item)))
      const last = page.at(-1)
      if (last === undefined || page.length < limit) return ids
      after = { occurredAt: last.occurred_at, id: last.id }
    }
  }

  const some = <T>(values: readonly T[]): fc.Arbitrary<T[] | undefined> =>
    fc.option(fc.subarray([...values], { minLength: 1 }), { nil: undefined, freq: 2 })
  const moment = fc.option(fc.integer({ min: 0, max: 45 }).map(timeOf), { nil: undefined, freq: 1 })
  const filtersIn: fc.Arbitrary<TransactionFilters> = fc.record({
    startTime: moment,
    endTime: moment,
    updatedSince: moment,
    types: some(transactionTypes),
    categories: some(categories),
    providerIds: some([...new Set(providers)]),
    connectionIds: some([...connections.map((id) => `${id}_a`), 'con_a_b']),
    assetSymbols: some([...symbols, 'XYZ']),
  })

  it('with any combination of filters returns the rows that match all of them', async () => {
    const property = fc.asyncProperty(filtersIn, fc.integer({ min: 1, max: 40 }), async (filters, limit) => {
      assert.deepEqual(await walk(filters, limit), expectedIds(rows, filters))
      assert.deepEqual(await walkRows(filters, limit), expectedIds(rows, filters))
      const { leads } = formOf({ filters, limit, after: undefined })
      if (leads.length > 0) assert.deepEqual(await walkSteps(filters, limit), expectedIds(rows, filters), 'in steps')
    })
    await fc.assert(property, { numRuns: 60 })
  })

  const alone: [keyof TransactionFilters, readonly string[]][] = [
    ['types', transactionTypes],
    ['categories', categories],
    ['providerIds', providers],
    ['connectionIds', connections.map((id) => `${id}_a`)],
    ['assetSymbols', symbols],
  ]
  for (const [name, values] of alone) {
    it(`with ${name} alone returns the rows that match it`, async () => {
      for (const value of values) {
        const filters = { [name]: [value] }
        assert.deepEqual(await walk(filters, 9), expectedIds(rows, filters), value)
      }
    })
  }

  it('by the time of a change returns the rows changed since then, and all rows of a connection shown since then', async () => {
    for (const second of [0, 10, 19, 20, 21, 39, 40]) {
      const filters = { updatedSince: timeOf(second) }
      assert.deepEqual(await walk(filters, 9), expectedIds(rows, filters), `second ${second}`)
    }
    const { items } = await readPage({}, 100, undefined)
    for (const { id, updated_at: at } of JSON.parse(`[${items}]`) as { id: string; updated_at: string }[]) {
      const row = rows.find((candidate) => candidate.id === id)
      assert.equal(at, row && updatedAtOf(row))
    }
  })

  it('by two assets returns a trade between them once', async () => {
    assert.ok(rows.some((row) => row.symbols.length === 2))
    assert.deepEqual(await walk({ assetSymbols: symbols }, 10), expectedIds(rows, {}))
  })

  it('distinguishes symbols by case', async () => {
    const [small, large] = [await walk({ assetSymbols: ['ltc'] }, 50), await walk({ assetSymbols: ['LTC'] }, 50)]
    assert.ok(small.length > 0 && large.length > 0)
    assert.notDeepEqual(small, large)
  })

  it('omits the rows of a provisional or removed connection, on every path', async () => {
    const visible = rows.filter((row) => row.connectionId !== 'con_b')
    const hidden = rows.find((row) => row.connectionId === 'con_b')?.id ?? ''
    for (const change of ["session_id = 'a session'", "session_id = null, status = 'removed'"]) {
      await db.execute(`update connections set ${change} where id = 'con_b_a'`, [])
      const cases: TransactionFilters[] = [
        {},
        { assetSymbols: ['BTC', 'ETH'] },
        { types: ['send'] },
        { updatedSince: timeOf(0) },
        { types: ['send', 'receive'], assetSymbols: ['BTC'], updatedSince: timeOf(3) },
      ]
      for (const filters of cases) assert.deepEqual(await walk(filters, 30), expectedIds(visible, filters))
      assert.equal((await readTransaction(db, ann.access, hidden))?.result.item, null)
    }
    await db.execute("update connections set status = 'active' where id = 'con_b_a'", [])
  })

  it('is not disturbed by rows that arrive during the walk', async () => {
    const before = expectedIds(rows, {})
    const extra = rowsFor(2, 'new').map((row, index) => ({ ...row, occurredAt: timeOf(index === 0 ? 100 : 0) }))
    const page = await readPage({}, 50, undefined)
    await addRows(db, ann, extra)
    const rest = await readPage({}, 200, page.end)
    const seen = [...idsIn(page.items), ...idsIn(rest.items)]
    const added = extra.map(({ id }) => id)
    assert.deepEqual(
      seen.filter((id) => !added.includes(id)),
      before,
    )
    assert.equal(new Set(seen).size, seen.length)
    await db.execute('delete from transactions where id = any($1)', [added.map((id) => id.slice(4))])
    await db.execute('delete from postings where transaction_id = any($1)', [added.map((id) => id.slice(4))])
  })

  it('takes one statement without filters, and at most three with any', async () => {
    let statements = 0
    const counting: Database = {
      ...db,
      rows: (...given) => ((statements += 1), db.rows(...given)),
      row: (...given) => ((statements += 1), db.row(...given)),
      maybeRow: (...given) => ((statements += 1), db.maybeRow(...given)),
    }
    const count = async (filters: TransactionFilters): Promise<number> => {
      statements = 0
      const request = { shape: 'v2', filters, limit: 30, after: undefined } as const
      const reading = await readTransactions(counting, ann.access, request)
      assert.ok(reading !== undefined)
      await finishPage(reading.result, atOnce)
      return statements
    }
    assert.equal(await count({}), 1)
    assert.equal(await count({ startTime: timeOf(3), endTime: timeOf(9) }), 1)
    assert.equal(await count({ assetSymbols: ['BTC'] }), 1)
    assert.equal(
      await count({ types: ['send', 'receive', 'input_only', 'output_only'] }),
      1,
      'the next rows are enough',
    )
    assert.equal(await count({ types: ['send'] }), 2)
    const all = { types: ['send'], assetSymbols: ['BTC'], updatedSince: timeOf(1), providerIds: ['another'] }
    assert.equal(await count(all), 3)
    statements = 0
    await readTransaction(counting, ann.access, toId('0'))
    assert.equal(statements, 1)
  })
})

describe('one transaction', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const [row] = rowsFor(1)
  assert.ok(row)
  const ann = await addHistory(db, 'a', [row])
  const bob = await addUser(db, 'b')

  it('is found only by its owner, with the head of the API version', async () => {
    const head = `{"id":"${row.id}","provider_id":"kraken","connection_id":"con_a_a","updated_at":"${row.updatedAt}",`
    const item = (await readTransaction(db, ann.access, row.id))?.result.item ?? ''
    assert.equal(item.slice(0, head.length), head)
    assert.equal((JSON.parse(item) as { type: string }).type, 'send')
    assert.equal((await readTransaction(db, bob.access, row.id))?.result.item, null)
    const page = { filters: {}, limit: 1, after: undefined }
    const v1 = await readTransactions(db, ann.access, { shape: 'v1', ...page })
    const headV1 = head.replace('provider_id', 'crypto_source_id')
    assert.equal(v1?.result.page.items.slice(0, headV1.length), headV1)
  })
})

describe('a token', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const ann = await addHistory(db, 'a', rowsFor(5))
  const request = { shape: 'v2', filters: {}, limit: 30, after: undefined } as const
  const read = () => readTransactions(db, ann.access, request)

  it('that is valid gives the caller and the issues of the connections', async () => {
    const reading = await read()
    const { userKey, userId, tenantKey, tenantId } = ann
    assert.deepEqual(
      { ...reading?.caller, expiresAt: '' },
      {
        ...{ tenantKey, tenantId, clientId: 'cli_a', userKey, userId, grantId: 'grt_usr_a' },
        scopes: new Set(['assets:read', 'transactions:read']),
        expiresAt: '',
      },
    )
    assert.deepEqual(reading?.issues, [])
    await db.execute("update connections set status = 'syncing' where id in ('con_a_a', 'con_c_a')", [])
    assert.deepEqual(
      (await read())?.issues.map(({ cause, connection_id: id }) => [cause, id]),
      [
        ['sync_in_progress', 'con_a_a'],
        ['sync_in_progress', 'con_c_a'],
      ],
    )
    await db.execute("update connections set status = 'active'", [])
  })

  it('without the scope gets no rows', async () => {
    await db.execute(`update access_tokens set scopes = '{assets:read}'`, [])
    const reading = await read()
    assert.deepEqual([...(reading?.caller.scopes ?? [])], ['assets:read'])
    assert.deepEqual(reading?.result.page, { items: '', end: undefined })
    assert.equal((await readTransaction(db, ann.access, toId('0')))?.result.item, null)
    await db.execute(`update access_tokens set scopes = '{transactions:read}'`, [])
  })

  it('gets nothing when it is unknown, expired, or belongs to a revoked family or a disabled client', async () => {
    const wrong = { ...ann.access, tokenHash: Buffer.alloc(32) }
    assert.equal(await readTransactions(db, wrong, request), undefined)
    const ends = [
      [
        'update access_tokens set expires_at = $1',
        "update access_tokens set expires_at = $1::timestamptz + interval '1 h'",
      ],
      [
        "update token_families set revoked_at = $1, revoked_for = 'request'",
        'update token_families set revoked_at = null, revoked_for = null where $1::timestamptz is not null',
      ],
      [
        'update clients set disabled_at = $1',
        'update clients set disabled_at = null where $1::timestamptz is not null',
      ],
    ] as const
    for (const [end, mend] of ends) {
      assert.notEqual(await read(), undefined)
      await db.execute(end, [db.now()])
      assert.equal(await read(), undefined, end)
      await db.execute(mend, [db.now()])
    }
  })
})

describe('removed transactions', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const ann = await addHistory(db, 'a', [])
  const bob = await addUser(db, 'b')
  const gone = Array.from({ length: 5 }, (_, index) => ({ id: toId(`gone ${index}`), second: index }))
  for (const { id, second } of gone) {
    await db.execute(
      `insert into removed_transactions (user_key, id, tenant_key, connection_key, change_seq, removed_at)
       values ($1, $2, $3, 1, $4, $5)`,
      [ann.userKey, id.slice(4), ann.tenantKey, seqAt(timeOf(second), second), timeOf(second)],
    )
  }
  // Rows of a connection that is removed but not destroyed yet.
  const hidden = rowsFor(3, 'hidden').map((row, index) => ({
    ...row,
    connectionKey: 9,
    changeSeq: seqAt(timeOf(1), 50 - index),
  }))
  await addConnection(db, ann, { key: 9, id: 'con_gone', status: 'removed' })
  await db.execute("update connections set hidden_seq = $1 where id = 'con_gone'", [seqAt(timeOf(3), 7)])
  await addRows(db, ann, hidden)
  const hiddenIds = hidden.map(({ id }) => id).toReversed()

  async function walk(user: TestUser, second: number, limit: number): Promise<{ id: string; removed_at: string }[]> {
    const all: { id: string; removed_at: string }[] = []
    for (let after = { seq: firstSeqAt(timeOf(second)), sub: '-1' }; ;) {
      const reading = await readRemoved(db, user.access, { after, limit })
      const { items, end } = reading?.result.removed ?? { items: '', end: undefined }
      all.push(...(JSON.parse(`[${items}]`) as typeof all))
      if (end === undefined) return all
      after = end
    }
  }

  it('are listed from the moment of their removal, page by page, those of a removed connection together', async () => {
    const at = (index: number): string => gone[index]?.id ?? ''
    const cases: [number, string[]][] = [
      [0, [at(0), at(1), at(2), at(3), ...hiddenIds, at(4)]],
      [2, [at(2), at(3), ...hiddenIds, at(4)]],
      [4, [at(4)]],
      [5, []],
    ]
    for (const limit of [1, 2, 3, 100]) {
      for (const [second, ids] of cases) {
        const found = await walk(ann, second, limit)
        assert.deepEqual(
          found.map(({ id }) => id),
          ids,
          `limit ${limit}, second ${second}`,
        )
        for (const { id, removed_at: removedAt } of found) {
          const second = gone.find((one) => one.id === id)?.second ?? 3
          assert.equal(removedAt, timeOf(second))
        }
      }
    }
    assert.deepEqual(await walk(bob, 0, 100), [])
  })

  it('keep their places when the rows of the connection are destroyed', async () => {
    const whole = await walk(ann, 0, 100)
    const [first] = hidden
    assert.ok(first)
    await db.execute(
      `with gone as (delete from transactions where id = $1 returning *)
       insert into removed_transactions (user_key, id, tenant_key, connection_key, change_seq, former_seq, removed_at)
       select user_key, id, tenant_key, connection_key, $2, change_seq, $3 from gone`,
      [first.id.slice(4), seqAt(timeOf(3), 7), timeOf(30)],
    )
    assert.deepEqual(await walk(ann, 0, 2), whole)
  })

  it('come with the first pages of changes, up to the limit', async () => {
    const removed = { after: { seq: firstSeqAt(timeOf(0)), sub: '-1' } }
    const filters = { updatedSince: timeOf(0) }
    const reading = await readTransactions(db, ann.access, {
      shape: 'v2',
      filters,
      limit: 2,
      after: undefined,
      removed,
    })
    assert.deepEqual(idsIn(reading?.result.removed?.items ?? ''), [gone[0]?.id, gone[1]?.id])
    assert.deepEqual(reading?.result.removed?.end, { seq: seqAt(timeOf(1), 1), sub: '0' })
    const last = endOf(seqAt(timeOf(9)))
    const rest = await readTransactions(db, ann.access, {
      ...{ shape: 'v2', filters, limit: 2, after: undefined },
      removed: { after: last },
    })
    assert.deepEqual(rest?.result.removed, { items: '', end: undefined })
  })
})
