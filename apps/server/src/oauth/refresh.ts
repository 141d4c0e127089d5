/**
 * Refreshing (RFC 6749 §6) with rotation and reuse detection (RFC 9700 §4.14.2).
 *
 *   present token             → rotated: it is spent, the next pair is in force
 *   the one before, within    → honest retry: the same pair again. The answer may have been lost on the way, and the next
 *   10 s, same scope            token is still unused, or it would itself be the one before
 *   any other of the family   → replay: two parties hold tokens of it, and nobody can say which is the thief. It ends
 *
 * A narrower scope narrows the access token alone: the new refresh token has the scope of the old one (§6), so the next
 * refresh may ask for everything again, and never for more than the user gave.
 */
import type { Sql } from '../db/index.ts'
import { findScopes, type Client, type PlatformScope } from '../tenants/index.ts'
import { OAuthError } from './errors.ts'
import type { TokenDeps, TokenResponse } from './exchange.ts'
import { required, type Parameters } from './parameters.ts'
import * as store from './store.ts'
import { derivePair, findHandle, nonceBytes, sameHash, sha256, type TokenPair } from './token-values.ts'

interface Presented {
  text: string
  hash: Buffer
  handle: Buffer
}

export async function refresh(deps: TokenDeps, client: Client, parameters: Parameters): Promise<TokenResponse> {
  const text = required(parameters, 'refresh_token')
  const asked = parameters.get('scope')
  const handle = findHandle(text)
  if (handle === undefined) throw invalidToken()
  const presented: Presented = { text, hash: sha256(text), handle }

  // A refusal is returned, not thrown, out of the transaction: a replay's revocation must be committed.
  const outcome = await deps.db.transaction(async (tx): Promise<TokenResponse | OAuthError> => {
    const family = await store.lockFamily(tx, sha256(handle), client.clientId)
    if (family?.live !== true) return invalidToken()
    const scopes = asked === undefined ? family.scopes : findScopes(asked, family.scopes)
    if (sameHash(presented.hash, family.refreshHash)) {
      if (scopes === undefined) {
        return new OAuthError('invalid_scope', 'scope must be among those of the refresh token')
      }
      return rotate(deps, tx, family, presented, scopes)
    }
    const again = await findRetry(deps, tx, family, presented, scopes)
    if (again !== undefined) return again
    await store.revokeFamily(tx, family, 'refresh_replay')
    return invalidToken()
  })
  if (outcome instanceof OAuthError) throw outcome
  return outcome
}

async function rotate(
  { tokenKeys: [key], randomBytes }: TokenDeps,
  tx: Sql,
  family: store.LockedFamily,
  presented: Presented,
  scopes: readonly PlatformScope[],
): Promise<TokenResponse> {
  const nonce = randomBytes(nonceBytes)
  const pair = derivePair(key, presented.text, presented.handle, nonce)
  const lifetimes = await store.rotateFamily(tx, {
    ...family,
    accessHash: sha256(pair.accessToken),
    accessScopes: scopes,
    refreshHash: sha256(pair.refreshToken),
    nonce,
  })
  return toResponse(pair, family, scopes, lifetimes)
}

/** The answer that was already given for this token, or undefined when this is no retry. */
async function findRetry(
  { tokenKeys }: TokenDeps,
  tx: Sql,
  family: store.LockedFamily,
  presented: Presented,
  scopes: readonly PlatformScope[] | undefined,
): Promise<TokenResponse | undefined> {
  const { spentNonce } = family
  if (!family.retriable || spentNonce === null) return undefined
  // Only the token that was exchanged for the one now in force derives it. Which key did it is not known: the ring may
  // have been rotated in between.
  const pair = tokenKeys
    .map((key) => derivePair(key, presented.text, presented.handle, spentNonce))
    .find(({ refreshToken }) => sameHash(sha256(refreshToken), family.refreshHash))
  if (pair === undefined) return undefined
  const access = await store.findAccessToken(tx, sha256(pair.accessToken))
  if (access === undefined || access.scopes.join(' ') !== scopes?.join(' ')) return undefined
  const secondsUntil = (end: string): number => Math.floor((Date.parse(end) - Date.parse(family.now)) / 1_000)
  const lifetimes = { accessSeconds: secondsUntil(access.expiresAt), refreshSeconds: secondsUntil(family.expiresAt) }
  return toResponse(pair, family, scopes, lifetimes)
}

function toResponse(
  pair: TokenPair,
  { userId, grantId }: store.LockedFamily,
  scopes: readonly PlatformScope[],
  lifetimes: store.Lifetimes,
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

/** One text for every reason: which of them it was is the business of the family's owner alone. */
function invalidToken(): OAuthError {
  return new OAuthError('invalid_grant', 'the refresh token is unknown, used, expired or revoked')
}
