/** The small portfolio of examples.ts, as a tenant sees it. */
import { accountV2, transactionV2 } from './examples.ts'

const userId = 'usr_01jq8n5v8qe3xr7t2m9k4hzwpc'

export const enterpriseUser = {
  user_id: userId,
  external_user_id: '4711',
  email: null,
  granted_at: '2026-03-01T08:00:00.000Z',
  grant_expires_at: '2027-03-01T08:00:00.000Z',
  scopes: ['assets:read', 'providers:read', 'transactions:read'],
  connection_count: 1,
}
export const account = { user_id: userId, ...accountV2 }
export const transactionOfUser = { ...transactionV2, user_id: userId }
