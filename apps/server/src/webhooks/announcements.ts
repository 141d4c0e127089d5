/**
 * `transactions.changed`: at most one message a minute for each connection, which says how many transactions were added,
 * changed and removed. The commit that changes them adds to the counts; a loop of the worker writes the messages.
 */
import type { Database, Sql } from '../db/index.ts'
import type { ChangeCounts } from '../notices.ts'
import type { ConnectionRef } from '../owner.ts'
import * as store from './announcements-store.ts'

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
export type About = Pick<ConnectionRef, 'tenantId' | 'userId' | 'connectionId'>

/**
 * Writes the messages that are due. A kill at any moment leaves a message written and its counts restarted, or neither.
 */
export async function announceDue(
  db: Database,
  announce: (tx: Sql, about: About, counts: ChangeCounts) => Promise<void>,
): Promise<void> {
  if (!(await store.hasDue(db))) return
  for (let found = batch; found === batch;) {
    found = await db.transaction(async (tx) => {
      const due = await store.lockDue(tx, batch)
      const announced: store.DueAnnouncement[] = []
      const over: store.DueAnnouncement[] = []
      for (const row of due) {
        const { added, changed, removed, tenant_id: tenantId, user_id: userId, connection_id: connectionId } = row
        if (tenantId === null || userId === null || connectionId === null || added + changed + removed === 0) {
          over.push(row)
          continue
        }
        await announce(tx, { tenantId, userId, connectionId }, { added, changed, removed })
        announced.push(row)
      }
      if (over.length > 0) await store.deleteCounts(tx, over)
      if (announced.length > 0) await store.restartCounts(tx, announced, intervalMs)
      return due.length
    })
  }
}
