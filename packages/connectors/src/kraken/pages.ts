/**
 * One page of each list. Kraken's edges: `start` is exclusive, `end` inclusive, both whole seconds, while the ledger's
 * times have four decimals. So a page is asked for a little more than the window and cut to it here: neighbouring
 * windows lose nothing and share nothing.
 */
import { createHash } from 'node:crypto'
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { Page, RawRecord, Window } from '../kit/connector.ts'
import { isJsonObject, withTextNumbers } from '../kit/json.ts'
import type { Call } from './client.ts'
import { groupOf } from './families.ts'
import { parseFundingRecord, parseLedgerRow } from './records.ts'
import { pageSize, type StreamName } from './streams.ts'

export function fetchPage(call: Call, stream: StreamName, window: Window, position: string | null): Promise<Page> {
  return stream === 'ledger'
    ? fetchLedgerPage(call, window, position)
    : fetchFundingPage(call, stream, window, position)
}

const jsonObject = z.custom<Record<string, unknown>>(isJsonObject)
const ledgerAnswer = z.object({ ledger: jsonObject, count: z.unknown().optional() })

/**
 * Offsets shift when a row is booked late into the past, or when Kraken repeats rows, and a shifted offset skips rows in
 * silence. So every page begins at the last row of the one before and has to show it again: that proves the two touch.
 * The late row itself may lie where we have been. A window that has more rows at its end than it had at its beginning is
 * therefore walked a second time, and no more than that: `count` is not always right.
 */
async function fetchLedgerPage(call: Call, window: Window, position: string | null): Promise<Page> {
  const place = readPlace(position)
  const params = { ...edges(window), ofs: String(place.offset) }
  const answer = ledgerAnswer.safeParse((await call('Ledgers', params)) ?? { ledger: {}, count: 0 })
  if (!answer.success) throw new SourceError('venue_down', 'Ledgers: unexpected answer')
  const rows = Object.entries(answer.data.ledger)
  const records = rows.map(([key, value]): RawRecord => {
    const body = JSON.stringify(value)
    try {
      const row = parseLedgerRow(key, body)
      return { key, group: groupOf(row), occurredAtMs: row.timeMs, body }
    } catch {
      return unreadable(key, window, body)
    }
  })
  const count = findCount(withTextNumbers(answer.data.count ?? null))
  const keys = rows.map(([key]) => key)
  return { records: inside(window, records), next: toNext(position, place, keys, count) }
}

function toNext(
  position: string | null,
  place: Place,
  keys: readonly string[],
  count: number | undefined,
): string | null {
  const countFirst = position === null ? count : place.countFirst
  const next = nextPlace(place, keys, count)
  if (next !== null) return writePlace({ ...next, countFirst })
  const grew = countFirst !== undefined && count !== undefined && count > countFirst
  return grew ? writePlace({ offset: 0, lastKey: null, countFirst: undefined }) : null
}

/** `offset` is where the page is asked for; `lastKey` is the row that should stand there, null on the first page. */
interface Place {
  offset: number
  lastKey: string | null
  /** How many rows the window had when the walk began; undefined when that does not matter any more. */
  countFirst: number | undefined
}

function readPlace(position: string | null): Place {
  const [offset = '0', lastKey = '-', countFirst] = (position ?? '0').split(' ')
  return { offset: Number(offset), lastKey: lastKey === '-' ? null : lastKey, countFirst: findCount(countFirst) }
}

function writePlace({ offset, lastKey, countFirst }: Place): string {
  return [offset, lastKey ?? '-', ...(countFirst === undefined ? [] : [countFirst])].join(' ')
}

/** Null when the walk is done. */
function nextPlace(
  { offset, lastKey }: Place,
  keys: readonly string[],
  count: number | undefined,
): Pick<Place, 'offset' | 'lastKey'> | null {
  const newest = keys.at(-1)
  const seenAt = lastKey === null ? -1 : keys.indexOf(lastKey)
  if (lastKey !== null && seenAt === -1 && offset > 0) {
    // The rows moved up: what we look for is further ahead in the list. At the head it is found, or gone for good.
    return { offset: Math.max(0, offset - pageSize), lastKey }
  }
  const fresh = keys.length - 1 - seenAt
  if (newest === undefined || fresh === 0) return null
  // Counted from the row that the last page ended with, not from the offset that was asked for: repeated rows cancel out.
  const lastOffset = offset + fresh - (lastKey === null || seenAt === -1 ? 1 : 0)
  // `count` moves while we read, and may promise rows that never come: nothing new is the end, whatever it says.
  return count !== undefined && lastOffset + 1 >= count ? null : { offset: lastOffset, lastKey: newest }
}

const names = {
  deposits: { endpoint: 'DepositStatus', members: ['deposit', 'deposits'] },
  withdrawals: { endpoint: 'WithdrawStatus', members: ['withdrawals', 'withdrawal'] },
} as const

async function fetchFundingPage(
  call: Call,
  stream: Exclude<StreamName, 'ledger'>,
  window: Window,
  position: string | null,
): Promise<Page> {
  const { endpoint, members } = names[stream]
  const params = { ...edges(window), cursor: position ?? 'true', limit: String(pageSize) }
  const { rows, cursor } = readFundingAnswer(endpoint, members, await call(endpoint, params))
  const records = rows.map((value): RawRecord => {
    const body = JSON.stringify(value)
    try {
      const { refid, timeMs } = parseFundingRecord(body)
      return { key: refid, group: refid, occurredAtMs: timeMs, body }
    } catch {
      return unreadable(createHash('sha256').update(body).digest('hex'), window, body)
    }
  })
  return { records: inside(window, records), next: rows.length === 0 || cursor === '' ? null : cursor }
}

const cursorPage = jsonObject.pipe(z.looseObject({ next_cursor: z.string().nullish() }))

/** A bare list when Kraken ignores the cursor, otherwise a list (or a lone record) beside the next cursor. */
function readFundingAnswer(endpoint: string, members: readonly string[], answer: unknown) {
  if (answer === undefined) return { rows: [], cursor: '' }
  if (Array.isArray(answer)) return { rows: answer as unknown[], cursor: '' }
  const parsed = cursorPage.safeParse(answer)
  if (!parsed.success) throw new SourceError('venue_down', `${endpoint}: unexpected answer`)
  const listed = members.map((member) => parsed.data[member]).find((value) => value !== undefined && value !== null)
  const rows: unknown[] = listed === undefined ? [] : Array.isArray(listed) ? listed : [listed]
  return { rows, cursor: parsed.data.next_cursor ?? '' }
}

function edges({ startMs, endMs }: Window): { start: string; end: string } {
  return { start: String(Math.max(0, Math.floor(startMs / 1000) - 1)), end: String(Math.ceil(endMs / 1000)) }
}

function inside({ startMs, endMs }: Window, records: readonly RawRecord[]): RawRecord[] {
  return records.filter(({ occurredAtMs }) => startMs <= occurredAtMs && occurredAtMs < endMs)
}

function findCount(count: unknown): number | undefined {
  return typeof count === 'string' && /^\d{1,12}$/.test(count) ? Number(count) : undefined
}

/**
 * One record that makes no sense must not hold up a history. It is kept in a group of its own, so that deriving fails
 * for that group alone and says so; without a time it is filed under the window it was found in.
 */
function unreadable(key: string, window: Window, body: string): RawRecord {
  return { key, group: `unreadable:${key}`, occurredAtMs: window.endMs - 1, body }
}
