/**
 * Pages of the list of an account, two by two: one lists signatures, from the newest to the oldest, and the next reads
 * their transactions in one request. So a bad connection loses little, however often it fails. A list cannot be read
 * from a given time, so a window in the past is reached by skipping a thousand signatures at a time.
 *
 * A token account's list is read for what the wallet's own list does not have: a transfer of tokens names the two token
 * accounts and not their owners. Transactions that name the wallet are left to its own list, and one that leaves the
 * tokens of several accounts as they are is kept in the list of the first. In the list of a stake account all of them are
 * kept from the time when it was the wallet's, because only the list shows that it was. For the same reason the list of a
 * token account has those of the time before nodes reported owners (token-owners.ts).
 *
 * Signatures that are not final yet are kept in the list's lasting mark. When a later read does not show it, the node
 * is asked for its status: a signature that is no longer in any block is withdrawn. No walk counts as complete: what is
 * final stays final, and a node may have cleaned up old blocks.
 */
import { z } from 'zod'
import type { Page, PageRequest, RawRecord, Window } from '../kit/connector.ts'
import { withTextNumbers } from '../kit/json.ts'
import { toRawRecord } from '../kit/records.ts'
import { findAccounts, type FoundAccounts } from './discovery.ts'
import {
  dropRepeated,
  fetchListed,
  isFinal,
  rowSchema,
  signaturesAnswer,
  toPlace,
  type ListedReader,
  type Row,
} from './listed.ts'
import type { FetchNames } from './names.ts'
import {
  isAbandoned,
  ownershipMarkSchema,
  readOwnership,
  startOwnership,
  toSides,
  type OwnershipMark,
} from './ownership.ts'
import { readTransaction, sidesSchema, toBody } from './records.ts'
import { commitment, readSome } from './rpc.ts'
import { holderSchema, readTokenStatement, type Holder } from './token-owners.ts'
import {
  changeSchema,
  isLeftOut,
  readState,
  withAccounts,
  withOwnership,
  type LearnedAccounts,
  type OwnerChange,
} from './state.ts'

const pageSize = 20
const skippedPerPage = 1_000
/** A window that ends earlier than this is reached by skipping. */
const skippedFromMs = 3_600_000
/** The times of blocks are not strictly in order. */
const toleranceMs = 600_000
/**
 * A token account that was handed over can have any past, and strangers can hand over any number. The list ends after so
 * many transactions in a row of another owner. An account that lay with a program and came back has a few.
 */
const foreignMax = 10_000
/**
 * Of the transactions that are left to the lists of other accounts, each of this number is recorded all the same: the
 * other account may have been another's at that time, and the engine takes thousands of empty pages for a list that
 * repeats.
 */
const namedPerRecord = 100
/** More unfinished transactions of one list than a person makes. The engine finds those beyond it, with two reads. */
const recentMax = 100

const recent = z.object({ key: z.string(), atMs: z.number() })
type Recent = z.infer<typeof recent>

/** In the list of a stake account a row has its sides before it is read. */
const wantedSchema = z.object({ ...rowSchema.shape, sides: sidesSchema.optional() })
type WantedRow = z.infer<typeof wantedSchema>

const walkMarkSchema = z.object({
  /** The last signature that was read; '' at the top of the list. */
  before: z.string(),
  /** The slot of that signature; 0 at the top of the list. */
  slot: z.number(),
  isSkipping: z.boolean(),
  /** Signatures that were listed and that the next page reads. */
  wanted: z.array(wantedSchema),
  /** They are the last of the window. */
  isLast: z.boolean(),
  /** Unfinished transactions of earlier reads that this walk has not shown yet. */
  unseen: z.array(recent),
  /** Unfinished transactions that this walk has shown. */
  shown: z.array(recent),
  /** For the list of a stake account: the changes of its owner that are older than `before`. */
  changes: z.array(changeSchema).optional(),
  /** For the list of a token account: who owned it before the last transaction that was read. Absent until one shows it. */
  holder: holderSchema.optional(),
  /** How many transactions in a row were another's. */
  foreignCount: z.number().optional(),
  /** How many transactions were left to the lists of other accounts that they name. */
  namedCount: z.number().optional(),
  /** Transactions that are newer than the window are read too, for the owners that they show, and not recorded. */
  isFromTop: z.literal(true).optional(),
})
type WalkMark = z.infer<typeof walkMarkSchema>
const pageMarkSchema = z.union([walkMarkSchema, ownershipMarkSchema])
type PageMark = z.infer<typeof pageMarkSchema>

