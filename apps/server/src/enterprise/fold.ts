/**
 * Folds a tenant's notices: it counts each user who has one again, for the statistics and for the tenant's feed, in
 * one transaction. So neither a write nor a request ever reads all users.
 *
 * The worker folds every second, which numbers changes within two. A request folds what is outstanding before it
 * answers, so the response includes everything that was acknowledged before the request. A fold may be killed at any
 * moment: its transaction commits with its notices, or neither does.
 */
import type { Database, Sql } from '../db/index.ts'
import * as store from './fold-store.ts'
import { numberUsers } from './feed/feed-numbers-store.ts'
import { foldUsers } from './statistics/statistics-store.ts'

export interface UpToDate {
  /**
   * No grant that ends at or before this moment still counts. A response that must agree with the fold uses it as its
   * now.
   */
  asOf: string
  /** False when too much is outstanding for one request. */
  folded: boolean
}

/** Per transaction, which takes some tens of milliseconds; another fold of the tenant waits that long. */
const noticesPerFold = 500
const foldsPerRequestMax = 20

export async function bringUpToDate(
  db: Database,
  tenantKey: number,
  { foldsMax = foldsPerRequestMax, skip = false }: { foldsMax?: number; skip?: boolean } = {},
): Promise<UpToDate> {
  let asOf = db.now()
  let left = await store.findOutstanding(db, tenantKey, asOf)
  for (let folds = 0; left.newest !== null || left.due; folds += 1) {
    if (folds === foldsMax) return { asOf, folded: false }
    const done = await db.transaction((tx) => foldOnce(tx, tenantKey, skip))
    if (done === 'locked') return { asOf, folded: false }
    asOf = db.now()
    // Counts only the notices that existed at the beginning, because a busy tenant always has new ones. A notice for
    // all users is the exception: it has just written one notice for each of them.
    left = await store.findOutstanding(db, tenantKey, asOf, done === 'noted all' ? undefined : (left.newest ?? '0'))
  }
  return { asOf, folded: true }
}

/** Folds everything outstanding of every tenant that no other process is folding. */
export async function foldAll(db: Database): Promise<void> {
  for (const tenantKey of await store.listBehind(db)) {
    await bringUpToDate(db, tenantKey, { foldsMax: Infinity, skip: true })
  }
}

async function foldOnce(tx: Sql, tenantKey: number, skip: boolean): Promise<'folded' | 'noted all' | 'locked'> {
  if (!(await store.lockTenant(tx, tenantKey, skip))) return 'locked'
  const { userKeys, all } = await store.takeNotices(tx, tenantKey, noticesPerFold)
  // Read after the lock was taken: a time before the previous fold's would revive ended grants.
  const at = tx.now()
  const due = await store.listDue(tx, tenantKey, at, noticesPerFold)
  const users = [...new Set([...userKeys, ...due])]
  if (users.length > 0) {
    await foldUsers(tx, tenantKey, at, users)
    await numberUsers(tx, tenantKey, at, users)
  }
  return all ? 'noted all' : 'folded'
}
