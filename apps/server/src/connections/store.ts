/** SQL over existing `connections`: finding and opening them, and recording the results of reading. */
import type { Cause } from '@assay/core'
import type { Sql } from '../db/index.ts'
import { isNotQueued, toAddJob, type PayloadOf } from '../jobs/index.ts'
import { keysOf, type ConnectionRef, type Owner } from '../owner.ts'
import { scheduleValues, toNextInterval, type Schedule } from './schedule.ts'

export type ConnectionStatus = 'pending' | 'syncing' | 'active' | 'degraded' | 'needs_reauth' | 'removed'

/** How well the balances are proved (proof/judge.ts). */
export type Grade = 'proved' | 'explained' | 'unprovable' | 'open'

export interface ConnectionRow {
  connection_key: number
  id: string
  provider_id: string
  connection_type: 'api_key' | 'wallet' | 'oauth2'
  display_label: string | null
  status: ConnectionStatus
  status_cause: Cause | null
  status_message: string | null
  added_at: string | null
  last_synced_at: string | null
  next_sync_at: string | null
  history_from: string | null
  transaction_count: string
  record_count: string
  /** Null until the balances were judged. */
  proof_grade: Grade | null
  proof_checked_at: string | null
  proved_since: string | null
}

export const shown = `connection_key, id, provider_id, connection_type, display_label, status, status_cause,
  status_message, added_at, last_synced_at, next_sync_at, history_from, transaction_count, record_count, proof_grade,
  proof_checked_at, proved_since`

/** Settled, and not removed: applications see it. */
const isShown = "session_id is null and status not in ('pending', 'removed')"

const readable = "('syncing', 'active', 'degraded')"

/** The columns of a ConnectionRef, of a table that the statement calls `c`. */
export const refColumns = `c.tenant_key as "tenantKey", c.tenant_id as "tenantId", c.user_key as "userKey",
  c.user_id as "userId", c.connection_key as "connectionKey", c.id as "connectionId"`

const toTime = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString())

export async function findConnection(sql: Sql, owner: Owner, connectionId: string): Promise<ConnectionRow | undefined> {
  return sql.maybeRow<ConnectionRow>(
    `select ${shown} from connections where user_key = $1::bigint and id = $2 and ${isShown}`,
    [owner.userKey, connectionId],
  )
}

export async function isConnectionShown(sql: Sql, ref: ConnectionRef): Promise<boolean> {
  const row = await sql.maybeRow(
    `select from connections where user_key = $1::bigint and connection_key = $2 and ${isShown}`,
    keysOf(ref),
  )
  return row !== undefined
}

/** Ordered by (added_at, id), the oldest first: people read this list in the order in which they made it. */
export async function listConnections(
  sql: Sql,
  owner: Owner,
  page: { limit: number; after: { addedAt: string; id: string } | undefined },
): Promise<ConnectionRow[]> {
  return sql.rows<ConnectionRow>(
    `select ${shown} from connections
     where user_key = $1::bigint and ${isShown}
       and ($2::timestamptz is null or (added_at, id) > ($2::timestamptz, $3::text))
     order by added_at, id limit $4`,
    [owner.userKey, page.after?.addedAt ?? null, page.after?.id ?? null, page.limit],
  )
}

/** Finds it by its id alone, for sandbox mode: a call that stands for the provider's own website names no user. */
export async function findKeyLane(
  sql: Sql,
  connectionId: string,
): Promise<{ providerId: string; keyLane: string } | undefined> {
  return sql.maybeRow(
    `select provider_id as "providerId", key_lane as "keyLane" from connections
     where id = $1 and status <> 'removed' and connection_type = 'api_key'`,
    [connectionId],
  )
}

/** Sandbox mode: what a sign-in left, sealed. */
export async function findSealedSignIn(
  sql: Sql,
  connectionId: string,
): Promise<{ providerId: string; sealed: string; repairOf: string | null } | undefined> {
  return sql.maybeRow(
    `select provider_id as "providerId", sealed_credentials as sealed, repair_of as "repairOf" from connections
     where id = $1 and status <> 'removed' and connection_type = 'oauth2' and sealed_credentials is not null`,
    [connectionId],
  )
}

export interface OpenableRow {
  record_count: string
  /** Of all connections of the user. */
  user_records: string
  user_connections: number
  /** A grant is live, or the connection still belongs to its connect session. */
  allowed: boolean
  provider_id: string
  status: ConnectionStatus
  connection_type: ConnectionRow['connection_type']
  sealed_credentials: string | null
  address: string | null
  networks: string[] | null
  key_lane: string
  session_id: string | null
  /** The credentials are sealed for this connection, whose place they are to take. */
  repair_of: string | null
  rights_checked_at: string | null
}

