/**
 * Fetches one page of any list. Exchanges page in dozens of ways that ccxt does not unify, but nearly all of them
 * accept a start, and most accept an end. So a window is read by time, in pieces that the exchange accepts. A piece is
 * complete only when there is nothing left before the oldest row and after the newest row that came back. It therefore
 * does not matter whether an exchange starts with the oldest or the newest rows, or how long its pages are. The price
 * is two extra calls for each piece with rows, or one where the exchange documents its page length.
 *
 * Times do not lead past a moment with more rows than a page has. What lies on its other side is read, and a record
 * that counts as unreadable stands for the rows of that moment that may be missing: a fault would end the list there in
 * every run.
 *
 * If an exchange does not accept a start or an end, the walk goes in the other direction only, and the stream's
 * `providerLimit` says what may be missing.
 *
 * A walk goes by the rows of the exchange's own answers. Several lists may come from one endpoint, and then ccxt leaves
 * out the rows of the others: a page of which nothing is left is not the end.
 */
import { dayMs, hourMs, SourceError } from '@assay/core'
import type { ConnectorState, Page, PageRequest, RawRecord, Window } from '../kit/connector.ts'
import { keepInside } from '../kit/records.ts'
import type { Row } from './answers.ts'
import { UnknownSymbol, Unsupported, type CcxtClient, type Listed } from './client.ts'
import type { Paging } from './catalogue/about.ts'
import type { ReadList } from './catalogue/lists.ts'
import { findTimeMs, readRows, type ReadRow } from './records.ts'
import { withAssets, withFound, withLost } from './state.ts'

/**
 * A page that shows only rows of the edge may have had no room for those beyond it. `at_` then leaves out what is on the
 * near side of the edge, and `past_` the edge itself. Exchanges that exclude the bounds they are given do not get that
 * far: `at_` shows them the rows beyond the edge.
 */
type Step = 'whole' | 'before' | 'at_oldest' | 'past_oldest' | 'behind' | 'at_newest' | 'past_newest'

/** The page mark of a walk: a piece of the window, and the part of it to request next. */
interface PageMark {
  startMs: number
  endMs: number
  step: Step
  /** The times of the oldest and newest row of this piece so far. */
  oldestMs: number
  newestMs: number
  /** For lists that are not read by time: the rows or pages read so far, or the next id. */
  passed: number
  /** The rows of the longest page so far that shows more than one moment. */
  longest: number
  /** Whether the walk passed a place where rows may be missing, so that it says nothing about those it did not show. */
  mayMiss: boolean
}

/** For an exchange that does not document its pages: few have shorter ones. */
const pageSizeDefault = 50

export async function fetchPage(
  client: CcxtClient,
  list: ReadList,
  request: PageRequest,
  nowMs: number,
): Promise<Page> {
  try {
    return await fetchRows(client, list, request, nowMs)
  } catch (error) {
    if (error instanceof UnknownSymbol && list.by !== null) {
      // The exchange may never return this list again, and `data_hole` would keep the whole connection out of date.
      const isSymbol = list.by === 'symbol'
      const state = isSymbol ? withLost(request.state, request.partition, nowMs) : request.state
      return { records: [], next: null, isGone: true, ...(state === request.state ? {} : { state }) }
    }
    if (error instanceof Unsupported && !list.isRequired) return { records: [], next: null }
    if (error instanceof Unsupported || error instanceof UnknownSymbol) {
      throw new SourceError('unreadable_answer', `${list.call}: not supported`)
    }
    throw error
  }
}

