/**
 * The SQL of `transactions.changed`: counts that add up until a message may be written.
 *
 * A row is due when it is made, and then a minute after each message. When a due row has counted nothing, it is
 * deleted. So the table holds only connections that changed within the last minute or so, and finding what is due asks
 * an index.
 */
import type { Sql } from '../db/index.ts'
import type { ChangeCounts } from '../notices.ts'
import type { ConnectionRef } from '../owner.ts'

/** Counts nothing when the tenant has no webhook, or does not see the connection. */
export async function addCounts(
  tx: Sql,
  ref: Pick<ConnectionRef, 'userKey' | 'connectionKey'>,
  counts: ChangeCounts,
): Promise<void> {
  if ((await findAnnounced(tx, ref)) !== undefined) await insertCounts(tx, ref, counts)
}

/** The connection is shown from now on, with all its transactions. */
export async function addShown(tx: Sql, ref: Pick<ConnectionRef, 'userKey' | 'connectionKey'>): Promise<void> {
  const added = (await findAnnounced(tx, ref))?.transaction_count ?? 0
  if (added > 0) await insertCounts(tx, ref, { added, changed: 0, removed: 0 })
}

/**
 * A connection that the tenant sees, if the tenant has a webhook. Most tenants have none, and this is all they pay. It
 * is a separate statement: combined with the insert, Citus would ask every shard of the user's table.
 */
async function findAnnounced(
  tx: Sql,
  { userKey, connectionKey }: Pick<ConnectionRef, 'userKey' | 'connectionKey'>,
): Promise<{ transaction_count: number } | undefined> {
  return tx.maybeRow<{ transaction_count: number }>(
    `select c.transaction_count::integer as transaction_count
     from readable_connections c join webhooks w on w.tenant_id = c.tenant_id
     where c.user_key = $1::bigint and c.connection_key = $2::integer`,
    [userKey, connectionKey],
  )
}

async function insertCounts(
  tx: Sql,
  { userKey, connectionKey }: Pick<ConnectionRef, 'userKey' | 'connectionKey'>,
  { added, changed, removed }: ChangeCounts,
): Promise<void> {
  await tx.execute(
    `insert into pending_announcements as p (user_key, connection_key, added, changed, removed, due_at)
     values ($1::bigint, $2::integer, $3::bigint, $4::bigint, $5::bigint, $6::timestamptz)
     on conflict (user_key, connection_key) do update
       set added = p.added + excluded.added, changed = p.changed + excluded.changed, removed = p.removed + excluded.removed`,
    [userKey, connectionKey, added, changed, removed, tx.now()],
  )
}

export interface DueAnnouncement extends ChangeCounts {
  user_key: string
  connection_key: number
  /** Null when the tenant no longer sees the connection. */
  tenant_id: string | null
  user_id: string | null
  connection_id: string | null
}

/** The rows that have been due for longest. Each is taken in its own transaction, because they are on many shards. */
export async function listDue(sql: Sql, limit: number): Promise<DueAnnouncement[]> {
  return sql.rows<DueAnnouncement>(
    `select p.user_key, p.connection_key, p.added::float8 as added, p.changed::float8 as changed,
       p.removed::float8 as removed, c.tenant_id, c.user_id, c.id as connection_id
     from pending_announcements p
     left join readable_connections c on c.user_key = p.user_key and c.connection_key = p.connection_key
     where p.due_at <= $1::timestamptz order by p.due_at limit $2`,
    [sql.now(), limit],
  )
}

type Key = Pick<DueAnnouncement, 'user_key' | 'connection_key'>

const isDue = 'user_key = $1::bigint and connection_key = $2::integer and due_at <= $3::timestamptz'

/**
 * Deletes counts that no message will report. False when they changed since they were listed, or another worker took
 * them.
 */
export async function deleteCounts(sql: Sql, due: Key & ChangeCounts): Promise<boolean> {
  const deleted = await sql.execute(
    `delete from pending_announcements where ${isDue} and (added, changed, removed) = ($4::bigint, $5::bigint, $6::bigint)`,
    [due.user_key, due.connection_key, sql.now(), due.added, due.changed, due.removed],
  )
  return deleted === 1
}

/**
 * Begins to count again, and returns what a message has to say now. Undefined when another worker has taken it, or a
 * commit that is adding to it holds the row: the next round finds that one.
 */
export async function restartCounts(
  tx: Sql,
  { user_key, connection_key }: Key,
  dueAt: string,
): Promise<ChangeCounts | undefined> {
  return tx.maybeRow<ChangeCounts>(
    `with due as (
       select user_key, connection_key, added, changed, removed from pending_announcements
       where ${isDue} for update skip locked
     )
     update pending_announcements p set added = 0, changed = 0, removed = 0, due_at = $4::timestamptz
     from due where p.user_key = $1::bigint and p.user_key = due.user_key and p.connection_key = due.connection_key
     returning due.added::float8 as added, due.changed::float8 as changed, due.removed::float8 as removed`,
    [user_key, connection_key, tx.now(), dueAt],
  )
}
