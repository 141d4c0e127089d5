/**
 * /oauth/authorize: reads what a client asks for, shows the page, and sends the person back with a code or a refusal.
 * Truth: RFC 6749 §4.1.1–4.1.2.1, RFC 7636 §4.3–4.4.
 *
 * The order of the checks matters: until client, redirect URI and challenge are known to be good, nobody is sent
 * anywhere. Only then do errors travel by redirect.
 */
import type { WireAnswer, WireRequest } from '../core/listener.ts'
import type { HarborAccounts } from './api.ts'
import { errorPage, signInPage, type Asked } from './page.ts'
import { client, type OAuthState } from './token.ts'
import { isRepeated } from './wire.ts'

/** What a code is made with, should there be one. */
interface Beginning {
  family: string
  nowMs: number
}

const scopes: readonly string[] = ['read', 'read trade']
const accountShape = /^(?<scenario>[a-z_]{1,40})(?::(?<text>[^]{1,500}))?$/

/** Thrown where it would be wrong to redirect; shown to the person. */
class PageRefusal extends Error {}

export function answerAuthorize(request: WireRequest, state: OAuthState, beginning: Beginning): WireAnswer {
  const fields = request.method === 'POST' ? new URLSearchParams(request.body) : request.query
  try {
    return decide(request.method, fields, state, beginning)
  } catch (error) {
    if (error instanceof PageRefusal) return errorPage(error.message)
    throw error
  }
}

function decide(method: string, fields: URLSearchParams, state: OAuthState, beginning: Beginning): WireAnswer {
  const asked = parseAsked(fields)
  if (fields.get('response_type') !== 'code') return goBack(asked, { error: 'unsupported_response_type' })
  if (!scopes.includes(asked.scope)) return goBack(asked, { error: 'invalid_scope' })
  if (method === 'GET') return signInPage({ asked, scenarios: state.accounts.scenarios })
  if (fields.get('decision') === 'deny') return goBack(asked, { error: 'access_denied' })
  if (fields.get('decision') !== 'allow') throw new PageRefusal('The form must say whether to allow or to deny.')
  const { redirectUri, challenge, scope } = asked
  const account = findAccount(state.accounts, fields.get('account') ?? '')
  const { family, nowMs: issuedMs } = beginning
  const claims = { account, family, serial: 0, issuedMs, scope, redirectUri, challenge }
  return goBack(asked, { code: state.tokens.seal('code', claims) })
}

function parseAsked(fields: URLSearchParams): Asked {
  if (isRepeated(fields)) throw new PageRefusal('A parameter was sent twice.')
  if (fields.get('client_id') !== client.id) throw new PageRefusal('Harbor does not know the application that asks.')
  const redirectUri = fields.get('redirect_uri') ?? ''
  if (!isLoopback(redirectUri)) throw new PageRefusal('The address to return to must be on this computer.')
  const challenge = fields.get('code_challenge') ?? ''
  // SHA-256 in base64url is 43 characters long.
  if (fields.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge)) {
    throw new PageRefusal('The application did not send a code challenge (PKCE, S256).')
  }
  return { redirectUri, challenge, state: fields.get('state'), scope: fields.get('scope') ?? 'read' }
}

/** Not [::1]: a form may only lead where the page's policy says, and no policy can name an IPv6 address. */
function isLoopback(uri: string): boolean {
  const url = URL.parse(uri)
  return url?.protocol === 'http:' && ['127.0.0.1', 'localhost'].includes(url.hostname) && !uri.includes('#')
}

function findAccount(accounts: HarborAccounts, field: string): string {
  const { scenario = '', text = '1' } = accountShape.exec(field)?.groups ?? {}
  const account = accounts.mint(scenario, text)
  if (account === undefined) throw new PageRefusal('Choose one of the test accounts.')
  return account.id
}

function goBack({ redirectUri, state }: Asked, result: Record<string, string>): WireAnswer {
  const location = new URL(redirectUri)
  for (const [name, value] of Object.entries(result)) location.searchParams.set(name, value)
  if (state !== null) location.searchParams.set('state', state)
  const headers = { location: location.href, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return { status: 303, headers, body: '', ...(result['error'] !== undefined && { error: result['error'] }) }
}