/** SQL: an application may read this user's data. `$1` is the user's key. */
const isGranted = (now: string): string =>
  `exists (select from grant_terms g where g.user_key = $1::bigint and g.in_force and g.expires_at > ${now}::timestamptz)`

export async function findOpenable(sql: Sql, ref: ConnectionRef): Promise<OpenableRow | undefined> {
  return sql.maybeRow<OpenableRow>(
    `select provider_id, status, connection_type, sealed_credentials, address, networks, key_lane, session_id, repair_of,
       rights_checked_at,
       session_id is not null or ${isGranted('$3')} as allowed,
       record_count,
       (select sum(every.record_count) from connections every where every.user_key = $1::bigint) as user_records,
       (select count(*)::integer from connections every where every.user_key = $1::bigint) as user_connections
     from connections where user_key = $1::bigint and connection_key = $2`,
    [...keysOf(ref), sql.now()],
  )
}

/** The connection is not read until a grant is given, and upkeep must not treat it as stalled. */
export async function pause(sql: Sql, ref: ConnectionRef): Promise<void> {
  await sql.execute(
    `update connections set next_sync_at = null
     where user_key = $1::bigint and connection_key = $2 and session_id is null and next_sync_at is not null
       and not ${isGranted('$3')}`,
    [...keysOf(ref), sql.now()],
  )
}

export interface NextStatus {
  status: ConnectionStatus
  from: readonly ConnectionStatus[]
  cause: string | null
  message: string | null
  /** Applies only if the connection still has this key. */
  keyLane?: string
  /** Only a reading of the balances takes it back. */
  isOfBalances?: boolean
  /** Undefined leaves the next run where it is planned. */
  nextSyncInMs?: number | undefined
}

export async function setStatus(sql: Sql, ref: ConnectionRef, next: NextStatus): Promise<number> {
  const { status, from, cause, message, keyLane = null, isOfBalances = false, nextSyncInMs } = next
  const nextSyncAt = nextSyncInMs === undefined ? undefined : Date.parse(sql.now()) + nextSyncInMs
  return sql.execute(
    `update connections set status = $3::text, status_cause = $4, status_message = $5,
       next_sync_at = case when $3::text = 'needs_reauth' then null else coalesce($7::timestamptz, next_sync_at) end,
       balances_failed = balances_failed or $9::boolean
     where user_key = $1::bigint and connection_key = $2 and status = any($6::text[])
       and ($8::text is null or key_lane = $8)`,
    [...keysOf(ref), status, cause, message, [...from], toTime(nextSyncAt), keyLane, isOfBalances],
  )
}

/** The run continues, or is tried again, at that time; false when the connection has another key since, or is gone. */
export async function planNext(tx: Sql, ref: ConnectionRef, keyLane: string, inMs: number): Promise<boolean> {
  const planned = await tx.execute(
    `update connections set next_sync_at = $4::timestamptz + make_interval(secs => $5::double precision / 1000)
     where user_key = $1::bigint and connection_key = $2 and key_lane = $3 and status in ${readable}`,
    [...keysOf(ref), keyLane, tx.now(), inMs],
  )
  return planned === 1
}

export interface RecordedConnectionRead {
  /** A first read, a recovery, or another number of transactions than at the end of the last run. */
  isNews: boolean
  nextSyncInMs: number
}

/**
 * The history was read to its end: the connection is active, unless its balances could not be read. Undefined, with nothing recorded, when the connection is gone, waits for its owner or has
 * another key since. With a schedule, the next run is planned by it; without one it stays where it is.
 */
export async function recordConnectionRead(
  tx: Sql,
  ref: ConnectionRef,
  { keyLane, plan }: { keyLane: string; plan: { schedule: Schedule; jitter: number } | null },
): Promise<RecordedConnectionRead | undefined> {
  const row = await tx.maybeRow<{ is_news: boolean; next_ms: number }>(
    `with before as (
       select c.user_key, c.connection_key, c.status, c.synced_count, c.session_id, not c.balances_failed as is_whole,
         next.next_in, $4::timestamptz + next.next_in as next_at
       from connections c join user_ledgers l on l.user_key = c.user_key
       cross join lateral (
         select ${toNextInterval({ now: '$4', schedule: '$5', jitter: '$6' })} as next_in) next
       where c.user_key = $1::bigint and c.connection_key = $2 and c.status in ${readable} and c.key_lane = $3
       for update of c
     )
     update connections c set status = case when b.is_whole then 'active' else c.status end,
       status_cause = case when b.is_whole then null else c.status_cause end,
       status_message = case when b.is_whole then null else c.status_message end,
       last_synced_at = case when b.is_whole then $4::timestamptz else c.last_synced_at end,
       synced_count = c.transaction_count,
       next_sync_at = case when $7::boolean then b.next_at else c.next_sync_at end
     from before b
     where c.user_key = $1::bigint and c.user_key = b.user_key and c.connection_key = b.connection_key
     returning b.session_id is null and (b.status <> c.status or b.synced_count <> c.transaction_count) as is_news,
       1000 * extract(epoch from b.next_in)::double precision as next_ms`,
    [...keysOf(ref), keyLane, tx.now(), scheduleValues(plan?.schedule), plan?.jitter ?? 1, plan !== null],
  )
  return row && { isNews: row.is_news, nextSyncInMs: row.next_ms }
}