async function fetchRows(client: CcxtClient, list: ReadList, request: PageRequest, nowMs: number): Promise<Page> {
  const { window, pageMark, partition, state } = request
  const mark = withinReach(list, pageMark === null ? firstMark(list, window) : readMark(pageMark), window, nowMs)
  if (mark.startMs >= window.end) return { records: [], next: null, ...toComplete(list, mark.mayMiss, window, nowMs) }
  const markets = await client.listMarkets()
  const key = list.by === null ? undefined : partition
  if (list.by === 'symbol' && !markets.has(partition)) throw new UnknownSymbol(partition)
  const { sinceMs, params } = toQuestion(list, mark)
  const listed = await client.list(list.call, key, sinceMs, list.limit ?? undefined, params, list.without)
  const rows = (list.isByCurrency ? listed.withCurrencies() : listed.rows).map((row) => withOwnWords(list, row))
  const read = readRows(client, list.stream, rows, markets, { window, nowMs })
  const shown = toShown(list, read, listed, { sinceMs, window })
  if (list.paging === undefined && shown.times.length === 0 && isFull(list, mark, read.length)) {
    throw new SourceError('unreadable_answer', `${list.call}: no row of a page has a time`)
  }
  const longest = new Set(shown.times).size > 1 ? Math.max(mark.longest, shown.count) : mark.longest
  const walked = { ...mark, longest }
  const next = nextMark(list, walked, shown, window)
  const filledMs = next === undefined ? undefined : findFilledMoment(list, walked, next, shown)
  // Rows without a higher id do not lead on, and are not the end either.
  const isStuck = list.paging !== undefined && next === undefined && shown.count > 0 && !shown.isOlder
  // A row whose time is not known may be one that was stored under the key that it had with its time.
  const isUnclear = shown.isUnclear || read.some(({ hasTime }) => !hasTime)
  const mayMiss = mark.mayMiss || isUnclear || filledMs !== undefined || isStuck
  const missed = filledMs !== undefined && isPageLength(list, walked, shown.count) ? [toMissed(filledMs)] : []
  const kept = read.filter(({ isUnfinished }) => isUnfinished !== true).map(({ record }) => record)
  return {
    records: keepInside(window, [...new Map(kept.map((record) => [record.key, record])).values(), ...missed], nowMs),
    next: next === undefined ? null : writeMark({ ...next, mayMiss }),
    ...(next === undefined ? toComplete(list, mayMiss, window, nowMs) : {}),
    ...withLearned(state, partition, read),
  }
}

function withOwnWords({ statuses, types }: ReadList, row: Row): Row {
  const { status, type } = (row['info'] ?? {}) as { status?: unknown; type?: unknown }
  const known = findText(status)
  const ownStatus = known === undefined ? undefined : statuses.get(known)
  const number = findText(type)
  const ownType = number === undefined || types === undefined ? undefined : (types.get(number) ?? `type ${number}`)
  return {
    ...row,
    ...(ownStatus === undefined ? {} : { status: ownStatus }),
    ...(ownType === undefined ? {} : { ownType }),
  }
}

function findText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function withLearned(state: ConnectorState, partition: string, read: readonly ReadRow[]): Pick<Page, 'state'> {
  const found = withFound(state, partition) ?? state
  const learned = withAssets(found, new Set(read.flatMap(({ codes }) => codes))) ?? found
  return learned === state ? {} : { state: learned }
}

/** What a page of the exchange shows, with the rows that ccxt left out. */
interface Shown {
  count: number
  /** Of the rows that have one. */
  times: readonly number[]
  ids: readonly number[]
  /** Rows that ccxt left out and whose times are not known may have taken the place of others. */
  isUnclear: boolean
  /** Whether this page, and so every later page of a list with its newest rows first, is older than the window. */
  isOlder: boolean
}

function toShown(
  list: ReadList,
  read: readonly ReadRow[],
  { own, isPicked, parse }: Listed,
  { sinceMs = 0, window }: { sinceMs: number | undefined; window: Window },
): Shown {
  const times = read.filter(({ hasTime }) => hasTime).map(({ record }) => record.occurredAtMs)
  const count = isPicked ? own.length : read.length
  const shown = { count, times, ids: [], isUnclear: false, isOlder: false }
  const { kind, newestFirst } = list.paging ?? {}
  if (kind === 'offset' || kind === 'page') {
    // The rows of one page do not show the order of the pages: WhiteBIT groups them by market. And an exchange may sort by
    // another time than a row shows, so one row does not end the walk while others are in the window.
    const isOlder = [findTimeMs(parse(own.at(0))), ...times].every((atMs) => isBefore(atMs, window.start))
    return { ...shown, isOlder: newestFirst === true && isOlder }
  }
  // Rows before the start that was asked for do not count, as in ccxt.
  const isAsked = (row: ReturnType<Listed['parse']>): boolean => !isBefore(findTimeMs(row), sinceMs)
  const isNeeded = isPicked && (kind !== undefined || !isShort(list, count))
  const others = isNeeded ? own.map(parse).filter(isAsked) : []
  if (kind === 'id') {
    const ids = [...read.map(({ record }) => record.key.split('#').at(-1)), ...others.map(({ id }) => id)]
    return { ...shown, ids: ids.map(Number).filter(Number.isSafeInteger) }
  }
  // A page with room for more rows hides none, and reading around the rows of other lists would cost calls in each run.
  const othersTimes = others.map(findTimeMs)
  const known = othersTimes.filter((atMs) => atMs !== undefined)
  const isUnclear = known.length < othersTimes.length
  return { ...shown, count: Math.max(read.length, others.length), times: [...times, ...known], isUnclear }
}

