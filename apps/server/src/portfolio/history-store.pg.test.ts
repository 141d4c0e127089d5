import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import { countScanned, recordStatements } from '../db/test-statements.ts'
import { listValues, type ValueRequest } from './history-store.ts'
import { addConnection, addUser, toId, type TestConnection, type TestUser } from './test-portfolio.ts'

const [first, second, third] = ['2026-01-01', '2026-01-02', '2026-01-03'] as const
/** The price of each asset at the end of these days. */
const closes: Record<string, Record<string, string>> = {
  btc: { [first]: '10', [second]: '20', [third]: '30' },
  eth: { [third]: '0.000000000000000001' },
}

interface World {
  db: Database
  ann: TestUser
  /** `[day, value, method, incomplete]` */
  list(request?: Partial<ValueRequest>): Promise<[string, string, string, string][]>
  hold(assetId: string, amount: string, connectionKey?: number): Promise<void>
  change(day: string, assetId: string, amount: string, connectionKey?: number): Promise<void>
  observe(day: string, value: string, unpriced?: number, connectionKey?: number): Promise<void>
  connect(connection: Partial<TestConnection> & { key: number }): Promise<void>
}

/** One connection, whose balances were read at noon on the day after the third. */
async function open(t: TestContext): Promise<World> {
  const { db } = await testDatabase(t)
  const ann = await addUser(db, 'a')
  await db.execute(
    `insert into assets (id, kind, symbol, name) select a, 'crypto', a, a from unnest('{btc,eth,fiat:usd}'::text[]) a`,
    [],
  )
  for (const [assetId, prices] of Object.entries(closes)) {
    for (const [day, price] of Object.entries(prices)) {
      // The price of a day is its first one.
      await db.execute(
        `insert into daily_prices (asset_id, day, price_in_usd, source, method, known_at)
         values ($1, $2::date + 1, $3, 'a test', 'market_chart', $4)`,
        [assetId, day, price, db.now()],
      )
    }
  }
  const connect: World['connect'] = async (connection) =>
    void (await addConnection(db, ann, {
      id: `con_${connection.key}`,
      balancesAt: '2026-01-04T12:00:00.000Z',
      ...connection,
    }))
  await connect({ key: 1 })
  return {
    db,
    ann,
    connect,
    async list(request = {}) {
      const rows = await listValues(db, ann, {
        ...{ firstDay: first, lastDay: third, today: '2026-01-04', derivedFrom: '2009-01-01' },
        ...request,
      })
      return rows.map((row) => [
        row.day,
        row.value_in_usd,
        row.observed ? 'observed' : 'derived',
        [row.negative && 'coverage', row.unpriced && 'price'].filter(Boolean).join(' '),
      ])
    },
    async hold(assetId, amount, connectionKey = 1) {
      await db.execute(
        `insert into holdings (user_key, connection_key, asset_key, liquid, staked, changed_at)
         select $1, $2, asset_key, $4, 0, $5 from assets where id = $3`,
        [ann.userKey, connectionKey, assetId, amount, db.now()],
      )
    },
    async change(day, assetId, amount, connectionKey = 1) {
      await db.execute(
        `insert into daily_changes (user_key, connection_key, asset_key, day, amount)
         select $1, $2, asset_key, $4, $5 from assets where id = $3`,
        [ann.userKey, connectionKey, assetId, day, amount],
      )
    },
    async observe(day, value, unpriced = 0, connectionKey = 1) {
      await db.execute('insert into observed_values values ($1, $2, $3, $4, $5)', [
        ...[ann.userKey, connectionKey, day, value, unpriced],
      ])
    },
  }
}

