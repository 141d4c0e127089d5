/**
 * The sandbox's one clock. Time passes as it does outside, plus an offset that only ever grows: what was issued or
 * counted before a move must stay in the past.
 */
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