export interface PageContext extends ListedReader {
  fetchNames: FetchNames
  address: string
  nowMs: number
}

export async function fetchTransactions(context: PageContext, request: PageRequest): Promise<Page> {
  const { partition, pageMark } = request
  const state = readState(request.state)
  const isStake = state.stakes.includes(partition)
  if (isStake && isAbandoned(state, partition)) return { records: [], next: null }
  const start = (): PageMark => (isStake ? startOwnership([partition]) : startOf(context, request))
  const at = pageMark === null ? start() : pageMarkSchema.parse(JSON.parse(pageMark))
  if ('path' in at) return findOwners(context, request, at)
  return at.wanted.length === 0 ? listSignatures(context, request, at) : readWanted(context, request, at)
}

/** The history of a stake account is read after it is known when the account was the wallet's. */
async function findOwners(context: PageContext, request: PageRequest, at: OwnershipMark): Promise<Page> {
  const given = readState(request.state)
  const { state: read = given, next } = await readOwnership({ ...context, state: given }, at)
  const { isCorrected, ...ownership } = read.ownership[request.partition] ?? { upTo: null, slot: 0, changes: [] }
  const isNoted = next === undefined && isCorrected === true
  const state = isNoted ? withOwnership(read, request.partition, ownership) : read
  const { changes } = ownership
  const isOver = next === undefined && changes.length === 0 && isLeftOut(state, request.partition)
  return {
    records: [],
    next: isOver ? null : JSON.stringify(next ?? { ...startOf(context, request), changes }),
    ...(state === given ? {} : { state }),
    ...(isNoted ? { isCorrected: true } : {}),
  }
}

async function listSignatures(context: PageContext, request: PageRequest, at: WalkMark): Promise<Page> {
  const { window, partition, lastingMark } = request
  const limit = at.isSkipping ? skippedPerPage : pageSize
  const config = { limit, commitment, ...toPlace(at) }
  const answer = await context.rpc.call('getSignaturesForAddress', [partition, config], signaturesAnswer)
  const listed = dropRepeated(answer, at, limit)
  const rows = withSides(listed, at.changes)
  const inside = rows.filter(
    ({ row }) => (isInside(window, row) || (at.isFromTop === true && isNewer(window, row))) && isConcerned(row),
  )
  const wanted = inside.slice(0, pageSize)
  const isCut = inside.length > wanted.length
  const last = isCut ? wanted.at(-1) : rows.at(-1)
  const isPast = listed.some(({ blockTime }) => blockTime && Number(blockTime) * 1_000 < window.start - toleranceMs)
  // A page that is not full does not end a list: nodes may give less.
  const isMore = last !== undefined && (isCut || !isPast)
  if (wanted.length === 0 && !isMore)
    return { records: [], next: null, ...(await finish(context, window, lastingMark, at)) }
  const next: WalkMark = {
    ...at,
    ...{
      before: last?.row.signature ?? '',
      slot: Number(last?.row.slot ?? 0),
      isSkipping: at.isSkipping && wanted.length === 0,
    },
    ...{ wanted: wanted.map(({ row }) => row), isLast: !isMore },
    ...(last?.older === undefined ? {} : { changes: [...last.older] }),
  }
  return { records: [], next: JSON.stringify(next) }
}

/** Each row of a stake account's list with its sides, and with the changes of the owner that are older than it. */
function withSides(
  rows: readonly Row[],
  changes: readonly OwnerChange[] | undefined,
): { row: WantedRow; older?: readonly OwnerChange[] }[] {
  if (changes === undefined) return rows.map((row) => ({ row }))
  let left = changes
  return rows.map((row) => {
    const { sides, older } = toSides(row, left)
    left = older
    return { row: { ...row, sides }, older }
  })
}

/** What happened to a stake account while it was another's is not the wallet's history. */
function isConcerned({ sides }: WantedRow): boolean {
  return sides === undefined || sides.wasOwn || sides.isOwn
}

async function readWanted(context: PageContext, request: PageRequest, at: WalkMark): Promise<Page> {
  const { length, result } = await readSome(at.wanted, (rows) => readRows(context, request, at, rows))
  const { records, found, holder, foreignCount, namedCount, isOpen } = result
  if (isOpen) return { records: [], next: JSON.stringify(startFromTop(context, request)) }
  const walked = {
    ...note(at, records),
    ...{ wanted: at.wanted.slice(length), isLast: at.isLast || foreignCount > foreignMax, foreignCount, namedCount },
    ...(holder && { holder }),
  }
  const learned = withAccounts(readState(request.state), collect(found))
  return {
    records,
    ...(walked.isLast && walked.wanted.length === 0
      ? { next: null, ...(await finish(context, request.window, request.lastingMark, walked)) }
      : { next: JSON.stringify(walked) }),
    ...(learned === undefined ? {} : { state: learned }),
  }
}

