/**
 * Fetches one page of one of a chain's lists. An index gives at most 10,000 rows for one query (`page` × `offset`), and
 * the free plan of Etherscan 1,000, so a list is read by blocks: after a full page the next query begins at that page's
 * last block, whose rows may have been cut off (docs.etherscan.io, "Get an address's full transaction history"). Pages
 * are counted only inside one block, and to find the empty page that ends a window. Only an empty page does: an index
 * may give fewer rows for a page than it was asked for.
 *
 * Rows outside of the blocks that were requested, or before those of the page before, show that the index does not
 * honour the query (a proxy may drop a part of it). Following them would repeat one request without end, so they are a
 * fault. Every place to continue from is therefore behind the one before.
 *
 * A block may have more rows than an index gives: any stranger can write 10,000 transfers to a wallet into one block,
 * for less than a dollar on most chains. The block's first rows are kept, its other rows are reported as an unreadable
 * record, and the list continues after the block: a fault would end the list there in every run.
 *
 * A block may be replaced. Everything in a block for which that is still possible is remembered in the list's lasting
 * mark, and each later read covers it again (the streams overlap by at least as much). What such a read does not show
 * is looked up in the chain itself: a record whose transaction is no longer in its block is withdrawn at once. A record
 * that the chain still has is kept, because then the index is only behind.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { Height, Page, PageRequest, RawRecord, Window } from '../kit/connector.ts'
import { AnswerTooLong } from '../kit/http.ts'
import { toRawRecord } from '../kit/records.ts'
import { isFungible } from './assets.ts'
import { toReplaceableDepth } from './chains.ts'
import { findBlockTime, inGroups, UnknownAction, type ChainClient } from './client.ts'
import { isKnownToken, type FindDecimals } from './decimals.ts'
import { decimalsRequestsPerPage, type StreamName } from './definition.ts'
import { afterPage, afterTry, lateReceipts, lateRows, mergeLate, ofReceipts, type LateRows } from './late-rows.ts'
import {
  headReaders,
  isDeposit,
  parseToken,
  readMint,
  readReceipt,
  receiptKey,
  type Head,
  type Receipt,
} from './records.ts'
import type { Spending } from './ask-contracts.ts'
import { pageSize, pageSizeWithReceipts, pagesMaxOf, toLarger, toSmaller } from './page-sizes.ts'
import type { Token } from './state.ts'

const actions: Readonly<Record<StreamName, string>> = {
  transactions: 'txlist',
  internal: 'txlistinternal',
  erc20: 'tokentx',
  erc721: 'tokennfttx',
  erc1155: 'token1155tx',
  withdrawals: 'txsBeaconWithdrawal',
}

export function toAction(stream: StreamName): string {
  return actions[stream]
}

/** More than a person makes in the newest blocks of one list. The engine retires those beyond it, after two reads. */
const recentMax = 100

const recent = z.object({
  key: z.string(),
  hash: z.string(),
  block: z.number(),
  blockHash: z.string().nullable(),
})
type Recent = z.infer<typeof recent>
const lastingMarkSchema = z.array(z.union([recent, lateRows]))

const pageMarkSchema = z.object({
  from: z.number(),
  page: z.number(),
  /** How many rows a page has. Absent from the marks of earlier versions. */
  size: z.number().exactOptional(),
  /** The last block on the pages before this one. */
  shownTo: z.number().exactOptional(),
  /** How often each row of the last block was shown, on the pages before this one. */
  counts: z.array(z.tuple([z.string(), z.number()])),
  /** Recent records of earlier reads that this walk has not shown yet. */
  unseen: z.array(recent),
  /** Recent records that this walk has shown. */
  shown: z.array(recent),
  /** Rows of this walk and of earlier ones whose decimals or receipts were not known. */
  late: z.array(lateRows).default([]),
})
type PageMark = z.infer<typeof pageMarkSchema>

export interface PageContext {
  client: ChainClient
  /** The wallet's address, in lower case. */
  address: string
  /** Of the node, which may be ahead of the index. */
  height: Height
  nowMs: number
  /** A reader keeps them, because all lists of a chain have the same edges. */
  findTime(block: number): Promise<number | undefined>
  findDecimals: FindDecimals
  /** The tokens that the state knows on this chain. */
  tokens: readonly Token[]
}

