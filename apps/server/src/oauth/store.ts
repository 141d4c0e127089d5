/**
 * All SQL over authorization_codes, grants, token_families and access_tokens.
 *
 * Locks are taken in one order (code, grant, family), so that redemption, refresh and revocation never wait for each
 * other in a circle. Time is assay_now(), read once in a statement that writes several rows.
 */
import type { Sql } from '../db/index.ts'
import type { PlatformScope, Scope } from '../tenants/index.ts'
import { accessTokenSeconds, codeSeconds, grantSeconds, retrySeconds, revokedFamilySeconds } from './lifetimes.ts'
import type { CodeChallengeMethod } from './token-values.ts'

/** What the person agreed to, as it was shown. */
export interface Consent {
  version: string
  text: string
  language?: string
}

export interface NewCode {
  codeHash: Buffer
  tenantId: string
  userId: string
  clientId: string
  redirectUri: string
  codeChallenge: string
  codeChallengeMethod: CodeChallengeMethod
  scopes: readonly PlatformScope[]
  sessionId: string | null
  consent: Consent
}

export async function insertCode(sql: Sql, code: NewCode): Promise<void> {
  await sql.execute(
    `insert into authorization_codes (code_hash, tenant_id, user_id, client_id, redirect_uri, code_challenge,
                                      code_challenge_method, scopes, session_id, consent, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, assay_now() + make_interval(secs => ${codeSeconds}))`,
    [
      code.codeHash,
      code.tenantId,
      code.userId,
      code.clientId,
      code.redirectUri,
      code.codeChallenge,
      code.codeChallengeMethod,
      code.scopes,
      code.sessionId,
      JSON.stringify(code.consent),
    ],
  )
}

export interface LockedCode {
  tenantId: string
  userId: string
  redirectUri: string
  codeChallenge: string
  codeChallengeMethod: CodeChallengeMethod
  scopes: PlatformScope[]
  sessionId: string | null
  expired: boolean
}

/** Of any number of redemptions at once one gets the row; the others wait, and then find it gone. */
export async function lockCode(tx: Sql, codeHash: Buffer, clientId: string): Promise<LockedCode | undefined> {
  return tx.maybeRow<LockedCode>(
    `select tenant_id as "tenantId", user_id as "userId", redirect_uri as "redirectUri",
            code_challenge as "codeChallenge", code_challenge_method as "codeChallengeMethod", scopes,
            session_id as "sessionId", expires_at <= assay_now() as expired
     from authorization_codes
     where code_hash = $1 and client_id = $2
     for update`,
    [codeHash, clientId],
  )
}

export interface Redemption {
  codeHash: Buffer
  /** Used when the user has no grant to this client yet. */
  newGrantId: string
  accessHash: Buffer
  /** Null when there is no refresh token. */
  refreshHandleHash: Buffer | null
  refreshHash: Buffer | null
}

/** Spends a locked code: grant, family and first tokens in one statement. Returns the grant's id. */
export async function redeemCode(tx: Sql, redemption: Redemption): Promise<string> {
  const { grantId } = await tx.row<{ grantId: string }>(
    `with clock as materialized (select assay_now() as now),
     spent as (
       delete from authorization_codes where code_hash = $1
       returning tenant_id, user_id, client_id, code_hash, scopes, consent
     ),
     granted as (
       insert into grants (tenant_id, user_id, client_id, id, scopes, consent, granted_at, expires_at)
       select tenant_id, user_id, client_id, $2, scopes, consent, now, now + make_interval(secs => ${grantSeconds})
       from spent, clock
       on conflict (tenant_id, user_id, client_id) do update
         set scopes = excluded.scopes, consent = excluded.consent, granted_at = excluded.granted_at,
             expires_at = excluded.expires_at, revoked_at = null
       returning tenant_id, user_id, client_id, id, granted_at, expires_at
     ),
     family as (
       insert into token_families (tenant_id, user_id, client_id, code_hash, scopes, refresh_handle_hash, refresh_hash,
                                   created_at, expires_at)
       select tenant_id, user_id, client_id, code_hash, scopes, $4, $5, now,
              now + make_interval(secs => case when $5::bytea is null then ${accessTokenSeconds} else ${grantSeconds} end)
       from spent, clock
       returning tenant_id, user_id, client_id, id, scopes
     ),
     access as (
       insert into access_tokens (token_hash, tenant_id, client_id, user_id, grant_id, family_id, scopes, issued_at,
                                  expires_at)
       select $3, family.tenant_id, family.client_id, family.user_id, granted.id, family.id, family.scopes, now,
              now + make_interval(secs => ${accessTokenSeconds})
       from family, granted, clock
     )
     select id as "grantId" from granted`,
    [
      redemption.codeHash,
      redemption.newGrantId,
      redemption.accessHash,
      redemption.refreshHandleHash,
      redemption.refreshHash,
    ],
  )
  return grantId
}

export interface FamilyKey {
  tenantId: string
  userId: string
  familyId: string
}

