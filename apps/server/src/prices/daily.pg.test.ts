import { parseDecimal, Refusal, SourceError } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayOf, openPrices } from './test-prices.ts'

const decimal = parseDecimal

describe('the price of a day', () => {
  it('is that of the day in UTC, from its first to its last millisecond', async (t) => {
    const { db, prices, priceOn } = await openPrices(t)
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    await db.execute("update daily_prices set price_in_usd = 1 where day = '2026-03-02'")
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-01T23:59:59.999Z'), '64000.5')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-02T00:00:00.000Z'), '1')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-02T23:59:59.999Z'), '1')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-03T00:00:00.000Z'), '64000.5')
  })

  it('is unknown, not zero, for a day that an answer with other prices leaves out; that is final', async (t) => {
    const { prices, asked, leaveOut, priceOn } = await openPrices(t)
    leaveOut('2026-03-02')
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-02T12:00:00Z'), 'undefined')
    assert.equal(asked.length, 1)
  })

  it('of a day that the source refused is requested again, and stored once the source gives it', async (t) => {
    const { prices, asked, moveTo, refuseBefore, priceOn } = await openPrices(t)
    refuseBefore('2026-03-03')
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-04T12:00:00Z'), '64000.5')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-01T12:00:00Z'), 'undefined?')
    // Newer days are read in between; neither they nor a passing minute cause a request for the old ones.
    moveTo('2026-03-06T12:00:00Z')
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    await prices.backfill()
    assert.deepEqual(asked, ['bitcoin 2026-03-01 2026-03-05', 'bitcoin 2026-03-05 2026-03-06'])
    // A day later it requests them again, because the operator may have bought a key.
    refuseBefore(undefined)
    moveTo('2026-03-07T12:00:00Z')
    await prices.backfill()
    assert.equal(asked.at(-1), 'bitcoin 2026-03-01 2026-03-06')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-01T12:00:00Z'), '64000.5')
  })

  it('is 0 when the source says 0, and keeps every digit of the smallest', async (t) => {
    const { prices, known, priceOn } = await openPrices(t)
    known.set('bitcoin', decimal('0')).set('ethereum', decimal('1.000000000000000001e-18'))
    await prices.ensureDaily(['crypto:bitcoin', 'crypto:ethereum'], dayOf('2026-03-01'))
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-02T12:00:00Z'), '0')
    assert.equal(await priceOn('crypto:ethereum', '2026-03-02T12:00:00Z'), '0.000000000000000001000000000000000001')
  })

  it('of the dollar is one, and no source is asked for an asset that only its venue knows', async (t) => {
    const { prices, asked, priceOn } = await openPrices(t)
    await prices.ensureDaily(['fiat:usd', 'kraken:ZQNT'], dayOf('2026-03-01'))
    await prices.backfill()
    assert.equal(await priceOn('fiat:usd', '1999-01-01T00:00:00Z'), '1')
    assert.equal(await priceOn('kraken:ZQNT', '2026-03-02T00:00:00Z'), 'undefined')
    assert.deepEqual(asked, [])
  })

  it('of another currency is a cross rate; currencies with the same days share a request', async (t) => {
    const { prices, asked, known, listDaily } = await openPrices(t)
    known.set('eur', decimal('1.08')).set('jpy', decimal('0.0066'))
    await prices.ensureDaily(['fiat:eur', 'fiat:jpy', 'fiat:usd'], dayOf('2026-03-05'))
    assert.deepEqual(asked, ['eur+jpy 2026-03-05 2026-03-05'])
    assert.deepEqual(await listDaily(), [
      'fiat:eur 2026-03-05 1.08 a test cross_rate',
      'fiat:jpy 2026-03-05 0.0066 a test cross_rate',
    ])
  })

  it('is requested from the first day that is not final, without skipping a day', async (t) => {
    const { prices, asked, moveTo, priceOn } = await openPrices(t)
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    moveTo('2026-06-10T12:00:00Z')
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-06-09'))
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-02-27'))
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-02-28'))
    assert.deepEqual(asked, [
      'bitcoin 2026-03-01 2026-03-05',
      'bitcoin 2026-03-05 2026-06-10',
      'bitcoin 2026-02-27 2026-06-10',
    ])
    assert.equal(await priceOn('crypto:bitcoin', '2026-04-20T00:00:00Z'), '64000.5')
  })
})

