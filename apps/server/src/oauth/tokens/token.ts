/**
 * The token endpoint (RFC 6749 §3.2): it finds the grant type and the client, and handles the two grants that begin
 * something. The authorization code grant (§4.1.3 with RFC 7636 §4.5) gives short-term access to a caller with the
 * verifier. A caller with the client's secret also gets a refresh token if the code has the scope `offline_access`.
 * Refreshing is in refresh.ts.
 */
import { newId } from '@assay/core'
import { findScopes, isEnterpriseScope, keepAllowed, type Client, type Scope } from '../../tenants/index.ts'
import * as callers from '../caller-store.ts'
import {
  authenticateClient,
  checkClient,
  readCredentials,
  toSafeId,
  type OauthRequest,
} from '../client-authentication.ts'
import * as codes from '../code-store.ts'
import { accessTokenSeconds, grantSeconds } from '../lifetimes.ts'
import { OAuthError, required, type ExchangeDeps, type Parameters, type TokenResponse } from '../protocol.ts'
import {
  newClientToken,
  newRefreshToken,
  newUserToken,
  readRefreshToken,
  readUserToken,
  sha256,
  verifiesChallenge,
} from '../token-values.ts'
import { findFamilyOfCode, revokeFamilyOfCode } from './family-store.ts'
import { refresh, endReplayed } from './refresh.ts'

export async function token(deps: ExchangeDeps, request: OauthRequest): Promise<TokenResponse> {
  const { parameters } = request
  switch (required(parameters, 'grant_type')) {
    case 'authorization_code':
      return exchangeAuthorizationCode(deps, request)
    case 'refresh_token':
      return refresh(deps, request)
    case 'client_credentials':
      return issueClientToken(deps, await authenticateClient(deps.tenants, request), parameters)
    default:
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type must be authorization_code, refresh_token or client_credentials',
      )
  }
}

/** Takes the place of a code that is missing or malformed; no user has this key. */
const noCode: codes.PresentedAuthorizationCode = { userKey: '0', codeHash: Buffer.alloc(0) }

async function exchangeAuthorizationCode(deps: ExchangeDeps, request: OauthRequest): Promise<TokenResponse> {
  const { parameters } = request
  const credentials = readCredentials(request)
  const presented = readAuthorizationCode(parameters.get('code'))
  // One round trip reads both. The code is not examined before the client has been checked.
  const found = await codes.findAuthorizationCode(deps.db, presented ?? noCode, toSafeId(credentials))
  const { client, authenticated } = checkClient(deps.tenants, found.client, credentials)
  required(parameters, 'code')
  const redirectUri = required(parameters, 'redirect_uri')
  const verifier = parameters.get('code_verifier')
  if (verifier === undefined && !authenticated) {
    throw new OAuthError('invalid_request', 'code_verifier or client_secret is missing')
  }
  // RFC 9700 §2.1.1: against code injection even a confidential client should send the verifier.
  if (verifier === undefined && client.requireCodeVerifier) {
    throw new OAuthError('invalid_request', 'code_verifier is missing')
  }
  if (presented === undefined) throw invalidCode()
  const { code } = found
  if (code === null) {
    // Codes stay in histories and logs. With one of them alone anybody could end tokens that live for a year, also by
    // having the client itself redeem it, which then sends the verifier of another request.
    if (verifier !== undefined && !(await hasVerifierOfSpent(deps, presented, client.clientId, verifier))) {
      throw invalidCode()
    }
    return refuseSpent(deps, presented, client.clientId)
  }
  // The checks below spend nothing: a thief of a code without its verifier must not be able to burn it.
  if (code.expired) throw invalidCode()
  if (code.redirectUri !== redirectUri) {
    throw new OAuthError('invalid_grant', 'redirect_uri is not the one of the authorization request')
  }
  if (verifier !== undefined && !verifiesChallenge(verifier, code.codeChallenge, code.codeChallengeMethod)) {
    throw new OAuthError('invalid_grant', 'code_verifier does not match the code_challenge')
  }
  const scopes = keepAllowed(code.scopes, client)
  if (scopes.length === 0) {
    throw new OAuthError('invalid_scope', 'this client may no longer have any of the scopes that the user agreed to')
  }
  const refreshable = authenticated && scopes.includes('offline_access')
  return spendAuthorizationCode(deps, presented, client.clientId, { ...code, scopes }, refreshable)
}