export async function fetchPage(context: PageContext, stream: StreamName, request: PageRequest): Promise<Page> {
  const { client, address, height, nowMs } = context
  const { window, pageMark, lastingMark } = request
  const at = pageMark === null ? startOf(window, lastingMark) : readMark(pageMark)
  const hasReceipts = stream === 'transactions' && client.chain.isOpStack === true
  const usual = hasReceipts ? pageSizeWithReceipts : pageSize
  const { size = usual } = at
  const fitting = await listFitting(client, stream, {
    ...{ address, startblock: at.from, endblock: window.end - 1 },
    ...{ page: at.page, offset: size, sort: 'asc' },
  })
  if (fitting === undefined) return { records: [], next: JSON.stringify(withFewerRows(at, size)) }
  const finalBlock = height.height - client.chain.depth
  const read = readRows(stream, fitting.rows, window, at, { ...height, finalBlock }).map((row) =>
    fitting.isBare ? withoutPieces(row) : row,
  )
  const cut = findCutBlock(stream, at, read, size)
  const next = cut === undefined ? findNext(at, read, size) : startAfter(cut, window)
  const kept = next !== null && next.page === 1 ? read.filter(({ block }) => block < next.from) : read
  const receipts = hasReceipts ? await fetchReceipts(context, kept, finalBlock) : { records: [], missing: [] }
  const missed = cut === undefined ? [] : [toMissed(cut, kept)]
  const isKnown = (contract: string): boolean => isKnownToken(client, contract)
  const lateBefore = mergeLate([...readLastingMark(lastingMark).late, ...at.late], isKnown)
  const spent = { requests: 0, requestsMax: decimalsRequestsPerPage }
  const shown = stream === 'erc20' ? await withDecimals(context, kept, lateBefore, spent) : kept.map(toReadable)
  const records = [...shown.map(({ record }) => record), ...receipts.records, ...missed]
  const walked = note(at, kept, replaceableFrom(context))
  const lateRead = [...shown.flatMap((one) => one.late ?? []), ...lateReceipts(receipts.missing, nowMs)]
  const late = mergeLate([...walked.late, ...lateRead], isKnown)
  if (next !== null)
    return { records, next: JSON.stringify({ ...walked, late, ...withMoreRows(at, next, read, usual) }) }
  // Other windows of the list may have ended since this walk began.
  const again = await readLate(context, mergeLate([...lateBefore, ...late], isKnown), spent)
  const ended = await finish(context, window, lastingMark, { ...walked, late: again.late })
  return { records: [...records, ...again.records], next: null, ...ended }
}

/** Not all indexes list validators' withdrawals. Most wallets have none; `providerLimit` warns the others. */
async function listRows(
  client: ChainClient,
  stream: StreamName,
  params: Readonly<Record<string, string | number>>,
): Promise<readonly unknown[]> {
  try {
    return await client.list(actions[stream], params)
  } catch (error) {
    if (error instanceof UnknownAction && stream === 'withdrawals') return []
    throw error
  }
}

/** Undefined when the page is too long. One row that is too long comes without what makes it long. */
async function listFitting(
  client: ChainClient,
  stream: StreamName,
  params: Readonly<Record<string, string | number>> & { offset: number },
): Promise<{ rows: readonly unknown[]; isBare?: true } | undefined> {
  try {
    return { rows: await listRows(client, stream, params) }
  } catch (error) {
    if (!(error instanceof AnswerTooLong)) throw error
    if (toSmaller(params.offset) !== undefined) return undefined
    return { rows: await client.list(actions[stream], params, true), isBare: true }
  }
}

/** Names can be missing. A batch without its pieces says nothing. */
function withoutPieces(read: ReadRow): ReadRow {
  const row = read.row as object
  if (!('tokenIDs' in row) && !('values' in row)) return read
  return { ...read, record: { ...read.record, unreadable: 'more pieces than an answer has room for' } }
}

/**
 * The place of the same page, or of the last block that was shown. Rows before the page are asked for again where the
 * index has not filled its pages: then only it knows where they begin.
 */
function withFewerRows(at: PageMark, size: number): PageMark {
  const { from, page, shownTo = from } = at
  const smaller = toSmaller(size) ?? 1
  const isFilled = shownTo === from && sumOf(at.counts) === (page - 1) * size
  const place = isFilled ? { page: ((page - 1) * size) / smaller + 1 } : startAt(shownTo)
  return { ...at, ...place, size: smaller }
}

