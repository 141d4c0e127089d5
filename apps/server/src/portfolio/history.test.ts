import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusal } from '@assay/core'
import { chooseDays } from './history.ts'

describe('the days of a request', () => {
  const today = '2026-03-02'
  it('are the last thirty by default, and never in the future', () => {
    assert.deepEqual(chooseDays({}, today), { firstDay: '2026-02-01', lastDay: today })
    assert.deepEqual(chooseDays({ endTime: '2027-01-01T00:00:00.000Z' }, today).lastDay, today)
  })

  it('begin with the day of start_time and end before end_time', () => {
    const range = { startTime: '2026-01-05T23:59:59.999Z', endTime: '2026-01-08T00:00:00.000Z' }
    assert.deepEqual(chooseDays(range, today), { firstDay: '2026-01-05', lastDay: '2026-01-07' })
  })

  it('do not begin before the first year that PostgreSQL and ISO 8601 write alike', () => {
    const before = (endTime: string): unknown => chooseDays({ endTime }, today)
    assert.deepEqual(before('0001-01-15T00:00:00.000Z'), { firstDay: '0001-01-01', lastDay: '0001-01-14' })
    assert.deepEqual(before('0001-01-01T00:00:00.000Z'), { firstDay: '0001-01-01', lastDay: '0000-12-31' })
  })

  it('are at most 366', () => {
    const at = (startTime: string): unknown => chooseDays({ startTime, endTime: '2026-01-02T00:00:00.000Z' }, today)
    assert.deepEqual(at('2025-01-01T00:00:00.000Z'), { firstDay: '2025-01-01', lastDay: '2026-01-01' })
    assert.throws(() => at('2024-12-31T00:00:00.000Z'), Refusal)
  })
})
