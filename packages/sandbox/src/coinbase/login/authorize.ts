/**
 * GET and POST /oauth2/auth: reads what a client asks for, lets the person sign in and choose what to allow, and sends
 * them back with a code or a refusal.
 * Sources: https://docs.cdp.coinbase.com/coinbase-app/oauth2-integration/reference, …/scopes; RFC 6749 §4.1.1–4.1.2.1,
 * RFC 7636 §4.3–4.4. At Coinbase this is https://login.coinbase.com/oauth2/auth.
 *
 * The order of the checks matters: no redirect happens until client and redirect URI are known to be good.
 */
import type { WireAnswer, WireRequest } from '../../core/serving/listener.ts'
import { readScopes, type AccessState } from '../authentication.ts'
import { consentPage, errorPage, signInPage, type Asked } from './page.ts'
import { client } from './token.ts'

/** What a code is made with, if the person allows. */
interface Beginning {
  family: string
  nowMs: number
}

const otherScopes = [
  'offline_access',
  'wallet:accounts:update',
  'wallet:accounts:create',
  'wallet:accounts:delete',
  'wallet:addresses:create',
  'wallet:buys:create',
  'wallet:deposits:create',
  'wallet:payment-methods:delete',
  'wallet:payment-methods:limits',
  'wallet:sells:create',
  'wallet:trades:create',
  'wallet:transactions:send',
  'wallet:transactions:request',
  'wallet:transactions:transfer',
  'wallet:user:update',
  'wallet:withdrawals:create',
]
const knownScopes = new Set([...readScopes, ...otherScopes])
const scopeDefault = 'wallet:user:read'
const stateLengthMin = 8
const accountShape = /^(?<scenario>[a-z_]{1,40})(?::(?<text>[^]{1,500}))?$/

/** Thrown where a redirect would be wrong. The person sees its message. */
class PageRefusal extends Error {}

export function answerAuthorize(request: WireRequest, state: AccessState, beginning: Beginning): WireAnswer {
  const fields = request.method === 'POST' ? new URLSearchParams(request.body) : request.query
  try {
    return decide(request.method, fields, state, beginning)
  } catch (error) {
    if (error instanceof PageRefusal) return errorPage(error.message)
    throw error
  }
}

function decide(method: string, fields: URLSearchParams, state: AccessState, beginning: Beginning): WireAnswer {
  const asked = parseAsked(fields)
  const refusal = findRefusal(fields, asked)
  if (refusal !== undefined) return goBack(asked, { error: refusal })
  const { scenarios } = state.accounts
  if (method === 'GET') return signInPage(asked, scenarios)
  const decision = fields.get('decision')
  if (decision === 'deny') return goBack(asked, { error: 'access_denied' })
  const account = findAccount(state, fields.get('account') ?? '')
  if (decision === null && fields.get('step') === 'consent') {
    return consentPage(asked, fields.get('account') ?? '', account.scenario.title)
  }
  if (decision !== 'allow') throw new PageRefusal('The form must say whether to allow or to deny.')
  const { redirectUri, challenge } = asked
  const { family, nowMs: issuedMs } = beginning
  const scope = grantedOf(fields, asked).join(' ')
  const claims = { account: account.id, family, serial: 0, issuedMs, scope, redirectUri, challenge }
  return goBack(asked, { code: state.tokens.seal('code', claims) })
}

function parseAsked(fields: URLSearchParams): Asked {
  // `grant` is the page's own field, one for each scope that stayed ticked.
  const names = [...fields.keys()].filter((name) => name !== 'grant')
  if (new Set(names).size !== names.length) throw new PageRefusal('A parameter was sent twice.')
  if (fields.get('client_id') !== client.id) throw new PageRefusal('Coinbase does not know the application that asks.')
  const redirectUri = fields.get('redirect_uri') ?? ''
  if (!isLoopback(redirectUri))
    throw new PageRefusal('The address to return to is not registered for this application.')
  const challenge = fields.get('code_challenge')
  // Plain is what Coinbase takes when the client does not say.
  const methodName = fields.get('code_challenge_method') ?? 'plain'
  return {
    redirectUri,
    state: fields.get('state'),
    scopes: (fields.get('scope') ?? scopeDefault).split(/[ ,]+/).filter((scope) => scope !== ''),
    challenge: challenge === null ? '' : `${methodName}:${challenge}`,
  }
}

/** Finds what Coinbase tells the client by redirect. */
function findRefusal(fields: URLSearchParams, { state, scopes, challenge }: Asked): string | undefined {
  if (fields.get('response_type') !== 'code') return 'unsupported_response_type'
  if (state !== null && state.length < stateLengthMin) return 'invalid_state'
  if (!scopes.every((scope) => knownScopes.has(scope))) return 'invalid_scope'
  const isGood = challenge === '' || /^(S256:[\w-]{43}|plain:[\w.~-]{43,128})$/.test(challenge)
  return isGood ? undefined : 'invalid_request'
}

/** Only what was asked for can be granted. A form without the page's choices, as a test sends it, allows everything. */
function grantedOf(fields: URLSearchParams, { scopes }: Asked): readonly string[] {
  if (fields.get('choices') === null) return scopes
  const granted = fields.getAll('grant')
  return scopes.filter((scope) => granted.includes(scope))
}

/** Not [::1]: a form may only lead where the page's policy says, and no policy can name an IPv6 address. */
function isLoopback(uri: string): boolean {
  const url = URL.parse(uri)
  return url?.protocol === 'http:' && ['127.0.0.1', 'localhost'].includes(url.hostname) && !uri.includes('#')
}

/** The field names a scenario and a text, as the page's form does, or the id of an account that there is already. */
function findAccount(state: AccessState, field: string): { id: string; scenario: { title: string } } {
  const { scenario = '', text = '1' } = accountShape.exec(field)?.groups ?? {}
  const account = state.accounts.findById(field) ?? state.accounts.mint(scenario, text)
  if (account === undefined) throw new PageRefusal('Choose one of the test accounts.')
  return account
}

function goBack({ redirectUri, state }: Asked, result: Record<string, string>): WireAnswer {
  const location = new URL(redirectUri)
  for (const [name, value] of Object.entries(result)) location.searchParams.set(name, value)
  if (state !== null) location.searchParams.set('state', state)
  const headers = { location: location.href, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
  return { status: 303, headers, body: '', ...(result['error'] !== undefined && { error: result['error'] }) }
}
