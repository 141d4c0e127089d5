/**
 * Keeps the statistics of tenants. A request folds what is outstanding before it answers, so the answer holds everything
 * that was acknowledged before it was asked; upkeep folds too, so there is seldom much to do.
 */
import type { Database, Sql } from '../db/index.ts'
import * as store from './statistics-store.ts'

export interface UpToDate {
  as_of: string
  /** False: too much is outstanding for one request, and the tables themselves have to be counted. */
  folded: boolean
}

export type Statistics = ReturnType<typeof createStatistics>

/** For each transaction: it takes some tens of milliseconds, and another fold of the tenant waits as long. */
const changesPerFold = 500
const foldsPerRequestMax = 20
const differencesMax = 100

export function createStatistics({ db }: { db: Database }) {
  async function bringUpToDate(tenantId: string, foldsMax = foldsPerRequestMax): Promise<UpToDate> {
    let left = await store.findOutstanding(db, tenantId)
    const { as_of } = left
    for (let folds = 0; left.newest !== null || left.due; folds += 1) {
      if (folds === foldsMax) return { as_of, folded: false }
      const { clients } = await db.transaction((tx) => foldOnce(tx, tenantId))
      // Up to what was there at the beginning, because a busy tenant always has something new; but a client's users were
      // written down just now.
      left = await store.findOutstanding(db, tenantId, clients ? undefined : (left.newest ?? '0'))
    }
    return { as_of, folded: true }
  }

  return {
    bringUpToDate,

    /** Upkeep. */
    async fold(): Promise<void> {
      for (const tenantId of await store.listBehind(db)) await bringUpToDate(tenantId, Infinity)
    },

    /** Where the statistics are not what the tables say; the first of many. */
    async verify(): Promise<store.Difference[]> {
      const found: store.Difference[] = []
      for (const tenantId of await store.listTenants(db)) {
        await bringUpToDate(tenantId, Infinity)
        await db.transaction(async (tx) => {
          await store.lockTenant(tx, tenantId)
          const { as_of: at } = await store.findOutstanding(tx, tenantId)
          found.push(...(await store.listUserDifferences(tx, tenantId, at, differencesMax)))
          found.push(...(await store.listSumDifferences(tx, tenantId, differencesMax)))
        })
        if (found.length >= differencesMax) break
      }
      return found.slice(0, differencesMax)
    },

    /** Counts everybody again; requests are answered meanwhile. How many tenants there were. */
    async rebuild(): Promise<number> {
      const tenantIds = await store.listTenants(db)
      for (const tenantId of tenantIds) {
        await db.transaction(async (tx) => {
          await store.lockTenant(tx, tenantId)
          await store.beginRebuild(tx, tenantId)
        })
        await bringUpToDate(tenantId, Infinity)
      }
      return tenantIds.length
    },
  }
}

async function foldOnce(tx: Sql, tenantId: string): Promise<{ clients: boolean }> {
  await store.lockTenant(tx, tenantId)
  const { userIds, clients } = await store.takeChanges(tx, tenantId, changesPerFold)
  const { as_of: at } = await store.findOutstanding(tx, tenantId)
  const due = await store.listDue(tx, tenantId, at, changesPerFold)
  const all = [...new Set([...userIds, ...due])]
  if (all.length > 0) await store.foldUsers(tx, tenantId, at, all)
  return { clients }
}
