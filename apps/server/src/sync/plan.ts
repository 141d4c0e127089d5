/**
 * Which window of a list to read next. Pure: what is covered, which windows are open, what the provider keeps → the
 * newest piece of work, so that recent history comes first and the rest behind it.
 *
 * An open window has a bookmark and counts as taken. Records that came after it began lie in a newer gap, which is read
 * first: so new records arrive while a long first history is being read.
 */
import type { Stream } from '@assay/connectors'
import { dayMs } from '@assay/core'

/** Histories begin here. A start of 0 would be just as correct, but reads worse in a coverage report. */
export const beginningMs = Date.UTC(2009, 0, 1)

/** A record that may still change is read again for this long after it happened. */
const pendingReachMs = 400 * dayMs

/** Half open, in the stream's unit. */
export interface Span {
  start: number
  end: number
}

/** A window that is being read, and where its next page begins. */
export interface Bookmark extends Span {
  pageMark: string
  /** How many records were shown since the last new one; an empty page counts for a fraction. */
  shownAgain: number
}

export interface Standing {
  /** In any order. */
  covered: readonly Span[]
  open: readonly Bookmark[]
  /** Windows that the provider could not give in this job. */
  missing: readonly Span[]
}

export type Step = { kind: 'open'; window: Span } | { kind: 'resume'; bookmark: Bookmark } | 'covered' | 'reached'

/**
 * `covered`: nothing is left up to `until`. `reached`: nothing is left since `notBefore`, but older time is.
 *
 * A gap that begins before `notBefore` is cut there: its newer part is a window of its own, and the older one touches
 * it, so that the two become one when both are read.
 */
export function nextStep(stream: Stream, standing: Standing, until: number, since?: number): Step {
  const { covered, open, missing } = standing
  const notBefore = stream.walkedWhole === true ? undefined : since
  const [gap] = listGaps([...covered, ...open, ...missing], floorOf(stream, until), until)
  const [bookmark] = open.toSorted((a, b) => b.end - a.end)
  if (gap === undefined || (bookmark !== undefined && bookmark.end > gap.end)) {
    if (bookmark === undefined) return 'covered'
    return notBefore !== undefined && bookmark.end <= notBefore ? 'reached' : { kind: 'resume', bookmark }
  }
  if (notBefore !== undefined && gap.end <= notBefore) return 'reached'
  const start = Math.max(gap.start, notBefore ?? gap.start, stream.windowMax === null ? 0 : gap.end - stream.windowMax)
  return { kind: 'open', window: { start, end: gap.end } }
}

/**
 * Each gap, with the covered time before it that is read again. Rows that came late, or changed, lie just before the
 * edge of what was read. A few lie further back, and for those a gap that crosses midnight begins a week earlier. A
 * record that is known to be unfinished (a withdrawal on hold) is read again with the newest gap. Blocks that are
 * covered above the present height may not have been there when they were read, so the newest blocks are read again
 * until the chain has passed them. Reading a row twice is harmless, because rows have keys.
 */
export function listRereads(
  stream: Stream,
  { covered, open }: Pick<Standing, 'covered' | 'open'>,
  until: number,
  pendingSinceMs: number | undefined,
): Span[] {
  const floor = floorOf(stream, until)
  const isAhead = stream.unit === 'block' && covered.some(({ end }) => end > until)
  const newest = { start: Math.max(floor, until - stream.overlap), end: until }
  const rereads = listGaps([...covered, ...open], floor, until)
    .filter(({ start }) => start > floor)
    .map(({ start, end }) => {
      if (stream.unit === 'block') return { start: Math.max(floor, start - stream.overlap), end }
      const isNewDay = Math.floor(start / dayMs) < Math.floor(end / dayMs)
      const behind = start - (isNewDay ? Math.max(stream.overlap, 7 * dayMs) : stream.overlap)
      const pending = end < until ? Infinity : Math.max(pendingSinceMs ?? Infinity, until - pendingReachMs)
      return { start: Math.max(floor, Math.min(behind, pending)), end }
    })
  return isAhead ? [newest, ...rereads] : rereads
}

export function floorOf({ unit, retentionMs }: Stream, until: number): number {
  if (unit === 'block') return 0
  return retentionMs === null ? beginningMs : Math.max(beginningMs, until - retentionMs)
}

/** Newest first. */
function listGaps(taken: readonly Span[], floor: number, until: number): Span[] {
  const gaps: Span[] = []
  let end = until
  for (const span of taken.toSorted((a, b) => b.end - a.end)) {
    if (end <= floor) return gaps
    if (span.end < end) gaps.push({ start: Math.max(span.end, floor), end })
    end = Math.min(end, span.start)
  }
  return end > floor ? [...gaps, { start: floor, end }] : gaps
}

/** Pure: spans that touch become one. Oldest first. */
export function mergeSpans<Kept extends Span>(spans: readonly Kept[], join: (a: Kept, b: Kept) => Kept): Kept[] {
  const merged: Kept[] = []
  for (const span of spans.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    const last = merged.at(-1)
    if (last !== undefined && span.start <= last.end) merged[merged.length - 1] = join(last, span)
    else merged.push(span)
  }
  return merged
}

/** Pure: what is left of the spans without `cut`. */
export function without<Kept extends Span>(spans: readonly Kept[], cut: Span): Kept[] {
  return spans.flatMap((span) => {
    if (span.end <= cut.start || span.start >= cut.end) return [span]
    const parts = [
      { ...span, end: cut.start },
      { ...span, start: cut.end },
    ]
    return parts.filter(({ start, end }) => start < end)
  })
}
