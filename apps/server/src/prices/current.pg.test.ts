import { parseDecimal, SourceError } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Database } from '../db/index.ts'
import { openPrices } from './test-prices.ts'

async function listNow(db: Database): Promise<string[]> {
  const rows = await db.rows<{ line: string }>(
    `select concat_ws(' ', asset_id, coalesce(trim_scale(price_in_usd)::text, 'unknown'), source, method) as line
     from current_prices order by asset_id`,
  )
  return rows.map(({ line }) => line)
}

describe('the current price', () => {
  it('is stored with every digit, its source and its method; the dollar is one', async (t) => {
    const { db, prices, asked, known } = await openPrices(t)
    known.set('bitcoin', parseDecimal('1.23e-19')).set('eur', parseDecimal('1.125')).set('dogecoin', parseDecimal('0'))
    await prices.ensureCurrent(['crypto:bitcoin', 'crypto:dogecoin', 'fiat:eur', 'fiat:usd', 'kraken:ZQNT'])
    assert.deepEqual(await listNow(db), [
      'crypto:bitcoin 0.000000000000000000123 a test simple_price',
      'crypto:dogecoin 0 a test simple_price',
      'fiat:eur 1.125 a test cross_rate',
      'fiat:usd 1 definition definition',
    ])
    assert.deepEqual(asked, ['now bitcoin dogecoin eur'])
  })

  it('is unknown when the source has none, and is not requested by every reading', async (t) => {
    const { db, prices, asked } = await openPrices(t)
    await prices.ensureCurrent(['crypto:ethereum'])
    await prices.ensureCurrent(['crypto:ethereum'])
    assert.deepEqual(await listNow(db), ['crypto:ethereum unknown a test simple_price'])
    assert.equal(asked.length, 1)
  })

  it('is requested again only after five minutes', async (t) => {
    const { db, prices, asked } = await openPrices(t)
    const clock = db.clock
    await prices.ensureCurrent(['crypto:bitcoin'])
    await clock.advance(5 * 60_000 - 1)
    await prices.ensureCurrent(['crypto:bitcoin'])
    await clock.advance(1)
    await prices.ensureCurrent(['crypto:bitcoin'])
    assert.deepEqual(asked, ['now bitcoin', 'now bitcoin'])
  })

  it('is requested together with the prices that become stale soon: one request, not one per user', async (t) => {
    const { db, prices, asked } = await openPrices(t)
    await prices.ensureCurrent(['crypto:bitcoin', 'fiat:eur'])
    await db.clock.advance(3 * 60_000)
    await prices.ensureCurrent(['crypto:ethereum'])
    await db.clock.advance(3 * 60_000)
    await prices.ensureCurrent(['crypto:bitcoin'])
    assert.deepEqual(asked, ['now bitcoin eur', 'now bitcoin ethereum eur'])
  })

  it('remains the last known one while the source fails', async (t) => {
    const { db, prices, faults, lines } = await openPrices(t)
    await prices.ensureCurrent(['crypto:bitcoin'])
    await db.clock.advance(3_600_000)
    faults.set('bitcoin', new SourceError('rate_limited', 'too many'))
    await prices.ensureCurrent(['crypto:bitcoin'])
    assert.deepEqual(await listNow(db), ['crypto:bitcoin 64000.5 a test simple_price'])
    assert.equal(lines.length, 1)
  })

  it('is not requested for a minute after the source did not answer: every reading would wait for it', async (t) => {
    const { prices, asked, faults, moveTo } = await openPrices(t)
    faults.set('bitcoin', new SourceError('venue_down', 'no answer'))
    moveTo('2026-03-05T12:00:00.000Z')
    await prices.ensureCurrent(['crypto:bitcoin'])
    moveTo('2026-03-05T12:00:59.999Z')
    await prices.ensureCurrent(['crypto:bitcoin'])
    assert.equal(asked.length, 1)
    faults.clear()
    moveTo('2026-03-05T12:01:00.000Z')
    await prices.ensureCurrent(['crypto:bitcoin'])
    assert.equal(asked.length, 2)
  })

  it('does not report a bug of ours as a source failure', async (t) => {
    const { db, prices } = await openPrices(t)
    await db.execute('drop table current_prices cascade')
    await assert.rejects(prices.ensureCurrent(['crypto:bitcoin']), /current_prices/)
  })
})
