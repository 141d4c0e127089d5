/** `errors` of a tenant's page: one item for each connection that is not up to date, of the users on it. */
import type { ErrorItem } from '@assay/core'
import type { FrontDoors } from '../front-doors.ts'

export async function issuesOf(
  { connections }: Pick<FrontDoors, 'connections'>,
  shown: readonly { user_key: string }[],
): Promise<ErrorItem[]> {
  const userKeys = [...new Set(shown.map((row) => row.user_key))]
  return userKeys.length === 0 ? [] : connections.listIssuesOf(userKeys)
}
