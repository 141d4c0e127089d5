/**
 * Front door of the authorization server: codes, tokens, grants, and the bearers of tokens.
 *
 * One *grant* for each user and client says what the user last agreed to, for a year. Each redeemed code starts a
 * *token family*, which keeps the scopes, the text and the end of its own consent: a later consent neither widens nor
 * prolongs nor narrows it (an application may ask for less in one place without losing what another place was given).
 * What is shown as the scopes of a grant includes those of its live families. Ending the grant ends all its families;
 * consenting again revives the grant, not them.
 */
import { Refusal } from '@assay/core'
import { createSecretKey } from 'node:crypto'
import { recordAudit } from '../audit.ts'
import type { Database, Sql } from '../db/index.ts'
import { noteUser } from '../notices.ts'
import type { Owner } from '../owner.ts'
import { enterpriseScopes, platformScopes, type Client, type PlatformScope, type Tenants } from '../tenants/index.ts'
import {
  findErrorRedirect,
  parseAuthorizationRequest,
  toCodeRedirect,
  type AuthorizationRequest,
} from './authorization-request.ts'
import * as callers from './caller-store.ts'
import type { OauthRequest } from './client-authentication.ts'
import type { Consent } from './code-store.ts'
import * as codes from './code-store.ts'
import * as grants from './grant-store.ts'
import type { ExchangeDeps, OAuthError, ReturnAddress } from './protocol.ts'
import {
  findBearer,
  newUserToken,
  readAccessToken,
  refuseAccessToken,
  sha256,
  type CodeChallengeMethod,
  type RandomBytes,
} from './token-values.ts'
import { introspect, revoke } from './tokens/revoke-introspect.ts'
import { token } from './tokens/token.ts'

export { OAuthError, type OAuthErrorCode, type ReturnAddress } from './protocol.ts'
export { addToRedirectUri } from './authorization-request.ts'
export { grantSeconds } from './lifetimes.ts'
export { parseParameters } from './protocol.ts'
export { callerCte, clientCallerCte, type Allowance } from './caller-store.ts'
export { findBearer, readBearer, refuseAccessToken, type AccessToken } from './token-values.ts'
export type { AuthorizationRequest } from './authorization-request.ts'
export { findClaim, type OauthRequest } from './client-authentication.ts'
export type { Consent } from './code-store.ts'
export type { EndedGrant, Grant } from './grant-store.ts'
export type { CodeRedeemed, TokenResponse } from './protocol.ts'

export interface OauthDeps {
  db: Database
  tenants: Pick<Tenants, 'findClient' | 'verifySecret'>
  /** The first derives new pairs; older ones still recognise an honest retry after a rotation of keys. */
  keys: { tokenKey: Uint8Array; olderTokenKeys?: readonly Uint8Array[] }
  /** `{auth_url}`. */
  issuer: string
  /** `{widget_url}`. */
  widgetUrl: string
  onCodeRedeemed: ExchangeDeps['onCodeRedeemed']
  /**
   * In the transaction that ends the user's grant to a client, or all of the user's grants: a consent that is on its
   * way to a code must not bring the grant back. It is called before the codes are deleted. Sessions that a grant lets
   * in (`holdConsent`) have begun by then, or wait until the grant has ended.
   */
  onGrantEnding?: (tx: Sql, user: Owner, clientId: string | null) => Promise<void>
  /** In the transaction that ends the grant. */
  onGrantRevoked?: (tx: Sql, grant: Owner & { grantId: string }) => Promise<void>
  randomBytes: RandomBytes
}

export interface NewAuthorization {
  client: Client
  owner: Owner
  redirectUri: string
  codeChallenge: string
  codeChallengeMethod: CodeChallengeMethod
  scopes: readonly PlatformScope[]
  /** The connect session that leads to the code. */
  connectSessionId: string | null
  consent: Consent
}

