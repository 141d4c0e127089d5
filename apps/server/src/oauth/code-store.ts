/**
 * Issues and redeems authorization codes, with everything that redeeming one writes; grant-store.ts deletes those of an
 * ended grant.
 *
 * A redemption is two statements: the first only reads, and the second deletes the code and writes everything that
 * follows from it. The second is atomic by itself; token.ts puts it into a transaction only so that `onCodeRedeemed`
 * commits with it. If several redemptions run at once, one gets the row; the others
 * wait for it and then find it gone. Within the second statement each step selects from the one before, so locks are
 * taken in the order code, grant, family, as everywhere in this room.
 */
import type { Sql } from '../db/index.ts'
import { toNoticeQuery } from '../notices.ts'
import type { Owner } from '../owner.ts'
import { toTokenClientQuery, type PlatformScope, type TokenClient } from '../tenants/index.ts'
import { accessTokenSeconds, authorizationCodeSeconds } from './lifetimes.ts'
import type { CodeChallengeMethod } from './token-values.ts'

/** What the person agreed to, as it was shown. */
export interface Consent {
  version: string
  text: string
  language?: string
  /** When the grant ends, if the consent was carried over from a live grant. */
  until?: string
}

export interface NewAuthorizationCode {
  codeHash: Buffer
  owner: Owner
  clientId: string
  redirectUri: string
  codeChallenge: string
  codeChallengeMethod: CodeChallengeMethod
  scopes: readonly PlatformScope[]
  connectSessionId: string | null
  consent: Consent
}

export async function insertAuthorizationCode(sql: Sql, { owner, ...code }: NewAuthorizationCode): Promise<void> {
  await sql.execute(
    `insert into authorization_codes (user_key, code_hash, tenant_key, tenant_id, user_id, client_id, redirect_uri,
                                      code_challenge, code_challenge_method, scopes, session_id, consent, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
             $13::timestamptz + make_interval(secs => ${authorizationCodeSeconds}))`,
    [
      owner.userKey,
      code.codeHash,
      owner.tenantKey,
      owner.tenantId,
      owner.userId,
      code.clientId,
      code.redirectUri,
      code.codeChallenge,
      code.codeChallengeMethod,
      code.scopes,
      code.connectSessionId,
      JSON.stringify(code.consent),
      sql.now(),
    ],
  )
}

/** The new code ends when the old one would have. False when the session has none that lives for some seconds more. */
export async function replaceSessionCode(
  sql: Sql,
  userKey: string,
  connectSessionId: string,
  codeHash: Buffer,
): Promise<boolean> {
  const replaced = await sql.execute(
    `update authorization_codes set code_hash = $3::bytea
     where user_key = $1::bigint and session_id = $2 and expires_at > $4::timestamptz + interval '5 seconds'`,
    [userKey, connectSessionId, codeHash, sql.now()],
  )
  return replaced > 0
}

export interface PresentedAuthorizationCode {
  userKey: string
  codeHash: Buffer
}

export interface FoundAuthorizationCode {
  tenantKey: number
  tenantId: string
  userId: string
  redirectUri: string
  codeChallenge: string
  codeChallengeMethod: CodeChallengeMethod
  scopes: PlatformScope[]
  connectSessionId: string | null
  expired: boolean
  /** The end of the grant whose consent is carried over; null for a consent that was given now. */
  carriedUntil: string | null
}

/** A client, and a code that was issued to it and is not redeemed yet. */
export async function findAuthorizationCode(
  sql: Sql,
  presented: PresentedAuthorizationCode,
  clientId: string,
): Promise<{ client: TokenClient | null; code: FoundAuthorizationCode | null }> {
  return sql.row<{ client: TokenClient | null; code: FoundAuthorizationCode | null }>(
    `select
       (select row_to_json(client) from (${toTokenClientQuery('$3', '$4')}) client) as client,
       (select row_to_json(code) from (
          select tenant_key as "tenantKey", tenant_id as "tenantId", user_id as "userId",
                 redirect_uri as "redirectUri", code_challenge as "codeChallenge",
                 code_challenge_method as "codeChallengeMethod", scopes, session_id as "connectSessionId",
                 expires_at <= $4::timestamptz as expired, consent->>'until' as "carriedUntil"
          from authorization_codes
          where user_key = $1::bigint and code_hash = $2::bytea and client_id = $3::text) code) as code`,
    [presented.userKey, presented.codeHash, clientId, sql.now()],
  )
}

