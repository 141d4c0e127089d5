/** GET /enterprise/v2/accounts and /enterprise/v2/providers */
import { listAccounts, listEnterpriseProviders } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { readRows } from '../paging/pages.ts'
import { readCatalog } from '../shapes/catalog.ts'
import { toConnectedMembers } from '../shapes/providers.ts'
import { recordAndFindIssues } from './issues.ts'

export function registerAccounts(app: FastifyInstance, deps: FrontDoors): void {
  const { serve, enterprise, catalog } = deps

  serve(app, listAccounts, async ({ page, caller }) => {
    const [addedAt, id] = page.position ?? []
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