describe('values day by day', () => {
  it('are the current balances at each day’s closing price while nothing moved', async (t) => {
    const { list, hold } = await open(t)
    await hold('btc', '2')
    assert.deepEqual(await list(), [
      [first, '20', 'derived', ''],
      [second, '40', 'derived', ''],
      [third, '60', 'derived', ''],
    ])
  })

  it('have nothing of an account before its first record, also where its history does not add up', async (t) => {
    const { db, list, hold, change, connect } = await open(t)
    await hold('btc', '1')
    await connect({ key: 2 })
    // One coin was there on the first day with a record, and another is missing from the history.
    await hold('btc', '2', 2)
    await change(third, 'btc', '3', 2)
    for (const begun of ['history_from', 'balances_since']) {
      await db.execute('update connections set history_from = null, balances_since = null where connection_key = 2')
      await db.execute(`update connections set ${begun} = $1 where connection_key = 2`, [`${second}T09:00:00.000Z`])
      assert.deepEqual(await list(), [
        [first, '10', 'derived', ''],
        [second, '0', 'derived', ''],
        [third, '90', 'derived', ''],
      ])
      assert.deepEqual(await list({ lastDay: first }), [[first, '10', 'derived', '']])
    }
  })

  it('use the current price for today, and one dollar for a dollar on every day', async (t) => {
    const { db, list, hold } = await open(t)
    await hold('btc', '2')
    await hold('fiat:usd', '0.5')
    await db.execute(`insert into current_prices values ('btc', 31.25, 'a test', 'simple_price', $1)`, [db.now()])
    assert.deepEqual(await list({ firstDay: third, lastDay: '2026-01-04' }), [
      [third, '60.5', 'derived', ''],
      ['2026-01-04', '63', 'derived', ''],
    ])
  })

  it('undo what each day changed for the day before it', async (t) => {
    const { list, hold, change } = await open(t)
    await hold('btc', '2')
    await change(third, 'btc', '-0.5')
    await change(second, 'btc', '2.5')
    assert.deepEqual(
      (await list()).map(([date, value]) => [date, value]),
      [
        [first, '0'],
        [second, '50'],
        [third, '60'],
      ],
    )
  })

  it('begin from what was held at the end of the last day, not now', async (t) => {
    const { list, hold, change } = await open(t)
    await hold('btc', '2')
    await change('2026-01-04', 'btc', '1.5')
    await change('2026-01-05', 'eth', '-1')
    assert.deepEqual(await list({ firstDay: third }), [[third, '15.000000000000000001', 'derived', '']])
  })

  it('say when a held asset has no price that day, instead of valuing it at zero', async (t) => {
    const { list, hold } = await open(t)
    await hold('btc', '1')
    await hold('eth', '1')
    assert.deepEqual(await list(), [
      [first, '10', 'derived', 'price'],
      [second, '20', 'derived', 'price'],
      [third, '30.000000000000000001', 'derived', ''],
    ])
  })

  it('say on which days an asset was held that never has a price', async (t) => {
    const { db, list, hold, change } = await open(t)
    await db.execute(`insert into assets (id, kind, symbol, name) values ('junk', 'crypto', 'junk', 'junk')`, [])
    await hold('btc', '1')
    await change(second, 'junk', '5')
    await change(third, 'junk', '-5')
    const held = [
      [first, '10', 'derived', ''],
      [second, '20', 'derived', 'price'],
      [third, '30', 'derived', ''],
    ]
    assert.deepEqual(await list(), held)
    assert.deepEqual(await list({ lastDay: second }), held.slice(0, 2))
    assert.deepEqual(await list({ derivedFrom: second }), held.slice(1))
    await change('2026-01-04', 'junk', '-7')
    assert.deepEqual(
      (await list()).map(([, , , incomplete]) => incomplete),
      ['price', 'price', 'price'],
    )
  })

  it('say when the transactions do not explain the balances', async (t) => {
    const { list, hold, change } = await open(t)
    await hold('btc', '2')
    await change(third, 'btc', '3')
    assert.equal((await list())[1]?.[3], 'coverage')
  })

  it('are not called unexplained for a negative amount of an asset without a price, which anyone can cause', async (t) => {
    const { list, hold, change } = await open(t)
    await hold('btc', '2')
    // The token's contract reported a transfer, and reports a balance of zero. It has a price on the third day only.
    await change(third, 'eth', '1000')
    await change('2026-01-04', 'eth', '1000')
    assert.deepEqual(await list(), [
      [first, '20', 'derived', 'price'],
      [second, '40', 'derived', 'price'],
      [third, '59.999999999999999', 'derived', 'coverage'],
    ])
  })

  it('are the observed ones where a day was observed, without affecting the days before', async (t) => {
    const { list, hold, observe } = await open(t)
    await hold('btc', '2')
    await observe(second, '41.5', 1)
    assert.deepEqual(await list(), [
      [first, '20', 'derived', ''],
      [second, '41.5', 'observed', 'price'],
      [third, '60', 'derived', ''],
    ])
  })

  it('are observed only where every connection that existed by then was observed', async (t) => {
    const { list, hold, observe, connect } = await open(t)
    await connect({ key: 2, addedAt: `${second}T12:00:00.000Z` })
    await connect({ key: 3, connectSessionId: 'provisional' })
    await hold('btc', '1')
    await hold('btc', '1', 2)
    await hold('btc', '100', 3)
    await observe(first, '1')
    await observe(second, '2')
    await observe(third, '3')
    await observe(third, '4', 0, 2)
    await observe(third, '100', 0, 3)
    assert.deepEqual(
      (await list()).map(([, value, method]) => [value, method]),
      [
        ['1', 'observed'],
        ['40', 'derived'],
        ['7', 'observed'],
      ],
    )
  })

  it('are derived where an account that was connected later had records already', async (t) => {
    const { db, list, hold, observe, connect } = await open(t)
    await connect({ key: 2, addedAt: `${third}T12:00:00.000Z` })
    await db.execute('update connections set history_from = $1 where connection_key = 2', [`${second}T09:00:00.000Z`])
    await hold('btc', '1')
    await hold('btc', '1', 2)
    await observe(first, '1')
    await observe(second, '2')
    await observe(third, '3')
    await observe(third, '4', 0, 2)
    const expected = [
      [first, '1', 'observed'],
      [second, '40', 'derived'],
      [third, '7', 'observed'],
    ]
    assert.deepEqual(
      (await list()).map((row) => row.slice(0, 3)),
      expected,
    )
    // While the new account is read for the first time, what was observed of the first one stays.
    assert.deepEqual(
      (await list({ derivedFrom: third })).map((row) => row.slice(0, 3)),
      [expected[0], [second, '2', 'observed'], expected[2]],
    )
  })

  it('end where the history has a hole; observed days before it stay', async (t) => {
    const { list, hold, observe } = await open(t)
    await hold('btc', '2')
    await observe(first, '7')
    assert.deepEqual(
      (await list({ derivedFrom: third })).map(([date]) => date),
      [first, third],
    )
  })

  it('ignore the movements of a provisional or removed connection', async (t) => {
    const { db, list, hold, change, connect } = await open(t)
    await connect({ key: 2, connectSessionId: 'provisional' })
    await hold('btc', '2')
    await change(third, 'btc', '1', 2)
    assert.equal((await list())[0]?.[1], '20')
    await db.execute(`update connections set session_id = null, status = 'removed' where connection_key = 2`, [])
    assert.equal((await list())[0]?.[1], '20')
  })

  it('do not undo movements after the balances were read, on any day, and never include spam', async (t) => {
    const { db, ann, list, hold, change } = await open(t)
    await hold('btc', '2')
    await db.execute(`update connections set balances_at = '${third}T12:00:00.000Z'`, [])
    await change(third, 'btc', '7')
    await change('2026-01-04', 'btc', '9')
    const post = (time: string, amount: string, spam = false): Promise<number> =>
      db.execute(
        `insert into postings (user_key, occurred_at, transaction_id, asset_key, connection_key, ordinal, staked, side, spam, amount)
         select $1, $2, $3, asset_key, 1, 0, false, 'i', $5, $4 from assets where id = 'btc'`,
        [ann.userKey, time, toId(time + amount).slice(4), amount, spam],
      )
    // Of the 7, 1 came before the reading.
    await post(`${third}T11:00:00.000Z`, '1')
    await post(`${third}T12:00:00.001Z`, '6')
    await post('2026-01-04T01:00:00.000Z', '9')
    await post('2026-01-04T02:00:00.000Z', '1000', true)
    assert.deepEqual(
      (await list()).map(([, value]) => value),
      ['10', '20', '60'],
    )
  })
})

