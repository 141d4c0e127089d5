/** What the lists of all three exchanges have in common: a range of time, newest first, and a page of it. */
import type { CallContext } from '../core/serving/provider-server.ts'

interface Numbered {
  number: number
  atMs: number
}

/** Expects rows that are oldest first. Both edges are included. */
export function within<R extends Numbered>(rows: readonly R[], fromMs: number, toMs: number): readonly R[] {
  const first = countBefore(rows, fromMs)
  const end = countBefore(rows, toMs + 1)
  return first === 0 && end === rows.length ? rows : rows.slice(first, Math.max(first, end))
}

/** How many rows are earlier. */
function countBefore(rows: readonly Numbered[], ms: number): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((rows[middle]?.atMs ?? 0) < ms) low = middle + 1
    else high = middle
  }
  return low
}

/** The page that comes after this row, newest first; the first page when no row is named. */
export function pageAfter<R extends Numbered>(
  rows: readonly R[],
  afterNumber: number | undefined,
  size: number,
  context: CallContext,
): R[] {
  const position = afterNumber === undefined ? rows.length : rows.findIndex(({ number }) => number === afterNumber)
  return pageAt(rows, rows.length - Math.max(0, position), size, context)
}

/** The page so many rows from the newest. */
export function pageAt<R>(rows: readonly R[], offset: number, size: number, context: CallContext): R[] {
  const view = {
    count: rows.length,
    cut(from: number, length: number) {
      const end = Math.max(0, rows.length - from)
      return rows.slice(Math.max(0, end - length), end).reverse()
    },
  }
  return context.cutPage(view, offset, size)
}
