/**
 * Turns a provider's rows into raw records. One row that cannot be parsed must not stop a history: it is kept under its
 * own key and marked, the ledger reports it, and the rest of its page is read as usual.
 */
import { createHash } from 'node:crypto'
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { RawRecord, Window } from './connector.ts'

const reasonLengthMax = 200
/** Ids have some tens of characters. PostgreSQL refuses to index some thousand, and the whole page with them. */
export const keyLengthMax = 300

/** Later years have five digits, which PostgreSQL does not read. */
const timeMaxMs = Date.UTC(10_000, 0, 1)

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
    if (!(found.occurredAtMs >= 0 && found.occurredAtMs < timeMaxMs)) throw new RangeError('the time is out of range')
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

/** Neighbouring windows must share no record and lose none, whatever edges the provider's own filter has. */
export function keepInside({ start, end }: Window, records: readonly RawRecord[]): RawRecord[] {
  return records.filter(({ occurredAtMs }) => start <= occurredAtMs && occurredAtMs < end)
}
