/** What an operator asks at 3 a.m., in SQL. Reads other rooms' tables and writes none. */
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
       (max(extract(epoch from assay_now() - next_sync_at)) filter (where next_sync_at < assay_now()))::int as behind_seconds
     from connections
     group by 1, 2, 3 order by 4 desc, 1, 2`,
  )
}

export async function listWorkers(sql: Sql): Promise<{ worker_id: string; silent_seconds: number }[]> {
  return sql.rows(
    `select worker_id, extract(epoch from clock_timestamp() - beat_at)::int as silent_seconds
     from worker_heartbeats order by worker_id`,
  )
}

export async function readServer(sql: Sql): Promise<{ version: number; now: string; sandbox: boolean | null }> {
  return sql.row(
    `select current_setting('server_version_num')::int as version, clock_timestamp() as now,
       (select sandbox from installation) as sandbox`,
  )
}
