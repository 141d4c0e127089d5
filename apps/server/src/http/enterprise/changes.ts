/**
 * GET /enterprise/v2/changes. A cursor holds the reader's point in the tenant's feed, and `completeAt`: when the reader
 * was last known to have everything up to there (feed-age.ts).
 */
import { listEnterpriseChanges } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { FeedItem, TenantFeedPoint } from '../../enterprise/index.ts'
import type { Point } from '../paging/cursor.ts'
import { checkFeedAge, refuseExpired } from '../shapes/feed-age.ts'
import type { FrontDoors } from '../front-doors.ts'
import { recordAndFindIssues } from './issues.ts'
import { toText } from './transactions.ts'

export function registerChanges(app: FastifyInstance, deps: FrontDoors): void {
  deps.serve(app, listEnterpriseChanges, async ({ page, caller }) => {
    // Read before the feed is: what commits meanwhile may be missing from this page.
    const askedAt = deps.now()
    const { point, completeAt } = toReader(page.point)
    if (point !== undefined) {
      const seq = point.phase === 'snapshot' ? point.startSeq : point.seq
      checkFeedAge({ seq, completeAt }, askedAt, deps.removalsKeptMs)
    }
    const read = await deps.enterprise.listChanges(caller.tenantKey, { point, limit: page.limit })
    const end = toPoint(read.point, read.last ? String(askedAt) : (completeAt ?? String(askedAt)))
    const next = JSON.stringify(page.next(read.last ? undefined : end))
    const errors = await recordAndFindIssues(
      deps,
      { caller, endpoint: listEnterpriseChanges },
      // An access is not recorded for a user who has left.
      read.items.filter((item) => item.op !== 'remove_user').map((item) => ({ user_key: item.userKey })),
    )
    return {
      text: `{"page":{"next":${next}},"cursor":"${page.cursor(end)}","data":[${read.items.map(toItem).join(',')}],"errors":${JSON.stringify(errors)}}`,
    }
  })
}

/** None of the values needs escaping but the ready text, which is JSON: ids and times. */
function toItem(item: FeedItem): string {
  const head = `{"op":"${item.op}","user_id":"${item.userId}"`
  switch (item.op) {
    case 'upsert':
      return `${head},"transaction":${toText({ ...item, user_id: item.userId })}}`
    case 'remove':
      return `${head},"id":"${item.id}","removed_at":"${item.removed_at}"}`
    case 'remove_user':
      return `${head}}`
  }
}

interface Reader {
  point: TenantFeedPoint | undefined
  /** Epoch ms, as text; undefined on the first page. */
  completeAt: string | undefined
}

// 's' and 'c' were those of cursors without a time.
const snapshotMark = 'snapshot'
const changesMark = 'changes'

function toPoint(point: TenantFeedPoint, completeAt: string): Point {
  if (point.phase === 'snapshot') {
    return [snapshotMark, completeAt, point.startSeq, point.userKey, point.after.seq, point.after.sub]
  }
  const inside = point.after === undefined ? [] : [point.after.seq, point.after.sub]
  return [changesMark, completeAt, point.seq, ...inside]
}

/** Signed by us, so it is what `toPoint` wrote. */
function toReader(written: Point | undefined): Reader {
  if (written === undefined) return { point: undefined, completeAt: undefined }
  const [mark, completeAt, ...numbers] = written
  if (mark === snapshotMark) {
    const [startSeq = '0', userKey = '0', seq = '0', sub = '0'] = numbers
    return { point: { phase: 'snapshot', startSeq, userKey, after: { seq, sub } }, completeAt }
  }
  if (mark !== changesMark) throw refuseExpired()
  const [feedSeq = '0', seq, sub] = numbers
  const after = seq === undefined || sub === undefined ? undefined : { seq, sub }
  return { point: { phase: 'changes', seq: feedSeq, after }, completeAt }
}
