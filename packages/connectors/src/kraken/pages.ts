/**
 * Fetches one page of each list. At Kraken `start` is exclusive and `end` inclusive, both in whole seconds, while
 * ledger times have four decimals. So we request a little more than the window and cut the page to it: neighbouring
 * windows lose nothing and share nothing.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { Page, PageRequest, Window } from '../kit/connector.ts'
import { isJsonObject, readAnswer, withTextNumbers } from '../kit/json.ts'
import { keepInside, toPageRows, toRawRecord } from '../kit/records.ts'
import type { Call } from './client.ts'
import { pageSize, type StreamName } from './definition.ts'
import { parseFundingRecord, parseLedgerRow } from './records.ts'

type Request = Pick<PageRequest, 'window' | 'pageMark'>

export function fetchPage(call: Call, stream: StreamName, request: Request, nowMs: number): Promise<Page> {
  return stream === 'ledger' ? fetchLedgerPage(call, request, nowMs) : fetchFundingPage(call, stream, request, nowMs)
}

const jsonObject = z.custom<Record<string, unknown>>(isJsonObject)
const text = z.string().nullish()
const ledgerAnswer = z.object({ ledger: jsonObject, count: z.unknown().optional(), next_cursor: text, cursor: text })

/**
 * A cursor (`with_cursor`) is said to replace offsets. The documents and clients that we could read (docs.kraken.com
 * get-ledgers, ccxt 4.5.84, JKorf/Kraken.Net of July 2026) show only offsets. So we request a cursor and follow it if
 * the response has one; otherwise we use offsets.
 *
 * Offsets shift when a row is booked late into the past or when Kraken repeats rows, and a shifted offset silently
 * skips rows. So every page starts at the last row of the previous page and must show it again, which proves that the
 * two touch.
 *
 * `count` never ends a walk, because it has been too high and too low. It only reveals a row that was booked late into
 * a part of the window that we had already read: if a window reports more rows at its end than at its beginning, it is
 * read once more.
 */
async function fetchLedgerPage(call: Call, { window, pageMark }: Request, nowMs: number): Promise<Page> {
  const mark = readMark(pageMark)
  const params = {
    ...edges(window),
    ...(mark.cursor === null ? { ofs: String(mark.offset) } : { cursor: mark.cursor }),
    ...(pageMark === null || mark.cursor !== null ? { with_cursor: 'true' } : {}),
  }
  const answer = readAnswer('Ledgers', ledgerAnswer, await call('Ledgers', params))
  const rows = toPageRows(Object.entries(answer.ledger))
  const records = rows.map(([key, value]) =>
    toRawRecord(
      JSON.stringify(value),
      window,
      (body) => ({ key, occurredAtMs: parseLedgerRow(key, body).timeMs }),
      key,
    ),
  )
  const keys = rows.map(([key]) => key)
  const count = findCount(withTextNumbers(answer.count ?? null))
  const walk = { ...mark, countFirst: pageMark === null ? count : mark.countFirst }
  const offered = pageMark === null || mark.cursor !== null ? (answer.next_cursor ?? answer.cursor ?? '') : ''
  const next = mark.cursor !== null || offered !== '' ? followCursor(walk, keys, offered) : followOffset(walk, keys)
  const again = next === null && hasGrown(walk.countFirst, count) ? firstMark : next
  return {
    records: keepInside(window, records, nowMs),
    next: again === null ? null : JSON.stringify(again),
    ...(again === null ? { complete: window } : {}),
  }
}

/** The page mark of the ledger: a cursor of Kraken or an offset. */
const pageMarkSchema = z.object({
  cursor: z.string().nullable(),
  offset: z.number(),
  /** The last row of the previous page. An offset page must begin with it. */
  lastKey: z.string().nullable(),
  /** How many rows the window had when the walk began; null when that no longer matters. */
  countFirst: z.number().nullable(),
})
type PageMark = z.infer<typeof pageMarkSchema>

/** A second walk never causes a third. */
const firstMark: PageMark = { cursor: null, offset: 0, lastKey: null, countFirst: null }

