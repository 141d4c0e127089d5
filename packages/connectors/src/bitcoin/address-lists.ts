/**
 * Reads the transaction lists of a wallet's addresses: the newest transactions of each address that changed, down to
 * those that are known (`readNewest`), and the older ones of each address that was not read to its end (`readRest`).
 */
import { dayMs, hourMs, minuteMs, SourceError } from '@assay/core'
import type { RawRecord } from '../kit/connector.ts'
import { toPageRows } from '../kit/records.ts'
import { toSeen, type SeenTransaction } from './records.ts'
import type { Below, KnownAddress } from './state.ts'
import { addTallies, countOf, emptyTally, tallyOf } from './tally.ts'
import { contextOf, isTooMany, keep } from './unsettled.ts'
import { endWalk, isReplaceable, type NewestMark, type RestMark, type Step, type Walk } from './walk.ts'

/** API.md: "Returns 25 transactions per page." A shorter page is the last one. */
const pageSize = 25
/** Block times may be up to two hours ahead, and do not always increase with the height. */
const blockTimeToleranceMs = 3 * hourMs
/** API.md: "up to 50 mempool transactions". */
const waitingListedMax = 50
/**
 * After the first read, one walk reads at most this many pages of older transactions and leaves the others to the next
 * walk. An address may have a hundred thousand transactions, and those that were read are shown only when a walk ends.
 */
const restPagesMax = 100

export function isUnread({ stats, isRead }: KnownAddress): boolean {
  return stats !== undefined && isRead !== true
}

export async function readNewest(walk: Walk, mark: NewestMark): Promise<Step> {
  const { addresses } = walk.state
  const { tipHeight, isCut } = mark
  const place = addresses.findIndex(({ address }) => address === mark.address)
  // The walk of a newer window may have read the same transactions while this one was interrupted.
  const from = addresses[place]?.height === mark.from?.knownHeight ? mark.from : null
  const entry = from === null ? addresses.slice(place + 1).find(isUnread) : addresses[place]
  if (entry === undefined) return readRest(walk, { at: 'rest', tipHeight, isCut, after: '', pages: 0 })
  const page = await fetchList(walk, entry, from?.txid ?? null, tipHeight)
  const continuation = noteNewest(walk, entry, from, page)
  const next = {
    ...mark,
    address: entry.address,
    from: continuation === 'cut' ? null : continuation,
    isCut: isCut || continuation === 'cut',
  }
  const isMore = next.from !== null || addresses.slice(addresses.indexOf(entry) + 1).some(isUnread)
  return isMore || isAnyLeft(walk, next) ? { records: page.records, next } : { ...endWalk(walk), records: page.records }
}

interface ListPage {
  records: RawRecord[]
  isEmpty: boolean
  seen: readonly SeenTransaction[]
  confirmed: readonly Confirmed[]
  tipHeight: number
}
type Confirmed = Pick<SeenTransaction, 'amounts'> & { txid: string; height: number; timeMs: number }

async function fetchList(
  walk: Walk,
  { address }: KnownAddress,
  after: string | null,
  tipHeight: number,
): Promise<ListPage> {
  const rows = toPageRows(await walk.esplora.fetchTransactions(address, after))
  const context = contextOf(walk, tipHeight)
  const seen = rows.map((row) => toSeen(row, context))
  const records = seen.flatMap((one) => (isTooMany(walk.state, one) ? [] : [keep(walk, one, tipHeight)]))
  const confirmed = seen.flatMap(({ txid, block, amounts }) =>
    txid === undefined || block === undefined ? [] : [{ txid, ...block, amounts }],
  )
  return { records, isEmpty: rows.length === 0, seen, confirmed, tipHeight }
}

type NewestPlace = NonNullable<NewestMark['from']>

/**
 * Returns where the list of this address continues, `cut` if it ended too early, or null when it was read down to the
 * known transactions, which `entry` then records. If nothing is known about the address, only its first page is read here,
 * and `below` says where the older transactions begin.
 */