/** Pages of one query have one size. Another query asks for more rows if those of this page were short. */
function withMoreRows(at: PageMark, next: Next, read: readonly ReadRow[], usual: number): Next & { size: number } {
  const { size = usual } = at
  const length = read.reduce((sum, { record }) => sum + record.body.length, 0)
  const larger = toLarger(size, usual, length)
  return next.from === at.from || larger === size ? { ...next, size } : { ...startAt(next.from), size: larger }
}

function startOf(window: Window, lastingMark: string | null): PageMark {
  const { recents } = readLastingMark(lastingMark)
  const unseen = recents.filter(({ block }) => isInside(window, block))
  return { ...startAt(window.start), unseen, shown: [], late: [] }
}

function readMark(pageMark: string): PageMark {
  return pageMarkSchema.parse(JSON.parse(pageMark))
}

function readLastingMark(lastingMark: string | null): { recents: Recent[]; late: LateRows[] } {
  const all = lastingMark === null ? [] : lastingMarkSchema.parse(JSON.parse(lastingMark))
  return {
    recents: all.flatMap((one) => ('key' in one ? [one] : [])),
    late: all.flatMap((one) => ('contract' in one ? [one] : [])),
  }
}

function isInside({ start, end }: Window, block: number): boolean {
  return start <= block && block < end
}

interface ReadRow {
  /** As the index gave it. */
  row: unknown
  record: RawRecord
  /** The block of the row. For an unreadable row it is the first block of the page, so that nothing is skipped. */
  block: number
  head: Head | undefined
  name: string
}

function readRows(
  stream: StreamName,
  rows: readonly unknown[],
  window: Window,
  { from, shownTo = from, counts }: PageMark,
  { finalBlock, atMs }: Height & { finalBlock: number },
): ReadRow[] {
  const seen = new Map(counts)
  return rows.map((row): ReadRow => {
    const heads: Head[] = []
    const record = toRawRecord(JSON.stringify(row), window, (body) => {
      const head = headReaders[stream](body)
      heads.push(head)
      const count = (seen.get(head.name) ?? 0) + 1
      seen.set(head.name, count)
      const key = count === 1 ? head.name : `${head.name}#${count}`
      return {
        ...{ key, occurredAtMs: head.occurredAtMs },
        ...(head.block > finalBlock ? { pending: true } : {}),
        ...(head.moves > 1 ? { moves: head.moves } : {}),
      }
    })
    const [head] = heads
    // An unreadable row gets the present time: the end of its window, which toRawRecord uses, is a block and not a
    // time.
    if (head === undefined) {
      return { row, record: { ...record, occurredAtMs: Math.round(atMs) }, block: from, head, name: '' }
    }
    if (head.block < shownTo || head.block >= window.end) throw unreadable(stream, 'rows that were not asked for')
    return { row, record, block: head.block, head, name: head.name }
  })
}

function unreadable(stream: StreamName, what: string): SourceError {
  return new SourceError('unreadable_answer', `${actions[stream]}: ${what}`)
}

type Next = Pick<PageMark, 'from' | 'page' | 'shownTo' | 'counts'>

/**
 * Null at the end of the window: a page was empty, or it was the last one and not full as those before it were. Pages
 * are counted from the block that the query begins with, so a page that begins with another block equals the first page
 * of that block.
 */
function findNext(at: PageMark, read: readonly ReadRow[], size: number): Next | null {
  if (read.length === 0) return null
  const blocks = read.map(({ block }) => block)
  const last = Math.max(at.shownTo ?? at.from, ...blocks)
  const first = Math.min(last, ...blocks)
  const isFull = read.length >= size
  if (last > at.from && ((isFull && last > first) || isDeepest(at, size))) return startAt(last)
  if (last > at.from && isFull) return { from: last, page: 2, shownTo: last, counts: countRows([], read) }
  if (isDeepest(at, size)) return null
  const ofLast = read.filter(({ block }) => block === last)
  return { from: at.from, page: at.page + 1, shownTo: last, counts: countRows(at.counts, ofLast) }
}

function isDeepest({ page }: PageMark, size: number): boolean {
  return page + 1 > pagesMaxOf(size)
}

/**
 * The block whose rows fill all the pages that an index gives of one query. If its pages are never full, more rows may
 * follow a last page that is not full either.
 */
function findCutBlock(stream: StreamName, at: PageMark, read: readonly ReadRow[], size: number): number | undefined {
  const isCut = isDeepest(at, size) && read.length > 0 && read.every(({ block }) => block === at.from)
  if (!isCut || (at.shownTo ?? at.from) > at.from) return undefined
  if (read.length < size && sumOf(at.counts) === (at.page - 1) * size) return undefined
  // They may be of any block, so the list cannot continue after this one.
  if (read.every(({ head }) => head === undefined)) throw unreadable(stream, 'no row of a whole page can be read')
  return at.from
}

