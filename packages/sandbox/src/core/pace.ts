/**
 * How fast the providers' limits forget. `fast` divides every limit's time by 100, so that a first read which would
 * take minutes at a real exchange takes seconds; the shape of the limit (size, cost, error) stays the same. At `fastest`
 * nothing waits for a limit: for tests of what is read, where one list of Binance may be asked for twice a minute.
 */
export type Pace = 'fastest' | 'fast' | 'real'

const speeds: Readonly<Record<Pace, number>> = { fastest: 10_000, fast: 100, real: 1 }

export function speedOf(pace: Pace): number {
  return speeds[pace]
}