function isBefore(atMs: number | undefined, thanMs: number): boolean {
  return atMs !== undefined && atMs < thanMs
}

function firstMark(list: ReadList, window: Window): PageMark {
  return toPiece(list, Math.max(window.start, list.sinceMs), window)
}

/**
 * The oldest part of what an exchange keeps that we do not ask for: some refuse the whole range if it begins a second
 * too early.
 */
const reachMarginMs = hourMs

/** How much time may be forgotten between two pages before it was read. */
const forgottenMaxMs = dayMs

/**
 * The start of a window is as old as what the exchange keeps, and calls are made later: in a run that waits for budgets,
 * or is resumed after an outage, much later. What was read of a piece stays read, and only the part that the exchange
 * has forgotten meanwhile is no longer asked for. A piece that began again with each pause would never end.
 *
 * A window that was read to its end is covered as a whole, so a long part that was never asked for is a hole: the window
 * is given up, and the next run begins with what the exchange still has. The hours that pass while a list is being read
 * are not worth a second walk, which might take as long.
 */
function withinReach(list: ReadList, mark: PageMark, window: Window, nowMs: number): PageMark {
  const startMs = findReach(list, nowMs)
  // Only at half of the margin, so that a short walk reads everything since its first call.
  if (mark.startMs > startMs - reachMarginMs / 2) return mark
  const { step, oldestMs, endMs, longest, mayMiss } = mark
  const isBefore = isBeforeEdge(step)
  const laterMs = findLater(list, mark)
  const earlierMs = isBefore ? Math.max(0, Math.min(oldestMs, startMs) - mark.startMs) : 0
  const forgottenMs = earlierMs + Math.max(0, Math.min(startMs, window.end) - laterMs)
  if (forgottenMs > forgottenMaxMs) {
    const hours = Math.round(forgottenMs / hourMs)
    throw new SourceError('data_hole', `${list.call}: ${hours} hours were forgotten before they were read`)
  }
  if (isBefore && oldestMs > startMs) return { ...mark, startMs }
  // Everything older than what was read is forgotten, so that only what is newer is left.
  if (laterMs > startMs && laterMs < endMs) return { ...mark, startMs, step: isBefore ? 'behind' : step }
  return { ...toPiece(list, Math.max(laterMs, startMs), window), longest, mayMiss }
}

/** The first moment that an exchange which keeps a list for a limited time is asked for. */
function findReach({ retentionDays, isRetentionOurs, paging }: ReadList, nowMs: number): number {
  // Where the limit is ours, the exchange still answers for what was planned.
  if (retentionDays === null || isRetentionOurs || paging !== undefined) return -Infinity
  return Math.ceil(nowMs - retentionDays * dayMs + reachMarginMs)
}

/**
 * What a walk has shown that ends now. It asked for everything since the present reach, because every earlier page
 * reached further back: known records from before may still be there.
 */
function toComplete(list: ReadList, mayMiss: boolean, window: Window, nowMs: number): Pick<Page, 'complete'> {
  const start = Math.max(window.start, findReach(list, nowMs))
  return list.isWhole && !mayMiss && start < window.end ? { complete: { ...window, start } } : {}
}

function isBeforeEdge(step: Step): boolean {
  return step === 'before' || step === 'at_oldest' || step === 'past_oldest'
}

/** Where the newer part of a piece begins that may not have been read yet: its end where nothing is left there. */
function findLater(list: ReadList, mark: PageMark): number {
  if (mark.step === 'whole') return mark.startMs
  if (isBeforeEdge(mark.step) && !hasLater(list, mark)) return mark.endMs
  return Math.min(mark.newestMs, mark.endMs)
}

/** An exchange that showed older rows on a later page starts with the newest rows and has none after those. */
function hasLater(list: ReadList, { passed }: PageMark): boolean {
  return passed === 0 && list.since !== false
}

function toPiece({ spanMs, splitMs }: ReadList, startMs: number, window: Window): PageMark {
  const splitEnd = splitMs !== null && startMs < splitMs ? splitMs : Infinity
  const endMs = Math.min(window.end, splitEnd, spanMs === null ? Infinity : startMs + spanMs)
  return { startMs, endMs, step: 'whole', oldestMs: 0, newestMs: 0, passed: 0, longest: 0, mayMiss: false }
}

interface Question {
  sinceMs: number | undefined
  params: Record<string, unknown>
}