describe('a final price', () => {
  it('stays the first one, so that deriving again gives the same bytes', async (t) => {
    const { prices, known, moveTo, priceOn, takeCorrections } = await openPrices(t)
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    known.set('bitcoin', decimal('7'))
    moveTo('2026-03-07T12:00:00Z')
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-02-01'))
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-04T12:00:00Z'), '64000.5')
    assert.equal(await priceOn('crypto:bitcoin', '2026-03-06T12:00:00Z'), '7')
    assert.deepEqual(await takeCorrections(), [])
  })

  it('is replaced only by the operator, whom no source overrules', async (t) => {
    const { prices, known, moveTo, listDaily, takeCorrections } = await openPrices(t)
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-04'))
    await prices.correct('crypto:bitcoin', '2026-03-04', decimal('63999'))
    known.set('bitcoin', decimal('7'))
    moveTo('2026-03-06T12:00:00Z')
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-03'))
    assert.deepEqual((await listDaily()).slice(1, 2), ['crypto:bitcoin 2026-03-04 63999 operator correction'])
    assert.deepEqual(await takeCorrections(), ['crypto:bitcoin 2026-03-04'])
  })

  it('cannot be corrected before its day has settled, nor for an unknown asset', async (t) => {
    const { prices } = await openPrices(t)
    await assert.rejects(prices.correct('crypto:bitcoin', '2026-03-05', decimal('1')), Refusal)
    await assert.rejects(prices.correct('crypto:nonsense', '2026-03-01', decimal('1')), RangeError)
  })
})

describe('a provisional price', () => {
  it('is served, stays while the day lasts, and becomes final when the day has settled', async (t) => {
    const { prices, known, moveTo, priceOn } = await openPrices(t)
    const today = '2026-03-05T12:00:00Z'
    moveTo(today)
    await prices.ensureDaily(['crypto:bitcoin', 'crypto:ethereum'], dayOf('2026-03-01'))
    known.set('bitcoin', decimal('65000')).set('ethereum', decimal('3000'))
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-02-01'))
    assert.equal(await priceOn('crypto:bitcoin', today), '64000.5?')
    assert.equal(await priceOn('crypto:ethereum', today), 'undefined?')
    moveTo('2026-03-06T00:59:59Z')
    await prices.backfill()
    assert.equal(await priceOn('crypto:bitcoin', today), '64000.5?')
    moveTo('2026-03-06T01:00:00Z')
    await prices.backfill()
    assert.equal(await priceOn('crypto:bitcoin', today), '65000')
    assert.equal(await priceOn('crypto:ethereum', today), '3000')
  })

  it('settles once: an asset that is no longer requested is left alone', async (t) => {
    const { prices, asked, moveTo } = await openPrices(t)
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    for (const day of ['06', '07', '08']) {
      moveTo(`2026-03-${day}T12:00:00Z`)
      await prices.backfill()
    }
    assert.deepEqual(asked, ['bitcoin 2026-03-01 2026-03-05', 'bitcoin 2026-03-05 2026-03-05'])
  })
})

describe('corrections', () => {
  it('belong to the transaction that takes them, and are available again when it fails', async (t) => {
    const { db, prices, takeCorrections } = await openPrices(t)
    for (const day of ['2026-03-01', '2026-03-02']) await prices.correct('crypto:bitcoin', day, decimal('1'))
    const failed = db.transaction(async (tx) => {
      await prices.takeCorrections(tx, 10)
      throw new Error('half-way')
    })
    await assert.rejects(failed, /half-way/)
    assert.equal((await db.transaction((tx) => prices.takeCorrections(tx, 1))).length, 1)
    assert.equal((await takeCorrections()).length, 1)
    assert.deepEqual(await takeCorrections(), [])
  })
})

