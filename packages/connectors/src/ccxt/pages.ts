/**
 * Fetches one page of any list. Exchanges page in dozens of ways that ccxt does not unify, but nearly all of them
 * accept a start, and most accept an end. So a window is read by time, in pieces that the exchange accepts. A piece is
 * complete only when there is nothing left before the oldest row and after the newest row that came back. It therefore
 * does not matter whether an exchange starts with the oldest or the newest rows, or how long its pages are. The price
 * is two extra calls for each piece with rows, unless the exchange documents its page length.
 *
 * If an exchange does not accept a start or an end, the walk goes in the other direction only, and the stream's
 * `providerLimit` says what may be missing.
 */
import { SourceError } from '@assay/core'
import type { Page, PageRequest, Window } from '../kit/connector.ts'
import { keepInside } from '../kit/records.ts'
import { UnknownSymbol, Unsupported, type CcxtClient } from './client.ts'
import type { ReadList } from './catalogue/lists.ts'
import { readRow, type ReadRow } from './records.ts'
import { withAssets, withLost } from './state.ts'

type Step = 'whole' | 'before' | 'behind' | 'long_before' | 'long_behind'

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
}

export async function fetchPage(client: CcxtClient, list: ReadList, request: PageRequest): Promise<Page> {
  try {
    return await fetchRows(client, list, request)
  } catch (error) {
    if (error instanceof UnknownSymbol && list.by !== null) {
      // The exchange will not return this list again, and `data_hole` would keep the whole connection out of date. What
      // the symbol moved shows as a difference between balance and history.
      const lost = withLost(request.state, request.partition)
      return { records: [], next: null, ...(lost === undefined ? {} : { state: lost }) }
    }
    if (error instanceof Unsupported && !list.isRequired) return { records: [], next: null }
    if (error instanceof Unsupported || error instanceof UnknownSymbol) {
      throw new SourceError('unreadable_answer', `${list.call}: not supported`)
    }
    throw error
  }
}

async function fetchRows(client: CcxtClient, list: ReadList, request: PageRequest): Promise<Page> {
  const { window, pageMark, partition, state } = request
  const mark = pageMark === null ? firstMark(list, window) : readMark(pageMark)
  if (mark.startMs >= window.end) return { records: [], next: null, complete: window }
  const markets = await client.listMarkets()
  const key = list.by === null ? undefined : partition
  if (list.by === 'symbol' && !markets.has(partition)) throw new UnknownSymbol(partition)
  const { sinceMs, params } = toQuestion(list, mark)
  const rows = await client.list(list.call, key, sinceMs, list.limit ?? undefined, params)
  const read = rows.map((row) => readRow(client, list.stream, row, markets, window))
  const next = nextMark(list, mark, read, window)
  const learned = withAssets(state, new Set(read.flatMap(({ codes }) => codes)))
  return {
    records: keepInside(window, [...new Map(read.map(({ record }) => [record.key, record])).values()]),
    next: next === undefined ? null : writeMark(next),
    ...(next === undefined && list.isWhole ? { complete: window } : {}),
    ...(learned === undefined ? {} : { state: learned }),
  }
}

function firstMark(list: ReadList, window: Window): PageMark {
  return toPiece(list, Math.max(window.start, list.sinceMs), window)
}

function toPiece({ spanMs }: ReadList, startMs: number, window: Window): PageMark {
  const endMs = spanMs === null ? window.end : Math.min(window.end, startMs + spanMs)
  return { startMs, endMs, step: 'whole', oldestMs: 0, newestMs: 0, passed: 0 }
}

interface Question {
  sinceMs: number | undefined
  params: Record<string, unknown>
}

/** Adds one millisecond on either side, because some exchanges exclude the bounds they are given. */
function toQuestion(list: ReadList, { startMs, endMs, step, oldestMs, newestMs, passed }: PageMark): Question {
  if (list.paging !== undefined) {
    const { param, kind, first = 0 } = list.paging
    const value = kind === 'page' ? first + passed : passed
    return { sinceMs: undefined, params: { ...list.params, [param]: value } }
  }
  const isBehind = step === 'behind' || step === 'long_behind'
  const sinceMs = step === 'long_behind' ? newestMs + 1 : Math.max(1, (isBehind ? newestMs : startMs) - 1)
  const untilMs = step === 'before' ? oldestMs + 1 : step === 'long_before' ? oldestMs - 1 : endMs
  const ends =
    list.until === true ? { until: untilMs } : list.until === false ? {} : { [list.until]: toUnit(list, untilMs) }
  const starts = typeof list.since === 'string' ? { [list.since]: toUnit(list, sinceMs) } : {}
  // If the exchange does not accept a start, passing one would only make ccxt discard rows.
  return { sinceMs: list.since === false ? undefined : sinceMs, params: { ...list.params, ...starts, ...ends } }
}

