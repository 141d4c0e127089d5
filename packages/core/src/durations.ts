/** Durations in milliseconds, and how waits spread and grow. Pure: `random` is an argument, from 0 to 1. */

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/** `YYYY-MM-DD`, UTC. */
export type Day = string

/**
 * A factor of ±25 %, so that connections that failed or were made in the same minute do not all come back in the same
 * minute.
 */
export function toJitter(random: number): number {
  return 0.75 + random / 2
}

/** Doubles after each failure in a row, from `firstMs` to `maxMs`, with jitter. */
export function toBackoffMs(failures: number, limits: { firstMs: number; maxMs: number }, random: number): number {
  const plainMs = Math.min(limits.maxMs, limits.firstMs * 2 ** Math.min(failures - 1, 20))
  return Math.round(plainMs * toJitter(random))
}
