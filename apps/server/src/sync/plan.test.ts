import { dayMs, hourMs } from '@assay/core'
import type { Stream } from '@assay/connectors'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  beginningMs,
  mergeSpans,
  listRereads,
  nextStep,
  without,
  type Bookmark,
  type Span,
  type Standing,
} from './plan.ts'

const until = Date.UTC(2026, 10, 15)

const plain: Stream = {
  ...{ name: 'ledger', unit: 'ms', partitioned: false, windowMax: null, retentionMs: null, overlap: hourMs },
  ...{ cost: { calls: 1 }, required: true, providerLimit: null, remedy: null },
}

const nothing: Standing = { covered: [], open: [], missing: [] }
const covered = (...spans: Span[]): Standing => ({ ...nothing, covered: spans })
const join = (a: Span, b: Span): Span => ({ start: Math.min(a.start, b.start), end: Math.max(a.end, b.end) })

function readAll(stream: Stream, spans: readonly Span[], end: number): { windows: Span[]; covered: Span[] } {
  const windows: Span[] = []
  let now = [...spans]
  for (;;) {
    const step = nextStep(stream, covered(...now), end)
    if (typeof step === 'string') return { windows, covered: now }
    assert.ok(step.kind === 'open')
    windows.push(step.window)
    assert.ok(windows.length <= 2_000, 'planning does not end')
    now = mergeSpans([...now, step.window], join)
  }
}

describe('the next window', () => {
  it('of a list that was never read is all of it, when the provider sets no limits', () => {
    assert.deepEqual(nextStep(plain, nothing, until), { kind: 'open', window: { start: beginningMs, end: until } })
  })

  it('does not exist when everything is covered', () => {
    assert.equal(nextStep(plain, covered({ start: beginningMs, end: until }), until), 'covered')
    assert.equal(nextStep(plain, covered({ start: beginningMs, end: until + hourMs }), until), 'covered')
  })

  it('does not divide a list that is walked by ids', () => {
    const byId: Stream = { ...plain, walkedWhole: true }
    const recent = until - 30 * dayMs
    assert.deepEqual(nextStep(byId, nothing, until, recent), {
      kind: 'open',
      window: { start: beginningMs, end: until },
    })
    assert.deepEqual(nextStep(plain, nothing, until, recent), { kind: 'open', window: { start: recent, end: until } })
  })

  it('goes backwards from now in steps of the widest window', () => {
    const { windows } = readAll({ ...plain, windowMax: 24 * hourMs, retentionMs: 60 * hourMs }, [], until)
    assert.deepEqual(
      windows.map(({ start, end }) => [(until - start) / hourMs, (until - end) / hourMs]),
      [
        [24, 0],
        [48, 24],
        [60, 48],
      ],
    )
  })

  it('does not include times that the provider has forgotten', () => {
    const stream = { ...plain, retentionMs: 30 * dayMs }
    assert.deepEqual(nextStep(stream, nothing, until), {
      kind: 'open',
      window: { start: until - 30 * dayMs, end: until },
    })
    assert.equal(nextStep(stream, covered({ start: until - 40 * dayMs, end: until }), until), 'covered')
  })

  it('of a list in blocks begins at block zero', () => {
    const stream: Stream = { ...plain, unit: 'block', windowMax: 100, overlap: 5 }
    assert.deepEqual(nextStep(stream, nothing, 50), { kind: 'open', window: { start: 0, end: 50 } })
    assert.deepEqual(readAll(stream, [], 250).windows, [
      { start: 150, end: 250 },
      { start: 50, end: 150 },
      { start: 0, end: 50 },
    ])
  })

  it('is the newest gap first, then the one before it', () => {
    const read = [
      { start: beginningMs, end: until - 50 * dayMs },
      { start: until - 30 * dayMs, end: until - 10 * dayMs },
    ]
    assert.deepEqual(readAll(plain, read, until).windows, [
      { start: until - 10 * dayMs, end: until },
      { start: until - 50 * dayMs, end: until - 30 * dayMs },
    ])
  })

  it('is cut where the recent part ends, and the older part touches it', () => {
    const notBefore = until - 38 * dayMs
    const recent = nextStep(plain, nothing, until, notBefore)
    assert.deepEqual(recent, { kind: 'open', window: { start: notBefore, end: until } })
    const standing = covered({ start: notBefore, end: until })
    assert.equal(nextStep(plain, standing, until, notBefore), 'reached')
    assert.deepEqual(nextStep(plain, standing, until), {
      kind: 'open',
      window: { start: beginningMs, end: notBefore },
    })
  })

  it('leaves out windows that the provider could not return in this job', () => {
    const standing = { ...nothing, missing: [{ start: beginningMs, end: until }] }
    assert.equal(nextStep(plain, standing, until), 'covered')
  })

  it('covers everything once, whatever was covered before', () => {
    const span = fc
      .tuple(fc.integer({ min: 0, max: 6_000 }), fc.integer({ min: 1, max: 500 }))
      .map(([from, days]) => ({ start: beginningMs + from * dayMs, end: beginningMs + (from + days) * dayMs }))
    fc.assert(
      fc.property(fc.array(span, { maxLength: 8 }), fc.option(fc.integer({ min: 30, max: 900 })), (spans, maxDays) => {
        const windowMax = maxDays === null ? null : maxDays * dayMs
        const before = mergeSpans(spans, join)
        const { windows, covered: after } = readAll({ ...plain, windowMax }, before, until)
        assert.ok(after.some(({ start, end }) => start <= beginningMs && end >= until))
        for (const window of windows) {
          assert.ok(window.start < window.end && (windowMax === null || window.end - window.start <= windowMax))
          assert.ok(before.every(({ start, end }) => end <= window.start || start >= window.end))
        }
        assert.deepEqual(
          windows,
          windows.toSorted((a, b) => b.end - a.end),
        )
      }),
    )
  })
})

