/**
 * Front door of the authorization server: codes, tokens, grants, and who a bearer of a token is.
 *
 * One *grant* for each user and client says what the user last agreed to, for a year. Each redeemed code starts a *token
 * family*, which keeps the scopes and the end of its own consent: a later consent neither widens nor prolongs nor
 * narrows it (an application may ask for less in one place without losing what another place was given). Ending the
 * grant ends all its families; consenting again revives the grant, not them.
 */
import { Refusal } from '@assay/core'
import type { Database, Sql } from '../db/index.ts'
import type { Client, PlatformScope, Tenants } from '../tenants/index.ts'
import {
  findErrorRedirect,
  parseAuthorizationRequest,
  toCodeRedirect,
  type AuthorizationRequest,
} from './authorization-request.ts'
import type { OauthRequest } from './client-authentication.ts'
import type { OAuthError, ReturnAddress } from './errors.ts'
import type { TokenDeps } from './exchange.ts'
import { introspect, revoke } from './issued-tokens.ts'
import { toMetadata } from './metadata.ts'
import * as store from './store.ts'
import type { Consent } from './store.ts'
import { token } from './token.ts'
import {
  findBearer,
  isAccessToken,
  newSecret,
  sha256,
  type CodeChallengeMethod,
  type RandomBytes,
} from './token-values.ts'

export { OAuthError, type OAuthErrorCode, type ReturnAddress } from './errors.ts'
export { grantSeconds } from './lifetimes.ts'
export { parseParameters } from './parameters.ts'
export { findBearer } from './token-values.ts'
export type { AuthorizationRequest } from './authorization-request.ts'
export { findClaim, type OauthRequest } from './client-authentication.ts'
export type { Consent, Grant } from './store.ts'
export type { CodeRedeemed, TokenResponse } from './exchange.ts'

export interface OauthDeps {
  db: Database
  tenants: Pick<Tenants, 'findClient' | 'verifySecret'>
  /** The first derives new pairs; older ones still recognise an honest retry after a rotation of keys. */
  keys: { tokenKey: Uint8Array; olderTokenKeys?: readonly Uint8Array[] }
  /** `{auth_url}`. */
  issuer: string
  /** `{widget_url}`. */
  widgetUrl: string
  onCodeRedeemed: TokenDeps['onCodeRedeemed']
  /** In the transaction that ends the grant. */
  onGrantRevoked?: (tx: Sql, grant: { tenantId: string; userId: string; grantId: string }) => Promise<void>
  randomBytes: RandomBytes
}

export interface NewAuthorization {
  client: Client
  userId: string
  redirectUri: string
  codeChallenge: string
  codeChallengeMethod: CodeChallengeMethod
  scopes: readonly PlatformScope[]
  /** The connect session that leads to the code. */
  sessionId: string | null
  consent: Consent
}

/** Who a request of the API comes from. */
export interface Caller {
  tenantId: string
  clientId: string
  /** Null, like the grant, for a tenant's own (enterprise) access. */
  userId: string | null
  grantId: string | null
  scopes: ReadonlySet<string>
  expiresAt: string
}

const sweepBatchSize = 1_000

export type Oauth = ReturnType<typeof createOauth>

export function createOauth(deps: OauthDeps) {
  const { db, tenants, keys, issuer, widgetUrl, onCodeRedeemed, randomBytes } = deps
  const tokenDeps: TokenDeps = {
    db,
    tenants,
    tokenKeys: [keys.tokenKey, ...(keys.olderTokenKeys ?? [])],
    onCodeRedeemed,
    randomBytes,
  }

  /** RFC 6749 §4.1.2. The caller has seen the user consent; the tenant is the client's. */
  async function issueCode({ client, ...authorization }: NewAuthorization, sql: Sql = db): Promise<string> {
    const code = newSecret(randomBytes)
    const { tenantId, clientId } = client
    await store.insertCode(sql, { ...authorization, tenantId, clientId, codeHash: sha256(code) })
    return code
  }

  async function authenticate(authorization: string | undefined): Promise<Caller> {
    const bearer = findBearer(authorization)
    if (bearer === undefined) throw new Refusal('invalid_token', 'This request needs an access token.')
    const found = isAccessToken(bearer) ? await store.findAccessToken(db, sha256(bearer)) : undefined
    if (found === undefined) throw new Refusal('invalid_token', 'The access token is unknown, expired or revoked.')
    const { tenantId, clientId, userId, grantId, scopes, expiresAt } = found
    return { tenantId, clientId, userId, grantId, scopes: new Set(scopes), expiresAt }
  }

  return {
    /** Throws an OAuthError that says whether it may be sent back. */
    parseAuthorizationRequest: (entries: Iterable<readonly [string, string]>): Promise<AuthorizationRequest> =>
      parseAuthorizationRequest(entries, tenants.findClient),
    toCodeRedirect: (to: ReturnAddress, code: string): string => toCodeRedirect(issuer, to, code),
    /** Undefined when the error belongs on a page of ours. */
    findErrorRedirect: (error: OAuthError): string | undefined => findErrorRedirect(issuer, error),
    issueCode,
    token: (request: OauthRequest) => token(tokenDeps, request),
    authenticate,
    revoke: (request: OauthRequest) => revoke({ db, tenants, issuer }, request),
    introspect: (request: OauthRequest) => introspect({ db, tenants, issuer }, request),
    metadata: () => toMetadata(issuer, widgetUrl),
    /** The user goes: every code, token and grant of theirs with them. */
    deleteUser: (tx: Sql, user: { tenantId: string; userId: string }): Promise<void> =>
      store.deleteUser(tx, user.tenantId, user.userId),
    listGrants: (user: { tenantId: string; userId: string }) => store.listGrants(db, user.tenantId, user.userId),
    /** Ends the grant, its outstanding codes and its families; false when there was nothing to end. */
    revokeGrant: (grant: { tenantId: string; userId: string; grantId: string }): Promise<boolean> =>
      db.transaction(async (tx) => {
        const ended = await store.revokeGrant(tx, grant.tenantId, grant.userId, grant.grantId)
        if (ended) await deps.onGrantRevoked?.(tx, grant)
        return ended
      }),
    /** Ends every grant of the user; how many there were. */
    endGrants: (user: { tenantId: string; userId: string }): Promise<number> =>
      db.transaction((tx) => store.revokeGrants(tx, user.tenantId, user.userId)),
    /** Deletes what is past its use, in batches; returns how many rows, so that the caller goes on until it is none. */
    sweep: (tx: Sql): Promise<number> => store.deleteExpired(tx, sweepBatchSize),
  }
}
