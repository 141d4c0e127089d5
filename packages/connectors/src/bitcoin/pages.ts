/**
 * The walk over a wallet's transactions, in this order:
 *
 *   poll        the addresses are queried, unless a round has ended since the window did
 *   confirmed   of the transactions in blocks that may still be replaced, the newest is requested by its id. While it
 *               lies in the same block, all blocks below are the same; otherwise each of them may have changed
 *   unsettled   each transaction that may have changed is requested by its id. One that the chain no longer knows (a
 *               mempool entry that was dropped or replaced, a block that was replaced) is withdrawn
 *   addresses   of each address that changed, the newest transactions down to those that are known. What was read has
 *               to agree with the count and the sums that the server states for the address
 *
 * Esplora's lists go from newest to oldest and cannot start at a given time, so an address is read from the top. The
 * first window of a new connection covers the last weeks. If an address has older transactions, the state remembers the
 * place (`below`), and the next window continues there instead of reading the top again.
 *
 * The state says what is unread and unsettled, and is committed together with each page. So a walk can resume at every
 * page mark, and reading a page twice adds nothing.
 */
import { z } from 'zod'
import type { Page, PageRequest, RawRecord, Window } from '../kit/connector.ts'
import { toPageRows } from '../kit/records.ts'
import { replaceableDepth } from './definition.ts'
import type { Esplora } from './esplora.ts'
import { pollBatch } from './poll.ts'
import { toSeen, type SeenTransaction } from './records.ts'
import { filterUnsettled, findNewestConfirmed, readState, type KnownAddress, type WalletState } from './state.ts'
import { addTallies, emptyTally, tallyOf } from './tally.ts'
import type { Wallet } from './wallet.ts'

/** API.md: "Returns 25 transactions per page." A shorter page is the last one. */
const pageSize = 25
/** Block times may be up to two hours ahead, and do not always increase with the height. */
const blockTimeToleranceMs = 3 * 3_600_000

const pageMarkSchema = z.union([
  z.object({ at: z.literal('poll') }),
  z.object({ at: z.literal('unsettled'), tipHeight: z.number(), after: z.string() }),
  z.object({
    at: z.literal('addresses'),
    tipHeight: z.number(),
    /** The address that is being read, or the last one that was read. */
    address: z.string(),
    /** The place in its list; null after it was read. */
    from: z
      .object({
        ...{ txid: z.string(), seen: z.number(), top: z.number().nullable(), isDeeper: z.boolean() },
        /** What this walk has read of the address, in blocks that may be replaced and in settled ones. */
        ...{ recent: z.string(), settled: z.string() },
      })
      .nullable(),
  }),
])
type PageMark = z.infer<typeof pageMarkSchema>

interface Walk {
  wallet: Wallet
  esplora: Esplora
  window: Window
  state: WalletState
  nowMs: number
}

/** The result of one step. The walk ends when `next` is undefined. */
interface Step {
  records: RawRecord[]
  withdrawn?: string[]
  next: PageMark | undefined
}

export async function fetchPage(wallet: Wallet, esplora: Esplora, request: PageRequest, nowMs: number): Promise<Page> {
  const { window, pageMark } = request
  const state = readState(request.state)
  const before = JSON.stringify(state)
  const walk = { wallet, esplora, window, state, nowMs }
  const mark = pageMark === null ? undefined : pageMarkSchema.parse(JSON.parse(pageMark))
  const step = await takeStep(walk, mark)
  return {
    records: step.records,
    next: step.next === undefined ? null : JSON.stringify(step.next),
    ...(step.withdrawn === undefined ? {} : { withdrawn: step.withdrawn }),
    ...(JSON.stringify(state) === before ? {} : { state }),
  }
}

async function takeStep(walk: Walk, mark: PageMark | undefined): Promise<Step> {
  const { wallet, esplora, state, window, nowMs } = walk
  if (mark !== undefined && mark.at !== 'poll') return readOn(walk, mark)
  if (state.polledAtMs < Math.min(window.end, nowMs)) {
    await pollBatch(wallet, esplora, state, nowMs)
    // Continues even after the last batch, because the next step must start with the state that this page commits.
    return { records: [], next: { at: 'poll' } }
  }
  const isIdle = Object.keys(state.unsettled).length === 0 && !state.addresses.some((one) => isDue(one, window))
  return isIdle ? { records: [], next: undefined } : readOn(walk, undefined)
}