describe('a source that fails', () => {
  const noon = '2026-03-02T12:00:00Z'

  it('leaves a gap instead of an error; backfill fills it without a new reading', async (t) => {
    const { prices, faults, lines, moveTo, priceOn } = await openPrices(t)
    faults.set('bitcoin', new SourceError('venue_down', 'HTTP 502'))
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    assert.equal(await priceOn('crypto:bitcoin', noon), 'undefined?')
    assert.equal(lines.length, 1)
    faults.clear()
    moveTo('2026-03-06T00:01:01Z')
    await prices.backfill()
    assert.equal(await priceOn('crypto:bitcoin', noon), '64000.5')
  })

  it('is asked again after a minute, then two, then four; other assets do not wait', async (t) => {
    const { prices, asked, faults, moveTo } = await openPrices(t)
    faults.set('ethereum', new SourceError('venue_down', 'HTTP 502'))
    moveTo('2026-03-05T12:00:00Z')
    await prices.ensureDaily(['crypto:ethereum', 'crypto:bitcoin'], dayOf('2026-03-05'))
    for (let minute = 0; minute <= 8; minute += 1) {
      moveTo(`2026-03-05T12:0${minute}:00Z`)
      await prices.ensureDaily(['crypto:ethereum', 'crypto:bitcoin'], dayOf('2026-03-05'))
      await prices.backfill()
    }
    assert.deepEqual(asked.filter((line) => line.startsWith('bitcoin')).length, 1)
    assert.equal(asked.filter((line) => line.startsWith('ethereum')).length, 4)
  })

  it('twice in a round counts as down, and the rest of the round is postponed', async (t) => {
    const { prices, asked, faults } = await openPrices(t)
    const coins = ['bitcoin', 'ethereum', 'solana', 'cardano', 'polkadot', 'litecoin', 'monero', 'zcash']
    for (const coin of coins) faults.set(coin, new SourceError('venue_down', 'HTTP 502'))
    await prices.ensureDaily(
      coins.map((coin) => `crypto:${coin}`),
      dayOf('2026-03-01'),
    )
    assert.ok(asked.length <= 5, `${asked.length} requests`)
  })

  it('with a rate limit does not make prices unknown: unanswered requests stay due', async (t) => {
    const { prices, asked, faults, priceOn } = await openPrices(t)
    faults.set('bitcoin', new SourceError('rate_limited', 'HTTP 429', { retryAfterMs: 58_000 }))
    await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
    assert.equal(await priceOn('crypto:bitcoin', noon), 'undefined?')
    faults.clear()
    await prices.backfill()
    assert.equal(await priceOn('crypto:bitcoin', noon), '64000.5')
    assert.equal(asked.length, 2)
  })

  it('does not hide a bug of ours', async (t) => {
    const { db, prices } = await openPrices(t)
    await db.execute('drop table daily_prices cascade')
    await assert.rejects(prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01')), /daily_prices/)
  })
})

describe('a source that answers without any price', () => {
  const noon = '2026-03-02T12:00:00Z'
  const kinds = ['does not know the coin', 'has an empty chart']

  /** A ledger whose source does so for bitcoin, and a clock that moves an hour with each round of upkeep. */
  async function openWithout(t: Parameters<typeof openPrices>[0], kind: string) {
    const opened = await openPrices(t)
    const { prices, faults, known, moveTo } = opened
    const start = Date.parse('2026-03-05T12:00:00Z')
    moveTo(new Date(start).toISOString())
    return {
      ...opened,
      stop() {
        if (kind === 'has an empty chart') known.delete('bitcoin')
        else faults.set('bitcoin', new SourceError('data_hole', 'HTTP 404'))
      },
      recover() {
        faults.clear()
        known.set('bitcoin', decimal('64000.5'))
      },
      async passHours(from: number, to: number, meanwhile: () => Promise<void> = async () => undefined) {
        for (let hour = from; hour < to; hour += 1) {
          moveTo(new Date(start + hour * 3_600_000).toISOString())
          await meanwhile()
          await prices.backfill()
        }
      },
    }
  }

  for (const kind of kinds) {
    it(`because it ${kind} is asked again, and the prices are there when it has them`, async (t) => {
      const { prices, stop, recover, moveTo, priceOn } = await openWithout(t, kind)
      stop()
      await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
      assert.equal(await priceOn('crypto:bitcoin', noon), 'undefined?')
      recover()
      moveTo('2026-03-05T12:01:01Z')
      await prices.backfill()
      assert.equal(await priceOn('crypto:bitcoin', noon), '64000.5')
    })

    it(`because it ${kind} is believed after two days, and then asked for new days only`, async (t) => {
      const { db, prices, asked, stop, passHours, priceOn } = await openWithout(t, kind)
      stop()
      await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
      await passHours(0, 48)
      assert.equal(await priceOn('crypto:bitcoin', noon), 'undefined?')
      await passHours(48, 96)
      assert.equal(await priceOn('crypto:bitcoin', noon), 'undefined')
      assert.deepEqual(await db.rows('select from daily_prices'), [])
      assert.ok(asked.length <= 13, `${asked.length} requests`)
      const before = asked.length
      await passHours(96, 97, () => prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01')))
      await passHours(97, 120)
      // The day itself, and once more when it has settled.
      assert.equal(asked.length - before, 2)
    })

    it(`because it ${kind} is not believed while it has a current price, and is asked once a day`, async (t) => {
      const { db, prices, asked, stop, recover, passHours, priceOn } = await openWithout(t, kind)
      stop()
      await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
      await db.execute(
        `insert into current_prices (asset_id, price_in_usd, method, source, fetched_at)
         values ('crypto:bitcoin', 64000.5, 'simple_price', 'a test', '2026-03-11T00:00:00Z')`,
      )
      await passHours(0, 120)
      assert.equal(await priceOn('crypto:bitcoin', noon), 'undefined?')
      const before = asked.length
      await passHours(120, 144)
      assert.equal(asked.length - before, 1)
      recover()
      await passHours(144, 169)
      assert.equal(await priceOn('crypto:bitcoin', noon), '64000.5')
    })

    it(`because it ${kind} is asked at once for older days that are wanted newly`, async (t) => {
      const { prices, asked, stop, recover, passHours, priceOn } = await openWithout(t, kind)
      stop()
      await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-03'))
      await passHours(0, 30)
      recover()
      const before = asked.length
      await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-03'))
      assert.equal(asked.length, before)
      await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
      assert.equal(await priceOn('crypto:bitcoin', noon), '64000.5')
    })

    it(`because it ${kind} is not believed about days before those that it had prices for`, async (t) => {
      const { prices, stop, recover, passHours, priceOn } = await openWithout(t, kind)
      await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-03'))
      stop()
      await prices.ensureDaily(['crypto:bitcoin'], dayOf('2026-03-01'))
      await passHours(0, 120)
      assert.equal(await priceOn('crypto:bitcoin', noon), 'undefined?')
      assert.equal(await priceOn('crypto:bitcoin', '2026-03-03T12:00:00Z'), '64000.5')
      recover()
      await passHours(120, 145)
      assert.equal(await priceOn('crypto:bitcoin', noon), '64000.5')
    })
  }
})
