/**
 * Pages of the list of an account, two by two: one lists signatures, from the newest to the oldest, and the next reads
 * their transactions in one request. So a bad connection loses little, however often it fails. A list cannot be read
 * from a given time, so a window in the past is reached by skipping a thousand signatures at a time.
 *
 * A token account's list is read for what the wallet's own list does not have: a transfer of tokens names the two token
 * accounts and not their owners. Transactions that name the wallet are left to its own list. In the list of a stake
 * account all of them are kept, because only the list shows that this account belongs to the wallet.
 *
 * Signatures that are not final yet are kept in the list's lasting mark. When a later read does not show it, the node
 * is asked for its status: a signature that is no longer in any block is withdrawn. No walk counts as complete: what is
 * final stays final, and a node may have cleaned up old blocks.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { Page, PageRequest, RawRecord, Window } from '../kit/connector.ts'
import { parseJsonVerbatim, withTextNumbers } from '../kit/json.ts'
import { toRawRecord } from '../kit/records.ts'
import { findAccounts, type FoundAccounts } from './discovery.ts'
import type { FetchNames } from './names.ts'
import { readTransaction, toBody } from './records.ts'
import { commitment, digits, readSome, type Outcome, type Rpc } from './rpc.ts'
import { readState, withAccounts } from './state.ts'

const pageSize = 20
const skippedPerPage = 1_000
/** A window that ends earlier than this is reached by skipping. */
const skippedFromMs = 3_600_000
/** The times of blocks are not strictly in order. */
const toleranceMs = 600_000
/** More unfinished transactions of one list than a person makes. The engine finds those beyond it, with two reads. */
const recentMax = 100

const recent = z.object({ key: z.string(), atMs: z.number() })
type Recent = z.infer<typeof recent>

const rowSchema = z.object({
  signature: z.string(),
  blockTime: digits.nullish(),
  confirmationStatus: z.string().nullish(),
})
type Row = z.infer<typeof rowSchema>
const signaturesAnswer = z.array(rowSchema)

const pageMarkSchema = z.object({
  /** The last signature that was read; '' at the top of the list. */
  before: z.string(),
  isSkipping: z.boolean(),
  /** Signatures that were listed and that the next page reads. */
  wanted: z.array(rowSchema),
  /** They are the last of the window. */
  isLast: z.boolean(),
  /** Unfinished transactions of earlier reads that this walk has not shown yet. */
  unseen: z.array(recent),
  /** Unfinished transactions that this walk has shown. */
  shown: z.array(recent),
})
type PageMark = z.infer<typeof pageMarkSchema>

export interface PageContext {
  rpc: Rpc
  fetchNames: FetchNames
  address: string
  /** Transactions that this reader has read, as text: one may be in several lists. */
  seen: Map<string, string>
  nowMs: number
}

export async function fetchTransactions(context: PageContext, request: PageRequest): Promise<Page> {
  const { window, pageMark, lastingMark } = request
  const at =
    pageMark === null ? startOf(window, lastingMark, context.nowMs) : pageMarkSchema.parse(JSON.parse(pageMark))
  return at.wanted.length === 0 ? listSignatures(context, request, at) : readWanted(context, request, at)
}

async function listSignatures(context: PageContext, request: PageRequest, at: PageMark): Promise<Page> {
  const { window, partition, lastingMark } = request
  const limit = at.isSkipping ? skippedPerPage : pageSize
  const config = { limit, commitment, ...(at.before === '' ? {} : { before: at.before }) }
  const rows = await context.rpc.call('getSignaturesForAddress', [partition, config], signaturesAnswer)
  const inside = rows.filter((row) => isInside(window, row))
  const wanted = inside.slice(0, pageSize)
  const isCut = inside.length > wanted.length
  const last = isCut ? wanted.at(-1) : rows.at(-1)
  const isPast = rows.some(({ blockTime }) => blockTime && Number(blockTime) * 1_000 < window.start - toleranceMs)
  // A page that is not full does not end a list: nodes may give less.
  const isMore = last !== undefined && (isCut || !isPast)
  if (wanted.length === 0 && !isMore)
    return { records: [], next: null, ...(await finish(context, window, lastingMark, at)) }
  const isSkipping = at.isSkipping && wanted.length === 0
  const next: PageMark = { ...at, before: last?.signature ?? '', isSkipping, wanted, isLast: !isMore }
  return { records: [], next: JSON.stringify(next) }
}

async function readWanted(context: PageContext, request: PageRequest, at: PageMark): Promise<Page> {
  const { length, result: read } = await readSome(at.wanted, (rows) => readRows(context, request, rows))
  const walked = { ...note(at, read), wanted: at.wanted.slice(length) }
  const learned = withAccounts(readState(request.state), collect(read))
  return {
    records: read.map(({ record }) => record),
    ...(at.isLast && walked.wanted.length === 0
      ? { next: null, ...(await finish(context, request.window, request.lastingMark, walked)) }
      : { next: JSON.stringify(walked) }),
    ...(learned === undefined ? {} : { state: learned }),
  }
}

