/** SQL over `connections` that were made in a connect session and are not settled yet. */
import type { Sql } from '../../db/index.ts'
import { keysOf, type ConnectionRef, type Owner } from '../../owner.ts'
import { refColumns, shown, type ConnectionRow, type ConnectionStatus } from '../store.ts'

/** Verified ones, in the order they were made. */
export async function listInSession(sql: Sql, owner: Owner, connectSessionId: string): Promise<ConnectionRow[]> {
  return sql.rows<ConnectionRow>(
    `select ${shown} from connections
     where user_key = $1::bigint and session_id = $2 and status <> 'pending'
     order by added_at, id`,
    [owner.userKey, connectSessionId],
  )
}

export interface SessionConnection extends ConnectionRef {
  status: ConnectionStatus
}

/** All connections of the session, including those that are still being verified, or one of them. */
export async function lockInSession(
  tx: Sql,
  owner: Owner,
  connectSessionId: string,
  connectionId?: string,
): Promise<SessionConnection[]> {
  return tx.rows<SessionConnection>(
    `select ${refColumns}, c.status from connections c
     where c.user_key = $1::bigint and c.session_id = $2 and ($3::text is null or c.id = $3)
     order by c.connection_key for update`,
    [owner.userKey, connectSessionId, connectionId ?? null],
  )
}

/**
 * They no longer belong to a session. One that was verified is shown from now on, at this number of the user's changes;
 * one that is still being verified is shown when that has ended well.
 */
export async function settle(tx: Sql, ref: ConnectionRef, shown: { seq: string; at: string } | null): Promise<void> {
  await tx.execute(
    `update connections set session_id = null, shown_seq = $3::bigint, shown_at = $4::timestamptz
     where user_key = $1::bigint and connection_key = $2`,
    [...keysOf(ref), shown?.seq ?? null, shown?.at ?? null],
  )
}

export async function moveSession(tx: Sql, owner: Owner, from: string, to: string): Promise<void> {
  await tx.execute('update connections set session_id = $3 where user_key = $1::bigint and session_id = $2', [
    owner.userKey,
    from,
    to,
  ])
}

/** How long the code of a finished session can still be redeemed, with a margin. */
const redeemable = "interval '2 minutes'"

/** Sessions that can no longer be finished or redeemed but still have connections. */
export async function listLapsedSessions(sql: Sql, limit: number): Promise<(Owner & { connectSessionId: string })[]> {
  return sql.rows<Owner & { connectSessionId: string }>(
    `select distinct c.tenant_key as "tenantKey", c.tenant_id as "tenantId", c.user_key as "userKey",
       c.user_id as "userId", c.session_id as "connectSessionId"
     from connections c
     where c.session_id is not null and not exists (
       select from connect_session_ends s where s.id = c.session_id and (
         (s.outcome is null and s.expires_at > $1::timestamptz)
         or (s.outcome = 'finished' and s.ended_at > $1::timestamptz - ${redeemable})))
     limit $2`,
    [sql.now(), limit],
  )
}
