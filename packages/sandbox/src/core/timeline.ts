/**
 * Rows in order of time, read newest first, as every exchange's history is. A timeline never changes: adding rows makes
 * a new one. So all accounts of a scenario share one, and the slices it has cached for a filter can never be stale.
 *
 * The cost of a page does not depend on the length of the history: bounds are found by bisection, and filtered rows are
 * cached.
 */
export interface Row {
  /** Stable number within the account; ids are made from it. */
  number: number
  /** Ten-thousandths of a second since 1970: the precision Kraken prints, and far above any other provider's. */
  atTicks: number
}

export const ticksPerSecond = 10_000

export interface Range {
  /** Only rows later than this. */
  afterTicks?: number
  /** Only rows at or before this. */
  untilTicks?: number
  /** Only rows after this row in the timeline, which separates rows of the same time. */
  afterNumber?: number
  /** Only this row and those before it. */
  untilNumber?: number
}

export interface View<R> {
  count: number
  /** Newest first. */
  cut(offset: number, size: number): R[]
}

export interface Timeline<R extends Row> {
  /** Oldest first. */
  readonly rows: readonly R[]
  find(number: number): R | undefined
  view(range: Range, filter?: { name: string; keep: (row: R) => boolean }): View<R>
}

// Callers choose the names of filters, so their number needs a limit.
const filtersMax = 64

export function createTimeline<R extends Row>(rows: readonly R[]): Timeline<R> {
  const filtered = new Map<string, readonly R[]>()
  let positions: Map<number, number> | undefined

  function positionOf(number: number): number | undefined {
    positions ??= new Map(rows.map((row, position) => [row.number, position]))
    return positions.get(number)
  }

  function rowsOf(filter: { name: string; keep: (row: R) => boolean } | undefined): readonly R[] {
    if (filter === undefined) return rows
    const known = filtered.get(filter.name)
    if (known !== undefined) return known
    const kept = rows.filter(filter.keep)
    if (filtered.size >= filtersMax) filtered.clear()
    filtered.set(filter.name, kept)
    return kept
  }

  /** How many of `among` lie at or before a row of this timeline. */
  function countThrough(among: readonly R[], number: number): number {
    const position = positionOf(number)
    if (position === undefined) return 0
    if (among === rows) return position + 1
    return bisect(among, (row) => (positionOf(row.number) ?? 0) > position)
  }

  return {
    rows,
    find(number) {
      const position = positionOf(number)
      return position === undefined ? undefined : rows[position]
    },
    view(range, filter) {
      const among = rowsOf(filter)
      const { afterTicks, untilTicks, afterNumber, untilNumber } = range
      let first = 0
      let end = among.length
      if (afterTicks !== undefined) first = bisect(among, (row) => row.atTicks > afterTicks)
      if (afterNumber !== undefined) first = Math.max(first, countThrough(among, afterNumber))
      if (untilTicks !== undefined) end = bisect(among, (row) => row.atTicks > untilTicks)
      if (untilNumber !== undefined) end = Math.min(end, countThrough(among, untilNumber))
      const count = Math.max(0, end - first)
      return {
        count,
        cut(offset, size) {
          const from = Math.max(first, end - offset - size)
          const to = Math.max(first, end - offset)
          return among.slice(from, to).reverse()
        },
      }
    },
  }
}

/** The first position at which `isPast` holds; it must be false up to there and true from there on. */
function bisect<R>(rows: readonly R[], isPast: (row: R) => boolean): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const row = rows[middle]
    if (row !== undefined && isPast(row)) high = middle
    else low = middle + 1
  }
  return low
}
