/**
 * Refreshing (RFC 6749 §6) with rotation and reuse detection (RFC 9700 §4.14.2).
 *
 *   present token             → rotated: it is spent, the next pair is in force
 *   the one before, within    → honest retry: the same pair again. The answer may have been lost, and the next token is
 *   10 s                        still unused, or it would itself be the one before. With another scope it is refused,
 *                               and nothing ends: with the first one its holder gets the pair
 *   any other of the family   → replay: two parties hold tokens of it, and either may be the thief. It ends
 *
 * A narrower scope narrows the access token alone: the new refresh token has the scope of the old one (§6), so the next
 * refresh may ask for everything again, and never for more than the user gave and the client may still have.
 */
import { findScopes, keepAllowed, type PlatformScope } from '../../tenants/index.ts'
import { findUserToken } from '../caller-store.ts'
import { checkClient, readCredentials, requireSecret, toSafeId, type OauthRequest } from '../client-authentication.ts'
import { accessTokenSeconds } from '../lifetimes.ts'
import { OAuthError, required, type ExchangeDeps, type TokenResponse } from '../protocol.ts'
import {
  derivePair,
  nonceBytes,
  readAccessToken,
  readRefreshToken,
  sameHash,
  sha256,
  type RefreshToken,
  type TokenPair,
} from '../token-values.ts'
import type { Family, ReplayedFamily } from './family-store.ts'
import * as store from './family-store.ts'
import { recordAudit } from '../../audit.ts'
import type { Database, Sql } from '../../db/index.ts'

/** For a request without anything that could be a refresh token; no user has this key. */
const noHandle: store.PresentedHandle = { userKey: '0', handleHash: Buffer.alloc(0) }

export async function refresh(deps: ExchangeDeps, request: OauthRequest): Promise<TokenResponse> {
  // If two refreshes use the same token at the same time, one of them rotates it. The other one looks again and counts
  // as an honest retry.
  const outcome = (await tryRefresh(deps, request)) ?? (await tryRefresh(deps, request))
  if (outcome === undefined) throw new Error('a refresh token that was spent before became the present one again')
  return outcome
}

/** Undefined, with nothing changed, when another refresh was faster. */
async function tryRefresh(deps: ExchangeDeps, request: OauthRequest): Promise<TokenResponse | undefined> {
  const { parameters } = request
  const credentials = readCredentials(request)
  const presented = readRefreshToken(parameters.get('refresh_token') ?? '')
  // One round trip reads both. The family is not examined before the client has been checked.
  const { client, family, now } = await store.findFamily(deps.db, presented ?? noHandle, toSafeId(credentials))
  const caller = requireSecret(checkClient(deps.tenants, client, credentials))
  required(parameters, 'refresh_token')
  if (presented === undefined || family?.live !== true) throw invalidToken()
  const asked = parameters.get('scope')
  const allowed = keepAllowed(family.scopes, caller)
  const scopes = asked === undefined ? allowed : findScopes(asked, allowed)
  if (sameHash(presented.tokenHash, family.refreshHash)) {
    if (!allowed.includes('offline_access')) throw invalidToken()
    if (scopes === undefined) throw invalidScope('among those of the refresh token and of the client')
    return rotate(deps, family, presented, scopes, now)
  }
  const again = await findRetry(deps, family, presented, scopes, now)
  if (again !== undefined) return again
  // The transaction ends before the refusal, which therefore undoes nothing.
  await endReplayed(deps.db, 'refresh_token', (tx) => store.revokeReplayed(tx, presented.userKey, family.familyId))
  throw invalidToken()
}

async function rotate(
  { db, tokenKeys: [key], randomBytes }: ExchangeDeps,
  family: Family,
  presented: RefreshToken,
  scopes: readonly PlatformScope[],
  now: string,
): Promise<TokenResponse | undefined> {
  const nonce = randomBytes(nonceBytes)
  const pair = derivePair(key, presented, nonce)
  const rotated = await store.rotateFamily(db, {
    userKey: presented.userKey,
    familyId: family.familyId,
    spentHash: presented.tokenHash,
    refreshHash: sha256(pair.refreshToken),
    nonce,
    accessHash: sha256(pair.accessToken),
    accessScopes: scopes,
    now,
  })
  if (!rotated) return undefined
  const refreshSeconds = secondsBetween(now, family.expiresAt)
  return toResponse(pair, family, scopes, {
    accessSeconds: Math.min(accessTokenSeconds, refreshSeconds),
    refreshSeconds,
  })
}

/** The answer that was already given for this token, or undefined when this is not a retry. */
async function findRetry(
  { db, tokenKeys }: ExchangeDeps,
  family: Family,
  presented: RefreshToken,
  scopes: readonly PlatformScope[] | undefined,
  now: string,
): Promise<TokenResponse | undefined> {
  const { spentNonce } = family
  if (!family.retriable || spentNonce === null) return undefined
  // Only the token that was exchanged for the one now in force derives it. Which key did it is not known: the ring may
  // have been rotated in between.
  const pair = tokenKeys
    .map((key) => derivePair(key, presented, spentNonce))
    .find(({ refreshToken }) => sameHash(sha256(refreshToken), family.refreshHash))
  if (pair === undefined) return undefined
  const token = readAccessToken(pair.accessToken)
  const access = token?.kind === 'user' ? await findUserToken(db, token) : undefined
  // Without its access token the pair is still the answer: it alone has the refresh token that is now in force. The
  // scope was that access token's, so there is nothing left that it could differ from.
  if (scopes === undefined || (access !== undefined && access.scopes.join(' ') !== scopes.join(' '))) {
    throw invalidScope('the one that this refresh token was first sent with')
  }
  return toResponse(pair, family, scopes, {
    accessSeconds: access === undefined ? 0 : secondsBetween(now, access.expiresAt),
    refreshSeconds: secondsBetween(now, family.expiresAt),
  })
}

function secondsBetween(now: string, end: string): number {
  return Math.floor((Date.parse(end) - Date.parse(now)) / 1_000)
}

function toResponse(
  pair: TokenPair,
  { userId, grantId }: Family,
  scopes: readonly PlatformScope[],
  lifetimes: { accessSeconds: number; refreshSeconds: number },
): TokenResponse {
  return {
    access_token: pair.accessToken,
    token_type: 'Bearer',
    expires_in: lifetimes.accessSeconds,
    scope: scopes.join(' '),
    refresh_token: pair.refreshToken,
    refresh_token_expires_in: lifetimes.refreshSeconds,
    user_id: userId,
    grant_id: grantId,
  }
}

function invalidScope(expected: string): OAuthError {
  return new OAuthError('invalid_scope', `scope must be ${expected}`)
}

/** One text for every reason, because the reason concerns only the owner of the family. */
function invalidToken(): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'the refresh token is unknown, used, expired or revoked: send the user to connect again',
  )
}

/**
 * A spent code or refresh token came back (RFC 9700 §4.14.2): its family ends, and the audit log names whose it was.
 */
export async function endReplayed(
  db: Database,
  spent: 'code' | 'refresh_token',
  revoke: (tx: Sql) => Promise<ReplayedFamily | undefined>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const family = await revoke(tx)
    if (family === undefined) return
    const { grantId, ...whose } = family
    await recordAudit(tx, {
      ...whose,
      actor: 'service',
      action: 'tokens.replayed',
      subject: grantId,
      fields: [spent],
    })
  })
}
