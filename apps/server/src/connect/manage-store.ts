/** All SQL over manage_sessions and grant_accesses. */
import type { Sql } from '../db/index.ts'

export interface ManageSession {
  sessionId: string
  tenantId: string
  clientId: string
  userId: string | null
}

const columns = `id as "sessionId", tenant_id as "tenantId", client_id as "clientId", user_id as "userId"`

export async function insertManageSession(
  sql: Sql,
  session: { sessionId: string; secretHash: Buffer; tenantId: string; clientId: string; lifeSeconds: number },
): Promise<void> {
  await sql.execute(
    `insert into manage_sessions (id, secret_hash, tenant_id, client_id, last_used_at, expires_at)
     select $1, $2, $3, $4, now, now + make_interval(secs => $5) from (select assay_now() as now) clock`,
    [session.sessionId, session.secretHash, session.tenantId, session.clientId, session.lifeSeconds],
  )
}

/** Being used is what keeps it alive, within its life. */
export async function touchManageSession(
  sql: Sql,
  secretHash: Buffer,
  idleSeconds: number,
): Promise<ManageSession | undefined> {
  return sql.maybeRow<ManageSession>(
    `update manage_sessions set last_used_at = assay_now()
     where secret_hash = $1 and expires_at > assay_now() and last_used_at > assay_now() - make_interval(secs => $2)
     returning ${columns}`,
    [secretHash, idleSeconds],
  )
}

/** False when it has a user already. */
export async function setManageUser(sql: Sql, sessionId: string, userId: string): Promise<boolean> {
  const touched = await sql.execute('update manage_sessions set user_id = $2 where id = $1 and user_id is null', [
    sessionId,
    userId,
  ])
  return touched === 1
}

export interface AccessCount {
  tenantId: string
  userId: string
  grantId: string
  endpoint: string
  count: number
}

/** One statement for everything that was counted since the last time; by the hour in which it is written. */
export async function addAccesses(sql: Sql, counts: readonly AccessCount[]): Promise<void> {
  await sql.execute(
    `insert into grant_accesses as a (tenant_id, user_id, grant_id, endpoint, count, hour)
     select *, (select date_trunc('hour', assay_now(), 'UTC'))
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
     on conflict (tenant_id, user_id, grant_id, hour, endpoint) do update set count = a.count + excluded.count`,
    [
      counts.map(({ tenantId }) => tenantId),
      counts.map(({ userId }) => userId),
      counts.map(({ grantId }) => grantId),
      counts.map(({ endpoint }) => endpoint),
      counts.map(({ count }) => count),
    ],
  )
}

export interface Access {
  grantId: string
  endpoint: string
  hour: string
  count: string
}

export async function listAccesses(
  sql: Sql,
  owner: { tenantId: string; userId: string },
  limit: number,
): Promise<Access[]> {
  return sql.rows<Access>(
    `select grant_id as "grantId", endpoint, hour, count from grant_accesses
     where tenant_id = $1 and user_id = $2
     order by hour desc, endpoint limit $3`,
    [owner.tenantId, owner.userId, limit],
  )
}

export async function deleteAccesses(sql: Sql, owner: { tenantId: string; userId: string }): Promise<void> {
  await sql.execute('delete from grant_accesses where tenant_id = $1 and user_id = $2', [owner.tenantId, owner.userId])
}

export async function deleteExpired(tx: Sql, batchSize: number, accessDays: number): Promise<number> {
  const sessions = await tx.execute(
    `delete from manage_sessions where id in (
       select id from manage_sessions where expires_at <= assay_now() limit $1 for update skip locked)`,
    [batchSize],
  )
  const accesses = await tx.execute(
    `delete from grant_accesses where ctid in (
       select ctid from grant_accesses where hour <= assay_now() - make_interval(days => $2)
       limit $1 for update skip locked)`,
    [batchSize, accessDays],
  )
  return sessions + accesses
}