function startOf({ nowMs }: PageContext, { window, lastingMark }: PageRequest): WalkMark {
  const unseen = readLastingMark(lastingMark).filter(({ atMs }) => window.start <= atMs && atMs < window.end)
  return {
    before: '',
    slot: 0,
    isSkipping: window.end < nowMs - skippedFromMs,
    wanted: [],
    isLast: false,
    unseen,
    shown: [],
  }
}

/**
 * The window has a transaction from before owners were reported, and none that shows who the owner was later. If newer
 * ones do not either, the account has been the wallet's for all of its life.
 */
function startFromTop(context: PageContext, request: PageRequest): WalkMark {
  return { ...startOf(context, request), isSkipping: false, isFromTop: true, holder: 'wallet' }
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

function isNewer({ end }: Window, { blockTime }: Row): boolean {
  return Boolean(blockTime) && Number(blockTime) * 1_000 >= end
}

interface ReadRows {
  records: RawRecord[]
  /** In all of the rows, including those that are not recorded. */
  found: FoundAccounts[]
  /** For the list of a token account: who owned it before these rows, and how many in a row were another's. */
  holder: Holder | undefined
  foreignCount: number
  namedCount: number
  /** A transaction does not report the owner, and no newer one has shown it yet. */
  isOpen: boolean
}

async function readRows(
  context: PageContext,
  { partition, window, state }: PageRequest,
  at: WalkMark,
  rows: readonly WantedRow[],
): Promise<ReadRows> {
  const { address } = context
  const { stakes, tokens } = readState(state)
  const known = new Set([...tokens, partition])
  const answers = (await fetchListed(context, rows)).flatMap(({ row, transaction }) => {
    const text = withTextNumbers(transaction ?? null)
    return transaction === undefined ? [] : [{ row, transaction, text, found: findAccounts(text, address, stakes) }]
  })
  let { holder, foreignCount = 0, namedCount = 0 } = at
  const unseen = new Set(at.unseen.map(({ key }) => key))
  let isOpen = false
  const shown = answers.flatMap((answer) => {
    if (partition === address || at.changes !== undefined) return [answer]
    const said = readTokenStatement(answer.text, { account: partition, wallet: address }, holder)
    holder = said.holder
    isOpen ||= said.isOpen
    foreignCount = said.part === 'foreign' ? foreignCount + 1 : 0
    const isElsewhere = answer.found.inWalletList.has(partition) || isNewer(window, answer.row)
    if (said.part === 'foreign' || isElsewhere) return []
    // One that was recorded here before it was final stays here.
    const isFirst = said.keys.find((key) => key === address || known.has(key)) === partition
    if (said.part === 'named' && !isFirst && !unseen.has(answer.row.signature)) {
      namedCount += 1
      if (namedCount % namedPerRecord !== 0) return []
    }
    return [{ ...answer, row: { ...answer.row, ...(said.sides && { sides: said.sides }) } }]
  })
  const names = await context.fetchNames(shown.flatMap(({ found }) => found.mints))
  const records = shown.map(({ row, transaction, found }) => {
    const own = new Set(found.mints)
    const named = Object.fromEntries(Object.entries(names).filter(([mint]) => own.has(mint)))
    const { sides } = row
    return toRecord(toBody(transaction, { names: named, ...(sides && { sides }) }), window, row)
  })
  return { records, found: answers.map(({ found }) => found), holder, foreignCount, namedCount, isOpen }
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

function collect(found: readonly FoundAccounts[]): LearnedAccounts {
  return {
    tokens: found.flatMap(({ tokens }) => tokens),
    stakes: found.flatMap(({ stakes }) => stakes),
    signedStakes: found.flatMap(({ signedStakes }) => signedStakes),
  }
}

/** The page mark after these rows: which unfinished transactions were shown. */
function note(at: WalkMark, records: readonly RawRecord[]): WalkMark {
  const keys = new Set(records.map(({ key }) => key))
  const shown = records.flatMap(({ key, pending, occurredAtMs }) =>
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
  { unseen, shown }: WalkMark,
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