function toUnit({ unit }: ReadList, atMs: number): number {
  return unit === 's' ? Math.ceil(atMs / 1_000) : atMs
}

/** Returns undefined when the window is complete. */
function nextMark(list: ReadList, mark: PageMark, read: readonly ReadRow[], window: Window): PageMark | undefined {
  if (list.paging !== undefined) return nextCounted(list, mark, read)
  const times = read.filter(({ record }) => record.unreadable === undefined).map(({ record }) => record.occurredAtMs)
  // ccxt may leave rows out of a full page, so only a clearly shorter page counts as the last.
  if (list.pageSize !== null && read.length < list.pageSize / 2) return nextPiece(list, mark, window)
  const span = { oldestMs: Math.min(...times), newestMs: Math.max(...times), count: times.length }
  if (mark.step === 'whole') return nextOfWhole(list, mark, span) ?? nextPiece(list, mark, window)
  const isBefore = mark.step === 'before' || mark.step === 'long_before'
  const next = isBefore ? nextBefore(list, mark, span) : nextBehind(mark, span)
  return next ?? nextPiece(list, mark, window)
}

interface Span {
  oldestMs: number
  newestMs: number
  count: number
}

function nextOfWhole(list: ReadList, mark: PageMark, { oldestMs, newestMs, count }: Span): PageMark | undefined {
  if (count === 0) return undefined
  if (list.until !== false) return { ...mark, step: 'before', oldestMs, newestMs }
  return list.since === false ? undefined : { ...mark, step: 'behind', oldestMs, newestMs }
}

function nextBefore(list: ReadList, mark: PageMark, { oldestMs, newestMs, count }: Span): PageMark | undefined {
  if (count > 0 && oldestMs < mark.oldestMs) {
    if (list.since === false && oldestMs < mark.startMs) return undefined
    return { ...mark, step: 'before', oldestMs, passed: 1 }
  }
  // A page may hold only rows of the same moment. The next request then excludes that moment.
  const isOneMoment = count > 1 && oldestMs === newestMs
  if (mark.step === 'before' && isOneMoment) return { ...mark, step: 'long_before' }
  // Older rows were found, so this exchange starts with the newest rows and has none after those.
  return mark.passed > 0 || list.since === false ? undefined : { ...mark, step: 'behind' }
}

function nextBehind(mark: PageMark, { oldestMs, newestMs, count }: Span): PageMark | undefined {
  if (count > 0 && newestMs > mark.newestMs) {
    return newestMs < mark.endMs ? { ...mark, step: 'behind', newestMs } : undefined
  }
  const isOneMoment = count > 1 && oldestMs === newestMs
  return mark.step === 'behind' && isOneMoment ? { ...mark, step: 'long_behind' } : undefined
}

function nextPiece(list: ReadList, { endMs }: PageMark, window: Window): PageMark | undefined {
  return endMs >= window.end ? undefined : toPiece(list, endMs, window)
}

/** Lists by offset, page or id end with an empty page. */
function nextCounted({ paging }: ReadList, mark: PageMark, read: readonly ReadRow[]): PageMark | undefined {
  if (read.length === 0 || paging === undefined) return undefined
  if (paging.kind === 'offset') return { ...mark, passed: mark.passed + read.length }
  if (paging.kind === 'page') return { ...mark, passed: mark.passed + 1 }
  const ids = read.map(({ record }) => Number(record.key.split('#').at(-1))).filter(Number.isSafeInteger)
  const next = Math.max(...ids) + 1
  return ids.length > 0 && next > mark.passed ? { ...mark, passed: next } : undefined
}

function writeMark({ startMs, endMs, step, oldestMs, newestMs, passed }: PageMark): string {
  return [step, startMs, endMs, oldestMs, newestMs, passed].join(':')
}

function readMark(pageMark: string): PageMark {
  const [, step, ...numbers] =
    /^(whole|(?:long_)?(?:before|behind)):(\d+):(\d+):(\d+):(\d+):(\d+)$/.exec(pageMark) ?? []
  const [startMs, endMs, oldestMs, newestMs, passed] = numbers.map(Number)
  if (passed === undefined || startMs === undefined || endMs === undefined)
    throw new RangeError('not a page mark of this list')
  return { step: step as Step, startMs, endMs, oldestMs: oldestMs ?? 0, newestMs: newestMs ?? 0, passed }
}
