/** /enterprise/v2/stats/…: sums over the tenant's users. */
import { getAccountStats, getBalanceStats, getTopAssets, getUserStats } from '@assay/contract'
import { findProvider } from '@assay/connectors/catalog'
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'

export function registerStats(app: FastifyInstance, { serve, enterprise }: FrontDoors): void {
  serve(app, getUserStats, async ({ caller }) => ({
    json: { ...(await enterprise.countUsers(caller.tenantKey)), errors: [] },
  }))

  serve(app, getAccountStats, async ({ caller }) => {
    const { data, as_of } = await enterprise.countAccounts(caller.tenantKey)
    const named = data.map((row) => ({ name: findProvider(row.provider_id)?.name ?? row.provider_id, ...row }))
    return { json: { data: named, as_of, errors: [] } }
  })

  serve(app, getBalanceStats, async ({ caller }) => ({
    json: { ...(await enterprise.sumBalances(caller.tenantKey)), errors: [] },
  }))

  serve(app, getTopAssets, async ({ caller }) => ({
    json: { ...(await enterprise.listTopAssets(caller.tenantKey)), errors: [] },
  }))
}
