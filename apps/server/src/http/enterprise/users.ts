/** /enterprise/v2/users: list, search, one, what one holds, and the end of a user's consents. */
import { endUser, getUser, listUserAssets, listUsers } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { UserRow } from '../../enterprise/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { readRows } from '../paging/pages.ts'
import { toAsset } from '../v2/assets.ts'
import { recordAndFindIssues } from './issues.ts'

export function registerUsers(app: FastifyInstance, deps: FrontDoors): void {
  const { serve, enterprise } = deps

  serve(app, listUsers, async ({ page, caller }) => {
    const after = page.point?.[0]
    const { shown, last } = await readRows(page.limit, (limit) =>
      enterprise.listUsers(caller.tenantKey, { limit, after }),
    )
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
    const [connectionId, symbol, assetId] = page.point ?? []
    const after =
      connectionId === undefined || symbol === undefined || assetId === undefined
        ? undefined
        : { connectionId, symbol, assetId }
    const user = await enterprise.getCovered(caller.tenantKey, params.id, 'assets:read')
    const { shown, last } = await readRows(page.limit, (limit) =>
      enterprise.listPositions(user.userKey, { limit, after }),
    )
    const next = page.next(last && [last.connection_id, last.asset_symbol, last.asset_id])
    const errors = await recordAndFindIssues(deps, { caller, endpoint: listUserAssets }, [{ user_key: user.userKey }])
    return { json: { page: { next }, data: shown.map(toAsset), errors } }
  })
}

/** Leaves out the key, which is internal. */
export function toUser(row: UserRow): Omit<UserRow, 'user_key'> {
  const { user_id, external_user_id, email, granted_at, grant_expires_at, scopes, connection_count } = row
  return { user_id, external_user_id, email, granted_at, grant_expires_at, scopes, connection_count }
}
