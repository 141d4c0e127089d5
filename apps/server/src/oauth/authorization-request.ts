/**
 * The authorization request: the parameters the connect URL carries (RFC 6749 §4.1.1, RFC 7636 §4.3), checked in the
 * order that keeps the browser safe, and the answers that go back to the client (RFC 6749 §4.1.2, RFC 9207).
 *
 * Pure over a client lookup: the widget's session API and the sandbox's authorizations both come through here.
 */
import { findScopes, isPlatformScope, type Client, type PlatformScope } from '../tenants/index.ts'
import { describeRepeated, OAuthError, readParameters, type OAuthErrorCode, type ReturnAddress } from './protocol.ts'
import type { CodeChallengeMethod } from './token-values.ts'

export interface AuthorizationRequest {
  client: Client
  redirectUri: string
  state: string
  codeChallenge: string
  codeChallengeMethod: CodeChallengeMethod
  scopes: readonly PlatformScope[]
}

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
/** RFC 7636 §4.2: unreserved characters; a SHA-256 in base64url has 43. */
const challengeShape = /^[A-Za-z0-9._~-]{43,128}$/
const s256Shape = /^[A-Za-z0-9_-]{43}$/

export async function parseAuthorizationRequest(
  entries: Iterable<readonly [string, string]>,
  findClient: (clientId: string) => Promise<Client | undefined>,
): Promise<AuthorizationRequest> {
  const { values, repeated } = readParameters(entries)

  // First check the client and the address that an answer may go to. Nothing redirects before both are certain, because
  // this would otherwise be an open redirector (RFC 6749 §4.1.2.1, RFC 9700 §4.11.2).
  const client = await findClient(values.get('client_id') ?? '')
  if (client === undefined || client.disabledAt !== null)
    throw new OAuthError('invalid_request', 'unknown client_id: send the id that the operator registered')
  if (repeated.has('redirect_uri')) throw new OAuthError('invalid_request', 'redirect_uri is sent more than once')
  const redirectUri = chooseRedirectUri(client, values.get('redirect_uri'))

  // From here on, the client is informed of its mistakes.
  const state = values.get('state')
  const refusal = (code: OAuthErrorCode, description: string) =>
    new OAuthError(code, description, { redirectUri, state })

  if (repeated.size > 0) throw refusal('invalid_request', describeRepeated(repeated))
  if (state === undefined || !uuidShape.test(state)) throw refusal('invalid_request', 'state must be a UUID')
  if ((values.get('response_type') ?? 'code') !== 'code') {
    throw refusal('unsupported_response_type', 'response_type must be code')
  }

  // RFC 7636 §4.4.1. The method has no default here: a client that forgets it must not end up with plain.
  const method = values.get('code_challenge_method')
  if (method !== 'S256' && method !== 'plain') {
    throw refusal('invalid_request', 'code_challenge_method must be S256 or plain')
  }
  if (method === 'plain' && client.s256Only) {
    throw refusal('invalid_request', 'code_challenge_method must be S256 for this client')
  }
  const codeChallenge = values.get('code_challenge') ?? ''
  if (!(method === 'S256' ? s256Shape : challengeShape).test(codeChallenge)) {
    const rule = method === 'S256' ? '43 base64url characters' : '43 to 128 unreserved characters'
    throw refusal('invalid_request', `code_challenge must be ${rule}`)
  }

  // RFC 6749 §3.3. Left out: everything a user can give this client.
  const allowed = client.scopes.filter(isPlatformScope)
  if (allowed.length === 0) throw refusal('unauthorized_client', 'this client has no platform scopes')
  const asked = values.get('scope')
  const scopes = asked === undefined ? allowed : findScopes(asked, allowed)
  if (scopes === undefined) throw refusal('invalid_scope', 'scope must be among those this client is registered for')

  return { client, redirectUri, state, codeChallenge, codeChallengeMethod: method, scopes }
}

/** RFC 9700 §4.1.3: exact text, no patterns, no normalising. Left out, the only registered one is meant (§3.1.2.3). */
function chooseRedirectUri(client: Client, sent: string | undefined): string {
  const [first, ...others] = client.redirectUris
  if (sent === undefined && first !== undefined && others.length === 0) return first
  if (sent !== undefined && client.redirectUris.includes(sent)) return sent
  throw new OAuthError(
    'invalid_request',
    sent === undefined
      ? 'redirect_uri is missing'
      : 'redirect_uri is not registered for this client: the operator adds it with --redirect-uri',
  )
}

/** RFC 6749 §4.1.2 with the issuer of RFC 9207 §2, which distinguishes authorization servers (mix-up). */
export function toCodeRedirect(issuer: string, to: ReturnAddress, code: string): string {
  return addToRedirectUri(to.redirectUri, { code, state: to.state, iss: issuer })
}

/** Undefined when the error must not leave the page. */
export function findErrorRedirect(issuer: string, error: OAuthError): string | undefined {
  if (error.returnTo === undefined) return undefined
  const { redirectUri, state } = error.returnTo
  return addToRedirectUri(redirectUri, { error: error.code, error_description: error.message, state, iss: issuer })
}

/** The parameters of an answer, behind what the client registered. */
export function addToRedirectUri(uri: string, parameters: Record<string, string | undefined>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.append(name, value)
  // Joined as text, because a URL object would rewrite the client's own query. A registered URI has no fragment.
  return `${uri}${uri.includes('?') ? '&' : '?'}${query.toString()}`
}
