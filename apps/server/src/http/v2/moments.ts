/** Moments in the past that a request asks about: `as_of` and `known_at`. */
import { refuse, wrongParameter } from '../request/invalid.ts'

/** Refuses a moment that has not come, or that lies before everything that is kept. */
export function checkMoment(
  parameter: string,
  asked: string | undefined,
  { latestMs, earliestMs }: { latestMs: number; earliestMs?: number },
): void {
  if (asked === undefined) return
  const askedMs = Date.parse(asked)
  if (askedMs > latestMs) {
    throw refuse([wrongParameter(parameter, `must not be after the present, ${toTime(latestMs)}`, asked)])
  }
  if (earliestMs !== undefined && askedMs < earliestMs) {
    const rule = `must not be before ${toTime(earliestMs)}: what was known earlier is no longer kept`
    throw refuse([wrongParameter(parameter, rule, asked)])
  }
}

const toTime = (ms: number): string => new Date(ms).toISOString()
