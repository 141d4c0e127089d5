/**
 * The token endpoint (RFC 6749 §3.2): which grant, which client, and the two grants that begin something. The
 * authorization code grant (§4.1.3 with RFC 7636 §4.5) gives short-term access to whoever holds the verifier and
 * long-term access to whoever holds the client's secret. Refreshing is in refresh.ts.
 */
import { newId } from '@assay/core'
import type { Sql } from '../db/index.ts'
import { findScopes, isEnterpriseScope, type Client, type Scope } from '../tenants/index.ts'
import {
  authenticateClient,
  identifyClient,
  type IdentifiedClient,
  type OauthRequest,
} from './client-authentication.ts'
import { OAuthError } from './errors.ts'
import type { TokenDeps, TokenResponse } from './exchange.ts'
import { accessTokenSeconds, grantSeconds } from './lifetimes.ts'
import { required, type Parameters } from './parameters.ts'
import { refresh } from './refresh.ts'
import * as store from './store.ts'
import { findHandle, newRefreshToken, newSecret, sha256, verifiesChallenge } from './token-values.ts'

export async function token(deps: TokenDeps, request: OauthRequest): Promise<TokenResponse> {
  const { parameters } = request
  switch (required(parameters, 'grant_type')) {
    case 'authorization_code':
      return redeemCode(deps, await identifyClient(deps.tenants, request), parameters)
    case 'refresh_token':
      return refresh(deps, await authenticateClient(deps.tenants, request), parameters)
    case 'client_credentials':
      return issueClientToken(deps, await authenticateClient(deps.tenants, request), parameters)
    default:
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type must be authorization_code, refresh_token or client_credentials',
      )
  }
}

async function redeemCode(deps: TokenDeps, caller: IdentifiedClient, parameters: Parameters): Promise<TokenResponse> {
  const { client, authenticated } = caller
  const codeHash = sha256(required(parameters, 'code'))
  const redirectUri = required(parameters, 'redirect_uri')
  const verifier = parameters.get('code_verifier')
  if (verifier === undefined && !authenticated) {
    throw new OAuthError('invalid_request', 'code_verifier or client_secret is missing')
  }
  // RFC 9700 §2.1.1: against code injection even a confidential client should send the verifier.
  if (verifier === undefined && client.requireCodeVerifier) {
    throw new OAuthError('invalid_request', 'code_verifier is missing')
  }

  // A refusal is returned, not thrown, out of the transaction: a replay's revocation must be committed.
  const outcome = await deps.db.transaction(async (tx): Promise<TokenResponse | OAuthError> => {
    const code = await store.lockCode(tx, codeHash, client.clientId)
    if (code === undefined) {
      // Unknown, another client's, or spent. RFC 6749 §4.1.2: a code used twice takes its tokens with it.
      await store.revokeFamilyOfCode(tx, codeHash, client.clientId)
      return new OAuthError('invalid_grant', 'the code is unknown, used or expired')
    }
    // The checks below spend nothing: who has stolen a code without its verifier must not be able to burn it.
    if (code.expired) return new OAuthError('invalid_grant', 'the code is unknown, used or expired')
    if (code.redirectUri !== redirectUri) {
      return new OAuthError('invalid_grant', 'redirect_uri is not the one of the authorization request')
    }
    if (verifier !== undefined && !verifiesChallenge(verifier, code.codeChallenge, code.codeChallengeMethod)) {
      return new OAuthError('invalid_grant', 'code_verifier does not match the code_challenge')
    }
    const refreshable = authenticated && code.scopes.includes('offline_access')
    return spendCode(deps, tx, client, codeHash, code, refreshable)
  })
  if (outcome instanceof OAuthError) throw outcome
  return outcome
}

async function spendCode(
  { randomBytes, onCodeRedeemed }: TokenDeps,
  tx: Sql,
  { clientId }: Client,
  codeHash: Buffer,
  { tenantId, userId, scopes, sessionId }: store.LockedCode,
  refreshable: boolean,
): Promise<TokenResponse> {
  const accessToken = newSecret(randomBytes)
  const refreshToken = refreshable ? newRefreshToken(randomBytes) : undefined
  const handle = refreshToken === undefined ? undefined : findHandle(refreshToken)
  const grantId = await store.redeemCode(tx, {
    codeHash,
    newGrantId: newId('grt'),
    accessHash: sha256(accessToken),
    refreshHandleHash: handle === undefined ? null : sha256(handle),
    refreshHash: refreshToken === undefined ? null : sha256(refreshToken),
  })
  await onCodeRedeemed(tx, { tenantId, userId, clientId, grantId, sessionId })
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: accessTokenSeconds,
    scope: scopes.join(' '),
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken, refresh_token_expires_in: grantSeconds }),
    user_id: userId,
    grant_id: grantId,
  }
}

/** RFC 6749 §4.4: the tenant's own access, over all its users. No refresh token (§4.4.3). */
async function issueClientToken(deps: TokenDeps, client: Client, parameters: Parameters): Promise<TokenResponse> {
  const allowed = client.scopes.filter(isEnterpriseScope)
  if (allowed.length === 0) throw new OAuthError('unauthorized_client', 'this client has no enterprise scopes')
  const asked = parameters.get('scope')
  const scopes: Scope[] | undefined = asked === undefined ? allowed : findScopes(asked, allowed)
  if (scopes === undefined) {
    throw new OAuthError('invalid_scope', 'scope must be among the enterprise scopes of this client')
  }
  const accessToken = newSecret(deps.randomBytes)
  await store.insertClientToken(deps.db, {
    accessHash: sha256(accessToken),
    tenantId: client.tenantId,
    clientId: client.clientId,
    scopes,
  })
  return { access_token: accessToken, token_type: 'Bearer', expires_in: accessTokenSeconds, scope: scopes.join(' ') }
}
