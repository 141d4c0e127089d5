/**
 * Who is alive. graphile-worker does not notice that a worker was killed: its locks, and the locks of its lanes, stay
 * for four hours (measured). So every worker writes a heartbeat, and every worker frees the locks of those that fell
 * silent. A worker is named as graphile-worker names its locks: by the id of its pool.
 *
 *   beat every silentAfter/6 · sweep at start and every silentAfter/2 · free workers that are silent for silentAfter
 */
import type { Logger } from 'pino'
import type { Database } from '../db/index.ts'

export async function writeHeartbeats(db: Database, workerIds: readonly string[]): Promise<void> {
  await db.execute(
    `insert into worker_heartbeats (worker_id, beat_at) select unnest($1::text[]), clock_timestamp()
     on conflict (worker_id) do update set beat_at = excluded.beat_at`,
    [workerIds],
  )
}

export async function forgetWorkers(db: Database, workerIds: readonly string[]): Promise<void> {
  await db.execute('delete from worker_heartbeats where worker_id = any($1::text[])', [workerIds])
}

/**
 * `ownIds` are never silent, whatever their heartbeats say: on a busy machine these may come late, and a worker that frees
 * its own lock does the job a second time beside the first.
 */
export async function sweepSilentWorkers(
  db: Database,
  silentAfterMs: number,
  ownIds: readonly string[],
  log: Logger,
): Promise<void> {
  // A lock without any heartbeat belongs to a worker killed before its first beat; it gets the same grace, by lock time.
  const silent = await db.rows<{ worker_id: string }>(
    `with locks as (
       select locked_by as worker_id, locked_at from graphile_worker._private_jobs where locked_by is not null
       union all
       select locked_by, locked_at from graphile_worker._private_job_queues where locked_by is not null
     ), limits as (select clock_timestamp() - make_interval(secs => $1::double precision / 1000) as silent_since)
     select distinct worker_id from locks, limits
     where locked_at <= silent_since and worker_id <> all($2::text[])
       and not exists (select from worker_heartbeats h where h.worker_id = locks.worker_id and h.beat_at > silent_since)`,
    [silentAfterMs, ownIds],
  )
  if (silent.length === 0) return
  const workerIds = silent.map((row) => row.worker_id)
  await db.execute('select graphile_worker.force_unlock_workers($1::text[])', [workerIds])
  await forgetWorkers(db, workerIds)
  log.warn({ workerIds }, 'freed the jobs of workers that fell silent')
}

/** Workers that were killed with no job under way. `assay status` shows it until then. */
export async function forgetLongSilent(db: Database): Promise<void> {
  await db.execute("delete from worker_heartbeats where beat_at < clock_timestamp() - interval '1 hour'", [])
}

/** The next round begins when the last has ended. A round that fails (the database is away) is only logged: the next comes. */
export function repeat(everyMs: number, log: Logger, round: () => Promise<void>): { stop(): Promise<void> } {
  let stopped = false
  let wake: () => void = () => undefined
  const loop = async (): Promise<void> => {
    while (!stopped) {
      await round().catch((error: unknown) => log.warn({ err: error }, 'periodic round failed'))
      if (stopped) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, everyMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  const running = loop()
  return {
    async stop() {
      stopped = true
      wake()
      await running
    },
  }
}
