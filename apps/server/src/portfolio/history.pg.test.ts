/** Daily values from a connection's holdings and transactions. Everything is worth a dollar. */
import { dayMs, parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { msUntilNoon } from '../../../../test/noon.ts'
import { markInstallation, type Database } from '../db/index.ts'
import { fundingRow, ledgerRow, noonMs, openLedger, type TestLedger } from '../ledger/test-ledger.ts'
import { listDailyValues } from './history.ts'

const one = parseDecimal('1')
const longAgoMs = Date.parse('0001-01-01T00:00:00.000Z')

interface Held extends TestLedger {
  /** Noon, this many days ago; today is the day of the database's clock. */
  ago(days: number): number
  /** Newest first. */
  listValues(request?: { startTime?: string; endTime?: string }): Promise<string[]>
}

/** One bitcoin is held: half of it came two days ago, half five days ago. */
async function openHeld(t: Parameters<typeof openLedger>[0]): Promise<Held> {
  const opened = await openLedger(t, { price: one })
  const { db, ledger, ref, keep, derive } = opened
  await markInstallation(db, 'sandbox')
  await db.clock.advance(msUntilNoon(db.clock.now()))
  const nowMs = db.clock.now()
  opened.moveClock(nowMs - (noonMs + dayMs))
  const ago = (days: number): number => nowMs - days * dayMs
  await keep(ledgerRow('L1', 'R1', {}, ago(2)), ledgerRow('L2', 'R2', {}, ago(5)))
  const bitcoin = { assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Bitcoin' }
  await ledger.keepHoldings(ref, 'kraken', [{ ...bitcoin, liquid: one, staked: parseDecimal('0') }])
  await derive()
  return {
    ...opened,
    ago,
    async listValues(request = {}) {
      const { days } = await listDailyValues(db, ref, { completeFromMs: longAgoMs, ...request })
      return days.toReversed().map(({ value_in_usd: value, incomplete }) => [value, ...incomplete].join(' '))
    },
  }
}

const toTime = (ms: number): string => new Date(ms).toISOString()

/** The number of rows that the statements of `work` process, on all levels of their plans. */
async function countExamined(db: Database, work: (sql: Database) => Promise<unknown>): Promise<number> {
  let count = 0
  await work({
    ...db,
    async rows<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
      const plan = await db.rows<{ 'QUERY PLAN': string }>(`explain (analyze, costs off, timing off) ${text}`, values)
      for (const { 'QUERY PLAN': line } of plan) {
        const [, rows = '0', loops = '0'] = /rows=([\d.]+) loops=(\d+)/.exec(line) ?? []
        count += Number(rows) * Number(loops)
      }
      return []
    },
  })
  return count
}

describe('the value of a day', () => {
  it('is the value of what was held at its end, whether or not the request includes today', async (t) => {
    const { listValues, ago } = await openHeld(t)
    assert.deepEqual((await listValues()).slice(0, 7), ['1', '1', '1', '0.5', '0.5', '0.5', '0'])
    const range = { startTime: toTime(ago(6)), endTime: toTime(ago(3)) }
    assert.deepEqual(await listValues(range), ['0.5', '0.5', '0.5', '0'])
  })

  it('costs as much a thousand years ago as yesterday', async (t) => {
    const { db, ref, ago, listValues } = await openHeld(t)
    const toMonth = (startTime: string): { startTime: string; endTime: string } => ({
      startTime,
      endTime: toTime(Date.parse(startTime) + 31 * dayMs),
    })
    const countRows = (startTime: string): Promise<number> =>
      countExamined(db, (sql) => listDailyValues(sql, ref, { completeFromMs: longAgoMs, ...toMonth(startTime) }))
    const yesterday = await countRows(toTime(ago(32)))
    assert.ok(yesterday > 0)
    for (const year of ['0001', '1500']) {
      const startTime = `${year}-01-01T00:00:00.000Z`
      assert.deepEqual(new Set(await listValues(toMonth(startTime))), new Set(['0']))
      const rows = await countRows(startTime)
      assert.ok(rows <= 2 * yesterday, `${rows} rows in the year ${year}, ${yesterday} rows last month`)
    }
  })

  it('ignores a pending deposit and includes a pending withdrawal', async (t) => {
    const { listValues, ago, keep, keepFunding, derive } = await openHeld(t)
    await keepFunding('deposits', fundingRow('D1', { status: 'Pending', amount: '7' }, ago(1)))
    await derive()
    assert.deepEqual((await listValues()).slice(0, 4), ['1', '1', '1', '0.5'])
    await keep(ledgerRow('L3', 'W1', { type: 'withdrawal', amount: '-0.25' }, ago(1)))
    await keepFunding('withdrawals', fundingRow('W1', { status: 'Pending', amount: '0.25' }, ago(1)))
    await derive()
    assert.deepEqual((await listValues()).slice(0, 4), ['1', '1', '1.25', '0.75'])
  })

  it('does not undo movements after the balances were read', async (t) => {
    const { db, listValues, ago, keep, derive } = await openHeld(t)
    await db.execute('update connections set balances_at = $1', [toTime(ago(1))])
    await keep(ledgerRow('L3', 'R3', { amount: '7' }, ago(1) + 1))
    await derive()
    assert.deepEqual((await listValues()).slice(0, 4), ['1', '1', '1', '0.5'])
  })
})
