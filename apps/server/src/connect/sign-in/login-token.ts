/**
 * `login_token`: the application says who the user is, in a JWT (RFC 7519) signed with a key registered for the client.
 * It is bound to this client, this issuer and this very authorization request (`code_challenge`), lasts a minute and
 * works once, so a token that leaks in a URL opens nothing. Checks by RFC 8725 (algorithms, key and audience are ours
 * to choose, not the token's).
 */
import { createHash } from 'node:crypto'
import { createLocalJWKSet, errors, jwtVerify, type JWTPayload } from 'jose'
import type { Sql } from '../../db/index.ts'
import { OAuthError, type AuthorizationRequest } from '../../oauth/index.ts'
import type { LoginKey } from '../../tenants/index.ts'
import * as store from '../store.ts'

const lifeSecondsMax = 60
/** How far the application's clock may be off. */
const skewSeconds = 5
const claimLengthMax = 255

export interface LoginTokenDeps {
  sql: Sql
  issuer: string
  now: () => number
  listLoginKeys: (clientId: string) => Promise<LoginKey[]>
}

export interface Login {
  /** The tenant's own id of the user. */
  subject: string
  /** The key that signed it. */
  keyId: string
}

export async function verifyLoginToken(
  deps: LoginTokenDeps,
  request: AuthorizationRequest,
  token: string,
): Promise<Login> {
  const { client, codeChallenge } = request
  const refuse = (reason: string): OAuthError => refuseLogin(request, reason)

  const keys = await deps.listLoginKeys(client.clientId)
  if (keys.length === 0) throw refuse('cannot be used: this client has no login key')
  const { claims, keyId } = await verifySignature(deps, client.clientId, keys, token).catch((error: unknown) => {
    if (error instanceof errors.JOSEError) throw refuse(describe(error))
    throw error
  })

  const { iat, exp, sub, jti } = claims
  if (iat === undefined || exp === undefined || exp <= iat) throw refuse('must have an exp after its iat')
  if (exp - iat > lifeSecondsMax) throw refuse(`must live for at most ${lifeSecondsMax} seconds`)
  if (iat > deps.now() / 1_000 + skewSeconds) throw refuse('is from the future: check the clock')
  if (!isName(sub)) throw refuse(`must have a sub of at most ${claimLengthMax} characters`)
  if (!isName(jti)) throw refuse(`must have a jti of at most ${claimLengthMax} characters`)
  if (claims['code_challenge'] !== codeChallenge) throw refuse('must have the code_challenge of this request')

  const fresh = await store.spendLoginToken(deps.sql, {
    clientId: client.clientId,
    jtiHash: createHash('sha256').update(jti).digest(),
    expiresAt: new Date((exp + 2 * skewSeconds) * 1_000).toISOString(),
  })
  if (!fresh) throw refuse('was used before')
  return { subject: sub, keyId }
}

/** The reason helps the client's developers; the token itself is never repeated. */
export function refuseLogin({ redirectUri, state }: AuthorizationRequest, reason: string): OAuthError {
  return new OAuthError('invalid_request', `login_token ${reason}`, { redirectUri, state })
}

function isName(claim: unknown): claim is string {
  if (typeof claim !== 'string' || claim === '' || claim.length > claimLengthMax) return false
  return claim.isWellFormed() && !/\p{Cc}/u.test(claim)
}

async function verifySignature(
  { issuer, now }: LoginTokenDeps,
  clientId: string,
  keys: readonly LoginKey[],
  token: string,
): Promise<{ claims: JWTPayload; keyId: string }> {
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet({ keys: keys.map(({ jwk }) => jwk) }), {
    algorithms: ['ES256', 'EdDSA'],
    issuer: clientId,
    audience: issuer,
    requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'code_challenge'],
    clockTolerance: skewSeconds,
    currentDate: new Date(now()),
  })
  // A token for several services could be used here by each of the others.
  if ([payload.aud].flat().length !== 1) throw new errors.JWTClaimValidationFailed('several audiences', payload, 'aud')
  // The set above has exactly one key that fits the header.
  const { alg, kid } = protectedHeader
  const signer = keys.find(({ jwk }) => jwk.alg === alg && (typeof kid !== 'string' || jwk.kid === kid))
  if (signer === undefined) throw new Error('a login token was verified with a key that is not among those given')
  return { claims: payload, keyId: signer.keyId }
}

function describe(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return `has a wrong or missing ${error.claim}`
  if (error instanceof errors.JWKSNoMatchingKey) return 'is signed with a key that is not registered for this client'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'must name its key (kid): this client has several'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'has a wrong signature'
  return 'must be a JWT signed by ES256 or EdDSA'
}