function toQuestion(list: ReadList, mark: PageMark): Question {
  if (list.paging !== undefined) {
    const { param, kind, first = 0 } = list.paging
    const value = kind === 'page' ? first + mark.passed : mark.passed
    return { sinceMs: undefined, params: { ...list.params, [param]: value } }
  }
  const { sinceMs, untilMs } = toBounds(list, mark)
  const ends =
    list.until === true ? { until: untilMs } : list.until === false ? {} : { [list.until]: toUnit(list, untilMs) }
  const starts = typeof list.since === 'string' ? { [list.since]: toUnit(list, sinceMs) } : {}
  // If the exchange does not accept a start, passing one would only make ccxt discard rows.
  return { sinceMs: list.since === false ? undefined : sinceMs, params: { ...list.params, ...starts, ...ends } }
}

/** Adds one step of the exchange's times on either side, because some exchanges exclude the bounds they are given. */
function toBounds(list: ReadList, mark: PageMark): { sinceMs: number; untilMs: number } {
  const { startMs, endMs, oldestMs, newestMs } = mark
  const tickMs = unitMs[list.unit]
  const bounds = { sinceMs: Math.max(1, startMs - 1), untilMs: endMs }
  switch (mark.step) {
    case 'before':
      return { ...bounds, untilMs: Math.min(endMs, oldestMs + tickMs) }
    case 'at_oldest':
      return { ...bounds, untilMs: oldestMs }
    case 'past_oldest':
      return { ...bounds, untilMs: oldestMs - tickMs }
    case 'behind':
      return { ...bounds, sinceMs: Math.max(1, newestMs - tickMs) }
    case 'at_newest':
      return { ...bounds, sinceMs: newestMs }
    case 'past_newest':
      return { ...bounds, sinceMs: newestMs + tickMs }
    default:
      return bounds
  }
}

const unitMs = { day: dayMs, s: 1_000, ms: 1 } as const

/** The first moment from this one on that the exchange's times can name. */
function roundUp({ unit }: ReadList, atMs: number): number {
  return Math.ceil(atMs / unitMs[unit]) * unitMs[unit]
}

function toUnit(list: ReadList, atMs: number): number | string {
  const roundMs = roundUp(list, atMs)
  return list.unit === 'day' ? new Date(roundMs).toISOString().slice(0, 10) : roundMs / unitMs[list.unit]
}

/** Returns undefined when the window is complete. */
function nextMark(list: ReadList, mark: PageMark, shown: Shown, window: Window): PageMark | undefined {
  if (list.paging !== undefined) return nextCounted(list.paging, mark, shown)
  const { count, times } = shown
  const span = {
    ...{ oldestMs: Math.min(...times), newestMs: Math.max(...times), count: times.length },
    isShort: list.pageSize !== null && isShort(list, count),
  }
  return nextOfPiece(list, mark, span) ?? nextPiece(list, mark, window)
}

/** Far fewer rows than a page has: less than half, because we may not see all rows that ccxt has left out. */
function isShort({ pageSize }: ReadList, rows: number): boolean {
  return rows < (pageSize ?? pageSizeDefault) / 2
}

interface Span {
  oldestMs: number
  newestMs: number
  count: number
  /** Far fewer rows than the exchange documents for a page: all of them, or a part that it had time for. */
  isShort: boolean
}

/** Returns undefined when the piece is complete. */
function nextOfPiece(list: ReadList, mark: PageMark, span: Span): PageMark | undefined {
  switch (mark.step) {
    case 'whole':
      return nextOfWhole(list, mark, span)
    case 'before':
    case 'at_oldest':
    case 'past_oldest':
      return nextBefore(list, mark, span)
    default:
      return nextBehind(list, mark, span)
  }
}

function nextOfWhole(list: ReadList, mark: PageMark, span: Span): PageMark | undefined {
  const { oldestMs, newestMs, count, isShort } = span
  if (count === 0) return undefined
  // Exchanges whose pages are documented begin with the newest rows: after a short page only older ones can be missing.
  const passed = isShort ? 1 : 0
  const hasOlder = oldestMs >= mark.startMs
  if (list.until !== false && hasOlder) return { ...mark, step: 'before', oldestMs, newestMs, passed }
  return list.since === false || isShort ? undefined : { ...mark, step: 'behind', oldestMs, newestMs }
}

