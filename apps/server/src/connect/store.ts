/** All SQL over connect_sessions and spent_login_tokens, and what is swept of the flow. */
import type { Sql } from '../db/index.ts'
import type { AuthorizationRequest, Consent } from '../oauth/index.ts'
import type { Owner, Tenant } from '../owner.ts'
import type { PlatformScope } from '../tenants/index.ts'
import type { DisplayOptions } from './display-options.ts'

export type SignedInBy = 'email_code' | 'login_token' | 'sandbox'

export interface ConnectSession extends DisplayOptions, Tenant {
  sessionId: string
  clientId: string
  redirectUri: string
  state: string
  codeChallenge: string
  codeChallengeMethod: AuthorizationRequest['codeChallengeMethod']
  scopes: PlatformScope[]
  /** Null until the user has signed in. */
  owner: Owner | null
  /** Named by a login token; becomes the owner once the person has proved an email address. */
  claimed: { userKey: string; userId: string } | null
  signedInBy: SignedInBy | null
  consent: Consent | null
  outcome: 'finished' | 'declined' | null
  createdAt: string
  expiresAt: string
}

/**
 * For rows that may not have a user yet. A 64-bit number in JSON has to be text, or it would lose digits. It is also
 * part of RETURNING, where Citus allows immutable functions only; json_build_object is not one.
 */
export const ownerColumn = `case when user_key is not null then
  jsonb_object(array['tenantId', tenant_id, 'userKey', user_key::text, 'userId', user_id])
  || ('{"tenantKey":' || tenant_key::text || '}')::jsonb end as owner`

const columns = `id as "sessionId", tenant_key as "tenantKey", tenant_id as "tenantId", client_id as "clientId",
  redirect_uri as "redirectUri", state,
  code_challenge as "codeChallenge", code_challenge_method as "codeChallengeMethod", scopes, display,
  web_message_origin as "webMessageOrigin", lang, theme, provider_id as "providerId", connection_id as "connectionId",
  ${ownerColumn},
  case when claimed_user_key is not null and user_key is null then
    jsonb_object(array['userKey', claimed_user_key::text, 'userId', claimed_user_id]) end as claimed,
  signed_in_by as "signedInBy", consent, outcome, created_at as "createdAt",
  expires_at as "expiresAt"`

export interface NewSession {
  sessionId: string
  secretHash: Buffer
  request: AuthorizationRequest
  options: DisplayOptions
  /** The key of the login token that it was begun with. */
  loginKeyId: string | null
  lifeSeconds: number
}

export async function insertSession(sql: Sql, session: NewSession): Promise<ConnectSession> {
  const { request, options } = session
  return sql.row<ConnectSession>(
    `insert into connect_sessions (id, secret_hash, tenant_key, tenant_id, client_id, redirect_uri, state,
       code_challenge, code_challenge_method, scopes, display, web_message_origin, lang, theme, provider_id,
       connection_id, created_at, expires_at, login_key_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17::timestamptz,
       $17::timestamptz + make_interval(secs => $18), $19)
     returning ${columns}`,
    [
      session.sessionId,
      session.secretHash,
      request.client.tenantKey,
      request.client.tenantId,
      request.client.clientId,
      request.redirectUri,
      request.state,
      request.codeChallenge,
      request.codeChallengeMethod,
      request.scopes,
      options.display,
      options.webMessageOrigin,
      options.lang,
      options.theme,
      options.providerId,
      options.connectionId,
      sql.now(),
      session.lifeSeconds,
      session.loginKeyId,
    ],
  )
}

/** Also returns ended sessions until they expire, so that a second tab sees that they ended. */
export async function findSessionBySecret(sql: Sql, secretHash: Buffer): Promise<ConnectSession | undefined> {
  return sql.maybeRow<ConnectSession>(
    `select ${columns} from connect_sessions where secret_hash = $1 and expires_at > $2::timestamptz`,
    [secretHash, sql.now()],
  )
}

export async function findSession(sql: Sql, sessionId: string): Promise<ConnectSession | undefined> {
  return sql.maybeRow<ConnectSession>(
    `select ${columns} from connect_sessions where id = $1 and expires_at > $2::timestamptz`,
    [sessionId, sql.now()],
  )
}

/** Steps of one session come one after the other, whichever process they reach. */
export async function lockSession(tx: Sql, sessionId: string): Promise<ConnectSession | undefined> {
  return tx.maybeRow<ConnectSession>(
    `select ${columns} from connect_sessions where id = $1 and expires_at > $2::timestamptz for update`,
    [sessionId, tx.now()],
  )
}

