/**
 * The SQL of `transactions.changed`: counts that add up until a message may be written.
 *
 * A row is due when it is made, and then a minute after each message. When a due row has counted nothing, it is deleted.
 * So the table holds only connections that changed within the last minute or so, and finding what is due asks an index.
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
 * A connection that the tenant sees, if the tenant has a webhook. Most tenants have none, and this is all they pay. As one
 * statement with the insert, Citus would ask every shard of the user's table.
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
  /** Null when the tenant does not see the connection any more. */
  tenant_id: string | null
  user_id: string | null
  connection_id: string | null
}

export async function hasDue(sql: Sql): Promise<boolean> {
  const found = await sql.maybeRow(
    'select from pending_announcements where due_at <= $1::timestamptz order by due_at limit 1',
    [sql.now()],
  )
  return found !== undefined
}

/** Locked until the transaction ends. Skips locked rows; the next round finds what a running commit adds. */
export async function lockDue(tx: Sql, limit: number): Promise<DueAnnouncement[]> {
  return tx.rows<DueAnnouncement>(
    `select due.*, c.tenant_id, c.user_id, c.id as connection_id
     from (
       select user_key, connection_key, added::float8 as added, changed::float8 as changed, removed::float8 as removed
       from pending_announcements where due_at <= $1::timestamptz order by due_at limit $2 for update skip locked) due
     left join readable_connections c on c.user_key = due.user_key and c.connection_key = due.connection_key`,
    [tx.now(), limit],
  )
}

type Key = Pick<DueAnnouncement, 'user_key' | 'connection_key'>

const ofKeys = `(user_key, connection_key) in (select * from unnest($1::bigint[], $2::integer[]))`
const toArrays = (keys: readonly Key[]): [string[], number[]] => [
  keys.map((key) => key.user_key),
  keys.map((key) => key.connection_key),
]

export async function deleteCounts(tx: Sql, keys: readonly Key[]): Promise<void> {
  await tx.execute(`delete from pending_announcements where ${ofKeys}`, toArrays(keys))
}

/** Restarts the counts after a message was written for them. */
export async function restartCounts(tx: Sql, keys: readonly Key[], intervalMs: number): Promise<void> {
  await tx.execute(
    `update pending_announcements set added = 0, changed = 0, removed = 0,
       due_at = $3::timestamptz + make_interval(secs => $4::double precision / 1000)
     where ${ofKeys}`,
    [...toArrays(keys), tx.now(), intervalMs],
  )
}
