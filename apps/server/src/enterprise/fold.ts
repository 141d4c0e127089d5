/**
 * Folds a tenant's notices: each user who has one is looked at again, for the statistics and for the tenant's feed, in
 * one transaction. So neither a write nor an answer ever looks at all users.
 *
 * The worker folds every second, which numbers changes within two. A request folds what is outstanding before it
 * answers, so its answer holds everything that was acknowledged before it was asked. A fold may be killed at any moment:
 * its transaction is kept or it is not, and the notices with it.
 */
import type { Database, Sql } from '../db/index.ts'
import * as store from './fold-store.ts'
import { numberUsers } from './feed-numbers-store.ts'
import { foldUsers } from './statistics-store.ts'

export interface UpToDate {
  /** No grant that ends at this moment or before still counts. An answer that is to agree with the fold uses it as its now. */
  asOf: string
  /** False: too much is outstanding for one request. */
  folded: boolean
}

/** For each transaction: it takes some tens of milliseconds, and another fold of the tenant waits as long. */
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
    // Only the notices that were there at the beginning, because a busy tenant always has new ones. But a notice for all
    // users has just written one for each of them.
    left = await store.findOutstanding(db, tenantKey, asOf, done === 'noted all' ? undefined : (left.newest ?? '0'))
  }
  return { asOf, folded: true }
}

/** Folds whatever is outstanding, of every tenant that no other process is folding. */
export async function foldAll(db: Database): Promise<void> {
  for (const tenantKey of await store.listBehind(db)) {
    await bringUpToDate(db, tenantKey, { foldsMax: Infinity, skip: true })
  }
}

async function foldOnce(tx: Sql, tenantKey: number, skip: boolean): Promise<'folded' | 'noted all' | 'locked'> {
  if (!(await store.lockTenant(tx, tenantKey, skip))) return 'locked'
  const { userKeys, all } = await store.takeNotices(tx, tenantKey, noticesPerFold)
  // Asked after the lock was given: an earlier moment than the fold before would bring ended grants back.
  const at = tx.now()
  const due = await store.listDue(tx, tenantKey, at, noticesPerFold)
  const users = [...new Set([...userKeys, ...due])]
  if (users.length > 0) {
    await foldUsers(tx, tenantKey, at, users)
    await numberUsers(tx, tenantKey, at, users)
  }
  return all ? 'noted all' : 'folded'
}
