/**
 * Rows of which a part was not known when they were read: the decimals of a token, or the receipt of a transaction. They
 * were kept as unreadable or incomplete, and their window is covered, so the engine does not ask for them again. The
 * lasting mark of the list remembers them, by contract and as a span of blocks, and once the rest is known, the rows
 * are read again. Pure.
 */
import { dayMs } from '@assay/core'
import { z } from 'zod'

export const lateRows = z.object({
  contract: z.string(),
  /** Both blocks are included. */
  first: z.number(),
  last: z.number(),
  /** Where the next try begins, when some have been made since the first block. */
  at: z.number().exactOptional(),
  /** When the tries begin again: they have been made up to the last block. */
  restsUntilMs: z.number().exactOptional(),
})
export type LateRows = z.infer<typeof lateRows>

/** In place of a contract: the wallet's own transactions, whose receipts the node did not have. */
export const ofReceipts = 'receipts'

/** Strangers decide how many contracts fail. Rows of further ones stay unreadable. */
const contractsMax = 200

/** One span for each contract. */
export function mergeLate(all: readonly LateRows[]): LateRows[] {
  const merged = new Map<string, LateRows>()
  for (const one of all) {
    const { first, last } = merged.get(one.contract) ?? one
    const span = { first: Math.min(first, one.first), last: Math.max(last, one.last) }
    if (merged.has(one.contract) || merged.size < contractsMax) merged.set(one.contract, { ...one, ...span })
  }
  return [...merged.values()]
}

/**
 * What is left after a page of its rows with these blocks. The last block may be cut off, so it is asked for again; a
 * page that ends where it began has nothing behind it. A page without rows is the answer of an index that is behind.
 */
export function afterPage(late: LateRows, blocks: readonly number[]): LateRows[] {
  if (blocks.length === 0) return [late]
  const shownTo = Math.max(late.first, ...blocks)
  return shownTo > late.first ? [{ ...late, first: shownTo }] : []
}

/**
 * What is left after a page that began at `start`: the blocks in which something is still missing, and what lies before
 * the page and behind it. `next` is where the following page begins; undefined for the last page.
 */
export function withoutPage(
  { contract, first, last }: LateRows,
  start: number,
  missing: readonly number[],
  next: number | undefined,
  nowMs: number,
): LateRows[] {
  const from = start > first ? first : Math.min(...missing, next ?? Infinity)
  const to = next === undefined ? Math.max(...missing, start > first ? start - 1 : -Infinity) : last
  if (from > to) return []
  const then = next === undefined || next > to ? { restsUntilMs: nowMs + dayMs } : next > from ? { at: next } : {}
  return [{ contract, first: from, last: to, ...then }]
}
