/** /enterprise/v2/users: list, search, one, what one holds, and the end of a user's consents. */
import { endUser, getUser, listUserAssets, listUsers } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { toAsset } from '../v2/assets.ts'
import { remarksOf } from './remarks.ts'

export function registerUsers(app: FastifyInstance, deps: FrontDoors): void {
  const { serve, enterprise } = deps

  serve(app, listUsers, async ({ page, caller }) => {
    const rows = await enterprise.listUsers(caller.tenantId, { limit: page.limit + 1, after: page.position?.[0] })
    const shown = rows.slice(0, page.limit)
    const last = rows.length > page.limit ? shown.at(-1) : undefined
    const errors = await remarksOf(deps, caller.tenantId, shown)
    return { json: { page: { next: page.next(last && [last.user_id]) }, data: shown, errors } }
  })

  serve(app, getUser, async ({ params, caller }) => {
    const user = await enterprise.getUser(caller.tenantId, params.id)
    return { json: { data: user, errors: await remarksOf(deps, caller.tenantId, [user]) } }
  })

  serve(app, endUser, async ({ params, caller }) => {
    const ended = await enterprise.endUser(caller.tenantId, params.id)
    return { json: { data: { user_id: params.id, grants_ended: ended }, errors: [] } }
  })

  serve(app, listUserAssets, async ({ params, page, caller }) => {
    const [connectionId, symbol, assetId] = page.position ?? []
    const after =
      connectionId === undefined || symbol === undefined || assetId === undefined
        ? undefined
        : { connectionId, symbol, assetId }
    const rows = await enterprise.listPositions(caller.tenantId, params.id, { limit: page.limit + 1, after })
    const shown = rows.slice(0, page.limit)
    const last = rows.length > page.limit ? shown.at(-1) : undefined
    const next = page.next(last && [last.connection_id, last.asset_symbol, last.asset_id])
    const errors = await remarksOf(deps, caller.tenantId, [{ user_id: params.id }])
    return { json: { page: { next }, data: shown.map(toAsset), errors } }
  })
}
