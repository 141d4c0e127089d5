/**
 * What a tenant sees of its own users. Every query carries the condition of grants.ts: a row without a live grant that
 * covers it is not found, not filtered out afterwards. Reads views of other rooms; writes nothing.
 */
import { Refusal } from '@assay/core'
import type { Database } from '../db/index.ts'
import type { CoveredScope } from './grants.ts'
import * as stats from './stats-store.ts'
import * as transactions from './transactions-store.ts'
import * as users from './users-store.ts'

export type { UserTransactionRow } from './transactions-store.ts'

export interface EnterpriseDeps {
  db: Database
  /** Ends every consent of the user to the tenant's clients; how many there were. */
  endGrants: (user: { tenantId: string; userId: string }) => Promise<number>
}

export type Enterprise = ReturnType<typeof createEnterprise>

export function createEnterprise({ db, endGrants }: EnterpriseDeps) {
  const notFound = (): Refusal => new Refusal('not_found', 'There is no such user with a consent that covers this.')

  async function checkCovered(tenantId: string, userId: string, scope: CoveredScope): Promise<void> {
    if (!(await users.covers(db, tenantId, userId, scope))) throw notFound()
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

    countUsers: (tenantId: string) => stats.countUsers(db, tenantId),
    async countAccounts(tenantId: string) {
      return { data: await stats.countAccounts(db, tenantId), asOf: await stats.findNow(db) }
    },
    sumBalances: (tenantId: string) => stats.sumBalances(db, tenantId),
    async listTopAssets(tenantId: string) {
      return { data: await stats.listTopAssets(db, tenantId), asOf: await stats.findNow(db) }
    },
  }
}