async function readOn(walk: Walk, mark: Exclude<PageMark, { at: 'poll' }> | undefined): Promise<Step> {
  const tipHeight = mark?.tipHeight ?? (await walk.esplora.fetchTipHeight())
  if (mark?.at === 'addresses') return readAddress(walk, mark)
  if (mark === undefined) {
    filterUnsettled(walk.state, (_, { block }) => block === undefined || isReplaceable(block, tipHeight))
    const [newest] = findNewestConfirmed(walk.state) ?? []
    if (newest !== undefined) return checkBlocks(walk, newest, tipHeight)
  }
  const after = mark?.after ?? ''
  const [txid] = Object.entries(walk.state.unsettled)
    .flatMap(([one, { block }]) => (block === undefined && one > after ? [one] : []))
    .toSorted()
  if (txid !== undefined) return lookAgain(walk, txid, tipHeight)
  return readAddress(walk, { at: 'addresses', tipHeight, address: '', from: null })
}

function isReplaceable({ height }: { height: number }, tipHeight: number): boolean {
  return tipHeight - height + 1 < replaceableDepth
}

// -------------------------------------------------------------------------------------------------------------
// unsettled

/** A block names the one before it, so one that is still there vouches for all below. */
async function checkBlocks(walk: Walk, newest: string, tipHeight: number): Promise<Step> {
  const { state } = walk
  const before = JSON.stringify(state.unsettled[newest]?.block)
  const step = await lookAgain(walk, newest, tipHeight)
  if (JSON.stringify(state.unsettled[newest]?.block) !== before) {
    for (const entry of Object.values(state.unsettled)) delete entry.block
  }
  return { ...step, next: { at: 'unsettled', tipHeight, after: '' } }
}

async function lookAgain(walk: Walk, txid: string, tipHeight: number): Promise<Step> {
  const { esplora, state } = walk
  const next: PageMark = { at: 'unsettled', tipHeight, after: txid }
  const found = await esplora.findTransaction(txid)
  if (found !== undefined) return { records: [keep(walk, toSeen(found, contextOf(walk, tipHeight)), tipHeight)], next }
  // What replaced it may be worth exactly as much, so that the sums of its addresses are unchanged.
  const touched = new Set(state.unsettled[txid]?.addresses)
  for (const entry of state.addresses) if (touched.has(entry.address)) delete entry.isRead
  filterUnsettled(state, (one) => one !== txid)
  return { records: [], withdrawn: [txid], next }
}

function contextOf({ window, state, nowMs }: Walk, tipHeight: number): Parameters<typeof toSeen>[1] {
  return { window, tipHeight, seenMs: (txid) => state.unsettled[txid]?.seenMs ?? nowMs }
}

/** Notes whether it may still change. */
function keep({ state, nowMs }: Walk, { record, txid, block, amounts }: SeenTransaction, tipHeight: number): RawRecord {
  if (txid === undefined) return record
  if (block !== undefined && !isReplaceable(block, tipHeight)) {
    if (txid in state.unsettled) filterUnsettled(state, (one) => one !== txid)
    return record
  }
  const own = state.addresses.flatMap(({ address }) => (amounts.has(address) ? [address] : []))
  const seenMs = state.unsettled[txid]?.seenMs ?? nowMs
  const isConfirmed = block !== undefined && record.pending !== true
  const place = isConfirmed ? { block: { height: block.height, hash: block.hash } } : {}
  state.unsettled[txid] = { seenMs, addresses: own, ...place }
  if (isConfirmed) dropDeepest(state)
  return record
}

/** More transactions of one day than a person makes. The deepest are the least likely to change. */
const confirmedMax = 500

/**
 * More unconfirmed transactions than a person has. Each one is requested again in every run, and strangers can send
 * thousands to an address. Others are left out until they are in a block, which changes the sums of their address.
 */
const waitingMax = 200

function isTooMany({ unsettled }: WalletState, { txid, block }: SeenTransaction): boolean {
  if (txid === undefined || block !== undefined || txid in unsettled) return false
  return Object.values(unsettled).filter((one) => one.block === undefined).length >= waitingMax
}

function dropDeepest(state: WalletState): void {
  const heights = Object.values(state.unsettled).flatMap(({ block }) => block?.height ?? [])
  if (heights.length <= confirmedMax) return
  const deepest = Math.min(...heights)
  filterUnsettled(state, (_, { block }) => block?.height !== deepest)
}

// -------------------------------------------------------------------------------------------------------------
// addresses

function isDue({ stats, isRead, below }: KnownAddress, { start }: Window): boolean {
  return stats !== undefined && (isRead !== true || (below !== undefined && below.timeMs >= start))
}

async function readAddress(walk: Walk, mark: Extract<PageMark, { at: 'addresses' }>): Promise<Step> {
  const { state, window } = walk
  const place = state.addresses.findIndex(({ address }) => address === mark.address)
  const entry =
    mark.from === null ? state.addresses.slice(place + 1).find((one) => isDue(one, window)) : state.addresses[place]
  if (entry === undefined) return { records: [], next: undefined }
  const { tipHeight } = mark
  const from = mark.from ?? startOf(entry)
  const rows = toPageRows(await walk.esplora.fetchTransactions(entry.address, from?.txid ?? null))
  const seen = rows.map((row) => toSeen(row, contextOf(walk, tipHeight)))
  const records = seen.flatMap((one) => (isTooMany(state, one) ? [] : [keep(walk, one, tipHeight)]))
  const goesOn = moveOn(entry, { seen, from, window, tipHeight })
  const isMore =
    goesOn !== null || state.addresses.slice(state.addresses.indexOf(entry) + 1).some((one) => isDue(one, window))
  return { records, next: isMore ? { ...mark, address: entry.address, from: goesOn } : undefined }
}

