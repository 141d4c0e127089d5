/** `errors` of a tenant's page: one item for each connection that is not up to date, of the users on it. */
import type { ErrorItem } from '@assay/core'
import type { FrontDoors } from '../front-doors.ts'

export async function remarksOf(
  { connections }: Pick<FrontDoors, 'connections'>,
  tenantId: string,
  shown: readonly { user_id: string }[],
): Promise<ErrorItem[]> {
  const userIds = [...new Set(shown.map((row) => row.user_id))]
  return userIds.length === 0 ? [] : connections.listRemarksOf(tenantId, userIds)
}
