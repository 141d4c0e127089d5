/** All SQL over refreshes and their cool-downs. */
import type { Cause } from '@assay/core'
import type { Sql } from '../../db/index.ts'
import { keysOf, type ConnectionRef, type Owner } from '../../owner.ts'

export type RefreshKind = 'assets' | 'transactions'

export interface RefreshableRow {
  connection_key: number
  id: string
  provider_id: string
  status: 'syncing' | 'active' | 'degraded' | 'needs_reauth'
  status_cause: Cause | null
  key_lane: string
}

export interface RefreshedConnection {
  connection_id: string
  provider_id: string
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cooling_down'
  cause: Cause | null
}

const coolDownMs = 60_000
const keptFor = "interval '7 days'"
const sweepBatchSize = 1_000

/** In the order of their ids, so that two requests claim cool-downs in one order and never wait for each other. */
export async function listRefreshable(
  sql: Sql,
  owner: Owner,
  connectionIds: readonly string[] | undefined,
): Promise<RefreshableRow[]> {
  return sql.rows<RefreshableRow>(
    `select connection_key, id, provider_id, status, status_cause, key_lane from readable_connections
     where user_key = $1::bigint and ($2::text[] is null or id = any($2)) order by id`,
    [owner.userKey, connectionIds ?? null],
  )
}

/** Zero when the connection was free and its cool-down begins now; otherwise the seconds until it is. */
export async function claimCoolDown(tx: Sql, ref: ConnectionRef, kind: RefreshKind): Promise<number> {
  const claimed = await tx.execute(
    `insert into refresh_cool_downs as c (user_key, connection_key, kind, accepted_at)
     values ($1::bigint, $2, $3, $4::timestamptz)
     on conflict (user_key, connection_key, kind) do update set accepted_at = excluded.accepted_at
       where c.accepted_at <= $5::timestamptz`,
    [...keysOf(ref), kind, tx.now(), new Date(Date.parse(tx.now()) - coolDownMs).toISOString()],
  )
  if (claimed === 1) return 0
  const { seconds } = await tx.row<{ seconds: number }>(
    `select greatest(1, ceil(extract(epoch from accepted_at - $4::timestamptz) + $5::double precision / 1000))::int
       as seconds
     from refresh_cool_downs where user_key = $1::bigint and connection_key = $2 and kind = $3`,
    [...keysOf(ref), kind, tx.now(), coolDownMs],
  )
  return seconds
}

/** How many refreshes of the user were accepted within the last minute, of either kind. */
export async function countAccepted(tx: Sql, { userKey }: Owner): Promise<number> {
  const { accepted } = await tx.row<{ accepted: number }>(
    `select count(*)::int as accepted from refresh_cool_downs
     where user_key = $1::bigint and accepted_at > $2::timestamptz`,
    [userKey, new Date(Date.parse(tx.now()) - coolDownMs).toISOString()],
  )
  return accepted
}

/**
 * How many connections the refreshes of a user have named within the last minute, up to about `max`; one without any
 * counts as one. Ids follow the time, so that only the newest rows are looked at.
 */
export async function countNamed(tx: Sql, { userKey }: Owner, max: number): Promise<number> {
  const { named } = await tx.row<{ named: number }>(
    `select count(*)::int as named from (
       select id, requested_at from refreshes where user_key = $1::bigint order by id desc limit $3) newest
     left join refresh_connections c on c.user_key = $1::bigint and c.refresh_id = newest.id
     where newest.requested_at > $2::timestamptz`,
    [userKey, new Date(Date.parse(tx.now()) - coolDownMs).toISOString(), max],
  )
  return named
}

export async function insertRefresh(
  tx: Sql,
  owner: Owner,
  /** `keys` are those of `connections`, in their order. */
  refresh: { id: string; kind: RefreshKind; keys: readonly number[]; connections: readonly RefreshedConnection[] },
): Promise<string> {
  const { keys, connections } = refresh
  const { requested_at } = await tx.row<{ requested_at: string }>(
    `insert into refreshes (user_key, id, kind, requested_at) values ($1::bigint, $2, $3, $4::timestamptz)
     returning requested_at`,
    [owner.userKey, refresh.id, refresh.kind, tx.now()],
  )
  await tx.execute(
    `insert into refresh_connections
       (user_key, refresh_id, kind, connection_key, connection_id, provider_id, status, cause)
     select $1::bigint, $2::text, $3::text, * from unnest($4::integer[], $5::text[], $6::text[], $7::text[], $8::text[])`,
    [
      owner.userKey,
      refresh.id,
      refresh.kind,
      [...keys],
      connections.map((one) => one.connection_id),
      connections.map((one) => one.provider_id),
      connections.map((one) => one.status),
      connections.map((one) => one.cause),
    ],
  )
  return requested_at
}

export async function findRefresh(
  sql: Sql,
  owner: Owner,
  id: string,
): Promise<{ requestedAt: string; connections: RefreshedConnection[] } | undefined> {
  const head = await sql.maybeRow<{ requested_at: string }>(
    'select requested_at from refreshes where user_key = $1::bigint and id = $2',
    [owner.userKey, id],
  )
  if (head === undefined) return undefined
  const connections = await sql.rows<RefreshedConnection>(
    `select connection_id, provider_id, status, cause from refresh_connections
     where user_key = $1::bigint and refresh_id = $2 order by connection_id`,
    [owner.userKey, id],
  )
  return { requestedAt: head.requested_at, connections }
}

/** A job begins and answers every request up to now. Later requests stay queued for the next job. */
export async function startRefreshes(sql: Sql, ref: ConnectionRef, kind: RefreshKind): Promise<void> {
  await sql.execute(
    `update refresh_connections set status = 'running'
     where user_key = $1::bigint and connection_key = $2 and kind = $3 and status = 'queued'`,
    [...keysOf(ref), kind],
  )
}

export async function endRefreshes(
  sql: Sql,
  ref: ConnectionRef,
  kind: RefreshKind,
  end: { status: 'succeeded' | 'failed'; cause: Cause | null },
): Promise<void> {
  await sql.execute(
    `update refresh_connections set status = $4, cause = $5
     where user_key = $1::bigint and connection_key = $2 and kind = $3 and status = 'running'`,
    [...keysOf(ref), kind, end.status, end.cause],
  )
}

export async function hasQueued(sql: Sql, ref: ConnectionRef, kind: RefreshKind): Promise<boolean> {
  const row = await sql.maybeRow(
    `select from refresh_connections
     where user_key = $1::bigint and connection_key = $2 and kind = $3 and status = 'queued' limit 1`,
    [...keysOf(ref), kind],
  )
  return row !== undefined
}

/** In batches, until none is left: applications may ask for any number of them in a minute. */
export async function deleteOldRefreshes(sql: Sql): Promise<void> {
  let deleted: number
  do {
    deleted = await sql.execute(
      `delete from refreshes where (user_key, id) in (
         select user_key, id from refreshes where requested_at < $2::timestamptz - ${keptFor} limit $1)`,
      [sweepBatchSize, sql.now()],
    )
  } while (deleted === sweepBatchSize)
}
