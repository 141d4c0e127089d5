import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDecimal, Refusal } from '@assay/core'
import { chooseDays, toDailyValues, type HistoryFacts } from './history.ts'

const decimal = parseDecimal
const prices: Record<string, string> = {
  'btc 2026-01-01': '10',
  'btc 2026-01-02': '20',
  'btc 2026-01-03': '30',
  'eth 2026-01-03': '0.000000000000000001',
}
const facts = (given: Partial<HistoryFacts>): HistoryFacts => ({
  days: ['2026-01-01', '2026-01-02', '2026-01-03'],
  observed: [],
  held: [{ asset_id: 'btc', amount: decimal('2') }],
  changes: [],
  since: [],
  completeFromDay: '2009-01-01',
  priceOf: (assetId, day) =>
    prices[`${assetId} ${day}`] === undefined ? undefined : decimal(prices[`${assetId} ${day}`] ?? ''),
  ...given,
})
const brief = (given: Partial<HistoryFacts>): [string, string, string, string][] =>
  toDailyValues(facts(given)).map((point) => [point.date, point.value_in_usd, point.method, point.incomplete.join(' ')])

describe('values day by day', () => {
  it('are today’s balances at each day’s price while nothing moved', () => {
    assert.deepEqual(brief({}), [
      ['2026-01-01', '20', 'derived', ''],
      ['2026-01-02', '40', 'derived', ''],
      ['2026-01-03', '60', 'derived', ''],
    ])
  })

  it('undo what each day changed for the day before it', () => {
    const changes = [
      { day: '2026-01-03', asset_id: 'btc', change: decimal('-0.5') },
      { day: '2026-01-02', asset_id: 'btc', change: decimal('2.5') },
    ]
    assert.deepEqual(
      brief({ changes }).map(([date, value]) => [date, value]),
      [
        ['2026-01-01', '0'],
        ['2026-01-02', '50'],
        ['2026-01-03', '60'],
      ],
    )
  })

  it('begin from what was held at the end of the last day, not today', () => {
    const since = [
      { asset_id: 'btc', change: decimal('1.5') },
      { asset_id: 'eth', change: decimal('-1') },
    ]
    assert.deepEqual(brief({ since, days: ['2026-01-03'] }), [['2026-01-03', '15.000000000000000001', 'derived', '']])
  })

  it('say when something held has no price that day, and do not count it as nothing at all', () => {
    const held = [
      { asset_id: 'btc', amount: decimal('1') },
      { asset_id: 'eth', amount: decimal('1') },
    ]
    assert.deepEqual(brief({ held }), [
      ['2026-01-01', '10', 'derived', 'price'],
      ['2026-01-02', '20', 'derived', 'price'],
      ['2026-01-03', '30.000000000000000001', 'derived', ''],
    ])
  })

  it('say when the transactions do not explain the balances', () => {
    const changes = [{ day: '2026-01-03', asset_id: 'btc', change: decimal('3') }]
    assert.equal(brief({ changes })[1]?.[3], 'coverage')
  })

  it('are what was observed where it was, which does not disturb the days before', () => {
    const observed = [{ day: '2026-01-02', value_in_usd: decimal('41.5'), unpriced: 1 }]
    assert.deepEqual(brief({ observed }), [
      ['2026-01-01', '20', 'derived', ''],
      ['2026-01-02', '41.5', 'observed', 'price'],
      ['2026-01-03', '60', 'derived', ''],
    ])
  })

  it('end where the history has a hole; what was observed before it stays', () => {
    const observed = [{ day: '2026-01-01', value_in_usd: decimal('7'), unpriced: 0 }]
    assert.deepEqual(
      brief({ observed, completeFromDay: '2026-01-03' }).map(([date]) => date),
      ['2026-01-01', '2026-01-03'],
    )
  })
})

describe('the days of a request', () => {
  const today = '2026-03-02'
  it('are the last thirty unless said, and never in the future', () => {
    assert.deepEqual(chooseDays({}, today), { firstDay: '2026-02-01', lastDay: today })
    assert.deepEqual(chooseDays({ endTime: '2027-01-01T00:00:00.000Z' }, today).lastDay, today)
  })

  it('begin with the day of start_time and end before end_time', () => {
    const range = { startTime: '2026-01-05T23:59:59.999Z', endTime: '2026-01-08T00:00:00.000Z' }
    assert.deepEqual(chooseDays(range, today), { firstDay: '2026-01-05', lastDay: '2026-01-07' })
  })

  it('are at most 366', () => {
    const at = (startTime: string): unknown => chooseDays({ startTime, endTime: '2026-01-02T00:00:00.000Z' }, today)
    assert.deepEqual(at('2025-01-01T00:00:00.000Z'), { firstDay: '2025-01-01', lastDay: '2026-01-01' })
    assert.throws(() => at('2024-12-31T00:00:00.000Z'), Refusal)
  })
})
