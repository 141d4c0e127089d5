import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Stream } from '@assay/connectors'
import { toStreamCoverage, type ReadingState } from './coverage.ts'
import { beginningMs } from './plan.ts'

const dayMs = 86_400_000
const nowMs = Date.UTC(2026, 2, 2)
const day = (ago: number): number => nowMs - ago * dayMs

const ledger: Stream = {
  name: 'ledger',
  pager: { kind: 'offset', pageSizeMax: 50, order: 'newest_first', windowMaxMs: null, retentionMs: null, overlapMs: 0 },
  cost: 1,
  required: true,
  providerLimit: null,
  remedy: null,
}
const forgetful: Stream = {
  ...ledger,
  pager: { ...ledger.pager, retentionMs: 90 * dayMs },
  providerLimit: 'The provider keeps 90 days.',
  remedy: 'Export the rest yourself.',
}
const syncing = { cause: 'sync_in_progress', message: 'being read' } as const
const state = (given: Partial<ReadingState>): ReadingState => ({
  covered: [],
  poisoned: [],
  issue: undefined,
  nowMs,
  ...given,
})

describe('the coverage of a stream', () => {
  it('that was read to the end is one window and no hole, also minutes after the last run', () => {
    const covered = [{ startMs: beginningMs, endMs: nowMs - 600_000 }]
    const { windows, holes } = toStreamCoverage(ledger, state({ covered }))
    assert.deepEqual({ windows, holes }, { windows: covered, holes: [] })
  })

  it('that nobody has read yet is one hole, with the reason', () => {
    const { windows, holes } = toStreamCoverage(ledger, state({ issue: syncing }))
    assert.deepEqual(windows, [])
    assert.deepEqual(holes, [{ startMs: beginningMs, endMs: nowMs, ...syncing }])
  })

  it('that is read newest first lacks what is older, and what came since', () => {
    const issue = { cause: 'venue_down', message: 'away', fix: 'Wait.' } as const
    const covered = [
      { startMs: day(30), endMs: day(20) },
      { startMs: day(10), endMs: day(1) },
    ]
    const { holes, remedy } = toStreamCoverage(ledger, state({ covered, issue }))
    const edges = holes.map(({ startMs, endMs, cause }) => [startMs, endMs, cause])
    assert.deepEqual(edges, [
      [beginningMs, day(30), 'venue_down'],
      [day(20), day(10), 'venue_down'],
      [day(1), nowMs, 'venue_down'],
    ])
    assert.equal(remedy, 'Wait.')
  })

  it('that the provider forgets has a hole nobody can fill, apart from the one that can be', () => {
    const { holes, providerLimit, remedy } = toStreamCoverage(forgetful, state({ issue: syncing }))
    assert.deepEqual(holes, [
      { startMs: beginningMs, endMs: day(90), cause: 'data_hole', message: 'The provider keeps 90 days.' },
      { startMs: day(90), endMs: nowMs, ...syncing },
    ])
    assert.deepEqual([providerLimit, remedy], ['The provider keeps 90 days.', 'Export the rest yourself.'])
  })

  it('with records that could not be understood says when they lie, inside what was read', () => {
    const covered = [{ startMs: beginningMs, endMs: nowMs }]
    const poisoned = [{ startMs: day(5), endMs: day(5) + 1, records: 1 }]
    const { holes } = toStreamCoverage(ledger, state({ covered, poisoned }))
    assert.equal(holes.length, 1)
    assert.deepEqual([holes[0]?.startMs, holes[0]?.endMs, holes[0]?.cause], [day(5), day(5) + 1, 'data_hole'])
    assert.match(holes[0]?.message ?? '', /^One record /)
  })
})
