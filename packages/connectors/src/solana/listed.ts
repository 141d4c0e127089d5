/** Rows of a list of signatures, and the transactions behind them. */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import { parseJsonVerbatim } from '../kit/json.ts'
import { commitment, digits, type Outcome, type Rpc } from './rpc.ts'

export const rowSchema = z.object({
  signature: z.string(),
  slot: digits,
  blockTime: digits.nullish(),
  confirmationStatus: z.string().nullish(),
  err: z.unknown(),
})
export type Row = z.infer<typeof rowSchema>
export const signaturesAnswer = z.array(rowSchema)

/**
 * Where a list continues, in the words of a request. Nodes behind one address are some seconds apart, and one that does
 * not know the signature yet gives an empty list, which would look like its end. With the slot it refuses instead.
 */
export function toPlace({ before, slot }: { before: string; slot: number }): object {
  return before === '' ? {} : { before, minContextSlot: slot }
}

/**
 * The rows of a page without those that the page before has had as well. Each row is read by what the ones above it show,
 * such as whose an account was, so a row that came again would be misread. A full page without any other row is not the
 * end of a list.
 */
export function dropRepeated<R extends Row>(rows: readonly R[], { before }: { before: string }, limit: number): R[] {
  const fresh = rows.slice(rows.findLastIndex(({ signature }) => signature === before) + 1)
  if (fresh.length > 0 || rows.length < limit) return fresh
  throw new SourceError('unreadable_answer', 'the node gives the same signatures again')
}

/** Old transactions no longer have a status. */
export function isFinal({ confirmationStatus }: Row): boolean {
  return (confirmationStatus ?? 'finalized') === 'finalized'
}

const seenMax = 200
/** Most have some ten thousand characters. A few pages of the longest answers, parsed, would fill the memory. */
const seenLengthMax = 100_000
/**
 * Nodes refuse transactions of a version above the one that a request names. Version 1 came to the main network in
 * September 2026 (SIMD-0385). What is read here, keys and balances, is the same in all versions, and a version is a
 * number of seven bits.
 */
const maxSupportedTransactionVersion = 127
const unsupportedVersion = '-32015'

export interface ListedReader {
  rpc: Rpc
  /** Transactions that this reader has read, as text: one may be in several lists. */
  seen: Map<string, string>
}

export interface Listed<R extends Row> {
  row: R
  /** Verbatim. Undefined when a block that is not final has been dropped since it was listed. */
  transaction: unknown
}

export async function fetchListed<R extends Row>(
  { rpc, seen }: ListedReader,
  rows: readonly R[],
): Promise<Listed<R>[]> {
  const unseen = rows.filter(({ signature }) => !seen.has(signature))
  const config = { encoding: 'jsonParsed', commitment, maxSupportedTransactionVersion }
  const outcomes = await rpc.fetchAll(
    unseen.map(({ signature }) => ({ method: 'getTransaction', params: [signature, config] })),
  )
  const fetched = new Map(unseen.map((row, index) => [row.signature, readTold(row, outcomes[index])]))
  const answers = rows.map((row) => {
    const text = seen.get(row.signature)
    return { row, transaction: text === undefined ? fetched.get(row.signature) : parseJsonVerbatim(text) }
  })
  for (const { row, transaction } of answers) {
    const text = isFinal(row) ? JSON.stringify(transaction) : undefined
    if (text !== undefined && text.length <= seenLengthMax) seen.set(row.signature, text)
  }
  for (const signature of [...seen.keys()].slice(0, -seenMax)) seen.delete(signature)
  return answers
}

function readTold(row: Row, outcome: Outcome | undefined): unknown {
  if (outcome !== undefined && 'error' in outcome) {
    // A transaction of a newer version cannot be read. It is reported, and does not stop the others.
    if (outcome.error.code === unsupportedVersion) return { ...row, version: 'unsupported' }
    throw outcome.error
  }
  const found = outcome?.result ?? undefined
  if (found === undefined && isFinal(row)) {
    throw new SourceError('data_hole', 'the node lists a transaction that it does not have')
  }
  return found
}