/** A step under way ends first, so that what it wrote can be seen; the next one waits. */
export async function lockSessionsOf(tx: Sql, { userKey }: Owner): Promise<void> {
  await tx.rows('select id from connect_sessions where user_key = $1 order by id for update', [userKey])
}

/**
 * Ends what could become a grant without a new consent: open sessions that have a consent, with one client or with all,
 * and those of login tokens, some of which were let in because there was a live grant. Called before the user's codes
 * are deleted: a session that is being finished is waited for, and its code is then among them. `connections` destroys
 * what was connected in them.
 */
export async function endSessions(tx: Sql, owner: Owner, clientId: string | null): Promise<void> {
  await lockSessionsOf(tx, owner)
  await tx.execute(
    `delete from connect_sessions
     where user_key = $1 and ($2::text is null or client_id = $2) and outcome is null
       and (consent is not null or signed_in_by = 'login_token')`,
    [owner.userKey, clientId],
  )
}

export async function setUser(sql: Sql, sessionId: string, owner: Owner, by: SignedInBy): Promise<ConnectSession> {
  return sql.row<ConnectSession>(
    `update connect_sessions set user_key = $2, user_id = $3, signed_in_by = $4
     where id = $1 and tenant_key = $5 returning ${columns}`,
    [sessionId, owner.userKey, owner.userId, by, owner.tenantKey],
  )
}

export async function claimUser(sql: Sql, sessionId: string, owner: Owner): Promise<ConnectSession> {
  return sql.row<ConnectSession>(
    `update connect_sessions set claimed_user_key = $2, claimed_user_id = $3
     where id = $1 and tenant_key = $4 and user_key is null returning ${columns}`,
    [sessionId, owner.userKey, owner.userId, owner.tenantKey],
  )
}

export async function setConsent(sql: Sql, sessionId: string, consent: Consent): Promise<ConnectSession> {
  return sql.row<ConnectSession>(`update connect_sessions set consent = $2 where id = $1 returning ${columns}`, [
    sessionId,
    JSON.stringify(consent),
  ])
}

/**
 * From then on the session no longer depends on a login key: its code or its end is on the way. It stays for as long as
 * its code may be redeemed, also when it would have expired before: what was connected in it is destroyed without it.
 */
export async function setOutcome(sql: Sql, sessionId: string, outcome: 'finished' | 'declined'): Promise<void> {
  await sql.execute(
    `update connect_sessions set outcome = $2, ended_at = $3::timestamptz, login_key_id = null,
       expires_at = greatest(expires_at, $3::timestamptz + interval '2 minutes')
     where id = $1`,
    [sessionId, outcome, sql.now()],
  )
}

export async function deleteSession(sql: Sql, sessionId: string): Promise<void> {
  await sql.execute('delete from connect_sessions where id = $1', [sessionId])
}

/** The newest other session of the same user and client that was left open, signed in by email, and has connections. */
export async function findUnfinished(
  sql: Sql,
  { sessionId, clientId }: ConnectSession,
  { userKey }: Owner,
): Promise<{ sessionId: string; startedAt: string } | undefined> {
  return sql.maybeRow<{ sessionId: string; startedAt: string }>(
    `select id as "sessionId", created_at as "startedAt" from connect_sessions other
     where user_key = $1 and client_id = $2 and id <> $3
       and signed_in_by = 'email_code' and outcome is null and expires_at > $4::timestamptz
       and exists (select from provisional_connections c where c.user_key = $1 and c.session_id = other.id)
     order by created_at desc limit 1`,
    [userKey, clientId, sessionId, sql.now()],
  )
}

/** False when it was spent before. */
export async function spendLoginToken(
  sql: Sql,
  token: { clientId: string; jtiHash: Buffer; expiresAt: string },
): Promise<boolean> {
  const inserted = await sql.execute(
    `insert into spent_login_tokens (client_id, jti_hash, expires_at) values ($1, $2, $3) on conflict do nothing`,
    [token.clientId, token.jtiHash, token.expiresAt],
  )
  return inserted === 1
}

/** Rows that have expired, at most `batchSize` of each table. */
export async function deleteExpired(tx: Sql, batchSize: number): Promise<number> {
  let deleted = 0
  for (const [table, key] of [
    // Sessions stay while their connections do: connections are destroyed first.
    ['connect_sessions', 'id'],
    ['spent_login_tokens', 'client_id, jti_hash'],
    ['provider_states', 'state_hash'],
  ] as const) {
    deleted += await tx.execute(
      `delete from ${table} where (${key}) in (
         select ${key} from ${table} where expires_at <= $2::timestamptz limit $1 for update skip locked)`,
      [batchSize, tx.now()],
    )
  }
  return deleted
}