type AddressMark = NonNullable<Extract<PageMark, { at: 'addresses' }>['from']>

/** Starts at the top of an address that changed, or where the last window stopped. */
function startOf({ isRead, below }: KnownAddress): AddressMark | null {
  if (isRead !== true || below === undefined) return null
  const { txid, seen, recent } = below
  return { txid, seen, top: null, isDeeper: true, recent, settled: emptyTally }
}

interface Shown {
  seen: readonly SeenTransaction[]
  from: AddressMark | null
  window: Window
  tipHeight: number
}

/**
 * Returns where the list of this address continues, or null when it was read far enough, which `entry` then records.
 */
function moveOn(entry: KnownAddress, { seen, from, window, tipHeight }: Shown): AddressMark | null {
  const confirmed = seen.flatMap(({ txid, block, amounts }) =>
    txid === undefined || block === undefined ? [] : [{ txid, ...block, amounts }],
  )
  const last = confirmed.at(-1)
  const count = (from?.seen ?? 0) + confirmed.length
  const isDeeper = from?.isDeeper ?? false
  const isChanged = isDeeper && entry.isRead !== true
  const newestSettled = confirmed.find((block) => !isReplaceable(block, tipHeight))?.height ?? null
  const top = isDeeper ? null : (from?.top ?? newestSettled)
  const knownHeight = isDeeper || entry.settled === undefined ? undefined : entry.height
  const total = Number(entry.stats?.count ?? 0)
  if (last === undefined && from !== null && count < total) {
    // The transaction that we continued from is no longer in the list, because its block was replaced. The next run
    // starts at the top again.
    for (const member of ['isRead', 'height', 'settled', 'below'] as const) delete entry[member]
    return null
  }
  const read = addPage(entry.address, from, confirmed, { knownHeight, tipHeight })
  const isKnown = knownHeight !== undefined && confirmed.some(({ height }) => height <= knownHeight)
  // A total may be wrong, so it never ends the list. A page that is not full ends it, unless the total says there is
  // more.
  const isEnd = last === undefined || (confirmed.length < pageSize && count >= total)
  const isPast = knownHeight === undefined && last !== undefined && last.timeMs < window.start - blockTimeToleranceMs
  if (!isKnown && !isEnd && !isPast) return { txid: last.txid, seen: count, top, isDeeper, ...read }
  if (!isKnown) delete entry.below
  if (!isKnown && !isEnd) entry.below = { txid: last.txid, timeMs: last.timeMs, seen: count, recent: read.recent }
  if (entry.below !== undefined) entry.below.recent = read.recent
  const isContinued = isDeeper || knownHeight !== undefined
  entry.settled = addTallies(isContinued ? (entry.settled ?? emptyTally) : emptyTally, read.settled)
  if (top !== null && !(isContinued && top < (entry.height ?? 0))) entry.height = top
  noteRead(entry, read.recent)
  if (isChanged) delete entry.isRead
  return null
}

/** What the walk has read of the address with this page, without what was known before it. */
function addPage(
  address: string,
  from: AddressMark | null,
  confirmed: readonly (Pick<SeenTransaction, 'amounts'> & { height: number })[],
  { knownHeight = -1, tipHeight }: { knownHeight: number | undefined; tipHeight: number },
): Pick<AddressMark, 'recent' | 'settled'> {
  const { recent = emptyTally, settled = emptyTally } = from ?? {}
  const fresh = confirmed.filter(({ height }) => height > knownHeight)
  const ofFresh = (isRecent: boolean): string => {
    const some = fresh.filter((block) => isReplaceable(block, tipHeight) === isRecent)
    return tallyOf(address, some)
  }
  return { recent: addTallies(recent, ofFresh(true)), settled: addTallies(settled, ofFresh(false)) }
}

/**
 * Servers behind one name may be a block apart. A list that lacks what the sums of its address have is read again by the
 * next run: the sums may never change again, and the transaction would never be read. Before the oldest transactions
 * were read there is nothing to compare.
 */
function noteRead(entry: KnownAddress, recent: string): void {
  const { stats, settled = emptyTally, below } = entry
  const stated = stats === undefined ? emptyTally : addTallies(`${stats.count}/${stats.funded}/${stats.spent}`)
  if (below !== undefined || addTallies(settled, recent) === stated) entry.isRead = true
  else delete entry.isRead
}
