/**
 * The sandbox's clock, and how fast the providers' limits recover.
 */

/** Time passes as it does outside, plus an offset that only grows: what was issued or counted must stay in the past. */
export interface Clock {
  nowMs(): number
  offsetMs(): number
  /** Sets the offset. Refuses to go back. */
  moveTo(offsetMs: number): void
}

export function createClock(outside: () => number): Clock {
  let offset = 0
  return {
    nowMs: () => outside() + offset,
    offsetMs: () => offset,
    moveTo(offsetMs) {
      if (offsetMs < offset) throw new RangeError(`the clock only moves forward: offset is already ${offset} ms`)
      offset = offsetMs
    },
  }
}

/**
 * How fast the providers' limits recover. `fast` divides every limit's time by 100, so that a first read which would
 * take minutes at a real exchange takes seconds; the shape of the limit (size, cost, error) stays the same. At
 * `fastest` nothing waits for a limit. It is for tests of what is read, because Binance allows only two calls a minute
 * for one of its lists.
 */
export type Pace = 'fastest' | 'fast' | 'real'

const speeds: Readonly<Record<Pace, number>> = { fastest: 10_000, fast: 100, real: 1 }

export function speedOf(pace: Pace): number {
  return speeds[pace]
}
