/** How far a connection has been read, in memory: a job loads it once and updates it as it reads. */
import type { ConnectorState, Stream } from '@assay/connectors'
import { mergeSpans, type Bookmark, type Span } from './plan.ts'

/** One of the provider's lists. */
export interface List {
  stream: Stream
  /** '' for a stream that has only one. */
  partition: string
}

/** A window in blocks has times only if the connector gave them. */
export interface CoveredSpan extends Span {
  startMs?: number
  endMs?: number
}

export interface ListStanding {
  open: Bookmark[]
  /** Oldest first; spans that touch are one. */
  covered: CoveredSpan[]
  lastingMark: string | null
  /** Whether the connector names this list now. */
  isListed: boolean
  /** Since when the provider no longer knows it. */
  goneSinceMs: number | undefined
  /** How many of its records were kept when the job began; a large one counts as several. */
  records: number
  /** When the oldest record happened that may still change. */
  pendingSinceMs: number | undefined
}

export interface Standings {
  lists: Map<string, ListStanding>
  state: ConnectorState
  /** Null while there is no state. */
  stateVersion: string | null
  hasFailures: boolean
  /** The verdict on the balances may have changed. */
  isProofDue: boolean
}

export function idOf(stream: string, partition: string): string {
  return JSON.stringify([stream, partition])
}

export function standingOf({ lists }: Standings, stream: string, partition: string): ListStanding {
  const id = idOf(stream, partition)
  const known = lists.get(id)
  if (known !== undefined) return known
  const standing = {
    open: [],
    covered: [],
    lastingMark: null,
    isListed: false,
    goneSinceMs: undefined,
    records: 0,
    pendingSinceMs: undefined,
  }
  lists.set(id, standing)
  return standing
}

/** Does what `closeWindows` of the store does. */
export function cover(standing: ListStanding, window: CoveredSpan): void {
  standing.covered = mergeSpans([...standing.covered, window], joinCovered)
}

/** Undefined when something lies between them. */
export function joinTouching(a: CoveredSpan, b: CoveredSpan): CoveredSpan | undefined {
  const [joined, apart] = mergeSpans([a, b], joinCovered)
  return apart === undefined ? joined : undefined
}

function joinCovered(a: CoveredSpan, b: CoveredSpan): CoveredSpan {
  const startMs = a.startMs ?? b.startMs
  const endMs = a.end >= b.end ? (a.endMs ?? b.endMs) : (b.endMs ?? a.endMs)
  return {
    start: Math.min(a.start, b.start),
    end: Math.max(a.end, b.end),
    ...(startMs === undefined ? {} : { startMs }),
    ...(endMs === undefined ? {} : { endMs }),
  }
}

export function closeBookmark(standing: ListStanding, start: number): void {
  standing.open = standing.open.filter((bookmark) => bookmark.start !== start)
}

export function moveBookmark(standing: ListStanding, to: Bookmark): void {
  standing.open = [...standing.open.filter((bookmark) => bookmark.start !== to.start), to]
}
