/**
 * GET /accounts/v2/transactions/changes. A cursor holds a point of the user's feed and two facts about its reader:
 *
 * - `completeAt`: when the reader was last known to have everything up to here (feed-age.ts).
 * - `removedAfterSeq`: removals up to this number are of rows that this reader has never seen.
 */
import { listTransactionChanges } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { FeedPoint } from '../../portfolio/index.ts'
import type { Point } from '../paging/cursor.ts'
import { checkFeedAge, refuseExpired } from '../shapes/feed-age.ts'
import type { FrontDoors } from '../front-doors.ts'

interface Reader {
  after: FeedPoint
  /** Epoch ms, as text; undefined on the first page. */
  completeAt: string | undefined
  removedAfterSeq: string | undefined
}

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
      checkFeedAge({ seq: reader.after.seq, completeAt: reader.completeAt }, askedAt, removalsKeptMs)
      checkPosition(reader, result.newestSeq)
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
 * A cursor that is ahead of the newest number comes from before the database was restored: its reader may have changes
 * that never happened in this database.
 */
function checkPosition({ after, completeAt }: Reader, newestSeq: string): void {
  if (completeAt !== undefined && BigInt(after.seq) > BigInt(newestSeq)) throw refuseExpired()
}