export interface LockedFamily extends FamilyKey {
  grantId: string
  scopes: PlatformScope[]
  refreshHash: Buffer
  spentNonce: Buffer | null
  live: boolean
  /** The last rotation was so recent that the old token may come from an honest retry. */
  retriable: boolean
  expiresAt: string
  /** When this was read, by the database's clock. */
  now: string
}

export async function lockFamily(tx: Sql, handleHash: Buffer, clientId: string): Promise<LockedFamily | undefined> {
  return tx.maybeRow<LockedFamily>(
    `select family.tenant_id as "tenantId", family.user_id as "userId", family.id as "familyId", grants.id as "grantId",
            family.scopes, family.refresh_hash as "refreshHash", family.spent_nonce as "spentNonce",
            family.revoked_at is null and family.expires_at > assay_now() as live,
            coalesce(assay_now() - family.spent_at < make_interval(secs => ${retrySeconds}), false) as retriable,
            family.expires_at as "expiresAt", assay_now() as now
     from token_families family
     join grants using (tenant_id, user_id, client_id)
     where family.refresh_handle_hash = $1 and family.client_id = $2
     for no key update of family`,
    [handleHash, clientId],
  )
}

export interface Rotation extends FamilyKey {
  grantId: string
  accessHash: Buffer
  accessScopes: readonly PlatformScope[]
  refreshHash: Buffer
  nonce: Buffer
}

export interface Lifetimes {
  accessSeconds: number
  refreshSeconds: number
}

/** Of a family locked before: the present refresh token is spent and the next pair is in force. */
export async function rotateFamily(tx: Sql, rotation: Rotation): Promise<Lifetimes> {
  return tx.row<Lifetimes>(
    `with clock as materialized (select assay_now() as now),
     family as (
       update token_families
       set refresh_hash = $4, spent_nonce = $5, spent_at = now
       from clock
       where tenant_id = $1 and user_id = $2 and id = $3
       returning tenant_id, user_id, id, client_id, expires_at
     ),
     access as (
       insert into access_tokens (token_hash, tenant_id, client_id, user_id, grant_id, family_id, scopes, issued_at,
                                  expires_at)
       select $6, tenant_id, client_id, user_id, $7, id, $8, now,
              least(now + make_interval(secs => ${accessTokenSeconds}), expires_at)
       from family, clock
       returning expires_at
     )
     select floor(extract(epoch from access.expires_at - now))::int as "accessSeconds",
            floor(extract(epoch from family.expires_at - now))::int as "refreshSeconds"
     from family, access, clock`,
    [
      rotation.tenantId,
      rotation.userId,
      rotation.familyId,
      rotation.refreshHash,
      rotation.nonce,
      rotation.accessHash,
      rotation.grantId,
      rotation.accessScopes,
    ],
  )
}

export type RevocationReason = 'request' | 'grant_ended' | 'code_replay' | 'refresh_replay'

export async function revokeFamily(sql: Sql, family: FamilyKey, reason: RevocationReason): Promise<void> {
  await sql.execute(
    `update token_families set revoked_at = assay_now(), revoked_for = $4
     where tenant_id = $1 and user_id = $2 and id = $3 and revoked_at is null`,
    [family.tenantId, family.userId, family.familyId, reason],
  )
}

export async function revokeFamilyOfCode(tx: Sql, codeHash: Buffer, clientId: string): Promise<void> {
  await tx.execute(
    `update token_families set revoked_at = assay_now(), revoked_for = 'code_replay'
     where code_hash = $1 and client_id = $2 and revoked_at is null`,
    [codeHash, clientId],
  )
}

/** RFC 7009 §2.1. Any refresh token of the family will do: a spent one is no reason to leave it alive. */
export async function revokeFamilyOfHandle(sql: Sql, handleHash: Buffer, clientId: string): Promise<void> {
  await sql.execute(
    `update token_families set revoked_at = assay_now(), revoked_for = 'request'
     where refresh_handle_hash = $1 and client_id = $2 and revoked_at is null`,
    [handleHash, clientId],
  )
}

export interface LiveRefreshToken {
  userId: string
  scopes: PlatformScope[]
  issuedAt: string
  expiresAt: string
}

export async function findRefreshToken(
  sql: Sql,
  handleHash: Buffer,
  refreshHash: Buffer,
  clientId: string,
): Promise<LiveRefreshToken | undefined> {
  return sql.maybeRow<LiveRefreshToken>(
    `select user_id as "userId", scopes, coalesce(spent_at, created_at) as "issuedAt", expires_at as "expiresAt"
     from token_families
     where refresh_handle_hash = $1 and refresh_hash = $2 and client_id = $3
       and revoked_at is null and expires_at > assay_now()`,
    [handleHash, refreshHash, clientId],
  )
}

export interface LiveAccessToken {
  tenantId: string
  clientId: string
  userId: string | null
  grantId: string | null
  scopes: Scope[]
  issuedAt: string
  expiresAt: string
}

/**
 * The check before every request of the API: three lookups by primary key in one statement. No cache here on purpose: a
 * revoked token must fail at its very next use, on every node. A family that is missing counts as revoked; only a
 * client's own tokens have none. (A grant's end revokes its families, so the grant itself need not be asked.)
 */
