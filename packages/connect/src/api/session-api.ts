/** The connect session API, `{auth_url}/connect/v1/session…`, as the widget uses it. */
import type {
  addSessionConnection,
  BodyOf,
  completeSessionCallback,
  createSandboxKey,
  findProviderAsker,
  finishSession,
  forwardProviderAnswer,
  getSandboxHelp,
  getSession,
  requestSessionCode,
  ResponseOf,
} from '@assay/contract'
import type { ConsentLanguage } from '@assay/core/consent'
import { call } from './http.ts'

export type ConnectSession = ResponseOf<typeof getSession>['session']
export type Client = ConnectSession['client']
export type SessionConnection = ConnectSession['connections'][number]
export type Progress = SessionConnection['progress']
export type Proof = NonNullable<Progress['proof']>
export type Difference = NonNullable<Proof['difference']>
export type AddAnswer = ResponseOf<typeof addSessionConnection>
export type AddRequest = BodyOf<typeof addSessionConnection>
/** The answer of a provider's own page: a code, or the news that the person did not allow it. */
export type ProviderAnswer = BodyOf<typeof completeSessionCallback>
export type Scenario = SandboxHelp['scenarios'][number]

type SandboxHelp = ResponseOf<typeof getSandboxHelp>
export type SessionAnswer = ResponseOf<typeof getSession>

/** A session, or the address that the browser goes to instead. */
export type Begun =
  | { session_secret: string; session: ConnectSession; redirect_to: null }
  | { session_secret: null; session: null; redirect_to: string }

export function beginConnectSession(authUrl: string, query: string): Promise<Begun> {
  return call(`${authUrl}/connect/v1/session`, { method: 'POST', body: { query } })
}

export type Asker = NonNullable<ResponseOf<typeof findProviderAsker>['asker']>

/** The application that began a sign-in at a provider; null if this widget did. */
export async function findAsker(authUrl: string, state: string): Promise<Asker | null> {
  const url = `${authUrl}/connect/v1/provider-askers`
  return (await call<ResponseOf<typeof findProviderAsker>>(url, { method: 'POST', body: { state } })).asker
}

/** Where a provider's answer goes next if an application began the sign-in; null if this widget did. */
export async function forwardAnswer(authUrl: string, answer: ProviderAnswer): Promise<string | null> {
  const url = `${authUrl}/connect/v1/provider-answers`
  return (await call<ResponseOf<typeof forwardProviderAnswer>>(url, { method: 'POST', body: answer })).redirect_to
}

export type SessionApi = ReturnType<typeof createSessionApi>

export function createSessionApi(authUrl: string, secret: string) {
  const base = `${authUrl}/connect/v1/session`
  const post = <Answer>(path: string, body: object): Promise<Answer> =>
    call(`${base}${path}`, { method: 'POST', body, secret })

  return {
    eventsUrl: `${base}/events`,
    secret,
    read: () => call<SessionAnswer>(base, { secret }),
    requestSessionCode: (email: string) => post<ResponseOf<typeof requestSessionCode>>('/email', { email }),
    enterSessionCode: (code: string) => post<SessionAnswer>('/code', { code }),
    /** The session whose page the person agreed to, the language that the page was in, and the session that it showed. */
    consent: (sessionId: string, language: ConsentLanguage, shown: ConnectSession) => {
      const existing = shown.existing.map(({ connection_id }) => connection_id)
      return post<SessionAnswer>('/consent', { session_id: sessionId, language, existing })
    },
    add: (request: AddRequest) => post<AddAnswer>('/connections', request),
    remove: (connectionId: string) =>
      call<SessionAnswer>(`${base}/connections/${encodeURIComponent(connectionId)}`, {
        method: 'DELETE',
        secret,
      }),
    complete: (answer: ProviderAnswer) => post<AddAnswer>('/callback', answer),
    resume: (sessionId: string) => post<SessionAnswer>('/resume', { session_id: sessionId }),
    finish: () => post<ResponseOf<typeof finishSession>>('/finish', {}),
    decline: () => post<ResponseOf<typeof finishSession>>('/decline', {}),
    sandbox: () => call<SandboxHelp>(`${base}/sandbox`, { secret }),
    makeTestKey: (providerId: string, scenario: string) =>
      post<ResponseOf<typeof createSandboxKey>>('/sandbox/key', { provider_id: providerId, scenario }),
  }
}