function startOf(window: Window, lastingMark: string | null, nowMs: number): PageMark {
  const unseen = readLastingMark(lastingMark).filter(({ atMs }) => window.start <= atMs && atMs < window.end)
  return { before: '', isSkipping: window.end < nowMs - skippedFromMs, wanted: [], isLast: false, unseen, shown: [] }
}

function readLastingMark(lastingMark: string | null): Recent[] {
  return lastingMark === null ? [] : z.array(recent).parse(JSON.parse(lastingMark))
}

/** A block without a time is read, because its transaction may have one. */
function isInside({ start, end }: Window, { blockTime }: Row): boolean {
  if (!blockTime) return true
  const atMs = Number(blockTime) * 1_000
  return start <= atMs && atMs < end
}

interface ReadRow {
  record: RawRecord
  found: FoundAccounts
}

async function readRows(context: PageContext, request: PageRequest, rows: readonly Row[]): Promise<ReadRow[]> {
  const { partition, window, state } = request
  const { stakes } = readState(state)
  const answers = await fetchWanted(context, rows)
  const shown = answers.flatMap(({ row, transaction }) => {
    if (transaction === undefined) return []
    const found = findAccounts(withTextNumbers(transaction), context.address, stakes)
    const isElsewhere = partition !== context.address && found.inWalletList.has(partition)
    return isElsewhere ? [] : [{ row, transaction, found }]
  })
  const names = await context.fetchNames(shown.flatMap(({ found }) => found.mints))
  return shown.map(({ row, transaction, found }) => {
    const own = new Set(found.mints)
    const named = Object.fromEntries(Object.entries(names).filter(([mint]) => own.has(mint)))
    return { record: toRecord(toBody(transaction, named), window, row), found }
  })
}

function toRecord(body: string, window: Window, row: Row): RawRecord {
  const record = toRawRecord(
    body,
    window,
    () => {
      const { blockTime } = readTransaction({ body })
      const occurredAtMs = Number(blockTime) * 1_000
      return { key: row.signature, occurredAtMs, ...(isFinal(row) ? {} : { pending: true }) }
    },
    row.signature,
  )
  // The list has the time of a transaction that cannot be read.
  const isTimed = record.unreadable === undefined || !row.blockTime
  return isTimed ? record : { ...record, occurredAtMs: Number(row.blockTime) * 1_000 }
}

/** Old transactions no longer have a status. */
function isFinal({ confirmationStatus }: Row): boolean {
  return (confirmationStatus ?? 'finalized') === 'finalized'
}

const seenMax = 200
/** Most have some ten thousand characters. A few pages of the longest answers, parsed, would fill the memory. */
const seenLengthMax = 100_000
const unsupportedVersion = '-32015'

interface Answer {
  row: Row
  /** Undefined when a block that is not final has been dropped since it was listed. */
  transaction: unknown
}

async function fetchWanted({ rpc, seen }: PageContext, rows: readonly Row[]): Promise<Answer[]> {
  const unseen = rows.filter(({ signature }) => !seen.has(signature))
  const config = { encoding: 'jsonParsed', commitment, maxSupportedTransactionVersion: 0 }
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

function collect(read: readonly ReadRow[]): { tokens: string[]; stakes: string[] } {
  return { tokens: read.flatMap(({ found }) => found.tokens), stakes: read.flatMap(({ found }) => found.stakes) }
}

/** The page mark after these rows: which unfinished transactions were shown. */
function note(at: PageMark, read: readonly ReadRow[]): PageMark {
  const keys = new Set(read.map(({ record }) => record.key))
  const shown = read.flatMap(({ record: { key, pending, occurredAtMs } }) =>
    pending === true ? [{ key, atMs: occurredAtMs }] : [],
  )
  return {
    ...at,
    unseen: at.unseen.filter(({ key }) => !keys.has(key)),
    shown: [...at.shown, ...shown].slice(-recentMax),
  }
}

const statusesAnswer = z.object({ value: z.array(z.unknown()) })

async function finish(
  { rpc }: PageContext,
  { start, end }: Window,
  lastingMark: string | null,
  { unseen, shown }: PageMark,
): Promise<Pick<Page, 'lastingMark' | 'withdrawn'>> {
  const keys = unseen.map(({ key }) => key)
  const { value } =
    keys.length === 0
      ? { value: [] }
      : await rpc.call('getSignatureStatuses', [keys, { searchTransactionHistory: true }], statusesAnswer)
  const withdrawn = keys.filter((_, index) => value[index] === null)
  const elsewhere = readLastingMark(lastingMark).filter(({ atMs }) => atMs < start || atMs >= end)
  const waiting = unseen.filter(({ key }) => !withdrawn.includes(key))
  const unfinished = [...elsewhere, ...waiting, ...shown].slice(-recentMax)
  return {
    ...(lastingMark === null && unfinished.length === 0 ? {} : { lastingMark: JSON.stringify(unfinished) }),
    ...(withdrawn.length === 0 ? {} : { withdrawn }),
  }
}
