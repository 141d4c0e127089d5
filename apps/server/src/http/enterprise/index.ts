/** Enterprise v2, under /enterprise/v2: shapes over the front door of enterprise. It has no rules of its own. */
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { registerAccounts } from './accounts.ts'
import { registerChanges } from './changes.ts'
import { registerSearch } from './search.ts'
import { registerStats } from './stats.ts'
import { registerTransactions } from './transactions.ts'
import { registerUsers } from './users.ts'

export function registerEnterprise(app: FastifyInstance, deps: FrontDoors): void {
  registerTransactions(app, deps)
  registerChanges(app, deps)
  registerUsers(app, deps)
  registerSearch(app, deps)
  registerAccounts(app, deps)
  registerStats(app, deps)
}