/** How long a connection waits for its next run, by the schedule. */
export async function findInterval(sql: Sql, ref: ConnectionRef, schedule: Schedule, jitter: number): Promise<number> {
  const row = await sql.maybeRow<{ next_ms: number }>(
    `select 1000 * extract(epoch from
       ${toNextInterval({ now: '$3', schedule: '$4', jitter: '$5' })})::double precision as next_ms
     from connections c join user_ledgers l on l.user_key = c.user_key
     where c.user_key = $1::bigint and c.connection_key = $2`,
    [...keysOf(ref), sql.now(), scheduleValues(schedule), jitter],
  )
  return row?.next_ms ?? 0
}

/**
 * SQL over a connection `c`: the reading that waits for its verdict once the one at `judged` has it. It is the newest;
 * none waits if that is the judged one, or not whole. A judged reading that waited on would keep its place from all
 * later ones.
 */
export const toUnprovedAt = (judged: string): string =>
  `case when c.balances_at > ${judged} and not c.balances_failed then c.balances_at end`

/**
 * The whole end of a run that found nothing: one statement, because most runs find nothing. Otherwise it does nothing
 * and returns false, and `recordConnectionRead` decides. It announces nothing, because nothing has changed.
 *
 * A statement that only names one user's tables is sent to the user's shard as a whole, and the queue is not on it. The
 * one row of the clock, a table of the coordinator, keeps the call that adds the job where the queue is.
 */
export async function recordIdleRead(
  sql: Sql,
  ref: ConnectionRef,
  run: { keyLane: string; schedule: Schedule; jitter: number; provedUntilMs?: number | undefined },
  nextRun: PayloadOf<'sync'>,
): Promise<boolean> {
  const { keyLane, schedule, jitter, provedUntilMs } = run
  const next = toAddJob('sync', nextRun, 7, 'next_in')
  // The reading that waited for its verdict has the one before it; the next to wait is the newest. Without a time up to
  // which everything was read, this is null, and the reading waits on.
  const isProved = 'c.proof_grade is not null and c.unproved_at < $7::timestamptz'
  const row = await sql.maybeRow(
    `with planned as (
       select c.user_key, c.connection_key, next.next_in, $4::timestamptz + next.next_in as next_at
       from connections c join user_ledgers l on l.user_key = c.user_key
       cross join lateral (
         select ${toNextInterval({ now: '$4', schedule: '$5', jitter: '$6' })} as next_in) next
       where c.user_key = $1::bigint and c.connection_key = $2
     ), recorded as (
       update connections c set last_synced_at = $4::timestamptz, next_sync_at = p.next_at,
         proof_checked_at = case when ${isProved} then $4::timestamptz else c.proof_checked_at end,
         proof_balances_at = case when ${isProved} then c.unproved_at else c.proof_balances_at end,
         unproved_at = case when ${isProved} then ${toUnprovedAt('c.unproved_at')} else c.unproved_at end
       from planned p
       where c.user_key = $1::bigint and c.user_key = p.user_key and c.connection_key = p.connection_key
         and c.key_lane = $3 and c.status = 'active' and c.synced_count = c.transaction_count
       returning p.next_in
     )
     select ${next.call} from recorded, sandbox_clock`,
    [...keysOf(ref), keyLane, sql.now(), scheduleValues(schedule), jitter, toTime(provedUntilMs), ...next.values],
  )
  return row !== undefined
}

/** Providers name far years for keys that never end. PostgreSQL does not read a year of more than four digits. */
const expiresBeforeMs = Date.UTC(10_000, 0)

