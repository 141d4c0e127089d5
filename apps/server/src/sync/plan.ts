/**
 * Which window of a stream to read next. Pure: what is covered, what the provider keeps, what now is → the newest gap,
 * so that recent history comes first and the rest behind it.
 */
import type { Pager, Window } from '@assay/connectors'

const dayMs = 24 * 3_600_000

/** Nothing of interest happened before; a start of 0 would be as right and reads worse in a coverage report. */
export const beginningMs = Date.UTC(2009, 0, 1)

/**
 * `covered`: nothing is left up to `untilMs`. `reached`: nothing since `notBeforeMs`, but before it.
 *
 * A gap that begins before `notBeforeMs` is cut there: its newer part is a window of its own, and the older one touches
 * it, so that the two become one when both are read.
 */
export function nextWindow(
  pager: Pager,
  covered: readonly Window[],
  untilMs: number,
  notBeforeMs = beginningMs,
): Window | 'covered' | 'reached' {
  const floorMs = pager.retentionMs === null ? beginningMs : Math.max(beginningMs, untilMs - pager.retentionMs)
  const gap = newestGap(covered, floorMs, untilMs)
  if (gap === undefined) return 'covered'
  if (gap.endMs <= notBeforeMs) return 'reached'
  const startMs = gap.startMs < notBeforeMs ? notBeforeMs : overlapping(gap, floorMs, pager.overlapMs)
  const earliestMs = pager.windowMaxMs === null ? startMs : gap.endMs - pager.windowMaxMs
  return { startMs: Math.max(startMs, earliestMs), endMs: gap.endMs }
}

/**
 * Rows that came late, or changed, lie just before the edge of what was read; a few lie further back, and for those the
 * first run of a day looks at a whole week. Keys make reading them twice harmless.
 */
function overlapping({ startMs, endMs }: Window, floorMs: number, overlapMs: number): number {
  if (startMs <= floorMs) return startMs
  const isNewDay = Math.floor(startMs / dayMs) < Math.floor(endMs / dayMs)
  return Math.max(floorMs, startMs - (isNewDay ? Math.max(overlapMs, 7 * dayMs) : overlapMs))
}

function newestGap(covered: readonly Window[], floorMs: number, untilMs: number): Window | undefined {
  let endMs = untilMs
  for (const window of covered.toSorted((a, b) => b.endMs - a.endMs)) {
    if (window.endMs < endMs) return endMs > floorMs ? { startMs: Math.max(window.endMs, floorMs), endMs } : undefined
    endMs = Math.min(endMs, window.startMs)
  }
  return endMs > floorMs ? { startMs: floorMs, endMs } : undefined
}
