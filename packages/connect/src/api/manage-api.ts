/** Manage, `{auth_url}/connect/v1/me…`: a person's own sign-in, apart from any application's request. */
import type { createManageSession, getManageSandboxHelp, getMe, requestManageCode, ResponseOf } from '@assay/contract'
import { call } from './http.ts'

export type ManageSession = ResponseOf<typeof createManageSession>
export type Me = ResponseOf<typeof getMe>
export type OwnConnection = Me['connections'][number]
export type Grant = Me['grants'][number]
export type EndedGrant = Me['ended_grants'][number]
/** What an application learned without seeing rows. */
export type Claim = Grant['claims'][number]
export type Access = Grant['accesses'][number]
export type AuditEvent = Me['events'][number]

export function beginManageSession(authUrl: string, clientId: string): Promise<ManageSession> {
  return call(`${authUrl}/connect/v1/me/session`, { method: 'POST', body: { client_id: clientId } })
}

export type ManageApi = ReturnType<typeof createManageApi>

export function createManageApi(authUrl: string, secret: string) {
  const base = `${authUrl}/connect/v1/me`
  const remove = (path: string): Promise<unknown> => call(`${base}${path}`, { method: 'DELETE', secret })
  return {
    read: () => call<Me>(base, { secret }),
    requestManageCode: (email: string) =>
      call<ResponseOf<typeof requestManageCode>>(`${base}/email`, {
        method: 'POST',
        body: { email },
        secret,
      }),
    enterManageCode: (code: string) => call<unknown>(`${base}/code`, { method: 'POST', body: { code }, secret }),
    sandbox: () => call<ResponseOf<typeof getManageSandboxHelp>>(`${base}/sandbox`, { secret }),
    signOut: () => remove('/session'),
    removeConnection: (id: string) => remove(`/connections/${encodeURIComponent(id)}`),
    revokeGrant: (id: string) => remove(`/grants/${encodeURIComponent(id)}`),
    deleteEverything: () => remove(''),
  }
}
