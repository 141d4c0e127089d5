/** Moments in the past that a request asks about: `as_of` and `known_at`. */
import { refuse, wrongParameter } from '../request/invalid.ts'

/**
 * How far a client's clock may run ahead of ours. A client that asks for the present sends its own time, and even on
 * one machine that is some milliseconds later than the time of the database.
 */
const clockAheadMsMax = 10_000

/**
 * The moment to answer for: the present, where the client's clock runs ahead. Refuses a moment that has not come, or
 * that lies before everything that is kept.
 */
export function toMoment(
  parameter: string,
  asked: string | undefined,
  { latestMs, earliestMs }: { latestMs: number; earliestMs?: number },
): string | undefined {
  if (asked === undefined) return undefined
  const askedMs = Date.parse(asked)
  if (askedMs > latestMs + clockAheadMsMax) {
    throw refuse([wrongParameter(parameter, `must not be after the present, ${toTime(latestMs)}`, asked)])
  }
  if (earliestMs !== undefined && askedMs < earliestMs) {
    const rule = `must not be before ${toTime(earliestMs)}: what was known earlier is no longer kept`
    throw refuse([wrongParameter(parameter, rule, asked)])
  }
  return toTime(Math.min(askedMs, latestMs))
}

const toTime = (ms: number): string => new Date(ms).toISOString()
