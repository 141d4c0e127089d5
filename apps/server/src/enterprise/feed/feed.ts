/**
 * Reading a tenant's feed. Without a cursor it begins with a snapshot: every covered user's own feed from its start up
 * to the newest number, user by user in the order of their keys. Then come the rows of `tenant_changes` after the
 * number that was the newest when the snapshot began. A row announces a range of one user's changes, and the changes
 * themselves are read from the user's own rows, in their present state.
 *
 * A client that applies the pages in order ends up with exactly what the list of the tenant's transactions shows. A
 * change that commits while the snapshot is being read is numbered after the snapshot's number, so it is in a row that
 * comes later, whether or not the snapshot has shown it already. Showing it twice is harmless, because every item
 * carries the present state.
 *
 * Every request checks the grants again. A range whose user is not covered now is never skipped. If it were, and the
 * user consented again before the feed noticed the loss, no later row would announce that range. So the page ends there
 * and the next fold checks the user again, which removes the range and announces a removal.
 */
import { Refusal } from '@assay/core'
import type { Database } from '../../db/index.ts'
import { noteUser } from '../../notices.ts'
import { listUserChanges, type FeedPoint, type UserChange } from '../../portfolio/index.ts'
import { lockTenant } from '../fold-store.ts'
import { bringUpToDate } from '../fold.ts'
import { deleteAnnounced, findOld } from './feed-numbers-store.ts'
import * as store from './feed-store.ts'

/** A point in the feed of a tenant. */
export type TenantFeedPoint =
  | { phase: 'snapshot'; startSeq: string; userKey: string; after: FeedPoint }
  /** With `after`, inside the row `seq`. */
  | { phase: 'changes'; seq: string; after: FeedPoint | undefined }

export type FeedItem = { userId: string; userKey: string } & (UserChange | { op: 'remove_user' })

export interface FeedPage {
  items: FeedItem[]
  point: TenantFeedPoint
  /** Nothing follows for now. */
  last: boolean
}

interface Step {
  /** Undefined when the user or row has no change left to show. */
  item: FeedItem | undefined
  point: TenantFeedPoint
}

/** A range of a user whom no live grant covers, although the feed has not numbered the loss of consent. */
interface Conflict {
  uncoveredKey: string
}

/** How many users and rows without items one request may skip before its page ends early. */
const emptyMax = 200
const batch = 100
const attemptsMax = 3

const start: FeedPoint = { seq: '0', sub: '0' }
const keyMin = '-9223372036854775808'
const subMax = '9223372036854775807'

export interface FeedRequest {
  point: TenantFeedPoint | undefined
  limit: number
}

export async function readFeed(db: Database, tenantKey: number, { point, limit }: FeedRequest): Promise<FeedPage> {
  for (let attempt = 1; ; attempt += 1) {
    const { asOf } = await bringUpToDate(db, tenantKey)
    const feed = await store.findFeed(db, tenantKey)
    const from = point ?? { phase: 'snapshot', startSeq: feed.seq, userKey: keyMin, after: start }
    checkAge(from, feed)
    const { uncoveredKey, ...page } = await readPage(walk({ db, tenantKey, asOf, limit }, from), from, limit)
    if (uncoveredKey === undefined) return page
    // The notice may not be committed yet, or a writer forgot it; either way the next fold checks the user.
    await noteUser(db, { tenantKey, userKey: uncoveredKey })
    if (page.items.length > 0 || attempt === attemptsMax) return page
  }
}

/**
 * A cursor that is ahead of the feed comes from before the database was restored. Its reader may have changes that never
 * happened in this database, and no later page would take them back.
 */
function checkAge(point: TenantFeedPoint, feed: store.Feed): void {
  const seq = BigInt(point.phase === 'snapshot' ? point.startSeq : point.seq)
  if (seq >= BigInt(feed.first_seq) && seq <= BigInt(feed.seq)) return
  const message = 'has expired: removals after it are no longer known; start again without a cursor'
  throw new Refusal('invalid_request', `cursor ${message}`, {
    items: [{ cause: 'cursor_expired', parameter: 'cursor', message }],
  })
}

async function readPage(
  steps: AsyncIterable<Step | Conflict>,
  from: TenantFeedPoint,
  limit: number,
): Promise<FeedPage & { uncoveredKey?: string }> {
  const items: FeedItem[] = []
  let point = from
  let empty = 0
  for await (const step of steps) {
    if ('uncoveredKey' in step) return { items, point, last: false, uncoveredKey: step.uncoveredKey }
    if (step.item === undefined) {
      empty += 1
    } else {
      if (items.length === limit) return { items, point, last: false }
      items.push(step.item)
    }
    point = step.point
    if (empty === emptyMax) return { items, point, last: false }
  }
  return { items, point, last: true }
}