function readAuthorizationCode(text: string | undefined): codes.PresentedAuthorizationCode | undefined {
  const read = text === undefined ? undefined : readUserToken(text)
  return read && { userKey: read.userKey, codeHash: read.tokenHash }
}

async function spendAuthorizationCode(
  deps: ExchangeDeps,
  presented: codes.PresentedAuthorizationCode,
  clientId: string,
  code: codes.FoundAuthorizationCode,
  refreshable: boolean,
): Promise<TokenResponse> {
  const { userKey } = presented
  const { tenantKey, tenantId, userId, scopes, connectSessionId, carriedUntil } = code
  const now = deps.db.now()
  const nowMs = Date.parse(now)
  const yearEndMs = nowMs + grantSeconds * 1_000
  const grantEndMs = carriedUntil === null ? yearEndMs : Math.min(yearEndMs, Date.parse(carriedUntil))
  const refresh_token_expires_in = Math.floor((grantEndMs - nowMs) / 1_000)
  const accessToken = newUserToken(userKey, deps.randomBytes)
  const refreshToken = refreshable ? newRefreshToken(userKey, deps.randomBytes) : undefined
  const read = refreshToken === undefined ? undefined : readRefreshToken(refreshToken)
  const redemption: codes.Redemption = {
    ...presented,
    clientId,
    scopes,
    newGrantId: newId('grt'),
    now,
    grantEndsAt: new Date(grantEndMs).toISOString(),
    carriesConsent: carriedUntil !== null,
    accessHash: sha256(accessToken),
    refreshHandleHash: read?.handleHash ?? null,
    refreshHash: read?.tokenHash ?? null,
  }
  const grantId = await (connectSessionId === null
    ? codes.redeemAuthorizationCode(deps.db, redemption)
    : deps.db.transaction(async (tx) => {
        const granted = await codes.redeemAuthorizationCode(tx, redemption)
        if (granted === undefined) return undefined
        const event = { tenantKey, tenantId, userKey, userId, clientId, grantId: granted, connectSessionId }
        await deps.onCodeRedeemed(tx, event)
        return granted
      }))
  // Another redemption of this code came first, or the grant whose consent it carries has ended.
  if (grantId === undefined) return refuseSpent(deps, presented, clientId)
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: Math.min(accessTokenSeconds, refresh_token_expires_in),
    scope: scopes.join(' '),
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken, refresh_token_expires_in }),
    user_id: userId,
    grant_id: grantId,
  }
}

async function hasVerifierOfSpent(
  { db }: ExchangeDeps,
  presented: codes.PresentedAuthorizationCode,
  clientId: string,
  verifier: string,
): Promise<boolean> {
  const family = await findFamilyOfCode(db, presented, clientId)
  return family !== undefined && verifiesChallenge(verifier, family.codeChallenge, family.codeChallengeMethod)
}

/**
 * The code is unknown, another client's, or spent. RFC 6749 §4.1.2: a code used twice takes its tokens with it. The
 * transaction ends before the refusal, which therefore undoes nothing.
 */
async function refuseSpent(
  { db }: ExchangeDeps,
  presented: codes.PresentedAuthorizationCode,
  clientId: string,
): Promise<never> {
  await endReplayed(db, 'code', (tx) => revokeFamilyOfCode(tx, presented, clientId))
  throw invalidCode()
}

function invalidCode(): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'the code is unknown, used or expired: send the user to connect again, and redeem the code within a minute',
  )
}

/** RFC 6749 §4.4: the tenant's own access, over all its users. No refresh token (§4.4.3). */
async function issueClientToken(deps: ExchangeDeps, client: Client, parameters: Parameters): Promise<TokenResponse> {
  const allowed = client.scopes.filter(isEnterpriseScope)
  if (allowed.length === 0) throw new OAuthError('unauthorized_client', 'this client has no enterprise scopes')
  const asked = parameters.get('scope')
  const scopes: Scope[] | undefined = asked === undefined ? allowed : findScopes(asked, allowed)
  if (scopes === undefined) {
    throw new OAuthError('invalid_scope', 'scope must be among the enterprise scopes of this client')
  }
  const accessToken = newClientToken(deps.randomBytes)
  await callers.insertClientToken(deps.db, {
    tokenHash: sha256(accessToken),
    tenantKey: client.tenantKey,
    tenantId: client.tenantId,
    clientId: client.clientId,
    scopes,
  })
  return { access_token: accessToken, token_type: 'Bearer', expires_in: accessTokenSeconds, scope: scopes.join(' ') }
}
