/**
 * How many rows an index is asked for at once. Strangers decide how long rows are: a contract has a name of any length,
 * and one transaction writes a thousand rows with it. Where a page is longer than an answer may be, fewer rows are asked
 * for, and more again once the list has moved on. Pure.
 */

/** The most rows that an index shows of one query (`page` × `offset`). */
const windowRowsMax = 10_000

export const pageSize = 1_000
/** Receipts are requested one by one, within the time of one page. */
export const pageSizeWithReceipts = 100

/** Each divides the one before it, so that a page begins where one of a larger size did. */
const sizes = [pageSize, 500, pageSizeWithReceipts, 50, 10, 5, 1]

/** Undefined for a single row. */
export function toSmaller(size: number): number | undefined {
  return sizes.find((one) => one < size)
}

/** A page of this many characters is sent in a second or two, and far below what an answer may have. */
const lengthMax = 8_000_000

/** The next larger size, if as many rows of the length of these are no longer than a page should be. */
export function toLarger(size: number, usual: number, length: number): number {
  const larger = sizes.findLast((one) => size < one && one <= usual) ?? size
  return (length / size) * larger <= lengthMax ? larger : size
}

export function pagesMaxOf(size: number): number {
  return windowRowsMax / size
}
