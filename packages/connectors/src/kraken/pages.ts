/**
 * One page of each list. Kraken's edges: `start` is exclusive, `end` inclusive, both whole seconds, while the ledger's
 * times have four decimals. So a page is requested for a little more than the window and cut to it here: neighbouring
 * windows lose nothing and share nothing.
 */
import { z } from 'zod'
import { readAnswer } from '../kit/answer.ts'
import type { Page, Window } from '../kit/connector.ts'
import { isJsonObject, withTextNumbers } from '../kit/json.ts'
import { keepInside, toRawRecord } from '../kit/records.ts'
import type { Call } from './client.ts'
import { pageSize, type StreamName } from './definition.ts'
import { parseFundingRecord, parseLedgerRow } from './records.ts'

export function fetchPage(call: Call, stream: StreamName, window: Window, position: string | null): Promise<Page> {
  return stream === 'ledger'
    ? fetchLedgerPage(call, window, position)
    : fetchFundingPage(call, stream, window, position)
}

const jsonObject = z.custom<Record<string, unknown>>(isJsonObject)
const text = z.string().nullish()
const ledgerAnswer = z.object({ ledger: jsonObject, count: z.unknown().optional(), next_cursor: text, cursor: text })

/**
 * A cursor (`with_cursor`) is said to replace offsets, which are said to be deprecated. The documents and clients that we
 * could read (docs.kraken.com get-ledgers, ccxt 4.5.84, JKorf/Kraken.Net of July 2026) show offsets alone. So the cursor is
 * requested and followed where a response has one; otherwise offsets are used.
 *
 * Offsets shift when a row is booked late into the past, or when Kraken repeats rows, and a shifted offset skips rows in
 * silence. So every page begins at the last row of the one before and has to show it again: that proves the two touch.
 *
 * `count` never ends a walk: it was seen too high and too low. It only serves to notice a row that was booked late into a
 * part of the window that we had already passed: a window that reports more rows at its end than at its beginning is walked
 * a second time, and no more than that.
 */
async function fetchLedgerPage(call: Call, window: Window, position: string | null): Promise<Page> {
  const place = readPlace(position)
  const params = {
    ...edges(window),
    ...(place.cursor === null ? { ofs: String(place.offset) } : { cursor: place.cursor }),
    ...(position === null || place.cursor !== null ? { with_cursor: 'true' } : {}),
  }
  const answer = readAnswer('Ledgers', ledgerAnswer, (await call('Ledgers', params)) ?? { ledger: {} })
  const rows = Object.entries(answer.ledger)
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
  const walk = { ...place, countFirst: position === null ? count : place.countFirst }
  const offered = position === null || place.cursor !== null ? (answer.next_cursor ?? answer.cursor ?? '') : ''
  const next = place.cursor !== null || offered !== '' ? followCursor(walk, keys, offered) : followOffset(walk, keys)
  const again = next === null && hasGrown(walk.countFirst, count) ? placeAgain : next
  return {
    records: keepInside(window, records),
    next: again === null ? null : JSON.stringify(again),
    ...(again === null ? { complete: window } : {}),
  }
}

/** The position of a page: a cursor or an offset. */
const placeSchema = z.object({
  cursor: z.string().nullable(),
  offset: z.number(),
  /** The row that the page before ended with: an offset page has to begin with it. */
  lastKey: z.string().nullable(),
  /** How many rows the window had when the walk began; null when that does not matter any more. */
  countFirst: z.number().nullable(),
})
type Place = z.infer<typeof placeSchema>

/** The second walk does not lead to a third. */
const placeAgain: Place = { cursor: null, offset: 0, lastKey: null, countFirst: null }

function readPlace(position: string | null): Place {
  return position === null ? placeAgain : placeSchema.parse(JSON.parse(position))
}

function hasGrown(countFirst: number | null, count: number | null): boolean {
  return countFirst !== null && count !== null && count > countFirst
}

function followCursor(place: Place, keys: readonly string[], offered: string): Place | null {
  // A cursor that does not move would never end.
  if (offered === '' || offered === place.cursor || keys.length === 0) return null
  return { ...place, cursor: offered }
}

function followOffset(place: Place, keys: readonly string[]): Place | null {
  const { offset, lastKey } = place
  const newest = keys.at(-1)
  const seenAt = lastKey === null ? -1 : keys.indexOf(lastKey)
  if (lastKey !== null && seenAt === -1 && offset > 0) {
    // The rows moved up: what we look for is further ahead in the list. At the head it is found, or it was removed.
    return { ...place, offset: Math.max(0, offset - pageSize) }
  }
  const fresh = keys.length - 1 - seenAt
  if (newest === undefined || fresh === 0) return null
  // Counted from the row that the last page ended with, not from the requested offset: repeated rows cancel out.
  const lastOffset = offset + fresh - (lastKey === null || seenAt === -1 ? 1 : 0)
  return { ...place, offset: lastOffset, lastKey: newest }
}

const names = {
  deposits: { endpoint: 'DepositStatus', members: ['deposit', 'deposits'] },
  withdrawals: { endpoint: 'WithdrawStatus', members: ['withdrawals', 'withdrawal'] },
} as const

/** Never `complete`: Kraken drops old deposits and withdrawals from these lists, and their addresses must stay. */
async function fetchFundingPage(
  call: Call,
  stream: Exclude<StreamName, 'ledger'>,
  window: Window,
  position: string | null,
): Promise<Page> {
  const { endpoint, members } = names[stream]
  const params = { ...edges(window), cursor: position ?? 'true', limit: String(pageSize) }
  const { rows, cursor } = readFundingAnswer(endpoint, members, await call(endpoint, params))
  const records = rows.map((value) =>
    toRawRecord(JSON.stringify(value), window, (body) => {
      const { refid, timeMs, status } = parseFundingRecord(body)
      return { key: refid, occurredAtMs: timeMs, ...(status === 'pending' ? { pending: true } : {}) }
    }),
  )
  return { records: keepInside(window, records), next: rows.length === 0 || cursor === '' ? null : cursor }
}

const cursorPage = jsonObject.pipe(z.looseObject({ next_cursor: text }))

/** A bare list when Kraken ignores the cursor, otherwise a list (or a lone record) beside the next cursor. */
function readFundingAnswer(endpoint: string, members: readonly string[], answer: unknown) {
  if (answer === undefined) return { rows: [], cursor: '' }
  if (Array.isArray(answer)) return { rows: answer as unknown[], cursor: '' }
  const page = readAnswer(endpoint, cursorPage, answer)
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
