/** Enterprise v2, under /enterprise/v2: shapes over the front door of enterprise. It has no rules of its own. */
import type { FastifyInstance } from 'fastify'
import {
  listAccounts,
  listEnterpriseProviders,
  getAccountStats,
  getBalanceStats,
  getTopAssets,
  getUserStats,
  type Endpoint,
} from '@assay/contract'
import { findProvider } from '@assay/connectors/catalog'
import type { Summary } from '../../enterprise/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { registerChanges } from './changes.ts'
import { registerSearch } from './search.ts'
import { registerTransactions } from './transactions.ts'
import { registerUsers } from './users.ts'
import { readRows } from '../paging/pages.ts'
import { readCatalog } from '../shapes/catalog.ts'
import { toConnectedMembers } from '../shapes/providers.ts'
import type { Caller } from '../request/serve.ts'
import { recordAndFindIssues, recordTenantAccess } from './issues.ts'

export function registerEnterprise(app: FastifyInstance, deps: FrontDoors): void {
  registerTransactions(app, deps)
  registerChanges(app, deps)
  registerUsers(app, deps)
  registerSearch(app, deps)
  registerAccounts(app, deps)
  registerStats(app, deps)
}

/** GET /enterprise/v2/accounts and /enterprise/v2/providers */
function registerAccounts(app: FastifyInstance, deps: FrontDoors): void {
  const { serve, enterprise, catalog } = deps

  serve(app, listAccounts, async ({ page, caller }) => {
    const [addedAt, id] = page.point ?? []
    const after = addedAt === undefined || id === undefined ? undefined : { addedAt, id }
    const { shown, last } = await readRows(page.limit, (limit) =>
      enterprise.listAccounts(caller.tenantKey, { limit, after }),
    )
    const data = shown.map((row) => ({
      user_id: row.user_id,
      connection_id: row.id,
      provider_id: row.provider_id,
      ...toConnectedMembers(row),
    }))
    const errors = await recordAndFindIssues(deps, { caller, endpoint: listAccounts }, shown)
    return { json: { page: { next: page.next(last && [last.added_at, last.id]) }, data, errors } }
  })

  serve(app, listEnterpriseProviders, async ({ page }) => ({ json: readCatalog(catalog, page, {}) }))
}

/** /enterprise/v2/stats/…: sums over the tenant's users. A sum over few of them counts as a read of each. */
function registerStats(app: FastifyInstance, deps: FrontDoors): void {
  const { serve, enterprise } = deps
  async function record<T>(caller: Caller, endpoint: Endpoint, { data, asOf, userKeys }: Summary<T>) {
    await recordTenantAccess(deps, { caller, endpoint }, userKeys)
    return { data, as_of: asOf, errors: [] }
  }

  serve(app, getUserStats, async ({ caller }) => ({
    json: await record(caller, getUserStats, await enterprise.countUsers(caller.tenantKey)),
  }))

  serve(app, getAccountStats, async ({ caller }) => {
    const { data, ...rest } = await enterprise.countAccounts(caller.tenantKey)
    const named = data.map((row) => ({ name: findProvider(row.provider_id)?.name ?? row.provider_id, ...row }))
    return { json: await record(caller, getAccountStats, { data: named, ...rest }) }
  })

  serve(app, getBalanceStats, async ({ caller }) => ({
    json: await record(caller, getBalanceStats, await enterprise.sumBalances(caller.tenantKey)),
  }))

  serve(app, getTopAssets, async ({ caller }) => ({
    json: await record(caller, getTopAssets, await enterprise.listTopAssets(caller.tenantKey)),
  }))
}