/** Records when the key ends, as the provider said when its rights were read just now; null when it does not expire. */
export async function recordRights(sql: Sql, ref: ConnectionRef, expiresAtMs: number | null): Promise<void> {
  const expires = expiresAtMs !== null && expiresAtMs < expiresBeforeMs ? new Date(expiresAtMs).toISOString() : null
  await sql.execute(
    `update connections set key_expires_at = $3::timestamptz, rights_checked_at = $4::timestamptz
     where user_key = $1::bigint and connection_key = $2`,
    [...keysOf(ref), expires, sql.now()],
  )
}

export async function hasKeyExpired(sql: Sql, ref: ConnectionRef): Promise<boolean> {
  const row = await sql.maybeRow(
    `select from connections
     where user_key = $1::bigint and connection_key = $2 and key_expires_at <= $3::timestamptz`,
    [...keysOf(ref), sql.now()],
  )
  return row !== undefined
}

export interface DueConnection extends ConnectionRef {
  keyLane: string
}

/**
 * Settled connections that are overdue, or were paused for lack of a grant: planned for now. It also locks the
 * connections of sessions, which the caller is about to settle: locked in the order of their keys and before the user's
 * row, they never wait in a circle with a run.
 */
export async function resumeOverdue(tx: Sql, owner: Owner): Promise<DueConnection[]> {
  return tx.rows<DueConnection>(
    `with overdue as (
       select user_key, connection_key from connections
       where user_key = $1::bigint and (session_id is not null or (status in ${readable}
         and (next_sync_at is null or next_sync_at < $2::timestamptz)))
       order by connection_key for update
     )
     update connections c set next_sync_at = $2::timestamptz from overdue
     where c.user_key = $1::bigint and c.connection_key = overdue.connection_key
       and c.session_id is null and c.status in ${readable}
     returning ${refColumns}, c.key_lane as "keyLane"`,
    [owner.userKey, tx.now()],
  )
}

/**
 * The user came back: connections whose next run was planned for an idle user are planned as for an active one. In the
 * order of their keys, so that two processes never wait for each other in a circle; and never skipping a row that is
 * locked, because the run that holds it may have looked at the user before.
 */
export async function planSooner(
  tx: Sql,
  userKey: string,
  everyMs: number,
): Promise<(DueConnection & { inMs: number })[]> {
  return tx.rows(
    `with later as (
       select connection_key, greatest($2::timestamptz,
         last_synced_at + make_interval(secs => $3::double precision / 1000)) as due_at
       from connections
       where user_key = $1::bigint and session_id is null and status = 'active'
       order by connection_key for update
     )
     update connections c set next_sync_at = later.due_at from later
     where c.user_key = $1::bigint and c.connection_key = later.connection_key and c.next_sync_at > later.due_at
     returning ${refColumns}, c.key_lane as "keyLane",
       1000 * extract(epoch from c.next_sync_at - $2::timestamptz)::double precision as "inMs"`,
    [userKey, tx.now(), everyMs],
  )
}

/** The longest overdue, and without a job that would read them: the chain of their runs was broken. */
export async function listStalled(
  sql: Sql,
  { overdueMs, limit }: { overdueMs: number; limit: number },
): Promise<DueConnection[]> {
  return sql.rows<DueConnection>(
    `select ${refColumns}, c.key_lane as "keyLane" from (
       select * from connections
       where session_id is null and status in ${readable}
         and next_sync_at < $1::timestamptz - make_interval(secs => $2::double precision / 1000)
       order by next_sync_at limit ${overdueLookedAtMax}) c
     where ${isNotQueued('sync', 'c.id')} limit $3`,
    [sql.now(), overdueMs, limit],
  )
}

/** When workers are behind, all that is due is overdue and has a job; a round looks at the oldest of them. */
const overdueLookedAtMax = 1_000

/** False when other credentials are in their place. */
export async function replaceCredentials(sql: Sql, ref: ConnectionRef, from: string, to: string): Promise<boolean> {
  const replaced = await sql.execute(
    `update connections set sealed_credentials = $3
     where user_key = $1::bigint and connection_key = $2 and sealed_credentials = $4`,
    [...keysOf(ref), to, from],
  )
  return replaced === 1
}

/** What `toIssue` needs of a connection. */
export interface IssueRow {
  id: string
  provider_id: string
  status: 'syncing' | 'degraded' | 'needs_reauth'
  status_cause: Cause | null
  status_message: string | null
  next_sync_at: string | null
}

const issuesMax = 100

export async function listUnsettled(sql: Sql, userKeys: readonly string[]): Promise<IssueRow[]> {
  return sql.rows<IssueRow>(
    `select id, provider_id, status, status_cause, status_message, next_sync_at from connections
     where user_key = any($1::bigint[]) and session_id is null and status in ('syncing', 'degraded', 'needs_reauth')
     order by added_at, id limit $2`,
    [[...userKeys], issuesMax],
  )
}
