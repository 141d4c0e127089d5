/** The connect session API, `{auth_url}/connect/v1/session…`, as the widget uses it. */
import type { ConsentLanguage, ConsentScope } from '@assay/core/consent'
import { call, type ErrorItem } from './http.ts'

export interface Client {
  client_id: string
  name: string
  logo_uri: string | null
  homepage_uri: string | null
}

export interface ConnectionState {
  connection_id: string
  provider_id: string
  name: string
  display_label: string | null
  status: 'pending' | 'syncing' | 'active' | 'degraded' | 'needs_reauth' | 'removed'
  status_cause: string | null
  status_message: string | null
}

export interface ExistingConnection extends ConnectionState {
  added_at: string
}

export interface Progress {
  verified: boolean
  assets: number | null
  records: number
  transactions: number
  history_from: string | null
  done: boolean
  top: { asset_symbol: string; share: number }[]
  value_in_usd: string | null
  /** Null until the balances were first judged. */
  proof: Proof | null
}

export interface Proof {
  grade: 'proved' | 'explained' | 'unprovable' | 'open'
  proved_since: string | null
  difference: Difference | null
}

export interface Difference {
  asset_symbol: string
  cause:
    | 'coverage_hole'
    | 'pending'
    | 'unreadable_record'
    | 'unknown_type'
    | 'rounding'
    | 'accrual'
    | 'provider_correction'
    | 'unexplained'
  amount: string
  start_time: string
  end_time: string
  assets: number
}

export interface SessionConnection extends ConnectionState {
  progress: Progress
}

export interface Session {
  session_id: string
  expires_at: string
  step: 'sign_in' | 'consent' | 'connect' | 'ended'
  ended: null | 'finished' | 'declined'
  client: Client
  tenant: { name: string }
  scopes: ConsentScope[]
  grant_expires_at: string
  shares_email: boolean
  display: 'page' | 'popup' | 'iframe'
  web_message_origin: string | null
  lang: string | null
  theme: string | null
  provider_id: string | null
  connection_id: string | null
  email_sign_in: boolean
  user: null | { email: string | null }
  consented: boolean
  existing: ExistingConnection[]
  unfinished: null | { session_id: string; started_at: string; connection_count: number }
  connections: SessionConnection[]
  sandbox: boolean
}

export interface AddAnswer {
  data: { added: boolean; redirect_url: string | null; connection_id: string | null; provider_id: string }
  errors: ErrorItem[]
}

/** From a provider's own page: a code, or that the person did not allow it. */
export type ProviderAnswer = { state: string; code: string } | { state: string; error: string }

export type Credentials =
  | { type: 'api_key'; api_key: string; secret_key: string; passphrase?: string; confirmed_read_only?: true }
  | { type: 'wallet'; address: string }
  | { type: 'wallet'; extended_public_key: string }
  | { type: 'wallet'; descriptor: string }
  | { type: 'oauth2' }

export interface AddRequest {
  provider_id: string
  connection: Credentials
  connection_id?: string
}

export interface Scenario {
  provider_id: string
  name: string
  title: string
  description: string
}

export type Begun =
  | { session_secret: string; session: Session; redirect_to: null }
  | { session_secret: null; session: null; redirect_to: string }

export function beginSession(authUrl: string, query: string): Promise<Begun> {
  return call(`${authUrl}/connect/v1/session`, { method: 'POST', body: { query } })
}

/** Where a provider's answer goes on to when an application began the sign-in; null when this widget did. */
export async function forwardAnswer(authUrl: string, answer: ProviderAnswer): Promise<string | null> {
  const url = `${authUrl}/connect/v1/provider-answers`
  return (await call<{ redirect_to: string | null }>(url, { method: 'POST', body: answer })).redirect_to
}

export type SessionApi = ReturnType<typeof createSessionApi>

export function createSessionApi(authUrl: string, secret: string) {
  const base = `${authUrl}/connect/v1/session`
  const post = <Answer>(path: string, body: object): Promise<Answer> =>
    call(`${base}${path}`, { method: 'POST', body, secret })

  return {
    eventsUrl: `${base}/events`,
    secret,
    read: () => call<{ session: Session }>(base, { secret }),
    sendCode: (email: string) => post<{ sent_to: string; resend_after_seconds: number }>('/email', { email }),
    checkCode: (code: string) => post<{ session: Session }>('/code', { code }),
    /** The language that the page was in when the person agreed. */
    consent: (language: ConsentLanguage) => post<{ session: Session }>('/consent', { language }),
    add: (request: AddRequest) => post<AddAnswer>('/connections', request),
    remove: (connectionId: string) =>
      call<{ session: Session }>(`${base}/connections/${encodeURIComponent(connectionId)}`, {
        method: 'DELETE',
        secret,
      }),
    complete: (answer: ProviderAnswer) => post<AddAnswer>('/callback', answer),
    resume: (sessionId: string) => post<{ session: Session }>('/resume', { session_id: sessionId }),
    finish: () => post<{ redirect_to: string }>('/finish', {}),
    decline: () => post<{ redirect_to: string }>('/decline', {}),
    sandbox: () => call<{ scenarios: Scenario[]; mail: { code: string } | null }>(`${base}/sandbox`, { secret }),
    makeTestKey: (providerId: string, scenario: string) =>
      post<{ fields: Record<string, string> }>('/sandbox/key', { provider_id: providerId, scenario }),
  }
}
