import { dayMs, parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ledgerRow, makeAllDue, noonMs, openLedger, type TestLedger } from '../test-ledger.ts'

const listPrices = async ({ listWritten }: TestLedger): Promise<(string | undefined)[]> =>
  (await listWritten()).map(({ document }) => /"price_in_usd":([^,]*)/.exec(document)?.[1])
const countAwaited = async ({ db }: TestLedger): Promise<number> => (await db.rows('select from awaited_prices')).length

/** The day settles at another price, which replaces the provisional one of the only transaction. */
async function assertSettles(opened: TestLedger): Promise<void> {
  opened.setPrice(parseDecimal('65000'))
  opened.moveClock(2 * dayMs)
  await opened.prices.backfill()
  await opened.ledger.reprice()
  assert.deepEqual(await listPrices(opened), ['"65000"'])
  assert.equal(await countAwaited(opened), 0)
}

describe('a price that comes later', () => {
  it('is written when the source is back, as if it had never been away', async (t) => {
    const opened = await openLedger(t, { price: 'down' })
    const { db, ledger, prices, keep, derive, listWritten } = opened
    await keep(
      ledgerRow('L1', 'R1', { fee: '0.1' }),
      ledgerRow('L2', 'R2', { asset: 'ZUSD' }),
      ledgerRow('L3', 'R3', { asset: 'ZQNT' }),
    )
    await derive()
    assert.deepEqual(await listPrices(opened), ['null', '"1"', 'null'])
    // An asset without a price source does not wait.
    assert.equal(await countAwaited(opened), 1)
    await db.execute("update transactions set updated_at = '2020-01-01T00:00:00Z'")
    await ledger.reprice()
    assert.deepEqual(await listPrices(opened), ['null', '"1"', 'null'])
    opened.setPrice(parseDecimal('64000.5'))
    opened.moveClock(dayMs)
    await prices.backfill()
    await ledger.reprice()
    assert.deepEqual(await listPrices(opened), ['"64000.5"', '"1"', 'null'])
    assert.equal(await countAwaited(opened), 0)
    const repriced = await listWritten()
    assert.deepEqual(
      repriced.map(({ updated_at }) => updated_at > '2026'),
      [true, false, false],
    )
    await makeAllDue(db)
    await derive()
    assert.deepEqual(await listWritten(), repriced)
  })

  it('of an unfinished day is written again once the day has settled', async (t) => {
    const opened = await openLedger(t)
    const { keep, derive } = opened
    await keep(ledgerRow('L1', 'R1', {}, noonMs + dayMs))
    await derive()
    assert.deepEqual(await listPrices(opened), ['"64000.5"'])
    assert.equal(await countAwaited(opened), 1)
    await assertSettles(opened)
  })

  it('of an unfinished day is written as soon as one exists, and again once the day has settled', async (t) => {
    const opened = await openLedger(t, { price: 'down' })
    const { ledger, prices, keep, derive } = opened
    await keep(ledgerRow('L1', 'R1', {}, noonMs + dayMs))
    await derive()
    assert.deepEqual(await listPrices(opened), ['null'])
    opened.setPrice(parseDecimal('64000.5'))
    opened.moveClock(3_600_000)
    await prices.backfill()
    await ledger.reprice()
    assert.deepEqual(await listPrices(opened), ['"64000.5"'])
    assert.equal(await countAwaited(opened), 1)
    await assertSettles(opened)
  })

  it('from an operator’s correction reaches only the transactions of that asset and day', async (t) => {
    const opened = await openLedger(t)
    const { ledger, prices, keep, derive } = opened
    await keep(
      ledgerRow('L1', 'R1'),
      ledgerRow('L2', 'R2', {}, noonMs - dayMs),
      ledgerRow('L3', 'R3', { asset: 'XETH' }),
      ledgerRow('L4', 'R4', {}, noonMs + 11 * 3_600_000),
    )
    await derive()
    await prices.correct('crypto:bitcoin', '2026-03-02', parseDecimal('1234.5'))
    await ledger.reprice()
    assert.deepEqual(await listPrices(opened), ['"1234.5"', '"64000.5"', '"64000.5"', '"1234.5"'])
    assert.equal(await countAwaited(opened), 0)
  })

  it('is no longer awaited once the connection is gone', async (t) => {
    const opened = await openLedger(t, { price: 'down' })
    const { db, ledger, ref, keep, derive } = opened
    await keep(ledgerRow('L1', 'R1'))
    await derive()
    assert.equal(await countAwaited(opened), 1)
    await db.transaction(ledger.startDestroying(ref, { hiddenSeq: '7' }))
    assert.equal(await countAwaited(opened), 0)
  })
})