function sumOf(counts: PageMark['counts']): number {
  return counts.reduce((sum, [, count]) => sum + count, 0)
}

function startAt(block: number): Next {
  return { from: block, page: 1, shownTo: block, counts: [] }
}

/** Null when that block was the last of the window. */
function startAfter(block: number, { end }: Window): Next | null {
  return block + 1 < end ? startAt(block + 1) : null
}

/** Stands for the rows of a block that the index does not give. A later read of the block writes the same record. */
function toMissed(block: number, shown: readonly ReadRow[]): RawRecord {
  return {
    key: `block:${block}:cut`,
    occurredAtMs: Math.max(...shown.map(({ record }) => record.occurredAtMs)),
    body: JSON.stringify({ blockNumber: String(block) }),
    unreadable: `block ${block} has more rows than an index gives`,
  }
}

function countRows(before: PageMark['counts'], rows: readonly ReadRow[]): PageMark['counts'] {
  const counts = new Map(before)
  for (const { name } of rows) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts]
}

/** Blocks above this one may still be replaced. */
function replaceableFrom({ client, height }: PageContext): number {
  return height.height - toReplaceableDepth(client.chain)
}

/** The page mark after these rows: which recent records were shown. */
function note(at: PageMark, rows: readonly ReadRow[], from: number): PageMark {
  const keys = new Set(rows.map(({ record }) => record.key))
  const shown = rows.flatMap(({ record: { key }, head }): Recent[] =>
    head === undefined || head.hash === null || head.block <= from
      ? []
      : [{ key, hash: head.hash, block: head.block, blockHash: head.blockHash }],
  )
  return {
    ...at,
    unseen: at.unseen.filter(({ key }) => !keys.has(key)),
    // A place may be asked for twice.
    shown: [...new Map([...at.shown, ...shown].map((one) => [one.key, one])).values()].slice(-recentMax),
  }
}

async function finish(
  context: PageContext,
  window: Window,
  lastingMark: string | null,
  { unseen, shown, late }: PageMark,
): Promise<Omit<Page, 'records' | 'next'>> {
  const judged = await inGroups(unseen, async (record) => ({ record, stands: await stands(context.client, record) }))
  const elsewhere = readLastingMark(lastingMark).recents.filter(({ block }) => !isInside(window, block))
  const waiting = judged.filter((one) => one.stands).map(({ record }) => record)
  const kept = [...elsewhere, ...waiting, ...shown].filter(({ block }) => block > replaceableFrom(context))
  const withdrawn = judged.filter((one) => !one.stands).map(({ record }) => record.key)
  const times = await findTimes(context, window)
  const mark = [...late, ...kept.slice(-recentMax)]
  return {
    ...(lastingMark === null && mark.length === 0 ? {} : { lastingMark: JSON.stringify(mark) }),
    ...(withdrawn.length === 0 ? {} : { withdrawn: withdrawn.flatMap((key) => [key, receiptKey(key)]) }),
    ...(times === undefined ? {} : { times, complete: window }),
  }
}

/** Whether the chain still has the transaction in the block in which it was seen. */
async function stands(client: ChainClient, { hash, block, blockHash }: Recent): Promise<boolean> {
  const found = await findReceipt(client, hash)
  if (found === undefined || Number(found.blockNumber) !== block) return false
  return blockHash === null || blockHash === '' || blockHash.toLowerCase() === found.blockHash
}

async function findReceipt(client: ChainClient, hash: string): Promise<Receipt | undefined> {
  const answer = await client.rpc('eth_getTransactionReceipt', [hash])
  return answer === null ? undefined : readReceipt(answer)
}

/** With the coins that a deposit from the first layer has made: neither its row nor its receipt has them. */
async function findWholeReceipt(client: ChainClient, hash: string): Promise<Receipt | undefined> {
  const answer = await client.rpc('eth_getTransactionReceipt', [hash])
  if (answer === null) return undefined
  const receipt = readReceipt(answer)
  if (!isDeposit(answer)) return receipt
  const mint = readMint(await client.rpc('eth_getTransactionByHash', [hash]))
  return mint === undefined ? receipt : { ...receipt, mint }
}

