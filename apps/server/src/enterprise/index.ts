/**
 * What a tenant sees of its own users. Every query carries the condition of grants.ts: a row without a live grant that
 * covers it is not found, not filtered out afterwards. Reads views of other rooms; writes only its statistics and feed.
 */
import { notFound } from '@assay/core'
import type { Database, Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import { readFeed, type FeedRequest } from './feed/feed.ts'
import { bringUpToDate, foldAll } from './fold.ts'
import type { CoveredScope } from './grants.ts'
import * as pages from './transactions/page-store.ts'
import * as stats from './statistics/stats-store.ts'
import * as transactions from './transactions/transactions-store.ts'
import * as users from './users-store.ts'
import { listTenants, lockTenant, noteEveryUser } from './fold-store.ts'
import * as store from './statistics/statistics-store.ts'

export { sweepFeed } from './feed/feed.ts'
export type { FeedItem, TenantFeedPoint } from './feed/feed.ts'

export type { AuthorizedTenantPage } from './transactions/page-store.ts'
export type { RemovedRow, TransactionRow } from './transactions/transactions-store.ts'
export type { UserRow } from './users-store.ts'

export interface EnterpriseDeps {
  db: Database
  /** Ends every consent of the user to the tenant's clients, and returns how many there were. */
  endGrants: (user: Owner) => Promise<number>
}

export type Enterprise = ReturnType<typeof createEnterprise>

export interface Summary<T> {
  data: T
  asOf: string
  /** Those about whom it tells something: the users in each of its sums that is over few users. */
  userKeys: readonly string[]
}

export function createEnterprise({ db, endGrants }: EnterpriseDeps) {
  async function getCovered(tenantKey: number, userId: string, scope: CoveredScope): Promise<Owner> {
    const owner = await users.findCovered(db, tenantKey, userId, scope)
    if (owner === undefined) throw notFound('user')
    return owner
  }

  async function summarize<T>(
    tenantKey: number,
    read: (sql: Sql, sums: stats.Sums) => Promise<T>,
    toShown: (data: T) => readonly stats.ShownSum[],
  ): Promise<Summary<T>> {
    const { asOf, folded } = await bringUpToDate(db, tenantKey)
    // When too much is outstanding to fold now, the sums come from the tables.
    const sums = folded ? stats.keptSums(tenantKey) : stats.recount(tenantKey, asOf)
    const data = await read(db, sums)
    return { data, asOf, userKeys: await stats.listUsersOfFew(db, sums, toShown(data)) }
  }

  return {
    listUsers: (tenantKey: number, request: users.UserRequest) => users.listUsers(db, tenantKey, request),

    async getUser(tenantKey: number, userId: string): Promise<users.UserRow> {
      const user = await users.findUser(db, tenantKey, userId)
      if (user === undefined) throw notFound('user')
      return user
    },

    async endUser(tenantKey: number, userId: string): Promise<number> {
      const owner = await users.findOwner(db, tenantKey, userId)
      const ended = owner === undefined ? 0 : await endGrants(owner)
      if (ended === 0) throw notFound('user')
      return ended
    },

    listAccounts: (tenantKey: number, page: Parameters<typeof users.listAccounts>[2]) =>
      users.listAccounts(db, tenantKey, page),

    /** Throws not_found unless a live grant of this user covers it. */
    getCovered,

    /** Keeps the users whose live grants cover the scope. */
    listCovered: (userKeys: readonly string[], scope: CoveredScope) => users.listCovered(db, userKeys, scope),

    /** The same for users by their ids or connections; those of other tenants are left out. */
    listCoveredByName: (tenantKey: number, named: users.NamedUsers, scope: CoveredScope) =>
      users.listCoveredByName(db, tenantKey, named, scope),

    listPositions: (userKey: string, page: Parameters<typeof users.listPositions>[2]) =>
      users.listPositions(db, userKey, page),

    /** A page without filters; undefined when the token is not valid. */
    readPage: (tokenHash: Buffer, request: Parameters<typeof pages.readTenantPage>[2]) =>
      pages.readTenantPage(db, tokenHash, request),
    /** The holder of a token that has not been checked yet; undefined when the token is not valid. */
    findCaller: (tokenHash: Buffer) => pages.findCaller(db, tokenHash),

    listTransactions: (tenantKey: number, request: transactions.TransactionRequest) =>
      transactions.listTransactions(db, tenantKey, request),

    async listTransactionsOf(tenantKey: number, userId: string, request: transactions.TransactionRequest) {
      await getCovered(tenantKey, userId, 'transactions:read')
      const filters = { ...request.filters, userIds: [userId] }
      return transactions.listTransactions(db, tenantKey, { ...request, filters })
    },

    listRemoved: (tenantKey: number, request: transactions.RemovedRequest) =>
      transactions.listRemoved(db, tenantKey, request),

    listChanges: (tenantKey: number, request: FeedRequest) => readFeed(db, tenantKey, request),

    countUsers: (tenantKey: number) =>
      summarize(tenantKey, stats.countUsers, (data) => [
        { measure: 'user', users: data.users },
        { measure: 'account_user', users: data.users_with_accounts },
      ]),
    countAccounts: (tenantKey: number) =>
      summarize(tenantKey, stats.countAccounts, (data) =>
        data.map(({ provider_id: subject, users }) => ({ measure: 'provider', subject, users })),
      ),
    sumBalances: (tenantKey: number) =>
      summarize(tenantKey, stats.sumBalances, (data) => [{ measure: 'position_user', users: data.users }]),
    listTopAssets: (tenantKey: number) =>
      summarize(tenantKey, stats.listTopAssets, (data) =>
        data.map(({ asset_id: subject, users }) => ({ measure: 'asset', subject, users })),
      ),
  }
}

/** The statistics of tenants, as upkeep and the operator use them. fold.ts keeps them, stats-store.ts shows them. */
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
