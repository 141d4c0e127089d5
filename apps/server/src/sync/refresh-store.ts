/** All SQL over refreshes and their cool-downs. */
import type { Cause } from '@assay/core'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

export type RefreshKind = 'assets' | 'transactions'

interface Owner {
  tenantId: string
  userId: string
}

export interface RefreshableRow {
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

const coolDown = "interval '60 seconds'"
const keptFor = "interval '7 days'"
const sweepBatchSize = 1_000

const refOf = (ref: ConnectionRef): [string, string, string] => [ref.tenantId, ref.userId, ref.connectionId]

/** In the order of their ids, so that two requests claim cool-downs in one order and never wait for each other. */
export async function listRefreshable(
  sql: Sql,
  owner: Owner,
  connectionIds: readonly string[] | undefined,
): Promise<RefreshableRow[]> {
  return sql.rows<RefreshableRow>(
    `select id, provider_id, status, status_cause, key_lane from readable_connections
     where tenant_id = $1 and user_id = $2 and ($3::text[] is null or id = any($3)) order by id`,
    [owner.tenantId, owner.userId, connectionIds ?? null],
  )
}

/** Zero when the connection was free and its cool-down begins now; otherwise the seconds until it is. */
export async function claimCoolDown(tx: Sql, ref: ConnectionRef, kind: RefreshKind): Promise<number> {
  const claimed = await tx.execute(
    `insert into refresh_cool_downs as c (tenant_id, user_id, connection_id, kind, accepted_at)
     values ($1, $2, $3, $4, assay_now())
     on conflict (tenant_id, user_id, connection_id, kind) do update set accepted_at = excluded.accepted_at
       where c.accepted_at <= excluded.accepted_at - ${coolDown}`,
    [...refOf(ref), kind],
  )
  if (claimed === 1) return 0
  const { seconds } = await tx.row<{ seconds: number }>(
    `select greatest(1, ceil(extract(epoch from accepted_at + ${coolDown} - assay_now())))::int as seconds
     from refresh_cool_downs where tenant_id = $1 and user_id = $2 and connection_id = $3 and kind = $4`,
    [...refOf(ref), kind],
  )
  return seconds
}

export async function insertRefresh(
  tx: Sql,
  owner: Owner,
  refresh: { id: string; kind: RefreshKind; connections: readonly RefreshedConnection[] },
): Promise<string> {
  const { requested_at } = await tx.row<{ requested_at: string }>(
    `insert into refreshes (tenant_id, user_id, id, kind, requested_at) values ($1, $2, $3, $4, assay_now())
     returning requested_at`,
    [owner.tenantId, owner.userId, refresh.id, refresh.kind],
  )
  const { connections } = refresh
  await tx.execute(
    `insert into refresh_connections (tenant_id, user_id, refresh_id, kind, connection_id, provider_id, status, cause)
     select $1, $2, $3, $4, * from unnest($5::text[], $6::text[], $7::text[], $8::text[])`,
    [
      owner.tenantId,
      owner.userId,
      refresh.id,
      refresh.kind,
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
  const keys = [owner.tenantId, owner.userId, id]
  const head = await sql.maybeRow<{ requested_at: string }>(
    'select requested_at from refreshes where tenant_id = $1 and user_id = $2 and id = $3',
    keys,
  )
  if (head === undefined) return undefined
  const connections = await sql.rows<RefreshedConnection>(
    `select connection_id, provider_id, status, cause from refresh_connections
     where tenant_id = $1 and user_id = $2 and refresh_id = $3 order by connection_id`,
    keys,
  )
  return { requestedAt: head.requested_at, connections }
}

/** A run begins: it answers what was asked for until now. What is asked for later stays queued for the next. */
export async function startRefreshes(sql: Sql, ref: ConnectionRef, kind: RefreshKind): Promise<void> {
  await sql.execute(
    `update refresh_connections set status = 'running'
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and kind = $4 and status = 'queued'`,
    [...refOf(ref), kind],
  )
}

export async function endRefreshes(
  sql: Sql,
  ref: ConnectionRef,
  kind: RefreshKind,
  end: { status: 'succeeded' | 'failed'; cause: Cause | null },
): Promise<void> {
  await sql.execute(
    `update refresh_connections set status = $5, cause = $6
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and kind = $4 and status = 'running'`,
    [...refOf(ref), kind, end.status, end.cause],
  )
}

export async function hasQueued(sql: Sql, ref: ConnectionRef, kind: RefreshKind): Promise<boolean> {
  const row = await sql.maybeRow(
    `select from refresh_connections
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and kind = $4 and status = 'queued' limit 1`,
    [...refOf(ref), kind],
  )
  return row !== undefined
}

/** Old ones, at most so many; the next round takes the rest. */
export async function deleteOldRefreshes(sql: Sql): Promise<number> {
  return sql.execute(
    `delete from refreshes where (tenant_id, user_id, id) in (
       select tenant_id, user_id, id from refreshes where requested_at < assay_now() - ${keptFor} limit $1)`,
    [sweepBatchSize],
  )
}