export interface Redemption extends PresentedAuthorizationCode {
  clientId: string
  /** Those that the user agreed to and that the client may still have. */
  scopes: readonly PlatformScope[]
  /** Used when the user has no grant to this client yet. */
  newGrantId: string
  /** The moment that `grantEndsAt` is counted from. */
  now: string
  grantEndsAt: string
  /** The consent was given before, so the grant stays as it is. */
  carriesConsent: boolean
  accessHash: Buffer
  /** Null when there is no refresh token. */
  refreshHandleHash: Buffer | null
  refreshHash: Buffer | null
}

/**
 * Live families of one user and client. Without a limit, an application that has one user connect again and again would
 * collect families that live a year. Enough for one that connects a user at every visit and keeps all tokens.
 */
export const familiesMax = 500

/**
 * Spends a code: writes the grant, the family and the first tokens, and ends the families that were not used for the
 * longest time where there are too many. Returns the grant's id, or undefined when the code is gone.
 *
 * A consent that is carried over needs a live grant with all of its rights, and leaves that grant as it is: the user may
 * have ended it since, or have agreed to something else. Otherwise the code is spent and gives nothing.
 */
export async function redeemAuthorizationCode(sql: Sql, redemption: Redemption): Promise<string | undefined> {
  const redeemed = await sql.maybeRow<{ grantId: string }>(
    `with spent as (
       delete from authorization_codes
       where user_key = $1::bigint and code_hash = $2::bytea and client_id = $3::text
       returning user_key, tenant_key, tenant_id, user_id, client_id, code_hash, code_challenge,
                 code_challenge_method, consent
     ),
     granted as (
       insert into grants (user_key, client_id, id, tenant_key, tenant_id, user_id, scopes, consent, granted_at,
                           expires_at)
       select user_key, client_id, $4::text, tenant_key, tenant_id, user_id, $11::text[], consent, $8::timestamptz,
              $9::timestamptz
       from spent
       on conflict (user_key, client_id) do update
         set scopes = case when $10::boolean then grants.scopes else excluded.scopes end,
             consent = case when $10::boolean then grants.consent else excluded.consent end,
             granted_at = case when $10::boolean then grants.granted_at else excluded.granted_at end,
             expires_at = case when $10::boolean then grants.expires_at else excluded.expires_at end,
             revoked_at = null, lapse_seen = false
         where not $10::boolean or (grants.revoked_at is null and grants.expires_at > $8::timestamptz
                                    and excluded.scopes <@ grants.scopes)
       returning user_key, tenant_key, id, expires_at
     ),
     noted as (${toNoticeQuery('granted')}),
     superseded as (
       update token_families set revoked_at = $8::timestamptz, revoked_for = 'superseded'
       where user_key = $1::bigint and revoked_at is null and id in (
         select token_families.id from granted
         join token_families on token_families.user_key = $1::bigint and token_families.client_id = $3::text
         where token_families.revoked_at is null and token_families.expires_at > $8::timestamptz
         order by coalesce(token_families.spent_at, token_families.created_at) desc
         offset ${familiesMax - 1})
     ),
     family as (
       insert into token_families (user_key, client_id, grant_id, tenant_key, tenant_id, user_id, code_hash,
                                   code_challenge, code_challenge_method, scopes, consent, refresh_handle_hash,
                                   refresh_hash, created_at, expires_at)
       select spent.user_key, client_id, granted.id, spent.tenant_key, tenant_id, user_id, code_hash,
              code_challenge, code_challenge_method, $11::text[], consent, $6::bytea, $7::bytea, $8::timestamptz,
              least($9::timestamptz, granted.expires_at, case when $7::bytea is null
                then $8::timestamptz + make_interval(secs => ${accessTokenSeconds}) end)
       from spent, granted
       returning user_key, id, grant_id, client_id, tenant_key, tenant_id, user_id, scopes, expires_at
     ),
     access as (
       insert into access_tokens (user_key, token_hash, family_id, grant_id, client_id, tenant_key, tenant_id, user_id,
                                  scopes, issued_at, expires_at)
       select user_key, $5::bytea, id, grant_id, client_id, tenant_key, tenant_id, user_id, scopes, $8::timestamptz,
              least($8::timestamptz + make_interval(secs => ${accessTokenSeconds}), expires_at)
       from family
     )
     select id as "grantId" from granted`,
    [
      redemption.userKey,
      redemption.codeHash,
      redemption.clientId,
      redemption.newGrantId,
      redemption.accessHash,
      redemption.refreshHandleHash,
      redemption.refreshHash,
      redemption.now,
      redemption.grantEndsAt,
      redemption.carriesConsent,
      redemption.scopes,
    ],
  )
  return redeemed?.grantId
}
