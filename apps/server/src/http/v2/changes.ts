/**
 * GET /accounts/v2/transactions/changes. A cursor holds a point of the user's feed and two facts about its reader:
 *
 * - `completeAt`: when the reader was last known to have everything up to here: at the start of its first walk, and at
 *   every last page. Removals since then are reported as long as they are kept; after that the cursor has expired.
 * - `removedAfterSeq`: removals up to this number are of rows that this reader has never seen.
 */
import { listTransactionChanges } from '@assay/contract'
import { Refusal } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { FeedPoint } from '../../portfolio/index.ts'
import type { Point } from '../paging/cursor.ts'
import type { FrontDoors } from '../front-doors.ts'

interface Reader {
  after: FeedPoint
  /** Epoch ms, as text; undefined on the first page. */
  completeAt: string | undefined
  removedAfterSeq: string | undefined
}

/** A cursor expires before the removals do, because clocks differ a little and a walk takes a while. */
const marginMs = 3_600_000

export function registerChanges(app: FastifyInstance, { serve, portfolio, now, removalsKeptMs }: FrontDoors): void {
  serve.authorizedRead(app, listTransactionChanges, {
    async read(token, { page: { limit, point } }) {
      // Read before the statement runs: what commits during the statement may be missing from its snapshot.
      const askedAt = now()
      const { after, removedAfterSeq } = toReader(point)
      const authorized = await portfolio.readChanges(token, { after, removedAfterSeq, limit })
      return authorized && { ...authorized, askedAt }
    },
    answer({ issues, result, askedAt }, { page }) {
      const reader = toReader(page.point)
      checkAge(reader, result.newestSeq, askedAt - removalsKeptMs + marginMs)
      const at = String(askedAt)
      const point = toPoint(
        result.isLast
          ? { after: result.end, completeAt: at, removedAfterSeq: result.newestSeq }
          : {
              after: result.end,
              completeAt: reader.completeAt ?? at,
              removedAfterSeq: reader.removedAfterSeq ?? result.newestSeq,
            },
      )
      const next = JSON.stringify(page.next(result.isLast ? undefined : point))
      const cursor = page.cursor(point)
      return {
        text: `{"page":{"next":${next}},"cursor":"${cursor}","data":[${result.items}],"errors":${JSON.stringify(issues)}}`,
      }
    },
  })
}

function toReader(point: Point | undefined): Reader {
  const [seq = '0', sub = '0', completeAt, removedAfterSeq] = point ?? []
  return { after: { seq, sub }, completeAt, removedAfterSeq }
}

function toPoint({ after, completeAt, removedAfterSeq }: Required<Reader>): Point {
  return [after.seq, after.sub, completeAt ?? '', removedAfterSeq ?? '']
}

/**
 * A point is as recent as its number: a client that has read a change of today has missed nothing before it. One that is
 * ahead of the newest number comes from before the database was restored: its reader may have changes that never
 * happened in this database.
 */
function checkAge({ after, completeAt }: Reader, newestSeq: string, keptSinceMs: number): void {
  if (completeAt === undefined) return
  const reachedMs = Number(BigInt(after.seq) >> 20n)
  // Both numbers are milliseconds of a clock, not amounts.
  const isKept = Math.max(Number(completeAt), reachedMs) >= keptSinceMs
  if (isKept && BigInt(after.seq) <= BigInt(newestSeq)) return
  const message = 'has expired: removals after it are no longer known; start again without a cursor'
  throw new Refusal('invalid_request', `cursor ${message}`, {
    items: [{ cause: 'cursor_expired', parameter: 'cursor', message }],
  })
}
