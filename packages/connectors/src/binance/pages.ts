/**
 * One page of each list. Binance limits how wide a window may be (30 to 180 days) and answers a window that is too wide
 * with an error or, worse, with an empty list (convert). So a window is walked in pieces, oldest first, and the
 * page mark names the piece. Both edges of Binance's filters are inclusive.
 */
import { dayMs, hourMs, SourceError } from '@assay/core'
import { z } from 'zod'
import type { KnownPartition, Page, PageRequest, RawRecord, Window } from '../kit/connector.ts'
import { isJsonObject, parseJsonVerbatim, readAnswer, withTextNumbers } from '../kit/json.ts'
import { keepInside, toPageRows, toRawRecord } from '../kit/records.ts'
import { refuseFailure, type Answered, type Call } from './client.ts'
import type { StreamName } from './definition.ts'
import { endpoints, type Endpoint } from './endpoints.ts'
import { readPartition, toPartition, withAssets, withLost, type Pair } from './pairs.ts'
import { headReaders } from './records.ts'

/** The exchange opened in July 2017, sold coins for money from January 2019, and paid interest from August 2019. */
const launchMs = Date.UTC(2017, 6, 1)
const fiatLaunchMs = Date.UTC(2019, 0, 1)
const earnLaunchMs = Date.UTC(2019, 7, 1)

type Params = Record<string, string>

interface ListShape {
  endpoint: Endpoint
  /** The widest piece. */
  spanMs: number
  sinceMs: number
  pageSize: number
  /** `span`: no pages. A piece that fills a page may hide rows, so it is halved until it does not. */
  paging: 'offset' | 'number' | 'span'
  isShortPageLast?: true
  toParams(startMs: number, endMs: number): Params
  rowsOf(answer: unknown): { rows: readonly unknown[]; hasMore?: boolean | undefined }
  /** False for a list that drops old rows: a missing row was then not withdrawn. */
  isComplete: boolean
}

const jsonObject = z.custom<Record<string, unknown>>(isJsonObject)
const bareList = z.array(z.unknown())
// An empty list is `[]` in Binance's documents. Without the list, an answer is believed only beside what no error has: a
// total of none, or the end of a list of conversions.
const noTotal = z.unknown().refine((total) => withTextNumbers(total ?? null) === '0')
const rowsAnswer = jsonObject.pipe(
  z.union([z.looseObject({ rows: bareList }), z.looseObject({ rows: z.null().optional(), total: noTotal })]),
)
const convertAnswer = jsonObject.pipe(
  z.union([
    z.looseObject({ list: bareList, moreData: z.boolean().nullish() }),
    z.looseObject({ list: z.null().optional(), moreData: z.literal(false) }),
  ]),
)
const dustAnswer = jsonObject.pipe(
  z.union([
    z.looseObject({ userAssetDribblets: bareList }),
    z.looseObject({ userAssetDribblets: z.null().optional(), total: noTotal }),
  ]),
)
// Fiat may leave its list out (rotki, exchanges/binance.py). Without rows it has to say that it succeeded: `data` is in
// the errors of many gateways.
const fiatAnswer = jsonObject.pipe(
  z.union([
    z.looseObject({ data: bareList.nonempty() }),
    z.looseObject({ data: bareList.nullish(), success: z.literal(true) }),
    z.looseObject({ data: bareList, code: z.literal('000000') }),
  ]),
)

const startAndEnd = (startMs: number, endMs: number): Params => ({
  startTime: String(startMs),
  endTime: String(endMs - 1),
})

const wallet = {
  // "Less than 90 days".
  spanMs: 89 * dayMs,
  sinceMs: launchMs,
  pageSize: 1_000,
  paging: 'offset',
  rowsOf: (answer: unknown) => ({ rows: readAnswer('capital', bareList, answer) }),
  isComplete: true,
} as const

const rewards = {
  // The documents say three months; Binance refuses more than 30 days with −6021 (rotki, exchanges/binance.py).
  spanMs: 30 * dayMs,
  sinceMs: earnLaunchMs,
  pageSize: 100,
  paging: 'number',
  rowsOf: (answer: unknown) => ({ rows: readAnswer('rewardsRecord', rowsAnswer, answer).rows ?? [] }),
  isComplete: true,
} as const

