/**
 * Shares as whole percents that add up to 100 (largest remainder): rounded one by one, five shares of a bar may add up
 * to 98 or 102. For display only: no amount is computed from them.
 */
export function toWholePercents(shares: readonly number[]): number[] {
  const whole = shares.reduce((sum, share) => sum + share, 0)
  if (whole <= 0) return shares.map(() => 0)
  const exact = shares.map((share) => (100 * share) / whole)
  const missing = 100 - exact.reduce((sum, percent) => sum + Math.floor(percent), 0)
  const remainder = (index: number): number => (exact[index] ?? 0) % 1
  const raised = new Set([...exact.keys()].toSorted((a, b) => remainder(b) - remainder(a)).slice(0, missing))
  return exact.map((percent, index) => Math.floor(percent) + (raised.has(index) ? 1 : 0))
}
