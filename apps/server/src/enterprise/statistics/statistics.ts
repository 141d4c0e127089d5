/**
 * The statistics of tenants, as upkeep and the operator use them. fold.ts keeps them, stats-store.ts shows them.
 */
import type { Database } from '../../db/index.ts'
import { listTenants, lockTenant, noteEveryUser } from '../fold-store.ts'
import { bringUpToDate, foldAll } from '../fold.ts'
import * as store from './statistics-store.ts'

export type Statistics = ReturnType<typeof createStatistics>

const differencesMax = 100

export function createStatistics({ db }: { db: Database }) {
  return {
    /** Counts again every user with a notice, and numbers their changes for the tenant's feed. */
    fold: () => foldAll(db),

    /** Where the statistics differ from the tables; only the first of many differences. */
    async verify(): Promise<store.Difference[]> {
      const found: store.Difference[] = []
      for (const tenantKey of await listTenants(db)) {
        await bringUpToDate(db, tenantKey, { foldsMax: Infinity })
        await db.transaction(async (tx) => {
          await lockTenant(tx, tenantKey)
          found.push(...(await store.listUserDifferences(tx, tenantKey, tx.now(), differencesMax)))
          found.push(...(await store.listSumDifferences(tx, tenantKey, differencesMax)))
        })
        if (found.length >= differencesMax) break
      }
      return found.slice(0, differencesMax)
    },

    /** Counts every user again while the service keeps answering requests. Returns the number of tenants. */
    async rebuild(): Promise<number> {
      const tenantKeys = await listTenants(db)
      for (const tenantKey of tenantKeys) {
        await db.transaction(async (tx) => {
          await lockTenant(tx, tenantKey)
          await store.sumAgain(tx, tenantKey)
          await noteEveryUser(tx, tenantKey)
        })
        await bringUpToDate(db, tenantKey, { foldsMax: Infinity })
      }
      return tenantKeys.length
    },
  }
}