function fiat(endpoint: Endpoint, transactionType: '0' | '1'): ListShape {
  return {
    endpoint,
    // The documents name no limit; rotki reads 89 days at a time.
    spanMs: 89 * dayMs,
    sinceMs: fiatLaunchMs,
    pageSize: 500,
    paging: 'number',
    // An account may ask for its orders twice a minute: the empty page behind a short one is not worth half a minute.
    isShortPageLast: true,
    toParams: (startMs, endMs) => ({ transactionType, beginTime: String(startMs), endTime: String(endMs - 1) }),
    rowsOf: (answer) => ({ rows: readAnswer('fiat', fiatAnswer, answer).data ?? [] }),
    isComplete: true,
  }
}

const shapes: Readonly<Record<Exclude<StreamName, 'trades'>, ListShape>> = {
  deposits: {
    ...wallet,
    endpoint: endpoints.deposits,
    toParams: (startMs, endMs) => ({ ...startAndEnd(startMs, endMs), includeSource: 'true' }),
  },
  withdrawals: { ...wallet, endpoint: endpoints.withdrawals, toParams: startAndEnd },
  converts: {
    endpoint: endpoints.convert,
    spanMs: 30 * dayMs,
    sinceMs: launchMs,
    pageSize: 1_000,
    paging: 'span',
    toParams: startAndEnd,
    rowsOf(answer) {
      const { list, moreData } = readAnswer('tradeFlow', convertAnswer, answer)
      return { rows: list ?? [], hasMore: moreData ?? false }
    },
    isComplete: true,
  },
  dividends: {
    endpoint: endpoints.dividends,
    // "The time between startTime and endTime must be less than or equal to 180 days."
    spanMs: 179 * dayMs,
    sinceMs: launchMs,
    pageSize: 500,
    paging: 'span',
    toParams: startAndEnd,
    rowsOf: (answer) => ({ rows: readAnswer('assetDividend', rowsAnswer, answer).rows ?? [] }),
    isComplete: true,
  },
  dust: {
    endpoint: endpoints.dust,
    spanMs: 89 * dayMs,
    sinceMs: Date.UTC(2020, 11, 1),
    pageSize: 100,
    paging: 'span',
    toParams: startAndEnd,
    rowsOf: (answer) => ({ rows: readAnswer('dribblet', dustAnswer, answer).userAssetDribblets ?? [] }),
    isComplete: false,
  },
  earn_flexible: {
    ...rewards,
    endpoint: endpoints.flexibleRewards,
    toParams: (startMs, endMs) => ({ ...startAndEnd(startMs, endMs), type: 'ALL' }),
  },
  earn_locked: { ...rewards, endpoint: endpoints.lockedRewards, toParams: startAndEnd },
  fiat_buys: fiat(endpoints.fiatPayments, '0'),
  fiat_sells: fiat(endpoints.fiatPayments, '1'),
  fiat_deposits: fiat(endpoints.fiatOrders, '0'),
  fiat_withdrawals: fiat(endpoints.fiatOrders, '1'),
}

export function fetchPage(call: Call, stream: StreamName, request: PageRequest, nowMs: number): Promise<Page> {
  return stream === 'trades' ? fetchTrades(call, request, nowMs) : fetchListPage(call, stream, request, nowMs)
}

/** A piece of a window: where it starts, how wide it is, and which of its pages is next. */
interface PageMark {
  startMs: number
  spanMs: number
  /** Rows or pages that were already read. */
  passed: number
}

const spanMinMs = 1_000

async function fetchListPage(
  call: Call,
  stream: Exclude<StreamName, 'trades'>,
  { window, pageMark, state }: PageRequest,
  nowMs: number,
): Promise<Page> {
  const shape = shapes[stream]
  const mark = pageMark === null ? startOf(shape, window) : readMark(pageMark)
  const whole = shape.isComplete ? { complete: window } : {}
  if (mark.startMs >= window.end) return { records: [], next: null, ...whole }
  const endMs = Math.min(mark.startMs + mark.spanMs, window.end)
  const { text, spent } = await call(shape.endpoint, {
    ...shape.toParams(mark.startMs, endMs),
    ...pageOf(shape, mark),
  })
  const answer = parseJsonVerbatim(text)
  refuseFailure(shape.endpoint, answer)
  const { rows, hasMore = false } = shape.rowsOf(answer)
  const read = readRows(stream, rows, window)
  const next = nextMark(shape, mark, endMs, rows.length, hasMore)
  const isOver = next.startMs >= window.end
  const learned = withAssets(state, read.codes)
  return {
    records: keepInside(window, read.records, nowMs),
    next: isOver ? null : `${next.startMs}:${next.spanMs}:${next.passed}`,
    ...(isOver ? whole : {}),
    ...(learned === undefined ? {} : { state: learned }),
    spent,
  }
}

