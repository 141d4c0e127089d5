/** How the manage page begins: with a client in the address, or with the session this tab has. */
import { Problem } from '../api/http.ts'
import { beginManageSession, createManageApi, type ManageApi, type ManageSession, type Me } from '../api/manage-api.ts'
import type { StopReason } from '../flow/stop-reason.ts'

const key = 'assay-manage'

export interface OpenedManage {
  api: ManageApi
  session: ManageSession
  /** Undefined until signed in. */
  me: Me | undefined
}

export async function openManage(authUrl: string): Promise<OpenedManage | { reason: StopReason }> {
  const clientId = new URLSearchParams(location.search).get('client_id')
  const kept = readManage()
  if (kept !== undefined && (clientId === null || clientId === kept.client.client_id)) {
    const api = createManageApi(authUrl, kept.session_secret)
    const me = await api.read().catch((error: unknown) => {
      // The person is not signed in yet, or no longer.
      if (error instanceof Problem && (error.status === 401 || error.status === 403)) return undefined
      throw error
    })
    if (me !== undefined) return { api, session: kept, me }
  }
  const wanted = clientId ?? kept?.client.client_id
  if (wanted === undefined) return { reason: { name: 'nothing' } }
  const session = await beginManageSession(authUrl, wanted)
  keepManage(session)
  return { api: createManageApi(authUrl, session.session_secret), session, me: undefined }
}

/** sessionStorage only, as for the connect flow. */
function keepManage(session: ManageSession): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(session))
  } catch {
    // Storage is refused: a reload will ask to sign in again.
  }
}

function readManage(): ManageSession | undefined {
  try {
    const text = sessionStorage.getItem(key)
    return text === null ? undefined : (JSON.parse(text) as ManageSession)
  } catch {
    return undefined
  }
}

export function forgetManage(): void {
  try {
    sessionStorage.removeItem(key)
  } catch {
    // Nothing was stored.
  }
}
