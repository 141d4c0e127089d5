/** Manage, `{auth_url}/connect/v1/me…`: a person's own sign-in, apart from any application's request. */
import { call } from './http.ts'
import type { Client, ExistingConnection } from './session-api.ts'

export interface ManageSession {
  session_secret: string
  client: Client
  tenant: { name: string }
  email_sign_in: boolean
}

export interface Access {
  endpoint: string
  hour: string
  /** The last of them within the hour. */
  last_at: string
  count: number
}

export interface Grant {
  grant_id: string
  client: { client_id: string; name: string }
  scopes: string[]
  granted_at: string
  expires_at: string
  accesses: Access[]
  claims: Claim[]
}

/** What an application learned without seeing rows. */
export interface Claim {
  claim: 'value_at_least' | 'holds_at_least'
  asset_id: string | null
  amount: string
  holds: boolean
  made_at: string
}

export interface AuditEvent {
  at: string
  actor: string
  action: string
  client_name: string | null
  provider_name: string | null
}

export interface OwnConnection extends ExistingConnection {
  last_synced_at: string | null
  transaction_count: number
}

export interface Me {
  user: { email: string | null }
  connections: OwnConnection[]
  grants: Grant[]
  events: AuditEvent[]
  tenant_reads: { client: { client_id: string; name: string }; accesses: Access[] }[]
}

export function beginManage(authUrl: string, clientId: string): Promise<ManageSession> {
  return call(`${authUrl}/connect/v1/me/session`, { method: 'POST', body: { client_id: clientId } })
}

export type ManageApi = ReturnType<typeof createManageApi>

export function createManageApi(authUrl: string, secret: string) {
  const base = `${authUrl}/connect/v1/me`
  const remove = (path: string): Promise<unknown> => call(`${base}${path}`, { method: 'DELETE', secret })
  return {
    read: () => call<Me>(base, { secret }),
    sendCode: (email: string) =>
      call<{ sent_to: string; resend_after_seconds: number }>(`${base}/email`, {
        method: 'POST',
        body: { email },
        secret,
      }),
    checkCode: (code: string) => call<unknown>(`${base}/code`, { method: 'POST', body: { code }, secret }),
    sandbox: () => call<{ mail: { code: string } | null }>(`${base}/sandbox`, { secret }),
    removeConnection: (id: string) => remove(`/connections/${encodeURIComponent(id)}`),
    revokeGrant: (id: string) => remove(`/grants/${encodeURIComponent(id)}`),
    deleteEverything: () => remove(''),
  }
}
