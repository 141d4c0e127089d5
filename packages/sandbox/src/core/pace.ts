/**
 * How fast the providers' limits forget. `fast` divides every limit's time by 100, so that a first read which would
 * take minutes at a real exchange takes seconds; the shape of the limit (size, cost, error) stays the same.
 */
export type Pace = 'fast' | 'real'

export function speedOf(pace: Pace): number {
  return pace === 'fast' ? 100 : 1
}
