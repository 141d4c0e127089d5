import { parseDecimal, SourceError, type Decimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { testDatabase } from '../../../../test/postgres.ts'
import { createClock } from '../clock.ts'
import { markInstallation, type Database } from '../db/index.ts'
import { createPrices, type Prices } from './index.ts'

const dayMs = 86_400_000
const dayOf = (text: string): number => Date.parse(`${text}T00:00:00Z`)

interface TestPrices {
  db: Database
  prices: Prices
  /** What the source was asked for. */
  asked: string[]
  /** The source's answers: dollars for each coin and day; a coin that is not here has no price. */
  known: Map<string, Decimal>
  lines: string[]
  fail(fails: boolean): void
  moveTo(today: string): void
  priceOn(assetId: string, at: string): Promise<Decimal | undefined>
}

async function open(t: TestContext): Promise<TestPrices> {
  const { db } = await testDatabase(t)
  await markInstallation(db, true)
  const asked: string[] = []
  const known = new Map([['bitcoin', parseDecimal('64000.5')]])
  const lines: string[] = []
  let failing = false
  let nowMs = Date.parse('2026-03-05T23:59:59.999Z')
  const answer = (): void => {
    if (failing) throw new SourceError('rate_limited', 'too many')
  }
  const source = {
    name: 'a test',
    async fetchCurrent(ids: readonly string[]) {
      asked.push(`now ${ids.join(' ')}`)
      answer()
      return new Map([...known].filter(([id]) => ids.includes(id)))
    },
    async fetchDaily(id: string, fromMs: number, toMs: number) {
      asked.push(`${id} ${new Date(fromMs).toISOString()} ${new Date(toMs).toISOString()}`)
      answer()
      const price = known.get(id)
      const days = []
      for (let day = fromMs; day < toMs; day += dayMs) if (price !== undefined) days.push({ dayMs: day, price })
      return days
    },
  }
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const prices = createPrices({ db, source, now: () => nowMs, log })
  return {
    ...{ db, prices, asked, known, lines },
    fail: (fails) => void (failing = fails),
    moveTo: (today) => void (nowMs = dayOf(today) + 5),
    async priceOn(assetId, at) {
      const priceAt = await prices.loadDaily([{ assetId, atMs: Date.parse(at) }])
      return priceAt(assetId, Date.parse(at))
    },
  }
}

describe('the price of a day', () => {
  it('is that of the day in UTC, from its first to its last millisecond', async (t) => {
    const { db, prices, priceOn } = await open(t)
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    await db.execute("update daily_prices set price_in_usd = 1 where day = '2026-03-02'")
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-01T23:59:59.999Z'), '64000.5')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-02T00:00:00.000Z'), '1')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-02T23:59:59.999Z'), '1')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-03T00:00:00.000Z'), '64000.5')
  })

  it('is unknown, not zero, when the source has none, and is asked for once', async (t) => {
    const { db, prices, asked, known, priceOn } = await open(t)
    known.clear()
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-02T12:00:00Z'), undefined)
    assert.deepEqual(await db.rows('select from daily_prices'), [])
    assert.equal(asked.length, 1)
  })

  it('of the dollar is one, and of an asset that only its venue knows is nobody asked', async (t) => {
    const { prices, asked, priceOn } = await open(t)
    await prices.ensureDaily(['fiat:usd', 'kraken:ZQNT'], dayOf('2026-03-01'))
    assert.equal(await priceOn('fiat:usd', '1999-01-01T00:00:00Z'), '1')
    assert.equal(await priceOn('kraken:ZQNT', '2026-03-02T00:00:00Z'), undefined)
    assert.deepEqual(asked, [])
  })

  it('is a gap while the source fails, without an error, and is filled the next time', async (t) => {
    const { prices, lines, fail, priceOn } = await open(t)
    fail(true)
    await prices.ensureDaily(['crypto:bitcoin', 'crypto:ethereum'], dayOf('2026-03-01'))
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-02T12:00:00Z'), undefined)
    assert.equal(lines.length, 2)
    fail(false)
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-02T12:00:00Z'), '64000.5')
  })

  it('is asked for from the last day that was read on, and leaves no day out', async (t) => {
    const { prices, asked, moveTo, priceOn } = await open(t)
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    moveTo('2026-06-10')
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-06-09'))
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-02-27'))
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-02-28'))
    assert.deepEqual(asked, [
      'bitcoin 2026-03-01T00:00:00.000Z 2026-03-06T00:00:00.000Z',
      'bitcoin 2026-03-05T00:00:00.000Z 2026-06-11T00:00:00.000Z',
      'bitcoin 2026-02-27T00:00:00.000Z 2026-06-11T00:00:00.000Z',
    ])
    assert.equal(await priceOn('crypto:bitcoin', '2026-04-20T00:00:00Z'), '64000.5')
  })

  it('stays what it was first, so that deriving again gives the same bytes', async (t) => {
    const { prices, known, moveTo, priceOn } = await open(t)
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    known.set('bitcoin', parseDecimal('7'))
    moveTo('2026-03-07')
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-02-01'))
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-05T12:00:00Z'), '64000.5')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-06T12:00:00Z'), '7')
  })
})

describe('the price of now', () => {
  const listNow = (db: Database): Promise<{ asset_id: string; price: string }[]> =>
    db.rows('select asset_id, trim_scale(price_in_usd)::text as price from current_prices order by asset_id')

  it('is kept with every digit, the dollar is one, and the unknown has no row', async (t) => {
    const { db, prices, known } = await open(t)
    known.set('bitcoin', parseDecimal('0.000000000000000000123'))
    await prices.ensureCurrent(['crypto:bitcoin', 'crypto:ethereum', 'fiat:usd', 'kraken:ZQNT'])
    assert.deepEqual(await listNow(db), [
      { asset_id: 'crypto:bitcoin', price: '0.000000000000000000123' },
      { asset_id: 'fiat:usd', price: '1' },
    ])
  })

  it('is asked for again after five minutes and not before, and only for what is stale', async (t) => {
    const { db, prices, asked } = await open(t)
    const clock = createClock(db, true)
    await prices.ensureCurrent(['crypto:bitcoin'])
    await prices.ensureCurrent(['crypto:bitcoin'])
    await clock.advance(4 * 60_000)
    await prices.ensureCurrent(['crypto:bitcoin'])
    await clock.advance(61_000)
    await prices.ensureCurrent(['crypto:bitcoin'])
    await prices.ensureCurrent(['crypto:bitcoin', 'crypto:ethereum'])
    assert.deepEqual(asked, ['now bitcoin', 'now bitcoin', 'now ethereum'])
  })

  it('stays the last known one while the source fails', async (t) => {
    const { db, prices, fail } = await open(t)
    await prices.ensureCurrent(['crypto:bitcoin'])
    await createClock(db, true).advance(3_600_000)
    fail(true)
    await prices.ensureCurrent(['crypto:bitcoin'])
    assert.deepEqual(await listNow(db), [{ asset_id: 'crypto:bitcoin', price: '64000.5' }])
  })

  it('does not hide a mistake of ours behind the source', async (t) => {
    const { db, prices } = await open(t)
    await db.execute('drop table current_prices cascade')
    await assert.rejects(prices.ensureCurrent(['crypto:bitcoin']), /current_prices/)
  })
})
