/**
 * The SQL that numbers the tenant's feed. For each user of a fold it compares what the feed has announced
 * (`feed_users`) with what is there now, and writes rows of `tenant_changes`:
 *
 * - a live grant covers the user's transactions, and the user's newest change number is past the announced one: the
 *   changes in between are announced. A user who was not covered before starts from 0.
 * - the last such grant has ended, or the user was deleted: the user is announced as removed. The user's earlier rows
 *   are deleted, because the removal replaces everything they announced.
 *
 * The newest committed number is a consistent bound. A commit takes its numbers by updating the user's row of
 * `user_ledgers`, and the lock on that row is held until it has committed. So when a number is visible here, all
 * smaller ones of that user are committed, and their rows are visible to every later reader of the announced range.
 *
 * A number of the feed is the time in milliseconds times 2^20, or the last number plus one if that is larger, as a
 * user's are. A plain count would go back with a database that is restored from a backup, and give numbers that readers
 * have passed already to changes that they have never seen.
 */
import type { Sql } from '../../db/index.ts'
import { isLive } from '../grants.ts'

/** The caller holds the tenant's lock (fold-store.ts), so that the numbers are committed in their order. */
export async function numberUsers(tx: Sql, tenantKey: number, at: string, userKeys: readonly string[]): Promise<void> {
  const { found } = await findStates(tx, tenantKey, at, userKeys)
  await tx.execute(
    `with looked as materialized (
       select u.user_key, f.user_id as announced_id, f.numbered_seq, s.user_id, coalesce(s.change_seq, 0) as change_seq,
         s.ends_at
       from unnest($2::bigint[]) as u (user_key)
       left join feed_users f on f.tenant_key = $1::integer and f.user_key = u.user_key
       left join json_to_recordset($4::json) as s (user_key bigint, user_id text, change_seq bigint, ends_at timestamptz)
         on s.user_key = u.user_key
     ), gone as (
       select user_key, announced_id from looked where ends_at is null and announced_id is not null
     ), left_feed as (
       delete from feed_users f using gone where f.tenant_key = $1::integer and f.user_key = gone.user_key
     ), taken_back as (
       delete from tenant_changes c using gone where c.tenant_key = $1::integer and c.user_key = gone.user_key
     ), kept as (
       insert into feed_users as f (tenant_key, user_key, user_id, numbered_seq, look_again_at)
       select $1::integer, user_key, user_id, change_seq, ends_at from looked where ends_at is not null
       on conflict (tenant_key, user_key) do update
         set numbered_seq = excluded.numbered_seq, look_again_at = excluded.look_again_at
         where (f.numbered_seq, f.look_again_at) is distinct from (excluded.numbered_seq, excluded.look_again_at)
     ), announced as (
       select user_key, announced_id as user_id, true as removed, 0::bigint as from_seq, 0::bigint as to_seq from gone
       union all
       select user_key, user_id, false, coalesce(numbered_seq, 0), change_seq from looked
       where ends_at is not null and change_seq > coalesce(numbered_seq, 0)
     ), numbered as (
       insert into tenant_changes (tenant_key, seq, user_key, user_id, removed, from_seq, to_seq, numbered_at)
       select $1::integer, greatest(feed.seq, $5::bigint << 20) + row_number() over (order by a.user_key), a.*,
         $3::timestamptz
       from announced a, (select seq from tenant_feeds where tenant_key = $1::integer) feed
     )
     update tenant_feeds set seq = greatest(seq, $5::bigint << 20) + (select count(*) from announced)
     where tenant_key = $1::integer and exists (select from announced)`,
    [tenantKey, userKeys, at, found, Date.parse(at)],
  )
}

/**
 * For users whose transactions a live grant covers: the newest change, and when the first of the grants ends. The
 * result is one JSON text, because users are on all nodes of a distributed database and the feed is on one.
 */
function findStates(tx: Sql, tenantKey: number, at: string, userKeys: readonly string[]): Promise<{ found: string }> {
  return tx.row<{ found: string }>(
    `select coalesce(json_agg(s), '[]')::text as found from (
       select g.user_key, t.id as user_id, c.change_seq, g.ends_at
       from (
         select g.user_key, min(g.expires_at) as ends_at from grant_terms g
         where g.user_key = any($2::bigint[]) and ${isLive('g', '$3')} and 'transactions:read' = any(g.scopes)
         group by g.user_key) g
       join tenant_users t on t.tenant_key = $1::integer and t.user_key = g.user_key
       left join user_changes c on c.user_key = g.user_key) s`,
    [tenantKey, userKeys, at],
  )
}

/** The tenant of the oldest announcement, if it is older than `before`. */
export async function findOld(sql: Sql, before: string): Promise<number | undefined> {
  const row = await sql.maybeRow<{ tenant_key: number }>(
    'select tenant_key from tenant_changes where numbered_at < $1::timestamptz order by numbered_at limit 1',
    [before],
  )
  return row?.tenant_key
}

/** Deletes a batch of announcements older than `before`, and moves the number before which cursors have expired. */
export async function deleteAnnounced(tx: Sql, tenantKey: number, before: string, limit: number): Promise<void> {
  await tx.execute(
    `with old as (
       delete from tenant_changes where tenant_key = $1::integer and seq in (
         select seq from tenant_changes where tenant_key = $1::integer and numbered_at < $2::timestamptz
         order by numbered_at limit $3)
       returning seq
     )
     update tenant_feeds set first_seq = greatest(first_seq, (select max(seq) from old))
     where tenant_key = $1::integer and exists (select from old)`,
    [tenantKey, before, limit],
  )
}