/** Who a request of the API comes from. */
export interface TokenCaller {
  tenantKey: number
  tenantId: string
  clientId: string
  /** Null, like the user's id and the grant, for a tenant's own (enterprise) access. */
  userKey: string | null
  userId: string | null
  grantId: string | null
  /** Set for a user's token that `authenticate` has checked. */
  familyId?: string | null
  scopes: ReadonlySet<string>
  expiresAt: string
}

/** A caller whose token was checked: when the token ends no longer matters. */
export type Caller = Omit<TokenCaller, 'expiresAt'>

const sweepBatchSize = 1_000

export type Oauth = ReturnType<typeof createOauth>

export function createOauth(deps: OauthDeps) {
  const { db, tenants, keys, issuer, widgetUrl, onCodeRedeemed, randomBytes } = deps
  const tokenDeps: ExchangeDeps = {
    db,
    tenants,
    // Made once: from raw bytes Node makes a key at every call, which takes longer than the HMAC itself.
    tokenKeys: [createSecretKey(keys.tokenKey), ...(keys.olderTokenKeys ?? []).map((key) => createSecretKey(key))],
    onCodeRedeemed,
    randomBytes,
  }

  /** RFC 6749 §4.1.2. The caller has seen the user consent; the user and the client are of one tenant. */
  async function issueAuthorizationCode(
    { client, ...authorization }: NewAuthorization,
    sql: Sql = db,
  ): Promise<string> {
    const { tenantKey, userKey } = authorization.owner
    if (client.tenantKey !== tenantKey) throw new Error('a code was asked for across tenants')
    const code = newUserToken(userKey, randomBytes)
    await codes.insertAuthorizationCode(sql, { ...authorization, clientId: client.clientId, codeHash: sha256(code) })
    return code
  }

  async function authenticate(authorization: string | undefined): Promise<TokenCaller> {
    const bearer = findBearer(authorization)
    if (bearer === undefined)
      throw new Refusal(
        'invalid_token',
        'This request needs an access token in the header Authorization: Bearer <access token>.',
      )
    const presented = readAccessToken(bearer)
    const found = presented && (await callers.findToken(db, presented))
    if (found === undefined) throw refuseAccessToken()
    const { tenantKey, tenantId, clientId, userId, grantId, familyId, scopes, expiresAt } = found
    const userKey = presented?.kind === 'user' ? presented.userKey : null
    return { tenantKey, tenantId, clientId, userKey, userId, grantId, familyId, scopes: new Set(scopes), expiresAt }
  }

  return {
    /** Throws an OAuthError that says whether it may be sent back. */
    parseAuthorizationRequest: (entries: Iterable<readonly [string, string]>): Promise<AuthorizationRequest> =>
      parseAuthorizationRequest(entries, tenants.findClient),
    toCodeRedirect: (to: ReturnAddress, code: string): string => toCodeRedirect(issuer, to, code),
    /** Undefined when the error belongs on a page of ours. */
    findErrorRedirect: (error: OAuthError): string | undefined => findErrorRedirect(issuer, error),
    issueAuthorizationCode,
    /** Another code for a connect session, in place of the one it has; undefined when that one can no longer be redeemed. */
    async replaceCode(tx: Sql, { userKey }: Owner, connectSessionId: string): Promise<string | undefined> {
      const code = newUserToken(userKey, randomBytes)
      return (await codes.replaceSessionCode(tx, userKey, connectSessionId, sha256(code))) ? code : undefined
    },
    token: (request: OauthRequest) => token(tokenDeps, request),
    authenticate,
    /** For an answer that takes long: whether what it was allowed by still holds. */
    isAllowed: (allowance: callers.Allowance): Promise<boolean> => callers.isAllowed(db, allowance),
    revoke: (request: OauthRequest) => revoke({ db, tenants, issuer }, request),
    introspect: (request: OauthRequest) => introspect({ db, tenants, issuer }, request),
    metadata: () => toMetadata(issuer, widgetUrl),
    /** Waits for what ends or issues codes and grants of the user, and blocks it until the transaction has ended. */
    lockUser: (tx: Sql, user: Owner): Promise<void> => grants.lockGrants(tx, user.userKey),
    /** The user is deleted: ends every code, token and grant of the user. */
    deleteUser: (tx: Sql, user: Owner): Promise<void> => grants.deleteUser(tx, user.userKey),
    /** Undefined without a live grant; otherwise the grant does not end before the transaction does. */
    holdConsent: (tx: Sql, user: Owner, clientId: string) => grants.holdConsent(tx, user.userKey, clientId),
    listGrants: (user: Pick<Owner, 'userKey'>) => grants.listGrants(db, user.userKey),
    listEndedGrants: (user: Owner) => grants.listEndedGrants(db, user.userKey),
    /** Ends the grant, its outstanding codes and its families; false when there was nothing to end. */
    revokeGrant: (user: Owner, grantId: string): Promise<boolean> => revokeGrant(deps, user, grantId),
    /** Ends every grant of the user; how many there were. */
    endGrants: (user: Owner): Promise<number> => endGrants(deps, user),
    /** Upkeep: users with a grant that ended before then, until `markLapseSeen` is called for them. */
    listLapsed: (before: string, limit: number): Promise<Owner[]> => grants.listLapsed(db, before, limit),
    /** True when all of the user's grants ended before then. */
    markLapseSeen: (tx: Sql, user: Owner, before: string): Promise<boolean> =>
      grants.markLapseSeen(tx, user.userKey, before),
    /** Deletes expired rows in batches. Returns how many, so that the caller repeats it until there are none. */
    sweep: (): Promise<number> => grants.deleteExpired(db, sweepBatchSize),
  }
}

