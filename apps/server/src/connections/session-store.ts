/** SQL over `connections` that were made in a connect session and are not settled yet, and over repairs. */
import type { Sql } from '../db/index.ts'
import { shown, type ConnectionRef, type ConnectionRow, type Verdict } from './store.ts'

interface Owner {
  tenantId: string
  userId: string
}

/** Verified ones, in the order they were made. */
export async function listInSession(sql: Sql, owner: Owner, sessionId: string): Promise<ConnectionRow[]> {
  return sql.rows<ConnectionRow>(
    `select ${shown} from connections
     where tenant_id = $1 and user_id = $2 and session_id = $3 and status <> 'pending'
     order by added_at, id`,
    [owner.tenantId, owner.userId, sessionId],
  )
}

/** Everything of the session, also what is still being verified; or one connection of it. */
export async function lockInSession(
  tx: Sql,
  owner: Owner,
  sessionId: string,
  connectionId?: string,
): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(
    `select id from connections
     where tenant_id = $1 and user_id = $2 and session_id = $3 and ($4::text is null or id = $4)
     order by id for update`,
    [owner.tenantId, owner.userId, sessionId, connectionId ?? null],
  )
  return rows.map(({ id }) => id)
}

/** `settled`: an application could see it. */
export async function lockAll(tx: Sql, owner: Owner): Promise<{ id: string; settled: boolean }[]> {
  return tx.rows(
    `select id, session_id is null and status not in ('pending', 'removed') as settled
     from connections where tenant_id = $1 and user_id = $2 order by id for update`,
    [owner.tenantId, owner.userId],
  )
}

export async function moveSession(tx: Sql, owner: Owner, from: string, to: string): Promise<void> {
  await tx.execute(
    `update connections set session_id = $4
     where tenant_id = $1 and user_id = $2 and session_id = $3`,
    [owner.tenantId, owner.userId, from, to],
  )
}

/** Sessions that nobody can finish or redeem any more, and that still have connections. */
export async function listLapsedSessions(sql: Sql, limit: number): Promise<(Owner & { sessionId: string })[]> {
  return sql.rows<Owner & { sessionId: string }>(
    `select distinct tenant_id as "tenantId", user_id as "userId", session_id as "sessionId"
     from connections
     where session_id is not null
       and not exists (select from live_connect_sessions live where live.id = connections.session_id)
     limit $1`,
    [limit],
  )
}

/**
 * The new credentials take the place of the old, and the lane with them; false, with nothing changed, when the account
 * is another one. `needs_reauth` ends here; a connection that is being read goes on with the new key.
 */
export async function acceptRepair(
  tx: Sql,
  pending: ConnectionRef,
  repaired: { connectionId: string; fingerprint: string },
): Promise<boolean> {
  const touched = await tx.execute(
    `update connections target
     set sealed_credentials = pending.sealed_credentials, key_lane = pending.key_lane,
         status = case target.status when 'needs_reauth' then 'syncing' else target.status end,
         status_cause = case target.status when 'needs_reauth' then null else target.status_cause end,
         status_message = case target.status when 'needs_reauth' then null else target.status_message end
     from connections pending
     where target.tenant_id = $1 and target.user_id = $2 and target.id = $4
       and target.account_fingerprint = $5 and target.session_id is null
       and target.status not in ('pending', 'removed')
       and pending.tenant_id = $1 and pending.user_id = $2 and pending.id = $3 and pending.status = 'pending'`,
    [pending.tenantId, pending.userId, pending.connectionId, repaired.connectionId, repaired.fingerprint],
  )
  if (touched === 0) return false
  const verdict: Verdict = { added: true, connection_id: repaired.connectionId, errors: [] }
  await tx.execute(
    `update connections set sealed_credentials = null, verdict = $4
     where tenant_id = $1 and user_id = $2 and id = $3`,
    [pending.tenantId, pending.userId, pending.connectionId, JSON.stringify(verdict)],
  )
  return true
}
