/**
 * Which window of a stream to read next. Pure: what is covered, what the provider keeps, what now is → the newest gap,
 * so that recent history comes first and the rest behind it.
 */
import type { Pager, Window } from '@assay/connectors'

/** Nothing of interest happened before; a start of 0 would be as right and reads worse in a coverage report. */
export const beginningMs = Date.UTC(2009, 0, 1)

/** Undefined when everything up to `untilMs` is covered. */
export function nextWindow(pager: Pager, covered: readonly Window[], untilMs: number): Window | undefined {
  const floorMs = pager.retentionMs === null ? beginningMs : Math.max(beginningMs, untilMs - pager.retentionMs)
  const gap = newestGap(covered, floorMs, untilMs)
  if (gap === undefined) return undefined
  // Rows that came late, or changed, lie just before the edge of what was read. Keys make reading them twice harmless.
  const startMs = gap.startMs > floorMs ? Math.max(floorMs, gap.startMs - pager.overlapMs) : gap.startMs
  if (pager.windowMaxMs === null) return { startMs, endMs: gap.endMs }
  return { startMs: Math.max(startMs, gap.endMs - pager.windowMaxMs), endMs: gap.endMs }
}

function newestGap(covered: readonly Window[], floorMs: number, untilMs: number): Window | undefined {
  let endMs = untilMs
  for (const window of covered.toSorted((a, b) => b.endMs - a.endMs)) {
    if (window.endMs < endMs) return endMs > floorMs ? { startMs: Math.max(window.endMs, floorMs), endMs } : undefined
    endMs = Math.min(endMs, window.startMs)
  }
  return endMs > floorMs ? { startMs: floorMs, endMs } : undefined
}
