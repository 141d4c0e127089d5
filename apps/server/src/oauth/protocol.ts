/**
 * What all requests to the authorization server share: their parameters, their errors, and what the token endpoint
 * answers.
 *
 * Parameters follow RFC 6749 §3.1 and §3.2: sent without a value they count as left out, unknown ones are ignored, and
 * none may be sent twice (two readers that pick different ones are an attack).
 */
import type { KeyObject } from 'node:crypto'
import type { Database, Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import type { Tenants } from '../tenants/index.ts'
import type { RandomBytes } from './token-values.ts'

export type Parameters = ReadonlyMap<string, string>

export interface ReadParameters {
  /** Repeated parameters are left out, because it is not known which value was meant. */
  values: Parameters
  repeated: ReadonlySet<string>
}

export function readParameters(entries: Iterable<readonly [string, string]>): ReadParameters {
  const values = new Map<string, string>()
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const [name, value] of entries) {
    if (seen.has(name)) repeated.add(name)
    seen.add(name)
    if (value !== '') values.set(name, value)
  }
  for (const name of repeated) values.delete(name)
  return { values, repeated }
}

export function parseParameters(entries: Iterable<readonly [string, string]>): Parameters {
  const { values, repeated } = readParameters(entries)
  if (repeated.size > 0) throw new OAuthError('invalid_request', describeRepeated(repeated))
  return values
}

export function describeRepeated(repeated: ReadonlySet<string>): string {
  // A name is the sender's text, and error_description has a small alphabet (RFC 6749 §5.2).
  const names = [...repeated].filter((name) => /^[a-z_]{1,40}$/.test(name)).slice(0, 5)
  return names.length > 0 ? `sent more than once: ${names.join(', ')}` : 'a parameter is sent more than once'
}

export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing`)
  return value
}

/**
 * The authorization server's refusals: the closed set of codes of RFC 6749 §4.1.2.1 and §5.2, and whether the answer
 * may be carried back to the client through the browser. Knows no HTTP status; http/oauth maps every code.
 */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'server_error'
  | 'temporarily_unavailable'

/** Where the client listens. Only ever a registered URI: see parseAuthorizationRequest. */
export interface ReturnAddress {
  redirectUri: string
  /** The client's `state`, unchanged; undefined when it sent none or several. */
  state: string | undefined
}

export class OAuthError extends Error {
  readonly code: OAuthErrorCode
  /** Undefined: the browser must stay here, on an error page. */
  readonly returnTo: ReturnAddress | undefined

  /**
   * `description` reaches the client's developers as error_description: plain ASCII, nothing secret, nothing quoted.
   */
  constructor(code: OAuthErrorCode, description: string, returnTo?: ReturnAddress) {
    super(description)
    this.name = 'OAuthError'
    this.code = code
    this.returnTo = returnTo
  }
}

export interface CodeRedeemed extends Owner {
  clientId: string
  grantId: string
  /** The connect session that led to the code. */
  connectSessionId: string
}

/** What every grant type of the token endpoint is given. */
export interface ExchangeDeps {
  db: Database
  tenants: Pick<Tenants, 'findClient' | 'verifySecret'>
  /** Newest first: the first derives, all of them recognise. */
  tokenKeys: readonly [KeyObject, ...KeyObject[]]
  /**
   * Runs in the transaction that spends the code of a connect session: what the session made is the user's from the
   * same moment. It does not run for a code that was issued without a session.
   */
  onCodeRedeemed: (tx: Sql, event: CodeRedeemed) => Promise<void>
  randomBytes: RandomBytes
}

/** RFC 6749 §5.1, as it goes over the wire. */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  scope: string
  refresh_token?: string
  refresh_token_expires_in?: number
  user_id?: string
  grant_id?: string
}