export async function findAccessToken(sql: Sql, tokenHash: Buffer): Promise<LiveAccessToken | undefined> {
  return sql.maybeRow<LiveAccessToken>(
    `select token.tenant_id as "tenantId", token.client_id as "clientId", token.user_id as "userId",
            token.grant_id as "grantId", token.scopes, token.issued_at as "issuedAt", token.expires_at as "expiresAt"
     from access_tokens token
     join clients on clients.id = token.client_id and clients.disabled_at is null
     left join token_families family
       on family.tenant_id = token.tenant_id and family.user_id = token.user_id and family.id = token.family_id
       and family.revoked_at is null
     where token.token_hash = $1
       and token.expires_at > assay_now()
       and (token.family_id is null or family.id is not null)`,
    [tokenHash],
  )
}

export interface NewClientToken {
  accessHash: Buffer
  tenantId: string
  clientId: string
  scopes: readonly Scope[]
}

export async function insertClientToken(sql: Sql, token: NewClientToken): Promise<void> {
  await sql.execute(
    `insert into access_tokens (token_hash, tenant_id, client_id, scopes, issued_at, expires_at)
     select $1, $2, $3, $4, now, now + make_interval(secs => ${accessTokenSeconds})
     from (select assay_now() as now) clock`,
    [token.accessHash, token.tenantId, token.clientId, token.scopes],
  )
}

export async function deleteAccessToken(sql: Sql, tokenHash: Buffer, clientId: string): Promise<void> {
  await sql.execute('delete from access_tokens where token_hash = $1 and client_id = $2', [tokenHash, clientId])
}

export interface Grant {
  grantId: string
  clientId: string
  clientName: string
  scopes: PlatformScope[]
  grantedAt: string
  expiresAt: string
}

/** At most one for each client of the tenant. */
export async function listGrants(sql: Sql, tenantId: string, userId: string): Promise<Grant[]> {
  return sql.rows<Grant>(
    `select grants.id as "grantId", grants.client_id as "clientId", clients.name as "clientName", grants.scopes,
            grants.granted_at as "grantedAt", grants.expires_at as "expiresAt"
     from grants
     join clients on clients.id = grants.client_id
     where grants.tenant_id = $1 and grants.user_id = $2
       and grants.revoked_at is null and grants.expires_at > assay_now()
     order by grants.granted_at desc, grants.id`,
    [tenantId, userId],
  )
}

/** False when there is no such live grant of this user. */
export async function revokeGrant(tx: Sql, tenantId: string, userId: string, grantId: string): Promise<boolean> {
  // Codes first: one that is being redeemed is waited for, and its family is then among those that end below.
  await tx.execute(
    `delete from authorization_codes
     where tenant_id = $1 and user_id = $2
       and client_id = (select client_id from grants where tenant_id = $1 and user_id = $2 and id = $3)`,
    [tenantId, userId, grantId],
  )
  const ended = await tx.maybeRow<{ clientId: string }>(
    `update grants set revoked_at = assay_now()
     where tenant_id = $1 and user_id = $2 and id = $3 and revoked_at is null and expires_at > assay_now()
     returning client_id as "clientId"`,
    [tenantId, userId, grantId],
  )
  if (ended === undefined) return false
  await tx.execute(
    `update token_families set revoked_at = assay_now(), revoked_for = 'grant_ended'
     where tenant_id = $1 and user_id = $2 and client_id = $3 and revoked_at is null`,
    [tenantId, userId, ended.clientId],
  )
  return true
}

export async function revokeGrants(tx: Sql, tenantId: string, userId: string): Promise<number> {
  const grants = await listGrants(tx, tenantId, userId)
  let ended = 0
  for (const { grantId } of grants) {
    if (await revokeGrant(tx, tenantId, userId, grantId)) ended += 1
  }
  return ended
}

/** Access tokens need no deleting: without its family a token is refused, and its row lives fifteen minutes. */
export async function deleteUser(tx: Sql, tenantId: string, userId: string): Promise<void> {
  for (const table of ['authorization_codes', 'token_families', 'grants']) {
    await tx.execute(`delete from ${table} where tenant_id = $1 and user_id = $2`, [tenantId, userId])
  }
}

/** Rows that no answer depends on any more, at most `batchSize` of each table. Skips what is locked: it never waits. */
export async function deleteExpired(tx: Sql, batchSize: number): Promise<number> {
  const codes = await tx.execute(
    `delete from authorization_codes where code_hash in (
       select code_hash from authorization_codes where expires_at <= assay_now() limit $1 for update skip locked)`,
    [batchSize],
  )
  const tokens = await tx.execute(
    `delete from access_tokens where token_hash in (
       select token_hash from access_tokens where expires_at <= assay_now() limit $1 for update skip locked)`,
    [batchSize],
  )
  const families = await tx.execute(
    `delete from token_families where (tenant_id, user_id, id) in (
       select tenant_id, user_id, id from token_families
       where expires_at <= assay_now() or revoked_at <= assay_now() - make_interval(secs => ${revokedFamilySeconds})
       limit $1 for update skip locked)`,
    [batchSize],
  )
  return codes + tokens + families
}
