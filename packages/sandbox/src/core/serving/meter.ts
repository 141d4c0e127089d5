/**
 * A counter that rises with each call and decays with time: the shape of Kraken's call counter and, with a decay of one
 * window, of a plain "n calls a minute".
 */
import { speedOf, type Pace } from '../clock.ts'

export interface MeterLimit {
  max: number
  decayPerSecond: number
}

export interface Meter {
  /** Counts the call, or refuses it without counting and returns how long to wait. */
  take(cost: number, nowMs: number): { accepted: true } | { accepted: false; retryAfterMs: number }
}

export function createMeter(limit: MeterLimit): Meter {
  let level = 0
  let seenMs = Number.NEGATIVE_INFINITY
  return {
    take(cost, nowMs) {
      const elapsedMs = Math.max(0, nowMs - seenMs)
      level = Math.max(0, level - (elapsedMs / 1000) * limit.decayPerSecond)
      seenMs = nowMs
      if (level + cost > limit.max) {
        return { accepted: false, retryAfterMs: Math.ceil(((level + cost - limit.max) / limit.decayPerSecond) * 1000) }
      }
      level += cost
      return { accepted: true }
    },
  }
}

/** One meter for each name, such as the address of a caller. */
export type Meters = (name: string, limit: MeterLimit) => Meter

// The names come from outside: past this many, the counts start again.
const metersMax = 10_000

export function createMeters(pace: Pace): Meters {
  const meters = new Map<string, Meter>()
  return (name, { max, decayPerSecond }) => {
    const known = meters.get(name)
    if (known !== undefined) return known
    const made = createMeter({ max, decayPerSecond: decayPerSecond * speedOf(pace) })
    if (meters.size >= metersMax) meters.clear()
    meters.set(name, made)
    return made
  }
}