function startOf({ sinceMs, spanMs }: ListShape, window: Window): PageMark {
  return { startMs: Math.max(sinceMs, window.start), spanMs, passed: 0 }
}

function readMark(pageMark: string): PageMark {
  const [, startMs, spanMs, passed] = /^(\d+):(\d+):(\d+)$/.exec(pageMark) ?? []
  if (passed === undefined) throw new RangeError('not a page mark of this list')
  return { startMs: Number(startMs), spanMs: Number(spanMs), passed: Number(passed) }
}

function pageOf({ paging, pageSize, endpoint }: ListShape, { passed }: PageMark): Params {
  if (paging === 'offset') return { offset: String(passed), limit: String(pageSize) }
  if (paging === 'number') {
    const isFiat = endpoint.path.includes('/fiat/')
    return isFiat
      ? { page: String(passed + 1), rows: String(pageSize) }
      : { current: String(passed + 1), size: String(pageSize) }
  }
  return { limit: String(pageSize) }
}

/** Totals are wrong in practice, so a page that is empty ends a piece. */
function nextMark(shape: ListShape, mark: PageMark, endMs: number, rows: number, hasMore: boolean): PageMark {
  const { paging, pageSize, spanMs } = shape
  if (paging === 'span' && (hasMore || rows >= pageSize) && mark.spanMs > spanMinMs) {
    return { ...mark, spanMs: Math.max(spanMinMs, Math.floor((endMs - mark.startMs) / 2)) }
  }
  const isLast = rows === 0 || (shape.isShortPageLast === true && rows < pageSize)
  if (paging !== 'span' && !isLast) return { ...mark, passed: mark.passed + (paging === 'offset' ? rows : 1) }
  return { startMs: endMs, spanMs, passed: 0 }
}

interface ReadRows {
  records: RawRecord[]
  codes: Set<string>
}

function readRows(stream: StreamName, rows: readonly unknown[], window: Window): ReadRows {
  const codes = new Set<string>()
  const records = toPageRows(rows).map((row) =>
    toRawRecord(JSON.stringify(row), window, (body) => {
      const { codes: named, ...head } = headReaders[stream](body)
      for (const code of named) codes.add(code)
      return head
    }),
  )
  return { records, codes }
}

const tradesMax = 1_000

/** How long before the end of what was read the engine begins again: an hour, and a week in the first run of a day. */
const nearMs = hourMs
const farMs = 7 * dayMs

/**
 * Trades are read by id, because a window in time may have 24 hours at most. A walk may store trades from outside of its
 * window, which does no harm, because their ids are unique.
 *
 * Binance may show a trade later than one with a higher id. So a walk begins with the first trade since the beginning of
 * its window, and not with the first new one, and ends where it shows nothing that is new: in nearly all runs that is one
 * request, as it would be without the old trades.
 */
