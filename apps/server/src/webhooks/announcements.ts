/**
 * `transactions.changed`: at most one message a minute for each connection, which says how many transactions were
 * added, changed and removed. The commit that changes them adds to the counts; a loop of the worker writes the
 * messages.
 */
import type { Database, Sql } from '../db/index.ts'
import type { ChangeCounts } from '../notices.ts'
import type { ConnectionRef } from '../owner.ts'
import * as store from './announcements-store.ts'
import { isCovered } from './consent-store.ts'

const intervalMs = 60_000
const batch = 100

export async function addChanges(
  tx: Sql,
  ref: Pick<ConnectionRef, 'userKey' | 'connectionKey'>,
  counts: ChangeCounts,
): Promise<void> {
  if (counts.added + counts.changed + counts.removed > 0) await store.addCounts(tx, ref, counts)
}

export const addShown = store.addShown

/** The connection that a message is about. */
export type About = Pick<ConnectionRef, 'tenantId' | 'userKey' | 'userId' | 'connectionId'>

/**
 * Writes the messages that are due. A kill at any moment leaves a message written and its counts restarted, or neither.
 */
export async function announceDue(
  db: Database,
  announce: (tx: Sql, about: About, counts: ChangeCounts) => Promise<void>,
): Promise<void> {
  for (let isMore = true; isMore;) {
    const due = await store.listDue(db, batch)
    let taken = 0
    for (const row of due) if (await takeDue(db, row, announce)) taken += 1
    // Rows that others hold stay in the list: a round that takes none of them is over.
    isMore = due.length === batch && taken > 0
  }
}

async function takeDue(
  db: Database,
  due: store.DueAnnouncement,
  announce: (tx: Sql, about: About, counts: ChangeCounts) => Promise<void>,
): Promise<boolean> {
  const { added, changed, removed, tenant_id: tenantId, user_id: userId, connection_id: connectionId } = due
  const isEmpty = tenantId === null || userId === null || connectionId === null || added + changed + removed === 0
  // The consent may have ended since the transactions were counted.
  if (isEmpty || !(await isCovered(db, due.user_key, 'transactions:read'))) return store.deleteCounts(db, due)
  return db.transaction(async (tx) => {
    const dueAt = new Date(Date.parse(tx.now()) + intervalMs).toISOString()
    const counts = await store.restartCounts(tx, due, dueAt)
    if (counts !== undefined) await announce(tx, { tenantId, userKey: due.user_key, userId, connectionId }, counts)
    return counts !== undefined
  })
}
