/** Upkeep: deletes old announcements of tenants' feeds, which expires the cursors that point before them. */
import type { Database } from '../../db/index.ts'
import { deleteAnnounced, findOld } from './feed-numbers-store.ts'
import { lockTenant } from '../fold-store.ts'

const batch = 5_000
/**
 * An announcement is deleted this long before the removals that it announces, so that no reader misses one. It is
 * written a second or two after the commit, or later if no worker runs and the tenant makes no request.
 */
const marginMs = 3_600_000

export async function sweepFeed(db: Database, removalsKeptMs: number): Promise<void> {
  const before = new Date(Date.parse(db.now()) - (removalsKeptMs - marginMs)).toISOString()
  for (let tenantKey = await findOld(db, before); tenantKey !== undefined; tenantKey = await findOld(db, before)) {
    const key = tenantKey
    await db.transaction(async (tx) => {
      await lockTenant(tx, key)
      await deleteAnnounced(tx, key, before, batch)
    })
  }
}