describe('an open window', () => {
  const bookmark: Bookmark = { start: beginningMs, end: until - dayMs, pageMark: '50', shownAgain: 0 }

  it('is resumed, unless there is something newer', () => {
    const standing = { ...nothing, open: [bookmark] }
    assert.deepEqual(nextStep(plain, standing, bookmark.end), { kind: 'resume', bookmark })
    assert.deepEqual(nextStep(plain, standing, until), {
      kind: 'open',
      window: { start: bookmark.end, end: until },
    })
    const newer = { start: bookmark.end, end: until, pageMark: '7', shownAgain: 0 }
    assert.deepEqual(nextStep(plain, { ...nothing, open: [bookmark, newer] }, until), {
      kind: 'resume',
      bookmark: newer,
    })
  })

  it('waits when it lies before the recent part', () => {
    const standing = { ...covered({ start: bookmark.end, end: until }), open: [bookmark] }
    assert.equal(nextStep(plain, standing, until, bookmark.end), 'reached')
    assert.deepEqual(nextStep(plain, standing, until, bookmark.end - 1), { kind: 'resume', bookmark })
  })
})

describe('the range that is read again', () => {
  const read = (end: number): Standing => covered({ start: beginningMs, end })
  const from = (stream: Stream, end: number, nowMs: number, pendingSinceMs?: number): number | undefined =>
    listRereads(stream, read(end), nowMs, pendingSinceMs)[0]?.start

  it('begins shortly before the end of the covered range', () => {
    const nowMs = until + 12 * hourMs
    assert.equal(from(plain, nowMs - 10 * hourMs, nowMs), nowMs - 11 * hourMs)
  })

  it('begins a week before it with the first run of a day, or earlier where that is usual', () => {
    const end = until - hourMs
    assert.equal(from(plain, end, until + hourMs), end - 7 * dayMs)
    assert.equal(from({ ...plain, overlap: 14 * dayMs }, end, until + hourMs), end - 14 * dayMs)
  })

  it('begins at the oldest record that may still change, at most 400 days back', () => {
    const nowMs = until + 12 * hourMs
    assert.equal(from(plain, nowMs - hourMs, nowMs, nowMs - 90 * dayMs), nowMs - 90 * dayMs)
    assert.equal(from(plain, nowMs - hourMs, nowMs, nowMs - 900 * dayMs), nowMs - 400 * dayMs)
    assert.equal(from(plain, nowMs - hourMs, nowMs, nowMs - 1), nowMs - 2 * hourMs)
  })

  it('lies before every gap, including one that an earlier job left', () => {
    const standing = covered({ start: beginningMs, end: until - 90 * dayMs }, { start: until - 60 * dayMs, end: until })
    const expected = [{ start: until - 97 * dayMs, end: until - 60 * dayMs }]
    assert.deepEqual(listRereads(plain, standing, until, until - 80 * dayMs), expected)
  })

  it('is empty while there is nothing new, and in a first read', () => {
    assert.equal(from(plain, until, until), undefined)
    assert.deepEqual(listRereads(plain, nothing, until, undefined), [])
    assert.deepEqual(listRereads(plain, covered({ start: until - dayMs, end: until }), until, until - 9), [])
  })

  it('of blocks is the overlap, in blocks', () => {
    const stream: Stream = { ...plain, unit: 'block', overlap: 12 }
    assert.deepEqual(listRereads(stream, covered({ start: 0, end: 100 }), 110, until), [{ start: 88, end: 110 }])
    assert.deepEqual(listRereads(stream, covered({ start: 0, end: 5 }), 110, undefined), [{ start: 0, end: 110 }])
  })

  it('of blocks is the overlap, too, while more blocks are covered than there are', () => {
    const stream: Stream = { ...plain, unit: 'block', overlap: 12 }
    assert.deepEqual(listRereads(stream, covered({ start: 0, end: 100 }), 99, undefined), [{ start: 87, end: 99 }])
    assert.deepEqual(listRereads(stream, covered({ start: 0, end: 100 }), 100, undefined), [])
  })
})

describe('spans', () => {
  it('lose what is cut out of them', () => {
    const span = { start: 10, end: 20 }
    assert.deepEqual(without([span], { start: 0, end: 10 }), [span])
    assert.deepEqual(without([span], { start: 12, end: 15 }), [
      { start: 10, end: 12 },
      { start: 15, end: 20 },
    ])
    assert.deepEqual(without([span], { start: 15, end: 99 }), [{ start: 10, end: 15 }])
    assert.deepEqual(without([span], span), [])
  })
})
