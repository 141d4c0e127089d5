/** /enterprise/v2/stats/…: sums over the tenant's users. */
import { getAccountStats, getBalanceStats, getTopAssets, getUserStats } from '@assay/contract'
import { findProvider } from '@assay/connectors/catalog'
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'

export function registerStats(app: FastifyInstance, { serve, enterprise }: FrontDoors): void {
  serve(app, getUserStats, async ({ caller }) => {
    const { as_of, ...data } = await enterprise.countUsers(caller.tenantId)
    return { json: { data, as_of, errors: [] } }
  })

  serve(app, getAccountStats, async ({ caller }) => {
    const { data, asOf } = await enterprise.countAccounts(caller.tenantId)
    const named = data.map((row) => ({ name: findProvider(row.provider_id)?.name ?? row.provider_id, ...row }))
    return { json: { data: named, as_of: asOf, errors: [] } }
  })

  serve(app, getBalanceStats, async ({ caller }) => {
    const { as_of, ...data } = await enterprise.sumBalances(caller.tenantId)
    return { json: { data, as_of, errors: [] } }
  })

  serve(app, getTopAssets, async ({ caller }) => {
    const { data, asOf } = await enterprise.listTopAssets(caller.tenantId)
    return { json: { data, as_of: asOf, errors: [] } }
  })
}