function revokeGrant({ db, onGrantEnding, onGrantRevoked }: OauthDeps, user: Owner, grantId: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const grant = (await grants.listGrants(tx, user.userKey)).find((one) => one.grantId === grantId)
    if (grant === undefined) return false
    const { clientId } = grant
    await grants.lockEnding(tx, user.userKey)
    await onGrantEnding?.(tx, user, clientId)
    if (!(await grants.revokeGrant(tx, user.userKey, clientId))) return false
    await onGrantRevoked?.(tx, { ...user, grantId })
    await noteUser(tx, user)
    const { tenantId, userId } = user
    await recordAudit(tx, { tenantId, userId, clientId, actor: 'user', action: 'grant.revoked', subject: grantId })
    return true
  })
}

function endGrants({ db, onGrantEnding }: OauthDeps, user: Owner): Promise<number> {
  return db.transaction(async (tx) => {
    if ((await grants.listGrants(tx, user.userKey)).length === 0) return 0
    await grants.lockEnding(tx, user.userKey)
    await onGrantEnding?.(tx, user, null)
    const ended = await grants.revokeGrants(tx, user.userKey)
    if (ended.length === 0) return 0
    await noteUser(tx, user)
    const { tenantId, userId } = user
    for (const { grantId, clientId } of ended) {
      await recordAudit(tx, { tenantId, userId, clientId, actor: 'tenant', action: 'grant.ended', subject: grantId })
    }
    return ended.length
  })
}

// The metadata of the authorization server: RFC 8414 §2, and RFC 9207 §3 for the issuer in authorization answers.

/** `issuer` is `{auth_url}` to the letter: clients compare it as text with the `iss` they are sent. */
function toMetadata(issuer: string, widgetUrl: string) {
  const withSecret = ['client_secret_basic', 'client_secret_post']
  return {
    issuer,
    authorization_endpoint: widgetUrl,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    token_endpoint: `${issuer}/oauth/token`,
    token_endpoint_auth_methods_supported: ['none', ...withSecret],
    revocation_endpoint: `${issuer}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: ['none', ...withSecret],
    introspection_endpoint: `${issuer}/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: withSecret,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    code_challenge_methods_supported: ['S256', 'plain'],
    scopes_supported: [...platformScopes, ...enterpriseScopes],
    authorization_response_iss_parameter_supported: true,
  }
}
