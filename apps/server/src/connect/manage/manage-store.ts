/** All SQL over manage_sessions and grant_accesses, and over `read_at` of user_ledgers. */
import type { Sql } from '../../db/index.ts'
import type { Owner, Tenant } from '../../owner.ts'
import { ownerColumn } from '../store.ts'

export interface ManageSession extends Tenant {
  sessionId: string
  clientId: string
  /** Null until the user has signed in. */
  owner: Owner | null
}

const columns = `id as "sessionId", tenant_key as "tenantKey", tenant_id as "tenantId", client_id as "clientId",
  ${ownerColumn}`

export async function insertManageSession(
  sql: Sql,
  session: Tenant & { sessionId: string; secretHash: Buffer; clientId: string; lifeSeconds: number },
): Promise<void> {
  await sql.execute(
    `insert into manage_sessions (id, secret_hash, tenant_key, tenant_id, client_id, last_used_at, expires_at)
     values ($1, $2, $3, $4, $5, $6::timestamptz, $6::timestamptz + make_interval(secs => $7))`,
    [
      session.sessionId,
      session.secretHash,
      session.tenantKey,
      session.tenantId,
      session.clientId,
      sql.now(),
      session.lifeSeconds,
    ],
  )
}

/** Each use extends it, up to its maximum lifetime. */
export async function touchManageSession(
  sql: Sql,
  secretHash: Buffer,
  idleSeconds: number,
): Promise<ManageSession | undefined> {
  return sql.maybeRow<ManageSession>(
    `update manage_sessions set last_used_at = $3::timestamptz
     where secret_hash = $1 and expires_at > $3::timestamptz
       and last_used_at > $3::timestamptz - make_interval(secs => $2)
     returning ${columns}`,
    [secretHash, idleSeconds, sql.now()],
  )
}

/** False when it has a user already. */
export async function setManageUser(sql: Sql, sessionId: string, owner: Owner): Promise<boolean> {
  const touched = await sql.execute(
    `update manage_sessions set user_key = $2, user_id = $3
     where id = $1 and tenant_key = $4 and user_key is null`,
    [sessionId, owner.userKey, owner.userId, owner.tenantKey],
  )
  return touched === 1
}

export async function deleteManageSession(sql: Sql, { sessionId, tenantKey }: ManageSession): Promise<void> {
  await sql.execute('delete from manage_sessions where id = $1 and tenant_key = $2', [sessionId, tenantKey])
}

export interface AccessCount {
  userKey: string
  grantId: string
  endpoint: string
  count: number
  /** When the last of them was served. */
  lastAt: string
}

/**
 * One statement for everything that was counted since the last time, in the order of the key: two processes that write
 * the same rows then wait for each other and not in a circle. Users who were deleted meanwhile are left out.
 */
export async function addAccesses(sql: Sql, counts: readonly AccessCount[]): Promise<void> {
  await sql.execute(
    `insert into grant_accesses as a (user_key, grant_id, hour, endpoint, count, last_at)
     select user_key, grant_id, date_trunc('hour', last_at, 'UTC') as hour, endpoint, count, last_at
     from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[])
       as counted (user_key, grant_id, endpoint, count, last_at)
     join tenant_users using (user_key)
     order by user_key, grant_id, hour, endpoint
     on conflict (user_key, grant_id, hour, endpoint) do update
       set count = a.count + excluded.count, last_at = greatest(a.last_at, excluded.last_at)`,
    [
      counts.map(({ userKey }) => userKey),
      counts.map(({ grantId }) => grantId),
      counts.map(({ endpoint }) => endpoint),
      counts.map(({ count }) => count),
      counts.map(({ lastAt }) => lastAt),
    ],
  )
}

export interface UserAccess {
  userKey: string
  at: string
}

/**
 * Notes when users' data was last read, one statement for all of them. A row that is some minutes old is left alone:
 * schedules need no more, and ledgers are written to all the time. `wasIdle` of those that were noted: the read before
 * was so long ago that their connections were read less often. Users without a ledger have nothing to be read.
 *
 * The users are on many shards, where rows cannot be locked before they are written. Two processes that note one user
 * at the same moment both report the user as idle. That plans the user's connections twice, which changes nothing.
 */
export async function noteUserAccesses(
  sql: Sql,
  reads: readonly UserAccess[],
  { noteEverySeconds, idleAfterSeconds }: { noteEverySeconds: number; idleAfterSeconds: number },
): Promise<{ userKey: string; wasIdle: boolean }[]> {
  return sql.rows<{ userKey: string; wasIdle: boolean }>(
    `with before as materialized (
       select ledger.user_key, counted.at,
         coalesce(ledger.read_at < counted.at - make_interval(secs => $4), true) as was_idle
       from user_ledgers ledger
       join unnest($1::bigint[], $2::timestamptz[]) as counted (user_key, at) on counted.user_key = ledger.user_key
       where ledger.read_at is null or ledger.read_at < counted.at - make_interval(secs => $3)
       order by ledger.user_key
     )
     update user_ledgers set read_at = before.at
     from before
     where user_ledgers.user_key = before.user_key
     returning user_ledgers.user_key as "userKey", before.was_idle as "wasIdle"`,
    [reads.map(({ userKey }) => userKey), reads.map(({ at }) => at), noteEverySeconds, idleAfterSeconds],
  )
}

export interface DataAccess {
  grantId: string
  endpoint: string
  hour: string
  count: string
  lastAt: string
}

/**
 * The newest first. Where there are more than `limit`, the newest of each client and call stay in any case: reads that
 * one application repeats every hour must not hide what another client read once.
 */
export async function listAccesses(sql: Sql, { userKey }: Owner, limit: number): Promise<DataAccess[]> {
  return sql.rows<DataAccess>(
    `select "grantId", endpoint, hour, count, "lastAt" from (
       select grant_id as "grantId", endpoint, hour, count, last_at as "lastAt",
         row_number() over (partition by grant_id, endpoint order by hour desc) as age
       from grant_accesses where user_key = $1
       order by age, hour desc limit $2) newest
     order by hour desc, endpoint`,
    [userKey, limit],
  )
}

export async function deleteAccesses(sql: Sql, { userKey }: Owner): Promise<void> {
  await sql.execute('delete from grant_accesses where user_key = $1', [userKey])
}

export async function deleteExpired(tx: Sql, batchSize: number, accessDays: number): Promise<number> {
  const sessions = await tx.execute(
    `delete from manage_sessions where id in (
       select id from manage_sessions where expires_at <= $2::timestamptz limit $1 for update skip locked)`,
    [batchSize, tx.now()],
  )
  const accesses = await tx.execute(
    `delete from grant_accesses where (user_key, grant_id, hour, endpoint) in (
       select user_key, grant_id, hour, endpoint from grant_accesses
       where hour <= $3::timestamptz - make_interval(days => $2)
       limit $1)`,
    [batchSize, accessDays, tx.now()],
  )
  return sessions + accesses
}
