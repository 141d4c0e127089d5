/**
 * What a tenant sees of its own users. Every query carries the condition of grants.ts: a row without a live grant that
 * covers it is not found, not filtered out afterwards. Reads views of other rooms; writes only its statistics and feed.
 */
import { Refusal } from '@assay/core'
import type { Database, Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import { readFeed, type FeedRequest } from './feed/feed.ts'
import { bringUpToDate } from './fold.ts'
import type { CoveredScope } from './grants.ts'
import * as pages from './transactions/page-store.ts'
import * as stats from './statistics/stats-store.ts'
import * as transactions from './transactions/transactions-store.ts'
import * as users from './users-store.ts'

export { sweepFeed } from './feed/feed.ts'
export type { FeedItem, TenantPlace } from './feed/feed.ts'
export { createStatistics, type Statistics } from './statistics/statistics.ts'
export type { TenantReading } from './transactions/page-store.ts'
export type { RemovedRow, TransactionRow } from './transactions/transactions-store.ts'
export type { UserRow } from './users-store.ts'

export interface EnterpriseDeps {
  db: Database
  /** Ends every consent of the user to the tenant's clients, and returns how many there were. */
  endGrants: (user: Owner) => Promise<number>
}

export type Enterprise = ReturnType<typeof createEnterprise>

export function createEnterprise({ db, endGrants }: EnterpriseDeps) {
  const notFound = (): Refusal => new Refusal('not_found', 'No user with this id has given a consent that covers this.')

  async function getCovered(tenantKey: number, userId: string, scope: CoveredScope): Promise<Owner> {
    const owner = await users.findCovered(db, tenantKey, userId, scope)
    if (owner === undefined) throw notFound()
    return owner
  }

  async function summarize<T>(
    tenantKey: number,
    read: (sql: Sql, sums: stats.Sums) => Promise<T>,
  ): Promise<{ data: T; as_of: string }> {
    const { asOf, folded } = await bringUpToDate(db, tenantKey)
    // When too much is outstanding to fold now, the sums come from the tables.
    const sums = folded ? stats.keptSums(tenantKey) : stats.recount(tenantKey, asOf)
    return { data: await read(db, sums), as_of: asOf }
  }

  return {
    listUsers: (tenantKey: number, request: users.UserRequest) => users.listUsers(db, tenantKey, request),

    async getUser(tenantKey: number, userId: string): Promise<users.UserRow> {
      const user = await users.findUser(db, tenantKey, userId)
      if (user === undefined) throw notFound()
      return user
    },

    async endUser(tenantKey: number, userId: string): Promise<number> {
      const owner = await users.findOwner(db, tenantKey, userId)
      const ended = owner === undefined ? 0 : await endGrants(owner)
      if (ended === 0) throw notFound()
      return ended
    },

    listAccounts: (tenantKey: number, page: Parameters<typeof users.listAccounts>[2]) =>
      users.listAccounts(db, tenantKey, page),

    /** Throws not_found unless a live grant of this user covers it. */
    getCovered,

    /** Keeps the users whose live grants cover the scope. */
    listCovered: (userKeys: readonly string[], scope: CoveredScope) => users.listCovered(db, userKeys, scope),

    listPositions: (userKey: string, page: Parameters<typeof users.listPositions>[2]) =>
      users.listPositions(db, userKey, page),

    /** A page without filters; undefined when the token is not valid. */
    readPage: (tokenHash: Buffer, request: Parameters<typeof pages.readPage>[2]) =>
      pages.readPage(db, tokenHash, request),
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

    countUsers: (tenantKey: number) => summarize(tenantKey, stats.countUsers),
    countAccounts: (tenantKey: number) => summarize(tenantKey, stats.countAccounts),
    sumBalances: (tenantKey: number) => summarize(tenantKey, stats.sumBalances),
    listTopAssets: (tenantKey: number) => summarize(tenantKey, stats.listTopAssets),
  }
}
