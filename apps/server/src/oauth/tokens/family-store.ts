/**
 * All SQL over token_families and over the access tokens that a refresh adds.
 *
 * A refresh is two statements and needs no transaction: the first only reads, and the second rotates the family on the
 * condition that the presented token is still the present one. If several refreshes run at once, one of them rotates;
 * the others wait for it, change nothing, and read the family again. The second ends in the insert of the access token
 * and not in a select from it: Citus sends such a select, which is over no table, with the rows of the steps before it
 * to other nodes than the user's, so that a refresh would fail while any of them is away.
 */
import type { Sql } from '../../db/index.ts'
import { toTokenClientQuery, type PlatformScope, type TokenClient } from '../../tenants/index.ts'
import { accessTokenSeconds, retrySeconds } from '../lifetimes.ts'
import type { FoundAuthorizationCode, PresentedAuthorizationCode } from '../code-store.ts'

export interface PresentedHandle {
  userKey: string
  handleHash: Buffer
}

export interface Family {
  familyId: string
  userId: string
  grantId: string
  scopes: PlatformScope[]
  refreshHash: Buffer
  /** The nonce of the last rotation; null before the first. */
  spentNonce: Buffer | null
  live: boolean
  /** The last rotation was so recent that the old token may come from an honest retry. */
  retriable: boolean
  expiresAt: string
}

interface FoundFamily {
  client: TokenClient | null
  family: (Omit<Family, 'refreshHash' | 'spentNonce'> & { refreshHash: string; spentNonce: string | null }) | null
}

/** A client, and the client's family that the handle belongs to; `now` is the time of the read. */
export async function findFamily(
  sql: Sql,
  { userKey, handleHash }: PresentedHandle,
  clientId: string,
): Promise<{ client: TokenClient | null; family: Family | undefined; now: string }> {
  const now = sql.now()
  const { client, family } = await sql.row<FoundFamily>(
    `select
       (select row_to_json(client) from (${toTokenClientQuery('$3', '$4')}) client) as client,
       (select row_to_json(family) from (
          select id as "familyId", user_id as "userId", grant_id as "grantId", scopes,
                 encode(refresh_hash, 'hex') as "refreshHash", encode(spent_nonce, 'hex') as "spentNonce",
                 revoked_at is null and expires_at > $4::timestamptz as live,
                 coalesce($4::timestamptz - spent_at < make_interval(secs => ${retrySeconds}), false) as retriable,
                 expires_at as "expiresAt"
          from token_families
          where user_key = $1::bigint and refresh_handle_hash = $2::bytea and client_id = $3::text) family) as family`,
    [userKey, handleHash, clientId, now],
  )
  if (family === null) return { client, family: undefined, now }
  const spentNonce = family.spentNonce === null ? null : Buffer.from(family.spentNonce, 'hex')
  return { client, family: { ...family, refreshHash: Buffer.from(family.refreshHash, 'hex'), spentNonce }, now }
}

export interface TokenRotation {
  userKey: string
  familyId: string
  /** The token that is being spent. */
  spentHash: Buffer
  refreshHash: Buffer
  nonce: Buffer
  accessHash: Buffer
  accessScopes: readonly PlatformScope[]
  now: string
}

/** The present refresh token is spent and the next pair is in force; false when it is no longer the present one. */
export async function rotateFamily(sql: Sql, rotation: TokenRotation): Promise<boolean> {
  const rotated = await sql.maybeRow(
    `with family as (
       update token_families
       set refresh_hash = $4::bytea, spent_nonce = $5::bytea, spent_at = $8::timestamptz
       where user_key = $1::bigint and id = $2::uuid and refresh_hash = $3::bytea
         and revoked_at is null and expires_at > $8::timestamptz
       returning user_key, id, grant_id, client_id, tenant_key, tenant_id, user_id, expires_at
     )
     insert into access_tokens (user_key, token_hash, family_id, grant_id, client_id, tenant_key, tenant_id, user_id,
                                scopes, issued_at, expires_at)
     select user_key, $6::bytea, id, grant_id, client_id, tenant_key, tenant_id, user_id, $7::text[], $8::timestamptz,
            least($8::timestamptz + make_interval(secs => ${accessTokenSeconds}), expires_at)
     from family
     returning user_key`,
    [
      rotation.userKey,
      rotation.familyId,
      rotation.spentHash,
      rotation.refreshHash,
      rotation.nonce,
      rotation.accessHash,
      rotation.accessScopes,
      rotation.now,
    ],
  )
  return rotated !== undefined
}

/** The user whose tokens were replayed. */
export interface ReplayedFamily {
  tenantId: string
  userId: string
  clientId: string
  grantId: string
}

const replayed = `tenant_id as "tenantId", user_id as "userId", client_id as "clientId", grant_id as "grantId"`

/** A spent refresh token came back. Undefined when the family had ended before. */
export async function revokeReplayed(tx: Sql, userKey: string, familyId: string): Promise<ReplayedFamily | undefined> {
  return tx.maybeRow<ReplayedFamily>(
    `update token_families set revoked_at = $3::timestamptz, revoked_for = 'refresh_replay'
     where user_key = $1 and id = $2 and revoked_at is null
     returning ${replayed}`,
    [userKey, familyId, tx.now()],
  )
}

/** The live family of a spent code that came back. Undefined when the code is unknown, or its family has ended. */
export async function findFamilyOfCode(
  sql: Sql,
  { userKey, codeHash }: PresentedAuthorizationCode,
  clientId: string,
): Promise<Pick<FoundAuthorizationCode, 'codeChallenge' | 'codeChallengeMethod'> | undefined> {
  return sql.maybeRow(
    `select code_challenge as "codeChallenge", code_challenge_method as "codeChallengeMethod"
     from token_families
     where user_key = $1::bigint and code_hash = $2::bytea and client_id = $3::text and revoked_at is null`,
    [userKey, codeHash, clientId],
  )
}

/** Undefined when it had ended before. */
export async function revokeFamilyOfCode(
  tx: Sql,
  { userKey, codeHash }: PresentedAuthorizationCode,
  clientId: string,
): Promise<ReplayedFamily | undefined> {
  return tx.maybeRow<ReplayedFamily>(
    `update token_families set revoked_at = $4::timestamptz, revoked_for = 'code_replay'
     where user_key = $1 and code_hash = $2 and client_id = $3 and revoked_at is null
     returning ${replayed}`,
    [userKey, codeHash, clientId, tx.now()],
  )
}

/**
 * RFC 7009 §2.1. Any refresh token of the family is accepted, even a spent one: its holder wants the family to end.
 */
export async function revokeFamilyOfHandle(
  sql: Sql,
  { userKey, handleHash }: PresentedHandle,
  clientId: string,
): Promise<void> {
  await sql.execute(
    `update token_families set revoked_at = $4::timestamptz, revoked_for = 'request'
     where user_key = $1 and refresh_handle_hash = $2 and client_id = $3 and revoked_at is null`,
    [userKey, handleHash, clientId, sql.now()],
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
  token: PresentedHandle & { tokenHash: Buffer },
  clientId: string,
): Promise<LiveRefreshToken | undefined> {
  return sql.maybeRow<LiveRefreshToken>(
    `select user_id as "userId", scopes, coalesce(spent_at, created_at) as "issuedAt", expires_at as "expiresAt"
     from token_families
     where user_key = $1 and refresh_handle_hash = $2 and refresh_hash = $3 and client_id = $4
       and revoked_at is null and expires_at > $5::timestamptz`,
    [token.userKey, token.handleHash, token.tokenHash, clientId, sql.now()],
  )
}