function noteNewest(
  walk: Walk,
  entry: KnownAddress,
  from: NewestPlace | null,
  page: ListPage,
): NewestPlace | 'cut' | null {
  const { confirmed, tipHeight, isEmpty } = page
  const knownHeight = entry.settled === undefined ? undefined : entry.height
  const last = confirmed.at(-1)
  // This server does not list the transaction that we continued from, or no longer does, so nothing follows it.
  if (isEmpty && from !== null && noteEarlyEnd(walk, entry)) return 'cut'
  if (from === null) askForUnlisted(walk, entry, page)
  const newestSettled = confirmed.find((block) => !isReplaceable(block, tipHeight))?.height ?? null
  const top = from?.top ?? newestSettled
  const lacksWaiting = from?.lacksWaiting ?? isWaitingUnlisted(entry, page)
  const read = addPage(entry.address, from, confirmed, { knownHeight, tipHeight })
  const isKnown = knownHeight !== undefined && confirmed.some(({ height }) => height <= knownHeight)
  if (knownHeight !== undefined && !isKnown && last !== undefined)
    return { txid: last.txid, top, lacksWaiting, knownHeight, ...read }
  if (knownHeight === undefined) {
    for (const member of ['height', 'settled', 'below'] as const) delete entry[member]
    if (!isEnd(entry, page, read)) entry.below = toPlace(confirmed, read.recent)
  } else if (entry.below !== undefined) entry.below.recent = read.recent
  entry.settled = addTallies(entry.settled ?? emptyTally, read.settled)
  if (top !== null) entry.height = Math.max(top, entry.height ?? 0)
  noteRead(entry, read.recent, walk.nowMs)
  // Mempools differ by seconds, and the sums may not change before the payment is in a block, weeks later.
  if (lacksWaiting) delete entry.isRead
  return null
}

/**
 * A list has all transactions of its address above its last one. One that it lacks may have been confirmed on another
 * branch of the chain, so it is requested by its id.
 */
function askForUnlisted({ state }: Walk, { address, stats }: KnownAddress, { seen, confirmed }: ListPage): void {
  const isWhole = confirmed.length < pageSize && confirmed.length >= Number(stats?.count ?? 0)
  const lastHeight = isWhole ? 0 : (confirmed.at(-1)?.height ?? Infinity)
  const listed = new Set(seen.map(({ txid }) => txid))
  for (const [txid, { addresses, block }] of Object.entries(state.unsettled)) {
    const isMissing = block !== undefined && block.height > lastHeight && !listed.has(txid)
    if (isMissing && addresses.includes(address)) delete state.unsettled[txid]?.block
  }
}

function isWaitingUnlisted({ stats }: KnownAddress, { seen }: ListPage): boolean {
  const waiting = Number(stats?.waiting.split('/')[0] ?? 0)
  return seen.filter(({ block }) => block === undefined).length < Math.min(waiting, waitingListedMax)
}

/** Adds this page to what the walk has read of the address. Transactions that were known before it do not count. */
function addPage(
  address: string,
  from: Pick<NewestPlace, 'recent' | 'settled'> | null,
  confirmed: readonly Confirmed[],
  { knownHeight = -1, tipHeight }: { knownHeight: number | undefined; tipHeight: number },
): Pick<NewestPlace, 'recent' | 'settled'> {
  const { recent = emptyTally, settled = emptyTally } = from ?? {}
  const fresh = confirmed.filter(({ height }) => height > knownHeight)
  const ofFresh = (isRecent: boolean): string => {
    const some = fresh.filter((block) => isReplaceable(block, tipHeight) === isRecent)
    return tallyOf(address, some)
  }
  return { recent: addTallies(recent, ofFresh(true)), settled: addTallies(settled, ofFresh(false)) }
}

/**
 * A total may be wrong, so it never ends the list. A page that is not full ends it, unless the total says there is more.
 */
function isEnd({ stats }: KnownAddress, { confirmed }: ListPage, read: { recent: string; settled: string }): boolean {
  if (confirmed.length === 0) return true
  return confirmed.length < pageSize && countOf(addTallies(read.recent, read.settled)) >= Number(stats?.count ?? 0)
}

function toPlace(confirmed: readonly Confirmed[], recent: string): Below {
  const last = confirmed.at(-1)
  if (last === undefined) throw new TypeError('a list continues after its last transaction')
  return { txid: last.txid, timeMs: last.timeMs, isFull: confirmed.length >= pageSize, recent }
}

/** How long a list may differ from the sums of its address before it is discarded, or accepted as it is. */
const patienceMs = dayMs

/**
 * Servers behind one name may be a block apart. A list that lacks what the sums of its address have is read again by the
 * next run: the sums may never change again, and the transaction would never be read. What is missing may also be
 * further down, so the whole list is read again after a day, and then each time after twice as long. Until the oldest
 * transactions have been read, there is nothing to compare.
 */
function noteRead(entry: KnownAddress, recent: string, nowMs: number): void {
  const { stats, settled = emptyTally, below } = entry
  const stated = stats === undefined ? emptyTally : addTallies(`${stats.count}/${stats.funded}/${stats.spent}`)
  const read = addTallies(settled, recent)
  // Payments may have come since the sums were stated. A busy address may never be without them.
  const isAhead = countOf(read) > countOf(stated)
  if (read === stated || isAhead) delete entry.doubt
  if (read === stated || below !== undefined) {
    entry.isRead = true
    return
  }
  delete entry.isRead
  if (isAhead) return
  const { sinceMs, wholeAtMs } = (entry.doubt ??= { sinceMs: nowMs, wholeAtMs: nowMs })
  if (nowMs - wholeAtMs < Math.max(patienceMs, wholeAtMs - sinceMs)) return
  entry.doubt = { sinceMs, wholeAtMs: nowMs }
  for (const member of ['height', 'settled'] as const) delete entry[member]
}

