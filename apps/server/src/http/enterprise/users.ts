/** /enterprise/v2/users: list, search, one, what one holds, and the end of a user's consents. */
import { endUser, getUser, listUserAssets, listUsers } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { UserRow } from '../../enterprise/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { toAsset } from '../v2/assets.ts'
import { recordAndFindIssues } from './issues.ts'

export function registerUsers(app: FastifyInstance, deps: FrontDoors): void {
  const { serve, enterprise } = deps

  serve(app, listUsers, async ({ page, caller }) => {
    const rows = await enterprise.listUsers(caller.tenantKey, { limit: page.limit + 1, after: page.position?.[0] })
    const shown = rows.slice(0, page.limit)
    const last = rows.length > page.limit ? shown.at(-1) : undefined
    const errors = await recordAndFindIssues(deps, { caller, endpoint: listUsers }, shown)
    return { json: { page: { next: page.next(last && [last.user_id]) }, data: shown.map(toUser), errors } }
  })

  serve(app, getUser, async ({ params, caller }) => {
    const user = await enterprise.getUser(caller.tenantKey, params.id)
    const errors = await recordAndFindIssues(deps, { caller, endpoint: getUser }, [user])
    return { json: { data: toUser(user), errors } }
  })

  serve(app, endUser, async ({ params, caller }) => {
    const ended = await enterprise.endUser(caller.tenantKey, params.id)
    return { json: { data: { user_id: params.id, grants_ended: ended }, errors: [] } }
  })

  serve(app, listUserAssets, async ({ params, page, caller }) => {
    const [connectionId, symbol, assetId] = page.position ?? []
    const after =
      connectionId === undefined || symbol === undefined || assetId === undefined
        ? undefined
        : { connectionId, symbol, assetId }
    const user = await enterprise.getCovered(caller.tenantKey, params.id, 'assets:read')
    const rows = await enterprise.listPositions(user.userKey, { limit: page.limit + 1, after })
    const shown = rows.slice(0, page.limit)
    const last = rows.length > page.limit ? shown.at(-1) : undefined
    const next = page.next(last && [last.connection_id, last.asset_symbol, last.asset_id])
    const errors = await recordAndFindIssues(deps, { caller, endpoint: listUserAssets }, [{ user_key: user.userKey }])
    return { json: { page: { next }, data: shown.map(toAsset), errors } }
  })
}

/** Without the key, which is ours. */
export function toUser(row: UserRow): Omit<UserRow, 'user_key'> {
  const { user_id, external_user_id, email, granted_at, grant_expires_at, scopes, connection_count } = row
  return { user_id, external_user_id, email, granted_at, grant_expires_at, scopes, connection_count }
}
