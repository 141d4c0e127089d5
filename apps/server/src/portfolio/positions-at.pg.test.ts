/**
 * What was held at a given time: observed by a reading then, or derived from a reading and the movements in between.
 */
import { add, dayMs, type Decimal, isZero, multiply, negate, parseDecimal, zero } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { markInstallation } from '../db/index.ts'
import { recordStatements, countScanned } from '../db/test-statements.ts'
import { ledgerRow, openLedger } from '../ledger/test-ledger.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { ConnectionRef } from '../owner.ts'
import { createPortfolio, finishPositions, type PositionPoint, type UncheckedToken } from './index.ts'
import { addAssets, addConnection, addUser } from './test-portfolio.ts'

const bitcoin = { assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Bitcoin', code: 'XXBT' }
const ether = { assetId: 'crypto:ethereum', symbol: 'ETH', name: 'Ethereum', code: 'XETH' }
const coins = [bitcoin, ether]

interface Row {
  asset_symbol: string
  method: string
  grade: string
  price_in_usd: number | null
  value_in_usd: string | null
  exact: { asset_holdings: string; staked_holdings: string; total_holdings: string }
}

const step = fc.record({
  kind: fc.constantFrom('move', 'move', 'read'),
  coin: fc.nat(1),
  out: fc.boolean(),
  /** The steps take seconds to days, so that several fall on one day and some days have none. */
  passesMs: fc.constantFrom(1, 60_000, 3 * 3_600_000, 2 * dayMs),
})

describe('positions at a moment', async () => {
  const { db, ledger, keepAt, derive } = await openLedger(ownedBySuite(), { price: parseDecimal('3') })
  await markInstallation(db, 'sandbox')
  const portfolio = createPortfolio({ db })
  let users = 0

  async function newPerson(): Promise<{ access: UncheckedToken; ref: ConnectionRef }> {
    users += 1
    const ann = await addUser(db, `ann${users}`)
    return { access: ann.access, ref: await addConnection(db, ann, { key: 1, id: `con_${users}` }) }
  }

  async function listAt(access: UncheckedToken, atMs: number): Promise<Row[]> {
    const asOf = new Date(atMs).toISOString()
    const reading = await portfolio.readPositionsAt(access, { limit: 100, after: undefined, asOf })
    return JSON.parse(`[${reading?.result.page.items ?? ''}]`) as Row[]
  }
  const toHeld = (rows: readonly Row[]): Record<string, string> =>
    Object.fromEntries(rows.map(({ asset_symbol, exact }) => [asset_symbol, exact.asset_holdings]))

  it('equal a book of all movements, between any steps of any sequence', async () => {
    const methods = new Set<string>()
    const story = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const { access, ref } = await newPerson()
      const held = new Map<string, Decimal>(coins.map(({ symbol }) => [symbol, zero]))
      const book: { atMs: number; held: Record<string, string> }[] = []
      // Powers of two, so that a balance never returns to an earlier value, which two readings would take for no
      // change.
      let amount = parseDecimal('0.01')
      const read = (): Promise<unknown> =>
        ledger.keepHoldings(
          ref,
          'kraken',
          coins.map((coin) => ({ ...coin, liquid: held.get(coin.symbol) ?? zero, staked: zero })),
        )
      for (const [number, { kind, coin, out, passesMs }] of steps.entries()) {
        await db.clock.advance(passesMs + 1)
        const { symbol, code } = coins[coin] ?? bitcoin
        if (kind === 'read') await read()
        else {
          amount = multiply(amount, parseDecimal('2'))
          const signed = out ? negate(amount) : amount
          held.set(symbol, add(held.get(symbol) ?? zero, signed))
          const type = out ? 'withdrawal' : 'deposit'
          await keepAt(
            ref,
            'ledger',
            ledgerRow(`L${number}`, `R${number}`, { type, amount: signed, asset: code }, db.clock.now()),
          )
          await derive(ref)
        }
        const shown = [...held].filter(([, value]) => !isZero(value))
        book.push({ atMs: db.clock.now(), held: Object.fromEntries(shown) })
      }
      await db.clock.advance(1_000)
      await read()
      for (const { atMs, held: expected } of book) {
        const rows = await listAt(access, atMs)
        assert.deepEqual(toHeld(rows), expected, new Date(atMs).toISOString())
        for (const { method } of rows) methods.add(method)
      }
    })
    await fc.assert(story, { numRuns: 15, endOnFailure: true })
    assert.deepEqual([...methods].toSorted(), ['derived', 'observed'])
  })

  it('have what came and left on one day, even if both were read at once', async () => {
    const { access, ref } = await newPerson()
    const firstMs = db.clock.now()
    await db.clock.advance(60_000)
    await keepAt(
      ref,
      'ledger',
      ledgerRow('L1', 'R1', { type: 'deposit', amount: '1' }, firstMs),
      ledgerRow('L2', 'R2', { type: 'withdrawal', amount: '-1' }, firstMs + 20_000),
    )
    await derive(ref)
    await ledger.keepHoldings(ref, 'kraken', [])
    assert.deepEqual(
      await Promise.all(
        [firstMs - 1, firstMs + 10_000, firstMs + 30_000].map(async (at) => toHeld(await listAt(access, at))),
      ),
      [{}, { BTC: '1' }, {}],
    )
  })

  it('are empty before the first record, and have the price of their own time', async () => {
    const { access, ref } = await newPerson()
    const firstMs = db.clock.now()
    await keepAt(ref, 'ledger', ledgerRow('L1', 'R1', { amount: '2' }, firstMs))
    await derive(ref)
    // More than the history explains: the holdings before the first record are unknown.
    await ledger.keepHoldings(ref, 'kraken', [{ ...bitcoin, liquid: parseDecimal('5'), staked: zero }])
    assert.deepEqual(await listAt(access, firstMs - 1), [])
    await db.clock.advance(dayMs)
    const day = new Date(firstMs).toISOString().slice(0, 10)
    await db.execute(
      `insert into daily_prices (asset_id, day, price_in_usd, source, method, known_at)
       select $1, $2::date + n, 10 + n, 'test', 'market_chart', $3 from unnest(array[0, 1]) n
       on conflict (asset_id, day) do update set price_in_usd = excluded.price_in_usd`,
      [bitcoin.assetId, day, db.now()],
    )
    const [row] = await listAt(access, firstMs)
    const price = firstMs % dayMs < dayMs / 2 ? 10 : 11
    assert.deepEqual([row?.price_in_usd, row?.value_in_usd, row?.grade], [price, String(5 * price), 'unprovable'])
  })

  it('are proved only since everything adds up', async () => {
    const { access, ref } = await newPerson()
    const nowMs = db.clock.now()
    await keepAt(ref, 'ledger', ledgerRow('L1', 'R1', { amount: '2' }, nowMs - 5 * dayMs))
    await derive(ref)
    await ledger.keepHoldings(ref, 'kraken', [{ ...bitcoin, liquid: parseDecimal('2'), staked: zero }])
    await db.execute(
      `insert into proofs (user_key, connection_key, asset_key, grade, spam, uninvited, opening, posted, observed,
         difference, causes, changed_at)
       select $1, $2, asset_key, 'proved', false, false, 0, 2, 2, 0, '[]', $3 from assets where id = $4`,
      [ref.userKey, ref.connectionKey, db.now(), bitcoin.assetId],
    )
    const listGrades = async (since: 'history_from' | 'balances_since' | 'null', grade: string): Promise<string[]> => {
      await db.execute(`update connections set proved_since = ${since} where user_key = $1`, [ref.userKey])
      await db.execute('update proofs set grade = $2 where user_key = $1', [ref.userKey, grade])
      const moments = [nowMs - 2 * dayMs, db.clock.now()]
      return (await Promise.all(moments.map((at) => listAt(access, at)))).map(([row]) => row?.grade ?? 'none')
    }
    assert.deepEqual(await listGrades('history_from', 'proved'), ['proved', 'proved'])
    // The provider no longer had the beginning, so the first reading is where the sums begin.
    assert.deepEqual(await listGrades('balances_since', 'explained'), ['unprovable', 'explained'])
    // Something else of the account does not add up.
    assert.deepEqual(await listGrades('null', 'proved'), ['unprovable', 'proved'])
    assert.deepEqual(await listGrades('null', 'open'), ['open', 'open'])
  })

  it('leave out a derived amount below zero of a token that a stranger sent, and no other', async () => {
    const { access, ref } = await newPerson()
    const readMs = db.clock.now()
    await keepAt(ref, 'ledger', ledgerRow('L1', 'R1', { amount: '2' }, readMs - 5 * dayMs))
    await derive(ref)
    await ledger.keepHoldings(ref, 'kraken', [{ ...bitcoin, liquid: parseDecimal('2'), staked: zero }])
    // Their contracts reported 1000 received three days ago and then one sent, and report a balance of zero.
    await db.execute(
      `with tokens as (
         insert into assets (id, kind, symbol, name) select 'evm:1:' || n, 'crypto', n, n
         from unnest('{GIFT,BOUGHT}'::text[]) n returning asset_key, symbol
       ), judged as (
         insert into proofs (user_key, connection_key, asset_key, grade, spam, uninvited, opening, posted, observed,
           difference, causes, changed_at)
         select $1, $2, asset_key, 'open', false, symbol = 'GIFT', 0, 999, 0, -999, '[]', $3::timestamptz from tokens
       ), moved as (
         insert into postings
           (user_key, connection_key, transaction_id, asset_key, occurred_at, ordinal, staked, side, spam, amount)
         select $1, $2, gen_random_uuid(), asset_key, $3::timestamptz - make_interval(days => days), 0, false, 'i', false,
           amount
         from tokens, (values (3, 1000), (1, -1)) moves (days, amount) returning asset_key, occurred_at, amount)
       insert into daily_changes (user_key, connection_key, asset_key, day, amount)
       select $1, $2, asset_key, (occurred_at at time zone 'UTC')::date, amount from moved`,
      [ref.userKey, ref.connectionKey, new Date(readMs).toISOString()],
    )
    assert.deepEqual(toHeld(await listAt(access, readMs - 4 * dayMs)), { BOUGHT: '-999', BTC: '2' })
    assert.deepEqual(toHeld(await listAt(access, readMs - 2 * dayMs)), { BOUGHT: '1', BTC: '2', GIFT: '1' })
  })

  /** A user whose wallets all hold the tokens X0, X1 … where `name` is X. */
  async function addWallets(name: string, wallets: number, tokens: number) {
    const user = await addUser(db, name)
    const readAt = new Date(db.clock.now()).toISOString()
    for (let key = 1; key <= wallets; key += 1) {
      await addConnection(db, user, { key, id: `con_${name}${key}`, balancesAt: readAt })
    }
    await db.execute('update connections set balances_since = balances_at where user_key = $1', [user.userKey])
    await addAssets(
      db,
      Array.from({ length: tokens }, (_, token) => `${name}${token}`),
    )
    for (const table of ['holdings (changed_at,', 'observed_balances (observed_at,']) {
      await db.execute(
        `insert into ${table} user_key, connection_key, asset_key, liquid, staked)
         select $2::timestamptz, $1::bigint, n, asset_key, n, 0 from assets, generate_series(1, ${wallets}) n
         where id like 'test:${name}%'`,
        [user.userKey, readAt],
      )
    }
    await db.execute('analyze holdings; analyze observed_balances; analyze assets')
    return { user, readAt }
  }

  it('of many wallets with thousands of tokens are read a few wallets at a time, each time in a turn', async () => {
    const [wallets, tokens] = [6, 1_500]
    const { user: ann, readAt } = await addWallets('W', wallets, tokens)
    const listPage = async (limit: number, after: PositionPoint | undefined, assetSymbols?: string[]) => {
      const reading = await portfolio.readPositionsAt(ann.access, { limit, after, assetSymbols, asOf: readAt })
      assert.ok(reading !== undefined)
      let turns = 0
      const { items, end } = await finishPositions(reading.result, (work) => {
        turns += 1
        return work()
      })
      const rows = JSON.parse(`[${items}]`) as { connection_id: string; asset_symbol: string }[]
      return { rows: rows.map((row) => `${row.connection_id} ${row.asset_symbol}`), end, turns }
    }
    const all = Array.from({ length: wallets }, (_, wallet) => `con_W${wallet + 1} W7`)
    for (const limit of [1, 2, 3, 4, wallets, 100]) {
      const walked: string[] = []
      let after: PositionPoint | undefined
      do {
        const { rows, end } = await listPage(limit, after, ['W7'])
        assert.ok(rows.length === limit || end === undefined)
        assert.ok(rows.length > 0)
        walked.push(...rows)
        after = end
      } while (after !== undefined)
      assert.deepEqual(walked, all, `${limit} a page`)
    }
    assert.equal((await listPage(100, undefined)).turns, 0)
    // A connection that holds nothing now may have held thousands.
    for (let key = 11; key <= 40; key += 1) await addConnection(db, ann, { key, id: `con_x${key}`, balancesAt: readAt })
    const sent = await recordStatements(async () => assert.equal((await listPage(100, undefined, ['W7'])).turns, 4))
    for (const statement of sent) {
      const scanned = await countScanned(db, statement)
      assert.ok(scanned < 40_000, `${scanned} rows`)
    }
  })

  it('of a hundred wallets with hundreds of tokens count only the tokens of the next twenty', async () => {
    const { user, readAt } = await addWallets('V', 100, 600)
    const request = { limit: 100, after: undefined, asOf: readAt }
    const [first] = await recordStatements(() => portfolio.readPositionsAt(user.access, request))
    assert.ok(first !== undefined)
    const scanned = await countScanned(db, first)
    assert.ok(scanned < 75_000, `${scanned} rows`)
  })

  it('of a year ago read one row per day since, over 50,000 transactions', async () => {
    const { access, ref } = await newPerson()
    const nowMs = db.clock.now()
    await keepAt(ref, 'ledger', ledgerRow('L1', 'R1', { amount: '2' }, nowMs - 800 * dayMs))
    await derive(ref)
    await ledger.keepHoldings(ref, 'kraken', [{ ...bitcoin, liquid: parseDecimal('2'), staked: zero }])
    // These are pairs that cancel each other, one every twenty minutes.
    await db.execute(
      `with added as (
         insert into postings
           (user_key, connection_key, transaction_id, asset_key, occurred_at, ordinal, staked, side, spam, amount)
         select $1, $2, gen_random_uuid(), asset_key, $3::timestamptz - make_interval(mins => n * 20), 0, false, 'i', false,
           case when n % 2 = 0 then 1 else -1 end
         from assets, generate_series(1, 50000) n where id = $4 returning asset_key, occurred_at, amount)
       insert into daily_changes as d (user_key, connection_key, asset_key, day, amount)
       select $1, $2, asset_key, (occurred_at at time zone 'UTC')::date, sum(amount) from added group by asset_key, 4
       on conflict (user_key, connection_key, asset_key, day) do update set amount = d.amount + excluded.amount`,
      [ref.userKey, ref.connectionKey, new Date(nowMs).toISOString(), bitcoin.assetId],
    )
    await db.execute('analyze postings; analyze daily_changes')
    const days = 365
    const sent = await recordStatements(async () => {
      assert.deepEqual(toHeld(await listAt(access, nowMs - days * dayMs - 1)), { BTC: '2' })
    })
    assert.equal(sent.length, 1)
    const [statement] = sent
    assert.ok(statement)
    const scanned = await countScanned(db, statement)
    // A day has one row, and the first and the last have one for each of their 72 transactions.
    assert.ok(scanned <= days + 2 * 72 + 100, `${scanned} rows`)
  })
})
