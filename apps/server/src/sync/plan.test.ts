import type { Pager, Window } from '@assay/connectors'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { beginningMs, nextWindow } from './plan.ts'

const hourMs = 3_600_000
const untilMs = Date.UTC(2026, 10, 15)

const plain: Pager = {
  kind: 'offset',
  pageSizeMax: 50,
  order: 'newest_first',
  windowMaxMs: null,
  retentionMs: null,
  overlapMs: hourMs,
}

/** As closeWindow keeps them: windows that touch become one. */
function cover(covered: readonly Window[], window: Window): Window[] {
  const touches = (other: Window): boolean => other.startMs <= window.endMs && other.endMs >= window.startMs
  const all = [window, ...covered.filter(touches)]
  const merged = {
    startMs: Math.min(...all.map(({ startMs }) => startMs)),
    endMs: Math.max(...all.map(({ endMs }) => endMs)),
  }
  return [...covered.filter((other) => !touches(other)), merged]
}

function readAll(pager: Pager, covered: readonly Window[], until: number): { windows: Window[]; covered: Window[] } {
  const windows: Window[] = []
  let now = [...covered]
  for (;;) {
    const window = nextWindow(pager, now, until)
    if (typeof window === 'string') return { windows, covered: now }
    windows.push(window)
    assert.ok(windows.length <= 2_000, 'planning does not end')
    now = cover(now, window)
  }
}

describe('the next window', () => {
  it('of a stream never read is all of it, when the provider sets no limits', () => {
    assert.deepEqual(nextWindow(plain, [], untilMs), { startMs: beginningMs, endMs: untilMs })
  })

  it('of a stream that was read begins a little before what is covered', () => {
    const nowMs = untilMs + 12 * hourMs
    const read = { startMs: beginningMs, endMs: nowMs - 10 * hourMs }
    assert.deepEqual(nextWindow(plain, [read], nowMs), { startMs: read.endMs - hourMs, endMs: nowMs })
  })

  it('begins a week before it with the first run of a day, or earlier where that is usual', () => {
    const read = { startMs: beginningMs, endMs: untilMs - hourMs }
    const nowMs = untilMs + hourMs
    const weekMs = 7 * 24 * hourMs
    assert.deepEqual(nextWindow(plain, [read], nowMs), { startMs: read.endMs - weekMs, endMs: nowMs })
    const wide = { ...plain, overlapMs: 2 * weekMs }
    assert.deepEqual(nextWindow(wide, [read], nowMs), { startMs: read.endMs - 2 * weekMs, endMs: nowMs })
  })

  it('is none when all is covered', () => {
    assert.equal(nextWindow(plain, [{ startMs: beginningMs, endMs: untilMs }], untilMs), 'covered')
    assert.equal(nextWindow(plain, [{ startMs: beginningMs, endMs: untilMs + hourMs }], untilMs), 'covered')
  })

  it('goes backwards from now in steps of the widest window', () => {
    const pager = { ...plain, windowMaxMs: 24 * hourMs, retentionMs: 60 * hourMs }
    const { windows } = readAll(pager, [], untilMs)
    assert.deepEqual(
      windows.map(({ startMs, endMs }) => [(untilMs - startMs) / hourMs, (untilMs - endMs) / hourMs]),
      [
        [24, 0],
        [48, 24],
        [60, 48],
      ],
    )
  })
})

describe('a stream read since a time only', () => {
  const sinceMs = untilMs - 30 * 24 * hourMs

  it('is cut there, and the rest follows without a seam: two windows that become one', () => {
    const recent = { startMs: sinceMs, endMs: untilMs }
    assert.deepEqual(nextWindow(plain, [], untilMs, sinceMs), recent)
    assert.equal(nextWindow(plain, [recent], untilMs, sinceMs), 'reached')
    const rest = { startMs: beginningMs, endMs: sinceMs }
    assert.deepEqual(nextWindow(plain, [recent], untilMs), rest)
    assert.deepEqual(cover([recent], rest), [{ startMs: beginningMs, endMs: untilMs }])
  })

  it('that was read before is asked for the same window as without that time', () => {
    const covered = [{ startMs: beginningMs, endMs: untilMs - 10 * hourMs }]
    assert.deepEqual(nextWindow(plain, covered, untilMs, sinceMs), nextWindow(plain, covered, untilMs))
    const wide = { ...plain, overlapMs: 60 * 24 * hourMs }
    assert.deepEqual(nextWindow(wide, covered, untilMs, sinceMs), nextWindow(wide, covered, untilMs))
  })

  it('of a provider that keeps less is covered by what there is', () => {
    const pager = { ...plain, retentionMs: 24 * hourMs }
    const window = { startMs: untilMs - 24 * hourMs, endMs: untilMs }
    assert.deepEqual(nextWindow(pager, [], untilMs, sinceMs), window)
    assert.equal(nextWindow(pager, [window], untilMs, sinceMs), 'covered')
  })
})

describe('whatever was read before, planning', () => {
  const startMs = untilMs - 4_000 * hourMs
  const windowIn = fc
    .tuple(fc.integer({ min: -50, max: 4_200 }), fc.integer({ min: 1, max: 800 }))
    .map(([at, length]): Window => ({ startMs: startMs + at * hourMs, endMs: startMs + (at + length) * hourMs }))
  const coveredIn = fc.array(windowIn, { maxLength: 8 }).map((windows) => windows.reduce<Window[]>(cover, []))
  const pagerIn = fc.record({
    ...{
      kind: fc.constant('time' as const),
      pageSizeMax: fc.constant(50),
      order: fc.constant('newest_first' as const),
    },
    windowMaxMs: fc.option(fc.integer({ min: 200, max: 2_000 }).map((hours) => hours * hourMs)),
    retentionMs: fc.integer({ min: 1, max: 4_000 }).map((hours) => hours * hourMs),
    overlapMs: fc.integer({ min: 0, max: 300 }).map((hours) => hours * hourMs),
  })

  it('ends, and leaves nothing uncovered that the provider still has', () => {
    fc.assert(
      fc.property(pagerIn, coveredIn, (pager, before) => {
        const { covered } = readAll(pager, before, untilMs)
        const floorMs = untilMs - pager.retentionMs
        const whole = covered.some((window) => window.startMs <= floorMs && window.endMs >= untilMs)
        assert.ok(whole, JSON.stringify(covered))
      }),
    )
  })

  it('asks for nothing older than the provider keeps, newer than the run, or wider than it allows', () => {
    fc.assert(
      fc.property(pagerIn, coveredIn, (pager, before) => {
        for (const window of readAll(pager, before, untilMs).windows) {
          assert.ok(window.startMs >= untilMs - pager.retentionMs)
          assert.ok(window.endMs <= untilMs)
          assert.ok(window.startMs < window.endMs)
          assert.ok(pager.windowMaxMs === null || window.endMs - window.startMs <= pager.windowMaxMs)
        }
      }),
    )
  })

  it('asks first for what is newest', () => {
    fc.assert(
      fc.property(pagerIn, coveredIn, (pager, before) => {
        const ends = readAll(pager, before, untilMs).windows.map(({ endMs }) => endMs)
        assert.deepEqual(
          ends,
          ends.toSorted((a, b) => b - a),
        )
      }),
    )
  })
})
