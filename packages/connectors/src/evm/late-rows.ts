/**
 * Rows of which a part was not known when they were read: the decimals of a token, or the receipt of a transaction. They
 * were kept as unreadable or incomplete, and their window is covered, so the engine does not ask for them again. The
 * lasting mark of the list remembers them, by contract and as a span of blocks, and once the rest is known, the rows
 * are read again. Pure.
 */
import { dayMs, minuteMs } from '@assay/core'
import { z } from 'zod'

/** Blocks; both are included. */
const span = z.object({ first: z.number(), last: z.number() })
type Span = z.infer<typeof span>

/** How a contract was asked for its decimals that has not said them. */
export const tries = z.object({
  /** How often it was asked in vain, and when it was last. */
  times: z.number(),
  atMs: z.number(),
  /** Larger groups with it have failed. */
  partSize: z.number().exactOptional(),
})
export type Tries = z.infer<typeof tries>

export const lateRows = span.extend({
  contract: z.string(),
  /** Absent until it has said them, and for a contract of the state, which has its own. */
  decimals: z.number().exactOptional(),
  unsaid: tries.exactOptional(),
  /** Pages are tried one by one: where the next one begins, and between which blocks something is still missing. */
  tried: z.object({ next: z.number(), missing: span.nullable() }).exactOptional(),
  restsUntilMs: z.number().exactOptional(),
})
export type LateRows = z.infer<typeof lateRows>

/** In place of a contract: the wallet's own transactions, whose receipts the node did not have. */
export const ofReceipts = 'receipts'

/** Strangers decide how many contracts fail. Rows of further ones stay unreadable, except those of known tokens. */
const strangersMax = 200

/** One span for each contract. */
export function mergeLate(all: readonly LateRows[], isKnown: (contract: string) => boolean): LateRows[] {
  const merged = new Map<string, LateRows>()
  let strangers = 0
  for (const one of all) {
    const before = merged.get(one.contract)
    const isStranger = before === undefined && !isKnown(one.contract)
    if (isStranger && strangers === strangersMax) continue
    if (isStranger) strangers += 1
    merged.set(one.contract, before === undefined ? one : widen(before, one))
  }
  return [...merged.values()]
}

/** The pages of receipts begin again, because they may have passed what is new. */
function widen(known: LateRows, { contract, first, last, restsUntilMs, ...heard }: LateRows): LateRows {
  const rests = restsUntilMs === undefined ? {} : { restsUntilMs }
  const { decimals = known.decimals } = heard
  const unsaid = (known.unsaid?.atMs ?? -1) > (heard.unsaid?.atMs ?? -1) ? known.unsaid : heard.unsaid
  return {
    ...{ contract, ...joinSpans(known, { first, last }), ...rests },
    ...(decimals === undefined ? {} : { decimals }),
    ...(unsaid === undefined ? {} : { unsaid }),
  }
}

function joinSpans(a: Span, b: Span): Span {
  return { first: Math.min(a.first, b.first), last: Math.max(a.last, b.last) }
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

/** Receipts of transactions in these blocks. A node that lacked one for a moment has it in the next run. */
export function lateReceipts(blocks: readonly number[], nowMs: number): LateRows[] {
  if (blocks.length === 0) return []
  const { first, last } = spanOf(blocks)
  return [{ contract: ofReceipts, first, last, restsUntilMs: nowMs + 5 * minuteMs }]
}

function spanOf(blocks: readonly number[]): Span {
  return { first: Math.min(...blocks), last: Math.max(...blocks) }
}

export interface TriedPage {
  /** The last block that it shows; the one before it began when it shows nothing. */
  shownTo: number
  /** The blocks in which receipts are still missing. */
  missing: readonly number[]
  /** Where the following page begins; undefined for the last page. */
  next: number | undefined
}

/** What is left of the receipts after a page. After the last page the next try is a day later. */
export function afterTry({ contract, first, last, tried }: LateRows, page: TriedPage, nowMs: number): LateRows[] {
  const { shownTo, next, missing } = page
  // The last block has a transaction of the wallet, so an index that does not show it is behind.
  const unseen = next === undefined && shownTo < last ? [shownTo + 1, last] : []
  const former = tried?.missing ?? null
  const blocks = [...(former === null ? [] : [former.first, former.last]), ...missing, ...unseen]
  const left = blocks.length === 0 ? null : spanOf(blocks)
  if (next !== undefined && next <= last) return [{ contract, first, last, tried: { next, missing: left } }]
  return left === null ? [] : [{ contract, ...left, restsUntilMs: nowMs + dayMs }]
}
