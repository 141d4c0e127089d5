import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Stream } from '@assay/connectors'
import { toStreamCoverage, type ReadingState, type TimeSpan } from './coverage.ts'
import { beginningMs } from './plan.ts'

const nowMs = Date.UTC(2026, 2, 2)
const day = (ago: number): number => nowMs - ago * dayMs

const ledger: Stream = {
  name: 'ledger',
  unit: 'ms',
  partitioned: false,
  windowMax: null,
  retentionMs: null,
  overlap: 0,
  cost: { calls: 1 },
  required: true,
  providerLimit: null,
  remedy: null,
}
const forgetful: Stream = {
  ...ledger,
  retentionMs: 90 * dayMs,
  providerLimit: 'The provider keeps 90 days.',
  remedy: 'Export the rest yourself.',
}
const syncing = { cause: 'sync_in_progress', message: 'being read' } as const
const state = ({
  covered = [],
  ...given
}: Partial<ReadingState> & { covered?: readonly TimeSpan[] }): ReadingState => ({
  lists: [{ covered, isListed: true }],
  poisoned: [],
  readAtMs: undefined,
  issue: undefined,
  nowMs,
  ...given,
})

describe('the coverage of a stream', () => {
  it('that was read to the end is one window without a hole, even minutes after the last run', () => {
    const covered = [{ startMs: beginningMs, endMs: nowMs - 600_000 }]
    const { windows, holes } = toStreamCoverage(ledger, state({ covered }))
    assert.deepEqual({ windows, holes }, { windows: covered, holes: [] })
  })

  it('that has not been read yet is one hole, with the reason', () => {
    const { windows, holes } = toStreamCoverage(ledger, state({ issue: syncing }))
    assert.deepEqual(windows, [])
    assert.deepEqual(holes, [{ startMs: beginningMs, endMs: nowMs, ...syncing }])
  })

  it('without any list is unread until a run has ended, and has no hole afterwards', () => {
    const unused = { ...ledger, partitioned: true }
    const before = toStreamCoverage(unused, state({ lists: [], issue: syncing }))
    assert.deepEqual(before.holes, [{ startMs: beginningMs, endMs: nowMs, ...syncing }])
    const { windows, holes, partitions } = toStreamCoverage(unused, state({ lists: [], readAtMs: day(1) }))
    assert.deepEqual({ windows, holes }, { windows: [{ startMs: beginningMs, endMs: day(1) }], holes: [] })
    assert.deepEqual(partitions, { count: 0, incomplete: 0 })
  })

  it('that is read newest first lacks older records, and those that came since', () => {
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

  it('that the provider forgets has a permanent hole, separate from the one that can be filled', () => {
    const { holes, providerLimit, remedy } = toStreamCoverage(forgetful, state({ issue: syncing }))
    assert.deepEqual(holes, [
      { startMs: beginningMs, endMs: day(90), cause: 'data_hole', message: 'The provider keeps 90 days.' },
      { startMs: day(90), endMs: nowMs, ...syncing },
    ])
    assert.deepEqual([providerLimit, remedy], ['The provider keeps 90 days.', 'Export the rest yourself.'])
  })

  it('with records that could not be understood gives their times, inside the windows read', () => {
    const covered = [{ startMs: beginningMs, endMs: nowMs }]
    const poisoned = [{ startMs: day(5), endMs: day(5) + 1, records: 1 }]
    const { holes } = toStreamCoverage(ledger, state({ covered, poisoned }))
    assert.equal(holes.length, 1)
    assert.deepEqual([holes[0]?.startMs, holes[0]?.endMs, holes[0]?.cause], [day(5), day(5) + 1, 'data_hole'])
    assert.match(holes[0]?.message ?? '', /^One record /)
  })

  it('of several lists is what was read in all of them, with a count of the incomplete ones', () => {
    const lists = [
      { covered: [{ startMs: beginningMs, endMs: day(1) }], isListed: true },
      { covered: [{ startMs: day(50), endMs: day(1) }], isListed: true },
      {
        covered: [
          { startMs: beginningMs, endMs: day(30) },
          { startMs: day(20), endMs: day(1) },
        ],
        isListed: true,
      },
    ]
    const { windows, holes, partitions } = toStreamCoverage(ledger, state({ lists }))
    assert.deepEqual(windows, [
      { startMs: day(50), endMs: day(30) },
      { startMs: day(20), endMs: day(1) },
    ])
    assert.deepEqual(
      holes.map(({ startMs, endMs }) => [startMs, endMs]),
      [
        [beginningMs, day(50)],
        [day(30), day(20)],
      ],
    )
    assert.deepEqual(partitions, { count: 3, incomplete: 2 })
  })

  it('with a list that the provider no longer names lacks nothing after the last read of that list', () => {
    const lists = [
      { covered: [{ startMs: beginningMs, endMs: day(1) }], isListed: true },
      { covered: [{ startMs: beginningMs, endMs: day(90) }], isListed: false },
    ]
    const { windows, holes, partitions } = toStreamCoverage(ledger, state({ lists }))
    assert.deepEqual([windows, holes], [[{ startMs: beginningMs, endMs: day(1) }], []])
    assert.deepEqual(partitions, { count: 2, incomplete: 0 })
  })

  it('of which the provider names no list now lacks nothing up to the last run', () => {
    const read = { covered: [{ startMs: beginningMs, endMs: day(90) }], isListed: false }
    const shown = (more: Partial<Parameters<typeof toStreamCoverage>[1]>) => {
      const { windows, holes } = toStreamCoverage(
        { ...ledger, partitioned: true },
        state({ readAtMs: day(1), ...more }),
      )
      return [windows, holes.map(({ startMs, goneList }) => [startMs, goneList])]
    }
    const untilLastRun = [{ startMs: beginningMs, endMs: day(1) }]
    assert.deepEqual(shown({ lists: [read, read] }), [untilLastRun, []])
    assert.deepEqual(shown({ lists: [{ ...read, gone: 'BUSD/USDT' }] }), [untilLastRun, [[day(90), 'BUSD/USDT']]])
    assert.deepEqual(shown({ lists: [read], issue: syncing, readAtMs: undefined }), [[], [[beginningMs, undefined]]])
  })

  it('whose lists are not known yet is one hole', () => {
    const { windows, holes, partitions } = toStreamCoverage(ledger, state({ lists: [], issue: syncing }))
    assert.deepEqual([windows, holes.length, partitions], [[], 1, { count: 0, incomplete: 0 }])
  })

  it('names a list that is gone as missing up to now, and shows the others as read', () => {
    const span = (endMs: number): TimeSpan => ({ startMs: beginningMs, endMs })
    const { windows, holes, partitions } = toStreamCoverage(
      { ...ledger, partitioned: true },
      state({
        lists: [
          { covered: [span(nowMs)], isListed: true },
          { covered: [span(day(9))], isListed: false, gone: 'MATIC/USDT' },
          { covered: [], isListed: false, gone: 'BUSD/USDT' },
        ],
      }),
    )
    assert.deepEqual(windows, [span(nowMs)])
    assert.deepEqual(partitions, { count: 3, incomplete: 2 })
    assert.deepEqual(
      holes.map(({ startMs, endMs, message }) => [startMs, endMs, message.split('.')[0]]),
      [
        [beginningMs, nowMs, 'The provider does not know BUSD/USDT'],
        [day(9), nowMs, 'The provider no longer knows MATIC/USDT'],
      ],
    )
  })
})
