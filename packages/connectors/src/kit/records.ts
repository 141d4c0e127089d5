/**
 * Turns a provider's rows into raw records. One row that cannot be parsed must not stop a history: it is kept under its
 * own key and marked, the ledger reports it, and the rest of its page is read as usual.
 */
import { createHash } from 'node:crypto'
import { dayMs, SourceError } from '@assay/core'
import { z } from 'zod'
import type { RawRecord, Window } from './connector.ts'

const reasonLengthMax = 200
/** Ids have some tens of characters. PostgreSQL refuses to index some thousand, and the whole page with them. */
export const keyLengthMax = 300

/** There was nothing to record before: an earlier time is missing, or in seconds. */
const timeMinMs = Date.UTC(2009, 0, 1)
/** Later years have five digits, which PostgreSQL does not read. A time in microseconds is beyond it. */
const timeMaxMs = Date.UTC(10_000, 0, 1)
const outOfRange = 'the time is out of range'

/** In epoch milliseconds. */
export function isPossibleTime(atMs: number): boolean {
  return atMs >= timeMinMs && atMs < timeMaxMs
}

/**
 * `read` parses the row and names its key and time. `key` is for lists that give the id beside the row; a row that
 * cannot be parsed and has no such id is known by the hash of its text. Without a time it is filed under the end of its
 * window.
 */
export function toRawRecord(
  body: string,
  window: Window,
  read: (body: string) => Omit<RawRecord, 'body' | 'unreadable'>,
  key?: string,
): RawRecord {
  try {
    const found = read(body)
    if (found.key.length > keyLengthMax) throw new RangeError(`the id is longer than ${keyLengthMax} characters`)
    if (!isPossibleTime(found.occurredAtMs)) throw new RangeError(outOfRange)
    return { ...found, body }
  } catch (error) {
    const isShort = key !== undefined && key.length <= keyLengthMax
    return {
      key: isShort ? key : createHash('sha256').update(body).digest('hex'),
      occurredAtMs: window.end - 1,
      body,
      unreadable: reasonOf(error),
    }
  }
}

/** The longest page that any provider is asked for has a tenth of this. */
const pageRowsMax = 10_000

/** The rows of a page, for providers that are told how many a page may have. */
export function toPageRows<Row>(rows: readonly Row[]): readonly Row[] {
  if (rows.length <= pageRowsMax) return rows
  throw new SourceError('unreadable_answer', `a page of more than ${pageRowsMax} rows`)
}

/** Names the member and the rule, never the value. */
function reasonOf(error: unknown): string {
  const reason =
    error instanceof z.ZodError
      ? error.issues.map(({ path, message }) => `${path.join('.') || 'row'}: ${message}`).join('; ')
      : error instanceof Error
        ? error.message
        : 'cannot be parsed'
  return reason.slice(0, reasonLengthMax)
}

/** A provider's clock may be ahead of ours. */
const aheadMaxMs = dayMs

/** Whether a time is so far in the future that it is wrong. */
export function isAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + aheadMaxMs
}

/**
 * Neighbouring windows must share no record and lose none, whatever edges the provider's own filter has. A record of the
 * far future would be in no window for years, so it stays in this one and is marked.
 */
export function keepInside(window: Window, records: readonly RawRecord[], nowMs: number): RawRecord[] {
  const { start, end } = window
  return records
    .map((record) => (isAhead(record.occurredAtMs, nowMs) ? toMisdated(window, record) : record))
    .filter(({ occurredAtMs }) => start <= occurredAtMs && occurredAtMs < end)
}

function toMisdated({ end }: Window, { key, body, unreadable = outOfRange }: RawRecord): RawRecord {
  return { key, occurredAtMs: end - 1, body, unreadable }
}