/** Deposits from the first layer cost nothing on the second. */
const isFree = /"gasPrice":"?0?"?[,}]/

/** Transactions that the wallet sent, where the index does not give the fee of the first layer. */
function lacksFee({ head, record: { body } }: ReadRow, address: string): boolean {
  return head?.from === address && (!/"l1Fee":"?\d/.test(body) || isFree.test(body))
}

interface LateRead {
  records: RawRecord[]
  /** What has to be read again. */
  late: LateRows[]
}

/**
 * The receipts of those transactions. Only what is used of a receipt is kept: its logs may fill an answer, and a page
 * has a hundred receipts. Some nodes keep the receipts of the last weeks only, and answer null for older ones.
 */
async function fetchReceipts(
  { client, address }: PageContext,
  rows: readonly ReadRow[],
  finalBlock: number,
): Promise<{ records: RawRecord[]; missing: number[] }> {
  const sent = rows.filter((row) => lacksFee(row, address))
  const found = await inGroups(sent, async ({ record, block }) => ({
    ...{ record, block, isPending: block > finalBlock },
    receipt: await findWholeReceipt(client, record.key),
  }))
  const records = found.flatMap(({ record: { key, occurredAtMs }, isPending, receipt }): RawRecord[] => {
    if (receipt === undefined) return []
    const body = JSON.stringify(receipt)
    return [{ key: receiptKey(key), occurredAtMs, body, ...(isPending ? { pending: true } : {}) }]
  })
  const missing = found.flatMap(({ block, isPending, receipt }) => (receipt === undefined && !isPending ? [block] : []))
  return { records, missing }
}

interface Readable {
  record: RawRecord
  /** Present while the amount cannot be read. */
  late?: LateRows
}

function toReadable({ record }: ReadRow): Readable {
  return { record }
}

/** A row of a token gets the decimals that its contract says. Without them its amount is not known. */
async function withDecimals(
  { client, tokens, findDecimals }: PageContext,
  rows: readonly ReadRow[],
  lateBefore: readonly LateRows[],
  spent: Spending,
): Promise<Readable[]> {
  const contracts = rows.map(({ record: { body, unreadable } }): string | undefined => {
    const token = unreadable === undefined ? parseToken(body) : undefined
    return token !== undefined && isFungible(client.chain, token) ? token.contractAddress : undefined
  })
  const before = new Map(lateBefore.map((one) => [one.contract, one]))
  const asked = rows.flatMap(({ block }, index): [string, LateRows][] => {
    const contract = contracts[index]
    return contract === undefined ? [] : [[contract, { ...before.get(contract), ...ofBlock(contract, block) }]]
  })
  const answered = await findDecimals(tokens, [...new Map(asked.toReversed()).values()], spent)
  const heard = new Map(answered.map((one) => [one.contract, one]))
  return rows.map(({ row, record, block }, index): Readable => {
    const contract = contracts[index]
    if (contract === undefined) return { record }
    const { decimals, ...late } = { ...heard.get(contract), ...ofBlock(contract, block) }
    const body = JSON.stringify({ ...(row as object), contractDecimals: decimals?.toString() })
    if (decimals !== undefined) return { record: { ...record, body } }
    const unreadable = 'the contract has not said its decimals yet'
    return { record: { ...record, body, unreadable }, late }
  })
}

function ofBlock(contract: string, block: number): LateRows {
  return { contract, first: block, last: block }
}

/**
 * Reads the rows of one contract again whose decimals are known by now, or asks again for receipts; the other contracts
 * wait for the next reads of the list. It is one request more than the page is charged for, and mends what is covered
 * already, so a failure does not fail the page: that contract goes behind the others.
 */
async function readLate(context: PageContext, given: readonly LateRows[], spent: Spending): Promise<LateRead> {
  const isKnown = (contract: string): boolean => isKnownToken(context.client, contract)
  let [waiting, ready]: [readonly LateRows[], LateRows | undefined] = [given, undefined]
  try {
    const late = given[0]?.contract === ofReceipts ? given : await context.findDecimals(context.tokens, given, spent)
    ready = findReady(context, late)
    waiting = late.filter((one) => one !== ready)
    if (ready === undefined) return { records: [], late: [...late] }
    const read = await (ready.contract === ofReceipts ? readLateReceipts : readLateRows)(context, ready)
    return { records: read.records, late: mergeLate([...waiting, ...read.late], isKnown) }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return { records: [], late: mergeLate([...waiting, ...(ready === undefined ? [] : [ready])], isKnown) }
  }
}

function findReady({ nowMs }: PageContext, late: readonly LateRows[]): LateRows | undefined {
  const [first] = late
  // The list of transactions waits for nothing else.
  if (first?.contract === ofReceipts) return (first.restsUntilMs ?? 0) > nowMs ? undefined : first
  return late.find(({ decimals }) => decimals !== undefined)
}

/**
 * One page of them for each read of the list, one page after another, and again a day later. Nodes lack what is old,
 * so a page is left alone when the receipts of its first and its last transaction are missing.
 */
async function readLateReceipts(context: PageContext, late: LateRows): Promise<LateRead> {
  const { client, address, height, nowMs } = context
  const { first, last, tried } = late
  const start = tried?.next ?? first
  const params = { address, startblock: start, endblock: last, page: 1, offset: pageSizeWithReceipts, sort: 'asc' }
  // The rows themselves are not kept, so the names that strangers make long are left out.
  const rows = await client.list(actions.transactions, params, true)
  const window: Window = { unit: 'block', start, end: last + 1 }
  const finalBlock = height.height - client.chain.depth
  const from = { ...startAt(start), unseen: [], shown: [], late: [] }
  const read = readRows('transactions', rows, window, from, { ...height, finalBlock })
  const sent = read.filter((row) => lacksFee(row, address))
  const ends = [sent[0], sent.at(-1)].filter((row) => row !== undefined)
  const probed = await inGroups(ends, ({ record }) => findWholeReceipt(client, record.key))
  const isGone = sent.length > 0 && probed.every((receipt) => receipt === undefined)
  const { records, missing } = isGone
    ? { records: [], missing: sent.map(({ block }) => block) }
    : await fetchReceipts(context, sent, finalBlock)
  const shownTo = Math.max(start - 1, ...read.map(({ block }) => block))
  // The last block of a full page may be cut off, so it is asked for again, unless it fills the page.
  const next = rows.length < pageSizeWithReceipts ? undefined : Math.max(shownTo, start + 1)
  return { records, late: afterTry(late, { shownTo, missing, next }, nowMs) }
}

/** A row has the key that it had before: equal rows are counted within one contract, from the beginning of a block. */
async function readLateRows(context: PageContext, late: LateRows): Promise<LateRead> {
  const { client, address, height } = context
  const { contract, first, last } = late
  const params = {
    ...{ address, contractaddress: contract, startblock: first, endblock: last },
    ...{ page: 1, offset: pageSize, sort: 'asc' },
  }
  const rows = await client.list(actions.erc20, params).catch((error: unknown) => {
    if (!(error instanceof AnswerTooLong)) throw error
    // Strangers have made names in these rows long. Names can be missing.
    return client.list(actions.erc20, params, true)
  })
  const window: Window = { unit: 'block', start: first, end: last + 1 }
  const from = { ...startAt(first), unseen: [], shown: [], late: [] }
  const read = readRows('erc20', rows, window, from, { ...height, finalBlock: height.height - client.chain.depth })
  // Its decimals are known, so no contract is asked.
  const readable = await withDecimals(context, read, [late], { requests: 0, requestsMax: 0 })
  const blocks = read.map(({ block }) => block)
  return { records: readable.map(({ record }) => record), late: afterPage(late, blocks) }
}

/**
 * The times between which this window shows everything. Several blocks may have one time (Arbitrum makes four a
 * second), so the edges lie where no block outside the window can be.
 */
async function findTimes(
  { height: { height, atMs }, findTime }: PageContext,
  { start, end }: Window,
): Promise<{ startMs: number; endMs: number } | undefined> {
  // The first block of Ethereum has no time.
  const startMs = start === 0 ? await findTime(Math.min(1, height)) : await findTime(start - 1)
  const endMs =
    end > height ? Math.max(atMs, ((await findTime(Math.min(end - 1, height))) ?? 0) + 1) : await findTime(end)
  if (startMs === undefined || endMs === undefined) return undefined
  const edgeMs = start === 0 ? startMs : startMs + 1
  return edgeMs < endMs ? { startMs: edgeMs, endMs: Math.round(endMs) } : undefined
}

/** The time of a block does not change while one reader is used, unless the block is replaced. */
export function rememberTimes(client: ChainClient): PageContext['findTime'] {
  const known = new Map<number, Promise<number | undefined>>()
  return (block) => {
    const time = known.get(block) ?? findBlockTime(client, block)
    known.set(block, time)
    return time
  }
}
