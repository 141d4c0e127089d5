/** All SQL over connect_sessions and spent_login_tokens, what is swept of the flow, and the views that progress is read from. */
import type { Sql } from '../db/index.ts'
import type { AuthorizationRequest, Consent } from '../oauth/index.ts'
import type { PlatformScope } from '../tenants/index.ts'
import type { DisplayOptions } from './display-options.ts'

export type SignedInBy = 'email_code' | 'login_token' | 'sandbox'

export interface ConnectSession extends DisplayOptions {
  sessionId: string
  tenantId: string
  clientId: string
  redirectUri: string
  state: string
  codeChallenge: string
  codeChallengeMethod: AuthorizationRequest['codeChallengeMethod']
  scopes: PlatformScope[]
  userId: string | null
  signedInBy: SignedInBy | null
  consent: Consent | null
  outcome: 'finished' | 'declined' | null
  createdAt: string
  expiresAt: string
}

const columns = `id as "sessionId", tenant_id as "tenantId", client_id as "clientId", redirect_uri as "redirectUri", state,
  code_challenge as "codeChallenge", code_challenge_method as "codeChallengeMethod", scopes, display,
  web_message_origin as "webMessageOrigin", lang, theme, provider_id as "providerId", connection_id as "connectionId",
  user_id as "userId", signed_in_by as "signedInBy", consent, outcome, created_at as "createdAt",
  expires_at as "expiresAt"`

export interface NewSession {
  sessionId: string
  secretHash: Buffer
  request: AuthorizationRequest
  options: DisplayOptions
  lifeSeconds: number
}

export async function insertSession(sql: Sql, session: NewSession): Promise<ConnectSession> {
  const { request, options } = session
  return sql.row<ConnectSession>(
    `insert into connect_sessions (id, secret_hash, tenant_id, client_id, redirect_uri, state, code_challenge,
       code_challenge_method, scopes, display, web_message_origin, lang, theme, provider_id, connection_id, created_at,
       expires_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, now, now + make_interval(secs => $16)
     from (select assay_now() as now) clock
     returning ${columns}`,
    [
      session.sessionId,
      session.secretHash,
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
      session.lifeSeconds,
    ],
  )
}

/** Ended sessions too, until their time is over: a second tab shall see that they ended. */
export async function findSessionBySecret(sql: Sql, secretHash: Buffer): Promise<ConnectSession | undefined> {
  return sql.maybeRow<ConnectSession>(
    `select ${columns} from connect_sessions where secret_hash = $1 and expires_at > assay_now()`,
    [secretHash],
  )
}

export async function findSession(sql: Sql, sessionId: string): Promise<ConnectSession | undefined> {
  return sql.maybeRow<ConnectSession>(
    `select ${columns} from connect_sessions where id = $1 and expires_at > assay_now()`,
    [sessionId],
  )
}

/** Steps of one session come one after the other, whichever process they reach. */
export async function lockSession(tx: Sql, sessionId: string): Promise<ConnectSession | undefined> {
  return tx.maybeRow<ConnectSession>(
    `select ${columns} from connect_sessions where id = $1 and expires_at > assay_now() for update`,
    [sessionId],
  )
}

export async function setUser(sql: Sql, sessionId: string, userId: string, by: SignedInBy): Promise<ConnectSession> {
  return sql.row<ConnectSession>(
    `update connect_sessions set user_id = $2, signed_in_by = $3 where id = $1 returning ${columns}`,
    [sessionId, userId, by],
  )
}

export async function setConsent(sql: Sql, sessionId: string, consent: Consent): Promise<ConnectSession> {
  return sql.row<ConnectSession>(`update connect_sessions set consent = $2 where id = $1 returning ${columns}`, [
    sessionId,
    JSON.stringify(consent),
  ])
}

export async function setOutcome(sql: Sql, sessionId: string, outcome: 'finished' | 'declined'): Promise<void> {
  await sql.execute('update connect_sessions set outcome = $2, ended_at = assay_now() where id = $1', [
    sessionId,
    outcome,
  ])
}

export async function deleteSession(sql: Sql, sessionId: string): Promise<void> {
  await sql.execute('delete from connect_sessions where id = $1', [sessionId])
}

/** The newest other session of the same user and client that was left open, signed in by e-mail, and has connections. */
export async function findUnfinished(
  sql: Sql,
  session: ConnectSession,
): Promise<{ sessionId: string; startedAt: string } | undefined> {
  return sql.maybeRow<{ sessionId: string; startedAt: string }>(
    `select id as "sessionId", created_at as "startedAt" from connect_sessions other
     where tenant_id = $1 and user_id = $2 and client_id = $3 and id <> $4
       and signed_in_by = 'email_code' and outcome is null and expires_at > assay_now()
       and exists (select from provisional_connections c
                   where c.tenant_id = $1 and c.user_id = $2 and c.session_id = other.id)
     order by created_at desc limit 1`,
    [session.tenantId, session.userId, session.clientId, session.sessionId],
  )
}

export async function findGrantEnd(sql: Sql, grantSeconds: number): Promise<string> {
  const { ends } = await sql.row<{ ends: string }>(
    `select date_trunc('milliseconds', assay_now()) + make_interval(secs => $1) as ends`,
    [grantSeconds],
  )
  return ends
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

/** What nobody can use any more, at most `batchSize` of each table. */
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
         select ${key} from ${table} where expires_at <= assay_now() limit $1 for update skip locked)`,
      [batchSize],
    )
  }
  return deleted
}
