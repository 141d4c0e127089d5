/**
 * What a tenant sees of its own users. Every query carries the condition of grants.ts: a row without a live grant that
 * covers it is not found, not filtered out afterwards. Reads views of other rooms; writes nothing but its statistics.
 */
import { Refusal } from '@assay/core'
import type { Database, Sql } from '../db/index.ts'
import type { CoveredScope } from './grants.ts'
import { createStatistics } from './statistics.ts'
import * as stats from './stats-store.ts'
import * as transactions from './transactions-store.ts'
import * as users from './users-store.ts'

export { createStatistics, type Statistics } from './statistics.ts'

export interface EnterpriseDeps {
  db: Database
  /** Ends every consent of the user to the tenant's clients; how many there were. */
  endGrants: (user: { tenantId: string; userId: string }) => Promise<number>
}

export type Enterprise = ReturnType<typeof createEnterprise>

export function createEnterprise({ db, endGrants }: EnterpriseDeps) {
  const statistics = createStatistics({ db })
  const notFound = (): Refusal => new Refusal('not_found', 'There is no such user with a consent that covers this.')

  async function checkCovered(tenantId: string, userId: string, scope: CoveredScope): Promise<void> {
    if (!(await users.covers(db, tenantId, userId, scope))) throw notFound()
  }

  async function summarize<T>(
    tenantId: string,
    read: (sql: Sql, sums: stats.Sums) => Promise<T>,
  ): Promise<{ data: T; as_of: string }> {
    const { as_of, folded } = await statistics.bringUpToDate(tenantId)
    return { data: await read(db, folded ? stats.keptSums(tenantId) : stats.recount(tenantId, as_of)), as_of }
  }

  return {
    listUsers: (tenantId: string, request: users.UserRequest) => users.listUsers(db, tenantId, request),

    async getUser(tenantId: string, userId: string): Promise<users.UserRow> {
      const user = await users.findUser(db, tenantId, userId)
      if (user === undefined) throw notFound()
      return user
    },

    async endUser(tenantId: string, userId: string): Promise<number> {
      const ended = await endGrants({ tenantId, userId })
      if (ended === 0) throw notFound()
      return ended
    },

    listAccounts: (tenantId: string, page: Parameters<typeof users.listAccounts>[2]) =>
      users.listAccounts(db, tenantId, page),

    async listPositions(tenantId: string, userId: string, page: Parameters<typeof users.listPositions>[3]) {
      await checkCovered(tenantId, userId, 'assets:read')
      return users.listPositions(db, tenantId, userId, page)
    },

    listTransactions: (tenantId: string, request: transactions.TransactionRequest) =>
      transactions.listTransactions(db, tenantId, request),

    async listTransactionsOf(tenantId: string, userId: string, request: transactions.TransactionRequest) {
      await checkCovered(tenantId, userId, 'transactions:read')
      const filters = { ...request.filters, userIds: [userId] }
      return transactions.listTransactions(db, tenantId, { ...request, filters })
    },

    listRemoved: (tenantId: string, since: string, userIds: readonly string[] | undefined) =>
      transactions.listRemoved(db, tenantId, since, userIds),

    countUsers: (tenantId: string) => summarize(tenantId, stats.countUsers),
    countAccounts: (tenantId: string) => summarize(tenantId, stats.countAccounts),
    sumBalances: (tenantId: string) => summarize(tenantId, stats.sumBalances),
    listTopAssets: (tenantId: string) => summarize(tenantId, stats.listTopAssets),
  }
}
