/** How long to stay away after failures in a row. Pure; the randomness is an argument. */

const firstMs = 2_000
const mostMs = 15 * 60_000

/** Doubles, with a jitter of ±25 %, so that a provider that comes back is not met by all connections at once. */
export function backoffMs(failures: number, random: number): number {
  const plain = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 20))
  return Math.round(plain * (0.75 + random / 2))
}
