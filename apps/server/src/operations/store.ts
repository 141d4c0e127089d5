/** The SQL of `status` and `doctor`. It reads other rooms' tables and writes none. */
import type { Sql } from '../db/index.ts'

export interface QueueRow {
  task: string
  waiting: number
  due: number
  running: number
  failing: number
  last_error: string | null
}

export async function listQueue(sql: Sql): Promise<QueueRow[]> {
  return sql.rows<QueueRow>(
    `select j.task_identifier as task, (count(*) filter (where j.locked_at is null))::int as waiting,
       (count(*) filter (where j.locked_at is null and j.run_at <= clock_timestamp()))::int as due,
       (count(*) filter (where j.locked_at is not null))::int as running,
       (count(*) filter (where j.attempts > 0 and j.last_error is not null))::int as failing,
       max(left(j.last_error, 200)) as last_error
     from graphile_worker.jobs j group by 1 order by 1`,
  )
}

export interface ConnectionsRow {
  provider_id: string
  status: string
  status_cause: string | null
  connections: number
  /** How late the latest of them is, in seconds; null when none is due. */
  behind_seconds: number | null
}

export async function listConnectionStates(sql: Sql): Promise<ConnectionsRow[]> {
  return sql.rows<ConnectionsRow>(
    `select provider_id, status, status_cause, count(*)::int as connections,
       (max(extract(epoch from $1::timestamptz - next_sync_at))
         filter (where next_sync_at < $1::timestamptz))::int as behind_seconds
     from connections
     group by 1, 2, 3 order by 4 desc, 1, 2`,
    [sql.now()],
  )
}

export interface ProofsRow {
  grade: 'proved' | 'explained' | 'unprovable' | 'open'
  connections: number
}

/** How well the balances of connections are proved; those without a verdict are not counted. */
export async function listProofGrades(sql: Sql): Promise<ProofsRow[]> {
  return sql.rows<ProofsRow>(
    `select proof_grade as grade, count(*)::int as connections from connections
     where proof_grade is not null and status <> 'removed'
     group by 1 order by array_position(array['open', 'unprovable', 'explained', 'proved'], proof_grade)`,
  )
}

export interface SlowRow {
  provider_id: string
  /** Connections that wait for their first read to end, or for a read that is due. */
  waiting: number
  /** How long the longest of them has waited. */
  waiting_seconds: number
}

/** Where users wait longest for their data. */
export async function findSlowest(sql: Sql): Promise<SlowRow | undefined> {
  return sql.maybeRow<SlowRow>(
    `select provider_id, count(*)::int as waiting, max(seconds)::int as waiting_seconds
     from (
       select provider_id, extract(epoch from $1::timestamptz
         - case status when 'syncing' then added_at else next_sync_at end) as seconds
       from connections where status in ('syncing', 'active', 'degraded')
     ) c
     where seconds > 0 group by 1 order by 3 desc, 1 limit 1`,
    [sql.now()],
  )
}

/** Clients that people can be sent to and that accept what RFC 9700 §2.1.1 advises against. */
export async function listLaxClients(sql: Sql): Promise<{ clientId: string; lacks: string }[]> {
  return sql.rows(
    `select id as "clientId", concat_ws(' and ',
       case when not s256_only then 's256_only' end,
       case when not require_code_verifier then 'require_code_verifier' end) as lacks
     from clients
     where disabled_at is null and cardinality(redirect_uris) > 0 and not (s256_only and require_code_verifier)
     order by id`,
  )
}

export async function listTenantIds(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>('select id from tenants order by id')
  return rows.map(({ id }) => id)
}

export interface CircuitRow {
  provider_id: string
  /** True while the provider is not called; false while it only fails. */
  open: boolean
  failing_since: string
  failures: number
  /** Probes without an answer. */
  probes: number
  probe_in_seconds: number | null
}

export async function listCircuits(sql: Sql): Promise<CircuitRow[]> {
  return sql.rows<CircuitRow>(
    `select provider_id, opened_at is not null as open, failing_since, failures, probes,
       greatest(0, extract(epoch from probe_at - $1::timestamptz))::int as probe_in_seconds
     from circuits order by provider_id`,
    [sql.now()],
  )
}

export async function listWorkers(sql: Sql): Promise<{ worker_id: string; silent_seconds: number }[]> {
  return sql.rows(
    `select worker_id, extract(epoch from clock_timestamp() - beat_at)::int as silent_seconds
     from worker_heartbeats order by worker_id`,
  )
}

export async function readServer(sql: Sql): Promise<{ version: number; now: string; takesWrites: boolean }> {
  return sql.row(
    `select current_setting('server_version_num')::int as version, clock_timestamp() as now,
       current_setting('transaction_read_only') = 'off' as "takesWrites"`,
  )
}

/** What the service's own role may do on the machine of the database, beyond its tables. Usually nothing. */
export async function listServerPowers(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ power: string }>(
    `select 'is a superuser' as power from pg_roles where rolname = current_user and rolsuper
     union all
     select 'belongs to ' || rolname from pg_roles
     where rolname in ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
       and pg_has_role(current_user, oid, 'member')
       and not (select rolsuper from pg_roles where rolname = current_user)`,
  )
  return rows.map(({ power }) => power)
}
