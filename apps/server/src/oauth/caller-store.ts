/**
 * All SQL over access_tokens and client_tokens, except for the tokens that an exchange or a refresh adds. Its main task
 * is to find the bearer of an access token. It has no cache on purpose: a revoked token must fail at its very next use,
 * on every node.
 */
import type { Sql } from '../db/index.ts'
import type { Scope } from '../tenants/index.ts'
import { accessTokenSeconds } from './lifetimes.ts'
import type { AccessToken } from './token-values.ts'

/**
 * The body of a CTE for statements that check the token and read in one round trip:
 *
 *   with caller as materialized (${callerCte}) select … where user_key = $1 and exists (select from caller)
 *
 * Parameters: `$1` user_key bigint, `$2` token_hash bytea, `$3` now timestamptz; readBearer gives the first two. One
 * row (tenant_key, tenant_id, user_id, client_id, grant_id, family_id, scopes, issued_at, expires_at), or none when the
 * token is unknown, expired or revoked, when its family is missing or revoked, or when its client is disabled. The end
 * of a grant revokes its families, so the grant itself need not be asked. Three look-ups by primary key.
 */
export const callerCte = `
  select token.tenant_key, token.tenant_id, token.user_id, token.client_id, token.grant_id, token.family_id, token.scopes,
         token.issued_at, token.expires_at
  from access_tokens token
  join token_families family
    on family.user_key = token.user_key and family.id = token.family_id and family.revoked_at is null
  join clients on clients.id = token.client_id and clients.disabled_at is null
  where token.user_key = $1::bigint and token.token_hash = $2::bytea and token.expires_at > $3::timestamptz`

/**
 * The same for a tenant's own token, which has neither a user nor a family. Parameters: `$1` token_hash bytea, `$2` now
 * timestamptz. One row (tenant_key, tenant_id, client_id, scopes, issued_at, expires_at), or none.
 */
export const clientCallerCte = `
  select token.tenant_key, token.tenant_id, token.client_id, token.scopes, token.issued_at, token.expires_at
  from client_tokens token
  join clients on clients.id = token.client_id and clients.disabled_at is null
  where token.token_hash = $1::bytea and token.expires_at > $2::timestamptz`

/** A user's token as it was presented. */
interface PresentedToken {
  userKey: string
  tokenHash: Buffer
}

export interface LiveAccessToken {
  tenantKey: number
  tenantId: string
  clientId: string
  userId: string | null
  grantId: string | null
  familyId: string | null
  scopes: Scope[]
  issuedAt: string
  expiresAt: string
}

export interface LiveUserToken extends LiveAccessToken {
  userId: string
  grantId: string
}

export async function findUserToken(
  sql: Sql,
  { userKey, tokenHash }: PresentedToken,
): Promise<LiveUserToken | undefined> {
  return sql.maybeRow<LiveUserToken>(
    `with caller as materialized (${callerCte})
     select tenant_key as "tenantKey", tenant_id as "tenantId", client_id as "clientId", user_id as "userId",
            grant_id as "grantId", family_id as "familyId", scopes, issued_at as "issuedAt", expires_at as "expiresAt"
     from caller`,
    [userKey, tokenHash, sql.now()],
  )
}

async function findClientToken(sql: Sql, tokenHash: Buffer): Promise<LiveAccessToken | undefined> {
  return sql.maybeRow<LiveAccessToken>(
    `select tenant_key as "tenantKey", tenant_id as "tenantId", client_id as "clientId", null as "userId",
            null as "grantId", null as "familyId", scopes, issued_at as "issuedAt", expires_at as "expiresAt"
     from (${clientCallerCte}) caller`,
    [tokenHash, sql.now()],
  )
}

export function findToken(sql: Sql, token: AccessToken): Promise<LiveAccessToken | undefined> {
  return token.kind === 'user' ? findUserToken(sql, token) : findClientToken(sql, token.tokenHash)
}

/** What allowed an answer that is still being written. The token itself may have expired in the meantime. */
export interface Allowance {
  userKey: string
  grantId: string
  familyId: string
}

/** False once the grant or the family has ended, the client is disabled, or the user is gone. */
export async function isAllowed(sql: Sql, { userKey, grantId, familyId }: Allowance): Promise<boolean> {
  const found = await sql.maybeRow(
    `select from grants
     join clients on clients.id = grants.client_id and clients.disabled_at is null
     where grants.user_key = $1::bigint and grants.id = $2 and grants.revoked_at is null
       and grants.expires_at > $4::timestamptz
       and not exists (
         select from token_families family
         where family.user_key = $1::bigint and family.id = $3::uuid and family.revoked_at is not null)`,
    [userKey, grantId, familyId, sql.now()],
  )
  return found !== undefined
}

export interface NewClientToken {
  tokenHash: Buffer
  tenantKey: number
  tenantId: string
  clientId: string
  scopes: readonly Scope[]
}

export async function insertClientToken(sql: Sql, token: NewClientToken): Promise<void> {
  await sql.execute(
    `insert into client_tokens (token_hash, client_id, tenant_key, tenant_id, scopes, issued_at, expires_at)
     values ($1, $2, $3, $4, $5, $6::timestamptz, $6::timestamptz + make_interval(secs => ${accessTokenSeconds}))`,
    [token.tokenHash, token.clientId, token.tenantKey, token.tenantId, token.scopes, sql.now()],
  )
}

export async function deleteUserToken(
  sql: Sql,
  { userKey, tokenHash }: PresentedToken,
  clientId: string,
): Promise<void> {
  await sql.execute('delete from access_tokens where user_key = $1 and token_hash = $2 and client_id = $3', [
    userKey,
    tokenHash,
    clientId,
  ])
}

export async function deleteClientToken(sql: Sql, tokenHash: Buffer, clientId: string): Promise<void> {
  await sql.execute('delete from client_tokens where token_hash = $1 and client_id = $2', [tokenHash, clientId])
}
