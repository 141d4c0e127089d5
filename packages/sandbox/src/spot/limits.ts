/**
 * How much a caller may ask: so many calls of an endpoint in a window of time. A window begins with the first call and
 * ends after its length, when the next call begins another one.
 */
import { speedOf, type Pace } from '../core/clock.ts'
import type { Scenario } from '../core/scenario.ts'

export interface CallLimit {
  max: number
  windowMs: number
}

export interface Taken {
  accepted: boolean
  max: number
  left: number
  /** When the window ends. */
  untilMs: number
}

export interface CallLimits {
  /** Undefined for an account without a limit. */
  take(subject: string, endpoint: string, limit: CallLimit, nowMs: number): Taken
}

// Subjects come from outside: past this many, the counts start again.
const subjectsMax = 50_000

export function createCallLimits(pace: Pace): CallLimits {
  const speed = speedOf(pace)
  const windows = new Map<string, { untilMs: number; used: number }>()
  return {
    take(subject, endpoint, { max, windowMs }, nowMs) {
      const key = `${subject} ${endpoint}`
      let window = windows.get(key)
      if (window === undefined || nowMs >= window.untilMs) {
        if (windows.size >= subjectsMax) windows.clear()
        window = { untilMs: nowMs + windowMs / speed, used: 0 }
        windows.set(key, window)
      }
      const accepted = window.used < max
      if (accepted) window.used += 1
      return { accepted, max, left: max - window.used, untilMs: Math.ceil(window.untilMs) }
    },
  }
}

/** What the scenario makes of the documented limit. A limit of its own counts calls in the same window. */
export function limitOf(scenario: Scenario<unknown> | undefined, documented: CallLimit): CallLimit | undefined {
  const limit = scenario?.limit ?? 'documented'
  if (limit === 'none') return undefined
  return limit === 'documented' ? documented : { ...documented, max: Math.min(documented.max, limit.max) }
}
