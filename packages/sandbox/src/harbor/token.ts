/**
 * POST /oauth/token: a code or a refresh token in, a pair of tokens out.
 * Truth: RFC 6749 §4.1.3, §5.1, §5.2, §6; RFC 7636 §4.6; RFC 9700 §4.14 for rotation and what a replay means.
 */
import { createHash } from 'node:crypto'
import type { WireAnswer, WireRequest } from '../core/listener.ts'
import type { HarborAccounts } from './api.ts'
import type { Families } from '../core/families.ts'
import { isSame, type Claims, type Tokens } from '../core/tokens.ts'
import { HarborRefusal, isRepeated, success } from './wire.ts'

const codeLifeMs = 60_000
export const accessLifeMs = 3_600_000

/** The one application that Harbor knows. Public on purpose: it opens nothing but a simulator on loopback. */
export const client = { id: 'assay-sandbox', secret: 'harbor-client-secret', name: 'Assay' } as const

/** All that Harbor knows of who signed in. */
export interface OAuthState {
  accounts: HarborAccounts
  tokens: Tokens
  families: Families
}

export function answerToken(request: WireRequest, state: OAuthState, nowMs: number): WireAnswer {
  const fields = formOf(request)
  const isClient = isSame(fields.get('client_id') ?? '', client.id)
  if (!isSame(fields.get('client_secret') ?? '', client.secret) || !isClient) throw new HarborRefusal('invalid_client')
  const grantType = fields.get('grant_type')
  if (grantType === 'authorization_code') return give(redeemCode(fields, state, nowMs), 0, state, nowMs)
  if (grantType !== 'refresh_token') {
    throw new HarborRefusal(grantType === null ? 'invalid_request' : 'unsupported_grant_type')
  }
  const spent = redeemRefresh(fields, state)
  return give(spent, spent.serial + 1, state, nowMs)
}

/** Whose call this is, by what it carries, before any of it was checked. */
export function findAccountOf(request: WireRequest, tokens: Tokens): string | undefined {
  const fields = new URLSearchParams(request.body)
  const claims =
    tokens.open('code', fields.get('code') ?? '') ?? tokens.open('refresh', fields.get('refresh_token') ?? '')
  return claims?.account
}

/** What an account hands out: what was asked for, unless it is one that always gives the same, or `none` at all. */
export function scopesOf({ key }: { key: { permissions: readonly string[] } }, asked: string): readonly string[] {
  if (key.permissions.length === 0) return asked.split(' ')
  return key.permissions.filter((scope) => scope !== 'none')
}

function formOf(request: WireRequest): URLSearchParams {
  const type = request.headers['content-type'] ?? ''
  const fields = new URLSearchParams(request.body)
  if (!type.startsWith('application/x-www-form-urlencoded') || isRepeated(fields)) {
    throw new HarborRefusal('invalid_request')
  }
  return fields
}

/** Whoever cannot prove that the code is theirs changes nothing: neither spends it nor ends what came of it. */
function redeemCode(fields: URLSearchParams, { tokens, families }: OAuthState, nowMs: number): Claims {
  const [text, redirectUri, verifier] = [fields.get('code'), fields.get('redirect_uri'), fields.get('code_verifier')]
  if (text === null || redirectUri === null || verifier === null) throw new HarborRefusal('invalid_request')
  const code = tokens.open('code', text)
  if (code === undefined) throw new HarborRefusal('invalid_grant')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const isOwner = redirectUri === code.redirectUri && isSame(challenge, code.challenge)
  if (!isOwner || !families.spendCode(code) || nowMs >= code.issuedMs + codeLifeMs) {
    throw new HarborRefusal('invalid_grant')
  }
  return code
}

function redeemRefresh(fields: URLSearchParams, { tokens, families }: OAuthState): Claims {
  const text = fields.get('refresh_token')
  if (text === null) throw new HarborRefusal('invalid_request')
  const claims = tokens.open('refresh', text)
  if (claims === undefined || !families.spendRefresh(claims)) throw new HarborRefusal('invalid_grant')
  return claims
}

function give({ account, family, scope }: Claims, serial: number, state: OAuthState, nowMs: number): WireAnswer {
  const owner = state.accounts.findById(account)
  if (owner === undefined || owner.key.revoked) throw new HarborRefusal('invalid_grant')
  const claims: Claims = { account, family, serial, issuedMs: nowMs, scope }
  return success({
    access_token: state.tokens.seal('access', claims),
    token_type: 'bearer',
    expires_in: accessLifeMs / 1_000,
    refresh_token: state.tokens.seal('refresh', claims),
    scope: scopesOf(owner, scope).join(' '),
  })
}