// -------------------------------------------------------------------------------------------------------------
// rest

export function isRestDue({ state, window }: Walk, { stats, below }: KnownAddress): boolean {
  if (stats === undefined || below === undefined) return false
  return state.isFirstRead !== true || below.timeMs >= window.start - blockTimeToleranceMs
}

function isAnyLeft(walk: Walk, { isCut }: { isCut: boolean }): boolean {
  return isCut || walk.state.addresses.some((one) => isRestDue(walk, one))
}

export async function readRest(walk: Walk, mark: RestMark): Promise<Step> {
  const { addresses, isFirstRead } = walk.state
  const place = addresses.findIndex(({ address }) => address === mark.after)
  const mayReadOn = isFirstRead === true || mark.pages < restPagesMax
  const entry = mayReadOn ? addresses.slice(place + 1).find((one) => isRestDue(walk, one)) : undefined
  if (entry?.below === undefined) {
    if (isAnyLeft(walk, mark)) throw notReadYet(walk, mark)
    return endWalk(walk)
  }
  const page = await fetchList(walk, entry, entry.below.txid, mark.tipHeight)
  const isCut = noteRest(walk, entry, entry.below, page) === 'cut'
  const after = isCut || entry.below === undefined ? entry.address : mark.after
  const next = { ...mark, after, pages: mark.pages + 1, isCut: mark.isCut || isCut }
  return isAnyLeft(walk, next) ? { records: page.records, next } : { ...endWalk(walk), records: page.records }
}

/**
 * A list that contradicts its count usually agrees with it a minute later. If it still does not, it is requested less and
 * less often: each try costs some calls for every address, and all users of a public server share those.
 */
function notReadYet({ state, nowMs }: Walk, { isCut }: Pick<RestMark, 'isCut'>): SourceError {
  // The youngest doubt: an address may be in doubt for months, and another must not wait for it. There is none if another
  // walk has read the address meanwhile.
  const sinceMs = state.addresses.flatMap(({ doubt }) => doubt?.sinceMs ?? [])
  const pauseMs = sinceMs.length === 0 ? 0 : Math.min(hourMs, nowMs - Math.max(...sinceMs))
  const more = isCut && pauseMs > pauseMinMs ? { retryAfterMs: pauseMs } : {}
  return new SourceError('data_hole', 'older transactions of an address are not read yet', more)
}

/** The engine's own pauses cover anything shorter. */
const pauseMinMs = 15 * minuteMs

/** Moves `below` of the entry, and removes it at the end of the list. */
function noteRest(walk: Walk, entry: KnownAddress, below: Below, page: ListPage): 'cut' | undefined {
  const { confirmed, tipHeight } = page
  const known = { recent: below.recent, settled: entry.settled ?? emptyTally }
  const isEarly = countOf(addTallies(known.recent, known.settled)) < Number(entry.stats?.count ?? 0)
  // After a page that is not full, the list has ended, and the count may have come from a server that is a block ahead.
  if (page.isEmpty && below.isFull && isEarly && noteEarlyEnd(walk, entry)) return 'cut'
  // All of them are below a height that is final, if there is one.
  const isFinal = (block: Confirmed): boolean => entry.height !== undefined || !isReplaceable(block, tipHeight)
  const newestFinal = confirmed.find(isFinal)?.height
  const [settled, recent] = [true, false].map((is) => confirmed.filter((block) => isFinal(block) === is))
  const read = {
    recent: addTallies(known.recent, tallyOf(entry.address, recent ?? [])),
    settled: addTallies(known.settled, tallyOf(entry.address, settled ?? [])),
  }
  entry.settled = read.settled
  if (newestFinal !== undefined) entry.height ??= newestFinal
  if (!isEnd(entry, page, read)) {
    entry.below = toPlace(confirmed, read.recent)
    return undefined
  }
  delete entry.below
  // An address that has changed meanwhile is compared when its newest transactions were read.
  if (entry.isRead === true) noteRead(entry, read.recent, walk.nowMs)
  return undefined
}

/**
 * Notes that a list ended before its count: the server that answered is behind, or a block was replaced and the
 * transaction that we continued from is elsewhere now. The next walk reads the newest transactions again and continues at
 * the same place, unless that place may have moved. Returns false once this has lasted a day: the list is then accepted.
 */
function noteEarlyEnd({ nowMs }: Walk, entry: KnownAddress): boolean {
  const { sinceMs } = (entry.doubt ??= { sinceMs: nowMs, wholeAtMs: nowMs })
  if (nowMs - sinceMs >= patienceMs) return false
  delete entry.isRead
  if (entry.height === undefined) for (const member of ['settled', 'below'] as const) delete entry[member]
  return true
}
