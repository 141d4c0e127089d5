/**
 * What every page of a tenant does beside its data: the access is recorded for the users on it, whose own page shows
 * who read what; and `errors` has one item for each connection that is not up to date, of those users who let the
 * tenant see their connections.
 */
import type { Endpoint } from '@assay/contract'
import type { ErrorItem } from '@assay/core'
import type { FrontDoors } from '../front-doors.ts'
import type { Caller } from '../request/serve.ts'

export interface TenantAccess {
  caller: Pick<Caller, 'clientId'>
  endpoint: Pick<Endpoint, 'id'>
}

type Deps = Pick<FrontDoors, 'connections' | 'enterprise' | 'onTenantAccess'>

export async function recordAndFindIssues(
  deps: Deps,
  read: TenantAccess,
  shown: readonly { user_key: string }[],
): Promise<ErrorItem[]> {
  const userKeys = [...new Set(shown.map((row) => row.user_key))]
  await recordTenantAccess(deps, read, userKeys)
  if (userKeys.length === 0) return []
  const open = await deps.enterprise.listCovered(userKeys, 'providers:read')
  return open.length === 0 ? [] : deps.connections.listIssuesOf(open)
}

export function recordTenantAccess(
  { onTenantAccess }: Pick<FrontDoors, 'onTenantAccess'>,
  { caller, endpoint }: TenantAccess,
  userKeys: readonly string[],
): Promise<void> {
  return onTenantAccess(caller.clientId, new Set(userKeys), endpoint.id)
}
