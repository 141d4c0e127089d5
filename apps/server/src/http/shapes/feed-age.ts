/**
 * When a cursor of a change feed expires, a user's or a tenant's. It holds when its reader was last known to have
 * everything up to its point: at the start of the first walk, and at every last page. Removals since then are reported
 * as long as they are kept.
 */
import { Refusal } from '@assay/core'

/** A cursor expires before the removals do, because clocks differ a little and a walk takes a while. */
const marginMs = 3_600_000

export interface FeedReader {
  /** The number of the feed that the reader has reached. Its upper bits are milliseconds. */
  seq: string
  /** Epoch ms, as text; undefined on the first page. */
  completeAt: string | undefined
}

/**
 * A point is as recent as its number: a client that has read a change of today has missed nothing before it.
 */
export function checkFeedAge({ seq, completeAt }: FeedReader, askedAtMs: number, removalsKeptMs: number): void {
  if (completeAt === undefined) return
  const reachedMs = Number(BigInt(seq) >> 20n)
  // Both numbers are milliseconds of a clock, not amounts.
  if (Math.max(Number(completeAt), reachedMs) < askedAtMs - removalsKeptMs + marginMs) throw refuseExpired()
}

export function refuseExpired(): Refusal {
  const message = 'has expired: removals after it are no longer known; start again without a cursor'
  return new Refusal('invalid_request', `cursor ${message}`, {
    items: [{ cause: 'cursor_expired', parameter: 'cursor', message }],
  })
}
