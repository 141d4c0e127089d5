/**
 * The first half of the connect flow: the code verifier (RFC 7636), the address to send the user to, and the callback.
 */
import { OAuthError } from './errors.ts'

export interface Pkce {
  /** Keep it where only you can read it until the code is redeemed. */
  codeVerifier: string
  codeChallenge: string
  codeChallengeMethod: 'S256'
}

export async function createPkce(): Promise<Pkce> {
  const codeVerifier = toBase64Url(crypto.getRandomValues(new Uint8Array(32)))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))
  return { codeVerifier, codeChallenge: toBase64Url(new Uint8Array(digest)), codeChallengeMethod: 'S256' }
}

/** Ties the callback to the session that began; the service asks for a UUID. */
export function createState(): string {
  return crypto.randomUUID()
}

export interface AuthorizationRequest {
  /** Where the widget lives, such as https://connect.example. */
  widgetUrl: string
  clientId: string
  codeChallenge: string
  codeChallengeMethod?: 'S256' | 'plain'
  state: string
  /** Needed only when the application registered more than one. */
  redirectUri?: string
  scope?: string | readonly string[]
  /** The provider to show first. */
  providerId?: string
  /** Repair this connection. */
  connectionId?: string
  /** Works once and for a minute: make it for each click. */
  loginToken?: string
  lang?: string
  theme?: string
}

export function toAuthorizationUrl(request: AuthorizationRequest): string {
  const { scope } = request
  const url = new URL(request.widgetUrl)
  const parameters: Record<string, string | undefined> = {
    client_id: request.clientId,
    code_challenge: request.codeChallenge,
    code_challenge_method: request.codeChallengeMethod ?? 'S256',
    state: request.state,
    redirect_uri: request.redirectUri,
    scope: typeof scope === 'string' ? scope : scope?.join(' '),
    provider_id: request.providerId,
    connection_id: request.connectionId,
    login_token: request.loginToken,
    lang: request.lang,
    theme: request.theme,
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url.href
}

/**
 * The code in the address the user came back to. Throws an OAuthError when the user declined, and when the answer is
 * not for this session (`state`) or not from this server (`iss`, RFC 9207).
 */
export function readCallback(callbackUrl: string, expected: { state: string; issuer: string }): string {
  const { searchParams } = new URL(callbackUrl)
  const find = (name: string): string | undefined => searchParams.get(name) ?? undefined
  // A session that began no flow has an empty state or, in JavaScript, none. A link that leaves its own out must not
  // match it.
  const state = find('state') ?? ''
  if (state === '' || state !== expected.state) {
    throw new OAuthError('invalid_state', 'the callback belongs to another session')
  }
  if (find('iss') !== expected.issuer) throw new OAuthError('invalid_issuer', 'the callback comes from another server')
  const error = find('error')
  if (error !== undefined) throw new OAuthError(error, find('error_description') ?? '')
  const code = find('code')
  if (code === undefined) throw new OAuthError('invalid_request', 'the callback has no code')
  return code
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