function nextBefore(list: ReadList, mark: PageMark, span: Span): PageMark | undefined {
  const { oldestMs, count } = span
  if (count > 0 && oldestMs < mark.oldestMs) {
    if (oldestMs < mark.startMs) return undefined
    return { ...mark, step: 'before', oldestMs, passed: 1 }
  }
  const further = nextAtEdge(list, mark, span)
  if (further !== undefined) return further
  return hasLater(list, mark) ? { ...mark, step: 'behind' } : undefined
}

function nextBehind(list: ReadList, mark: PageMark, span: Span): PageMark | undefined {
  const { newestMs, count } = span
  if (count > 0 && newestMs > mark.newestMs) {
    return newestMs < mark.endMs ? { ...mark, step: 'behind', newestMs } : undefined
  }
  return nextAtEdge(list, mark, span)
}

const furtherSteps: Partial<Record<Step, Step>> = {
  before: 'at_oldest',
  at_oldest: 'past_oldest',
  behind: 'at_newest',
  at_newest: 'past_newest',
}

/** Undefined for a page that had room for rows beyond the edge, or whose rows are not what was asked for. */
function nextAtEdge(list: ReadList, mark: PageMark, span: Span): PageMark | undefined {
  const { oldestMs, newestMs, count, isShort } = span
  const step = furtherSteps[mark.step]
  const { sinceMs, untilMs } = toBounds(list, mark)
  const lastMs = roundUp(list, untilMs)
  const isOutside = oldestMs < sinceMs || newestMs > lastMs
  return step === undefined || isShort || count < 2 || isOutside ? undefined : { ...mark, step }
}

/** The moment whose rows have filled this page, so that there may be more of them. */
function findFilledMoment(list: ReadList, mark: PageMark, next: PageMark, shown: Shown): number | undefined {
  const { count, times } = shown
  if (next.step !== furtherSteps[mark.step] || !isFull(list, mark, count)) return undefined
  const isOneMoment = new Set(times).size === 1 || next.step === 'past_oldest' || next.step === 'past_newest'
  return isOneMoment ? Math.min(...times) : undefined
}

/** A later read of the moment writes the same record. */
function toMissed(atMs: number): RawRecord {
  return {
    key: `moment:${atMs}:cut`,
    occurredAtMs: atMs,
    body: JSON.stringify({ timestamp: atMs }),
    unreadable: 'the exchange has more rows of this moment than it gives',
  }
}

function isFull({ pageSize, limit }: ReadList, { longest }: PageMark, rows: number): boolean {
  return rows >= (pageSize ?? limit ?? Math.max(pageSizeDefault, longest))
}

/**
 * Without a documented length, nothing tells a full page of one moment from a burst that fits into its page. A full
 * page is as long as others of the walk, or has a round length. A burst of such a length is rare, and a hole that is
 * reported for it would never go away.
 */
function isPageLength({ pageSize, limit }: ReadList, { longest }: PageMark, rows: number): boolean {
  return (pageSize ?? limit) !== null || rows === longest || rows % pageSizeDefault === 0
}

function nextPiece(list: ReadList, mark: PageMark, window: Window): PageMark | undefined {
  return mark.endMs >= window.end ? undefined : { ...toPiece(list, mark.endMs, window), longest: mark.longest }
}

/** Lists by offset, page or id end with an empty page, or where everything is older than the window. */
function nextCounted({ kind }: Paging, mark: PageMark, { count, ids, isOlder }: Shown): PageMark | undefined {
  if (count === 0 || isOlder) return undefined
  if (kind === 'offset') return { ...mark, passed: mark.passed + count }
  if (kind === 'page') return { ...mark, passed: mark.passed + 1 }
  const next = Math.max(...ids) + 1
  return next > mark.passed ? { ...mark, passed: next } : undefined
}

function writeMark({ step, startMs, endMs, oldestMs, newestMs, passed, longest, mayMiss }: PageMark): string {
  return [step, startMs, endMs, oldestMs, newestMs, passed, longest, Number(mayMiss)].join(':')
}

function readMark(pageMark: string): PageMark {
  const [, step, ...numbers] =
    /^(whole|before|behind|(?:at|past)_(?:oldest|newest)):(\d+):(\d+):(\d+):(\d+):(\d+):(\d+):([01])$/.exec(pageMark) ??
    []
  const [startMs, endMs, oldestMs = 0, newestMs = 0, passed = 0, longest = 0, mayMiss] = numbers.map(Number)
  if (startMs === undefined || endMs === undefined) throw new RangeError('not a page mark of this list')
  return { step: step as Step, startMs, endMs, oldestMs, newestMs, passed, longest, mayMiss: mayMiss === 1 }
}
