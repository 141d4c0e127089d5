/**
 * POST /oauth2/token and /oauth2/revoke. Sources:
 * https://docs.cdp.coinbase.com/coinbase-app/oauth2-integration/reference, …/access-and-refresh-tokens; RFC 6749
 * §4.1.3, §5.1, §5.2, §6; RFC 7636 §4.6; RFC 7009. Access tokens live an hour, refresh tokens a year and a half. A
 * client gets a refresh token only with `offline_access`. It works once, and using it again ends the whole sign-in (RFC
 * 9700 §4.14). Expired ones are answered with 401, as the documents say.
 */
import { createHash } from 'node:crypto'
import type { WireAnswer, WireRequest } from '../../core/serving/listener.ts'
import { isSame, type Claims, type AuthorizationCodeClaims } from '../../core/tokens.ts'
import { accessLifeMs, scopesOf, type AccessState } from '../authentication.ts'

const codeLifeMs = 600_000
const refreshLifeMs = 1.5 * 365 * 86_400_000

/** The one registered application. Its secret is public on purpose: it opens nothing but a simulator on loopback. */
export const client = { id: 'assay-sandbox', secret: 'coinbase-client-secret', name: 'Assay' } as const

const errors = {
  invalid_request: [400, 'The request is missing a required parameter, or is otherwise malformed.'],
  invalid_client: [401, 'Client authentication failed.'],
  invalid_grant: [400, 'The provided authorization grant is invalid, expired or revoked.'],
  expired_grant: [401, 'The provided refresh token is expired, or was used before.'],
  unsupported_grant_type: [400, 'The authorization grant type is not supported.'],
} as const

class TokenRefusal extends Error {
  readonly word: keyof typeof errors

  constructor(word: keyof typeof errors) {
    super(word)
    this.word = word
  }
}

export function answerToken(request: WireRequest, state: AccessState, nowMs: number): WireAnswer {
  try {
    const fields = formOf(request)
    requireClient(fields)
    const grantType = fields.get('grant_type')
    if (grantType === 'authorization_code') return give(redeemCode(fields, state, nowMs), 0, state, nowMs)
    if (grantType !== 'refresh_token') {
      throw new TokenRefusal(grantType === null ? 'invalid_request' : 'unsupported_grant_type')
    }
    const spent = redeemRefresh(fields, state, nowMs)
    return give(spent, spent.serial + 1, state, nowMs)
  } catch (error) {
    if (error instanceof TokenRefusal) return refuse(error.word)
    throw error
  }
}

/** Ends everything that followed from the sign-in. The answer is 200 in any case, as the documents say. */
export function answerRevoke(request: WireRequest, { tokens, families }: AccessState): WireAnswer {
  const text = new URLSearchParams(request.body).get('token') ?? ''
  const claims = tokens.open('access', text) ?? tokens.open('refresh', text)
  if (claims !== undefined) families.end(claims)
  return { status: 200, headers: { 'cache-control': 'no-store' }, body: '{}' }
}

/** Finds whose call this is by the code or token in it, before any of it was checked. */
export function findAccountOf(request: WireRequest, { tokens }: AccessState): string | undefined {
  const fields = new URLSearchParams(request.body)
  const claims =
    tokens.open('code', fields.get('code') ?? '') ?? tokens.open('refresh', fields.get('refresh_token') ?? '')
  return claims?.account
}

function formOf(request: WireRequest): URLSearchParams {
  const type = request.headers['content-type'] ?? ''
  const fields = new URLSearchParams(request.body)
  const names = [...fields.keys()]
  if (!type.startsWith('application/x-www-form-urlencoded') || new Set(names).size !== names.length) {
    throw new TokenRefusal('invalid_request')
  }
  return fields
}

function requireClient(fields: URLSearchParams): void {
  const isClient = isSame(fields.get('client_id') ?? '', client.id)
  if (!isSame(fields.get('client_secret') ?? '', client.secret) || !isClient) throw new TokenRefusal('invalid_client')
}

/** A caller that cannot prove that the code belongs to it neither spends the code nor ends what followed from it. */
function redeemCode(fields: URLSearchParams, { tokens, families }: AccessState, nowMs: number): Claims {
  const [text, redirectUri] = [fields.get('code'), fields.get('redirect_uri')]
  if (text === null || redirectUri === null) throw new TokenRefusal('invalid_request')
  const code = tokens.open('code', text)
  if (code === undefined) throw new TokenRefusal('invalid_grant')
  const isOwner = redirectUri === code.redirectUri && isVerified(code, fields.get('code_verifier'))
  if (!isOwner || !families.spendCode(code) || nowMs >= code.issuedMs + codeLifeMs)
    throw new TokenRefusal('invalid_grant')
  return code
}

/** A client that did not begin with a challenge may not end with a verifier (RFC 9700 §2.1.1). */
function isVerified({ challenge }: AuthorizationCodeClaims, verifier: string | null): boolean {
  if (challenge === '' || verifier === null) return challenge === '' && verifier === null
  const digest = createHash('sha256').update(verifier).digest('base64url')
  return isSame(challenge.startsWith('S256:') ? `S256:${digest}` : `plain:${verifier}`, challenge)
}

function redeemRefresh(fields: URLSearchParams, { tokens, families }: AccessState, nowMs: number): Claims {
  const text = fields.get('refresh_token')
  if (text === null) throw new TokenRefusal('invalid_request')
  const claims = tokens.open('refresh', text)
  if (claims === undefined) throw new TokenRefusal('invalid_grant')
  if (nowMs >= claims.issuedMs + refreshLifeMs || !families.spendRefresh(claims))
    throw new TokenRefusal('expired_grant')
  return claims
}

function give({ account, family, scope }: Claims, serial: number, state: AccessState, nowMs: number): WireAnswer {
  const owner = state.accounts.findById(account)
  if (owner === undefined || owner.scenario.key.refused === true) throw new TokenRefusal('invalid_grant')
  const claims: Claims = { account, family, serial, issuedMs: nowMs, scope }
  const scopes = [...scopesOf(owner, scope)]
  const body = {
    access_token: state.tokens.seal('access', claims),
    token_type: 'bearer',
    expires_in: accessLifeMs / 1_000,
    ...(scopes.includes('offline_access') && { refresh_token: state.tokens.seal('refresh', claims) }),
    scope: scopes.join(' '),
  }
  return { status: 200, headers: { 'cache-control': 'no-store' }, body: JSON.stringify(body) }
}

/** What a sign-in that the person has taken back is answered. */
export function refuseGrant(): WireAnswer {
  return refuse('invalid_grant')
}

function refuse(word: keyof typeof errors): WireAnswer {
  const [status, description] = errors[word]
  const error = word === 'expired_grant' ? 'invalid_grant' : word
  const body = JSON.stringify({ error, error_description: description })
  return { status, headers: { 'cache-control': 'no-store' }, body, error }
}