function readMark(pageMark: string | null): PageMark {
  return pageMark === null ? firstMark : pageMarkSchema.parse(JSON.parse(pageMark))
}

function hasGrown(countFirst: number | null, count: number | null): boolean {
  return countFirst !== null && count !== null && count > countFirst
}

function followCursor(mark: PageMark, keys: readonly string[], offered: string): PageMark | null {
  // Following a cursor that does not move would never end.
  if (offered === '' || offered === mark.cursor || keys.length === 0) return null
  return { ...mark, cursor: offered }
}

function followOffset(mark: PageMark, keys: readonly string[]): PageMark | null {
  const { offset, lastKey } = mark
  const newest = keys.at(-1)
  const seenAt = lastKey === null ? -1 : keys.indexOf(lastKey)
  if (lastKey !== null && seenAt === -1 && offset > 0) {
    // The rows moved up, so the row we look for is nearer to the head of the list. If it is not there, it was removed.
    return { ...mark, offset: Math.max(0, offset - pageSize) }
  }
  const fresh = keys.length - 1 - seenAt
  if (newest === undefined || fresh === 0) return null
  // Counting from the last row of the previous page instead of the requested offset makes repeated rows cancel out.
  const lastOffset = offset + fresh - (lastKey === null || seenAt === -1 ? 1 : 0)
  return { ...mark, offset: lastOffset, lastKey: newest }
}

const fundingLists = {
  deposits: { endpoint: 'DepositStatus', members: ['deposit', 'deposits'] },
  withdrawals: { endpoint: 'WithdrawStatus', members: ['withdrawals', 'withdrawal'] },
} as const

/**
 * Never `complete`, because Kraken drops old deposits and withdrawals from these lists and we must keep their
 * addresses.
 */
async function fetchFundingPage(
  call: Call,
  stream: Exclude<StreamName, 'ledger'>,
  { window, pageMark }: Request,
  nowMs: number,
): Promise<Page> {
  const { endpoint, members } = fundingLists[stream]
  const params = { ...edges(window), cursor: pageMark ?? 'true', limit: String(pageSize) }
  const { rows, cursor } = readFundingAnswer(endpoint, members, await call(endpoint, params))
  const records = toPageRows(rows).map((value) =>
    toRawRecord(JSON.stringify(value), window, (body) => {
      const { refid, timeMs, status } = parseFundingRecord(body)
      return { key: refid, occurredAtMs: timeMs, ...(status === 'pending' ? { pending: true } : {}) }
    }),
  )
  return { records: keepInside(window, records, nowMs), next: rows.length === 0 || cursor === '' ? null : cursor }
}

const cursorPage = jsonObject.pipe(z.looseObject({ next_cursor: text }))

/**
 * A bare list if Kraken ignores the cursor; otherwise a list, or a single record, next to the cursor. A page without rows
 * may leave out either, but members under other names alone would be rows that we cannot find.
 */
function readFundingAnswer(endpoint: string, members: readonly string[], answer: unknown) {
  // An account that never held anything may have no result, as with balances. The ledger has all that is missing here.
  if (answer === undefined) return { rows: [], cursor: '' }
  if (Array.isArray(answer)) return { rows: answer as unknown[], cursor: '' }
  const page = readAnswer(endpoint, cursorPage, answer)
  const names = Object.keys(page)
  if (names.length > 0 && ![...members, 'next_cursor'].some((name) => names.includes(name))) {
    throw new SourceError('unreadable_answer', `${endpoint}: neither a list nor a cursor`)
  }
  const listed = members.map((member) => page[member]).find((value) => value !== undefined && value !== null)
  const rows: unknown[] = listed === undefined ? [] : Array.isArray(listed) ? listed : [listed]
  return { rows, cursor: page.next_cursor ?? '' }
}

function edges({ start, end }: Window): { start: string; end: string } {
  return { start: String(Math.max(0, Math.floor(start / 1000) - 1)), end: String(Math.ceil(end / 1000)) }
}

function findCount(count: unknown): number | null {
  return typeof count === 'string' && /^\d{1,12}$/.test(count) ? Number(count) : null
}
