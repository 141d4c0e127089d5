/**
 * What a client may register. The checks are strict, so that the protocol can compare exact texts (RFC 9700 §4.1.3) and
 * never has to interpret a URI from outside.
 */
import { invalidParameter } from '@assay/core'
import { isEnterpriseScope, isPlatformScope, inOrder, type Scope } from './scopes.ts'

const uriLengthMax = 2_000
const urisMax = 20
const nameLengthMax = 100
/** RFC 6749 §4.1.2, RFC 9207 §2: with a second one in the URI, the application could read either. */
const answerParameters = ['code', 'state', 'iss', 'error', 'error_description']

export interface ClientRegistration {
  name: string
  redirectUris?: readonly string[]
  /** Origins of pages that may show the widget in a frame. */
  embedOrigins?: readonly string[]
  scopes: readonly Scope[]
  /** Refuses `plain` code challenges. */
  s256Only?: boolean
  /** Asks for a code_verifier even beside a secret. */
  requireCodeVerifier?: boolean
  /** A login token alone is not enough for a user's first consent. */
  confirmFirstConsent?: boolean
  /** Nor is it enough for any later consent, although the user has a live grant to the client. */
  confirmEveryConsent?: boolean
  logoUri?: string
  homepageUri?: string
  /** No secret: short-term access only. */
  publicClient?: boolean
}

export type CheckedRegistration = Required<Omit<ClientRegistration, 'logoUri' | 'homepageUri'>> & {
  logoUri: string | null
  homepageUri: string | null
}

export function checkRegistration(registration: ClientRegistration): CheckedRegistration {
  const { redirectUris = [], embedOrigins = [], scopes, publicClient = false } = registration
  checkName(registration.name)
  if (redirectUris.length > urisMax) throw invalidParameter('redirect_uris', `must be at most ${urisMax}`)
  if (embedOrigins.length > urisMax) throw invalidParameter('embed_origins', `must be at most ${urisMax}`)
  for (const uri of redirectUris) checkRedirectUri(uri)
  for (const origin of embedOrigins) checkOrigin(origin)
  for (const [parameter, uri] of [
    ['logo_uri', registration.logoUri],
    ['homepage_uri', registration.homepageUri],
  ] as const) {
    if (uri !== undefined) checkWebAddress(parameter, uri)
  }
  if (scopes.length === 0) throw invalidParameter('scopes', 'must name at least one scope')
  if (scopes.some(isPlatformScope) && redirectUris.length === 0) {
    throw invalidParameter('redirect_uris', 'must have at least one URI for a client with platform scopes')
  }
  // RFC 6749 §4.4: the client credentials grant is for confidential clients only.
  if (publicClient && scopes.some(isEnterpriseScope)) {
    throw invalidParameter('scopes', 'must not be enterprise scopes for a client without a secret')
  }
  return {
    name: registration.name,
    redirectUris: [...new Set(redirectUris)],
    embedOrigins: [...new Set(embedOrigins)],
    scopes: inOrder([...new Set(scopes)]),
    s256Only: registration.s256Only ?? false,
    requireCodeVerifier: registration.requireCodeVerifier ?? false,
    confirmFirstConsent: registration.confirmFirstConsent ?? false,
    confirmEveryConsent: registration.confirmEveryConsent ?? false,
    logoUri: registration.logoUri ?? null,
    homepageUri: registration.homepageUri ?? null,
    publicClient,
  }
}

/** People read it before they agree. A character that reorders or hides others would let them read another name. */
export function checkName(name: string): void {
  if (name.trim() !== name || name === '' || name.length > nameLengthMax || /[\p{C}\p{Zl}\p{Zp}]/u.test(name)) {
    throw invalidParameter('name', `must be 1 to ${nameLengthMax} characters without control or format characters`)
  }
}

/**
 * RFC 6749 §3.1.2, RFC 8252 §7: https, http on loopback, or a private-use scheme; a query may be there, never a
 * fragment.
 */
function checkRedirectUri(text: string): void {
  const url = parseNormal('redirect_uris', text)
  if (text.includes('#')) throw invalidParameter('redirect_uris', 'must not have a fragment')
  if (answerParameters.some((name) => url.searchParams.has(name))) {
    throw invalidParameter(
      'redirect_uris',
      `must not have ${answerParameters.join(', ')} in the query: answers add them`,
    )
  }
  if (url.protocol === 'https:' || isLoopback(url)) return
  // RFC 8252 §7.1: a private-use scheme is a reversed domain name, hence has a dot; `javascript:` and `data:` have
  // none.
  if (/^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(url.protocol)) return
  throw invalidParameter(
    'redirect_uris',
    'must be https, http on a loopback address, or a scheme such as com.example.app',
  )
}

function checkOrigin(text: string): void {
  const url = parseNormal('embed_origins', `${text}/`)
  // In the header frame-ancestors a star would be a wildcard.
  if (url.origin !== text || text.includes('*') || !(url.protocol === 'https:' || isLoopback(url))) {
    throw invalidParameter('embed_origins', 'must be origins such as https://app.example.com')
  }
}

function checkWebAddress(parameter: string, text: string): void {
  const url = parseNormal(parameter, text)
  if (url.protocol !== 'https:' && !isLoopback(url)) throw invalidParameter(parameter, 'must be an https URL')
}

function isLoopback(url: URL): boolean {
  return url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
}

/**
 * Only a URI in its normal form: no upper-case host, default port, dot segment, backslash, 2130706433 for 127.0.0.1, or
 * white space that a browser would drop. What the operator reads is then what the browser goes to.
 */
function parseNormal(parameter: string, text: string): URL {
  if (text.length > uriLengthMax) throw invalidParameter(parameter, `must be at most ${uriLengthMax} characters each`)
  if (!URL.canParse(text)) throw invalidParameter(parameter, 'must be absolute URIs')
  const url = new URL(text)
  if (url.href !== text && url.href !== `${text}/`) {
    throw invalidParameter(parameter, `must be in normal form: ${JSON.stringify(url.href)}`)
  }
  if (url.username !== '' || url.password !== '') throw invalidParameter(parameter, 'must not have a user name')
  return url
}