async function fetchTrades(
  call: Call,
  { partition, window, pageMark, lastingMark, state }: PageRequest,
  nowMs: number,
): Promise<Page> {
  const pair = readPartition(partition)
  const lasting = readLastingMark(lastingMark)
  // Another walk has read the list to its end since then, from where this one is or from further back. A mark from the
  // future was written by a wrong clock, and would keep new trades from being read until then.
  if (window.end <= lasting.readAtMs && lasting.readAtMs <= nowMs) return { records: [], next: null }
  const place = pageMark === null ? toStart(lasting, window) : readPlace(pageMark, lasting)
  const asked = await askTrades(call, pair.symbol, place.id)
  // A `data_hole` would keep the whole connection from ever being up to date, because Binance never gives this list
  // back. So the list ends here and is no longer named; what the pair moved shows as the difference between balance and
  // history.
  if (asked === undefined) {
    const lost = withLost(state, partition)
    return { records: [], next: null, isGone: true, ...(lost === undefined ? {} : { state: lost }) }
  }
  const rows = readAnswer('myTrades', bareList, parseJsonVerbatim(asked.text))
  const { records, codes } = readRows('trades', rows, window)
  const next: TradesPlace = {
    id: passBefore(Infinity, records, place.id),
    nearId: passBefore(window.end - nearMs, records, place.nearId),
    farId: passBefore(window.end - farMs, records, place.farId),
  }
  const showsNothingNew = next.id === lasting.fromId && rows.length < tradesMax
  const isOver = rows.length === 0 || next.id === place.id || showsNothingNew
  const learned = withAssets(state, records.length === 0 ? [] : [...codes, pair.base, pair.quote])
  return {
    records,
    next: isOver ? null : `${next.id} ${next.nearId} ${next.farId}`,
    lastingMark: writeLastingMark({
      fromId: largerId(next.id, lasting.fromId),
      readAtMs: isOver ? nowMs : lasting.readAtMs,
      // A newer window may be read before the rest of this one, and goes on from here.
      nearId: isOver ? next.nearId : smallerId(next.nearId, next.id),
      nearSinceMs: window.end - nearMs,
      farId: next.farId,
    }),
    ...(learned === undefined ? {} : { state: learned }),
    spent: asked.spent,
  }
}

/** Undefined when Binance does not know the pair. */
async function askTrades(call: Call, symbol: string, fromId: string): Promise<Answered | undefined> {
  try {
    return await call(endpoints.myTrades, { symbol, fromId, limit: String(tradesMax) })
  } catch (error) {
    if (error instanceof SourceError && error.fault === 'data_hole') return undefined
    throw error
  }
}

/** Pairs that the account has trades of and exchangeInfo no longer lists. Binance still lists the trades of some. */
export function listGonePairs(pairs: readonly Pair[], known: readonly KnownPartition[]): Pair[] {
  const listed = new Set(pairs.map(toPartition))
  return known
    .filter(({ stream, partition }) => stream === 'trades' && !listed.has(partition))
    .filter(({ lastingMark }) => readLastingMark(lastingMark).fromId !== '0')
    .map(({ partition }) => readPartition(partition))
}

interface LastingMark {
  /** All trades below this id have been asked for. */
  fromId: string
  /** When the list was last read to its end: a window that ended before then has nothing new. */
  readAtMs: number
  /** The trades since `nearSinceMs` have this id or a higher one, those of the week before have `farId` or a higher one. */
  nearId: string
  nearSinceMs: number
  farId: string
}

/** Where a walk is, and the `nearId` and `farId` that it has found so far. */
type TradesPlace = Pick<LastingMark, 'nearId' | 'farId'> & { id: string }

function readLastingMark(lastingMark: string | null): LastingMark {
  const form = /^(\d+)@(\d+)(?: (\d+)@(\d+) (\d+))?$/
  const [, fromId = '0', readAtMs = '0', nearId = fromId, nearSinceMs = '0', farId = fromId] =
    form.exec(lastingMark ?? '') ?? []
  return { fromId, readAtMs: Number(readAtMs), nearId, nearSinceMs: Number(nearSinceMs), farId }
}

function writeLastingMark({ fromId, readAtMs, nearId, nearSinceMs, farId }: LastingMark): string {
  return `${fromId}@${readAtMs} ${nearId}@${nearSinceMs} ${farId}`
}

function toStart({ nearId, nearSinceMs, farId }: LastingMark, window: Window): TradesPlace {
  return { id: window.start >= nearSinceMs ? nearId : farId, nearId, farId }
}

function readPlace(pageMark: string, lasting: LastingMark): TradesPlace {
  const [id = '0', nearId = lasting.nearId, farId = lasting.farId] = pageMark.split(' ')
  return { id, nearId, farId }
}

/** The id after the last trade before this time. One that is shown late has an id between its neighbours in time. */
function passBefore(sinceMs: number, records: readonly RawRecord[], id: string): string {
  const before = records.filter((record) => record.unreadable === undefined && record.occurredAtMs < sinceMs)
  return before.map(({ key }) => String(BigInt(key) + 1n)).reduce(largerId, id)
}

function largerId(a: string, b: string): string {
  return BigInt(a) >= BigInt(b) ? a : b
}

function smallerId(a: string, b: string): string {
  return largerId(a, b) === a ? b : a
}