interface Walk {
  db: Database
  tenantKey: number
  asOf: string
  limit: number
}

async function* walk(on: Walk, from: TenantFeedPoint): AsyncGenerator<Step | Conflict, void, undefined> {
  if (from.phase === 'changes') return yield* walkChanges(on, from.seq, from.after)
  yield* walkSnapshot(on, from)
  yield* walkChanges(on, from.startSeq, undefined)
}

async function* walkSnapshot(
  on: Walk,
  { startSeq, userKey, after }: TenantFeedPoint & { phase: 'snapshot' },
): AsyncGenerator<Step | Conflict, void, undefined> {
  let fromKey = userKey
  for (let found = batch; found === batch;) {
    const users = await store.listUsersFrom(on.db, on.tenantKey, { asOf: on.asOf, fromKey, limit: batch })
    found = users.length
    for (const user of users) {
      const toPoint = (point: FeedPoint): TenantFeedPoint => ({
        phase: 'snapshot',
        startSeq,
        userKey: user.user_key,
        after: point,
      })
      yield* walkRange(on, user, user.user_key === userKey ? after : start, toPoint)
      yield { item: undefined, point: toPoint({ seq: user.to_seq, sub: subMax }) }
      fromKey = String(BigInt(user.user_key) + 1n)
    }
  }
  yield { item: undefined, point: { phase: 'changes', seq: startSeq, after: undefined } }
}

async function* walkChanges(
  on: Walk,
  seq: string,
  after: FeedPoint | undefined,
): AsyncGenerator<Step | Conflict, void, undefined> {
  // If the user left, the row may have been deleted while a reader was inside it. The reader continues with the next
  // row.
  let fromSeq = after === undefined ? String(BigInt(seq) + 1n) : seq
  for (let found = batch; found === batch;) {
    const rows = await store.listChangesFrom(on.db, on.tenantKey, { asOf: on.asOf, fromSeq, limit: batch })
    found = rows.length
    for (const row of rows) {
      const end: TenantFeedPoint = { phase: 'changes', seq: row.seq, after: undefined }
      if (row.removed) {
        yield { item: { op: 'remove_user', userId: row.user_id, userKey: row.user_key }, point: end }
      } else {
        const inside = row.seq === seq ? after : undefined
        const toPoint = (point: FeedPoint): TenantFeedPoint => ({ phase: 'changes', seq: row.seq, after: point })
        yield* walkRange(on, row, inside ?? { seq: row.from_seq, sub: subMax }, toPoint)
        yield { item: undefined, point: end }
      }
      fromSeq = String(BigInt(row.seq) + 1n)
    }
  }
}

async function* walkRange(
  { db, limit }: Walk,
  { user_key: userKey, user_id: userId, to_seq: toSeq, covered }: store.Announced,
  from: FeedPoint,
  toPoint: (point: FeedPoint) => TenantFeedPoint,
): AsyncGenerator<Step | Conflict, void, undefined> {
  if (!covered) return yield { uncoveredKey: userKey }
  let after = from
  for (;;) {
    // One more than the page holds, to know whether the page ends with this user.
    const changes = await listUserChanges(db, userKey, after, toSeq, limit + 1)
    for (const change of changes) {
      after = change.point
      yield { item: { userId, userKey, ...change }, point: toPoint(after) }
    }
    if (changes.length <= limit) return
  }
}

const sweepBatch = 5_000
/**
 * An announcement is deleted this long before the removals that it announces, so that no reader misses one. It is
 * written a second or two after the commit, or later if no worker runs and the tenant makes no request.
 */
const marginMs = 3_600_000

/** Upkeep: deletes old announcements of tenants' feeds, which expires the cursors that point before them. */
export async function sweepFeed(db: Database, removalsKeptMs: number): Promise<void> {
  const before = new Date(Date.parse(db.now()) - (removalsKeptMs - marginMs)).toISOString()
  for (let tenantKey = await findOld(db, before); tenantKey !== undefined; tenantKey = await findOld(db, before)) {
    const key = tenantKey
    await db.transaction(async (tx) => {
      await lockTenant(tx, key)
      await deleteAnnounced(tx, key, before, sweepBatch)
    })
  }
}