describe('a year of values', () => {
  it('over 50,000 transactions reads one row per day, not per transaction', async (t) => {
    const { db, ann } = await open(t)
    const assets = 10
    await db.execute(
      `insert into assets (id, kind, symbol, name) select 'a' || n, 'crypto', 'a' || n, 'a' from generate_series(1, ${assets}) n`,
      [],
    )
    await db.execute(
      `insert into postings (user_key, occurred_at, transaction_id, asset_key, connection_key, ordinal, staked, side, spam, amount)
       select $1, timestamptz '2025-01-01Z' + n * interval '10 minutes', md5(n::text)::uuid, a.asset_key, 1, 0, false, 'i', false, n % 7 - 3
       from generate_series(1, 50000) n join assets a on a.id = 'a' || (1 + n % ${assets})`,
      [ann.userKey],
    )
    await db.execute(
      `insert into daily_changes select user_key, connection_key, asset_key, (occurred_at at time zone 'UTC')::date, sum(amount)
       from postings group by 1, 2, 3, 4`,
      [],
    )
    await db.execute(
      `insert into daily_prices (asset_id, day, price_in_usd, source, method, known_at)
       select a.id, d, 1.23456789, 'a test', 'market_chart', $1
       from assets a, generate_series(timestamp '2024-01-01', timestamp '2026-02-01', interval '1 day') d where a.id like 'a%'`,
      [db.now()],
    )
    await db.execute('analyze')
    const request = { firstDay: '2025-01-04', lastDay: '2026-01-04', today: '2026-01-04', derivedFrom: '2009-01-01' }
    const began = performance.now()
    const rows = await listValues(db, ann, request)
    const ms = performance.now() - began
    assert.equal(rows.length, 366)
    t.diagnostic(`${Math.round(ms)} ms`)

    const { sql, plans } = explain(db)
    await listValues(sql, ann, request)
    const scanned = plans.filter((line) => /Scan .*on (postings|transactions)\b/.test(line))
    assert.ok(scanned.map(toRows).reduce((sum, rows) => sum + rows, 0) < 1_000, scanned.join('\n'))
  })

  it('of thousands of tokens without a price takes a few rows of each, not one for each day', async (t) => {
    const { db, ann } = await open(t)
    const tokens = 2_000
    await db.execute(
      `insert into assets (id, kind, symbol, name) select 't' || n, 'crypto', 't' || n, 't' from generate_series(1, ${tokens}) n`,
      [],
    )
    await db.execute(
      `insert into holdings (user_key, connection_key, asset_key, liquid, staked, changed_at)
       select $1, 1, asset_key, 1, 0, $2 from assets where id like 't%'`,
      [ann.userKey, db.now()],
    )
    await db.execute(
      `insert into daily_changes (user_key, connection_key, asset_key, day, amount)
       select $1, 1, asset_key, date '2025-01-10' + asset_key % 300, 1 from assets where id like 't%'`,
      [ann.userKey],
    )
    await db.execute('analyze')
    const { sql, plans } = explain(db)
    const request = { firstDay: '2025-01-04', lastDay: '2026-01-04', today: '2026-01-04', derivedFrom: '2009-01-01' }
    const unpriced = (await listValues(db, ann, request)).filter((row) => row.unpriced)
    assert.deepEqual([unpriced[0]?.day, unpriced.length], ['2025-01-10', 360])
    await listValues(sql, ann, request)
    assert.ok(Math.max(...plans.map(toRows)) <= 366 * 366, plans.join('\n'))
  })

  it('of many wallets take the rows of each wallet once, where most users have a few', async (t) => {
    const { db, ann, connect } = await open(t)
    const [wallets, tokens] = [30, 100]
    await db.execute(
      `insert into assets (id, kind, symbol, name) select 't' || n, 'crypto', 't' || n, 't' from generate_series(1, ${tokens}) n`,
      [],
    )
    const fill = async (userKey: string, tokensHeld: number): Promise<void> => {
      for (const table of ['holdings (liquid, staked, changed_at,', 'daily_changes (amount, day,']) {
        const values = table.startsWith('holdings') ? `1, 0, $2::timestamptz` : `1, $2::timestamptz::date`
        await db.execute(
          `insert into ${table} user_key, connection_key, asset_key)
           select ${values}, c.user_key, c.connection_key, a.asset_key from connections c, assets a
           where c.user_key = $1 and a.id in (select 't' || n from generate_series(1, $3) n)`,
          [userKey, '2026-01-04T11:00:00.000Z', tokensHeld],
        )
      }
    }
    for (let user = 0; user < 40; user += 1) {
      const other = await addUser(db, `other${user}`)
      await addConnection(db, other, { key: 1, id: `con_other${user}`, balancesAt: '2026-01-04T12:00:00.000Z' })
      await fill(other.userKey, 3)
    }
    await db.execute('analyze')
    for (let key = 2; key <= wallets; key += 1) await connect({ key })
    await fill(ann.userKey, tokens)
    await db.execute('update connections set history_from = $2 where user_key = $1', [ann.userKey, first])
    const request = { firstDay: '2025-01-04', lastDay: '2026-01-04', today: '2026-01-04', derivedFrom: '2009-01-01' }
    const [sent] = await recordStatements(async () => void (await listValues(db, ann, request)))
    assert.ok(sent !== undefined)
    const scanned = await countScanned(db, sent)
    assert.ok(scanned < 20 * wallets * tokens, `${scanned} rows`)
  })
})

function explain(db: Database): { sql: Database; plans: string[] } {
  const plans: string[] = []
  const sql: Database = {
    ...db,
    async rows<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      const told = await db.rows<{ 'QUERY PLAN': string }>(`explain (analyze, costs off, timing off) ${text}`, values)
      plans.push(...told.map((line) => line['QUERY PLAN']))
      return []
    },
  }
  return { sql, plans }
}

/** How many rows a line of a plan gave. */
function toRows(line: string): number {
  return Number(/rows=([\d.]+)/.exec(line)?.[1] ?? 0) * Number(/loops=(\d+)/.exec(line)?.[1] ?? 0)
}
