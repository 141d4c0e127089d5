/**
 * Runs jobs. graphile-worker does the claiming, the backoff and the lanes; what it does not do is notice that a worker
 * was killed: its locks, and the locks of its lanes, stay for four hours (measured). So every worker writes a
 * heartbeat, and every worker frees the locks of those that fell silent.
 *
 *   beat every silentAfter/6 · sweep at start and every silentAfter/2 · free whoever is silent for silentAfter
 *
 * Jobs are short (a batch of pages, then queued again), so a living worker never falls silent that long.
 */
import pg from 'pg'
import type { Logger } from 'pino'
import { EventEmitter } from 'node:events'
import { Logger as QueueLogger, run, runMigrations, type TaskList, type WorkerEvents } from 'graphile-worker'
import type { Database, DatabaseAddress } from '../db/index.ts'

/** `signal` is aborted when the process is asked to stop: finish the page under way, then return. */
export type Task = (payload: unknown, signal: AbortSignal) => Promise<void>

export interface Worker {
  stop(): Promise<void>
}

export interface WorkerOptions {
  db: Database
  /** A direct connection is best: through a transaction pooler new jobs are found by polling alone. */
  connection: DatabaseAddress
  pooler: 'none' | 'transaction'
  tasks: Readonly<Record<string, Task>>
  concurrency: number
  silentAfterMs: number
  /** The embedded database has one owner: locks found at its start belong to nobody alive. */
  alone: boolean
  log: Logger
}

const pollIntervalMs = 1_000

export async function installQueue(connection: DatabaseAddress, log: Logger): Promise<void> {
  const pool = openPool(connection, 2, log)
  try {
    await runMigrations({ pgPool: pool, logger: toQueueLogger(log) })
  } finally {
    await pool.end()
  }
}

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { db, log } = options
  const pool = openPool(options.connection, options.concurrency + 2, log)
  const stopping = new AbortController()
  const events: WorkerEvents = new EventEmitter()
  const workerIds = new Set<string>()
  events.on('pool:create', ({ workerPool }) => workerIds.add(workerPool.id))

  await sweepSilentWorkers(db, options.alone ? 0 : options.silentAfterMs, log)
  const runner = await run({
    pgPool: pool,
    events,
    taskList: toTaskList(options.tasks, stopping.signal),
    concurrency: options.concurrency,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    noPreparedStatements: options.pooler === 'transaction',
    logger: toQueueLogger(log),
  })
  const beat = repeat(options.silentAfterMs / 6, log, () => writeHeartbeats(db, [...workerIds]))
  const sweep = repeat(options.silentAfterMs / 2, log, () => sweepSilentWorkers(db, options.silentAfterMs, log))
  // A runner that ends by itself (its pool was lost for good) must not leave a process that only looks alive.
  runner.promise.catch((error: unknown) => log.fatal({ err: error }, 'the job runner ended'))

  return {
    async stop() {
      stopping.abort()
      await runner.stop()
      await beat.stop()
      await sweep.stop()
      await forgetWorkers(db, [...workerIds])
      await pool.end()
    },
  }
}

async function writeHeartbeats(db: Database, workerIds: string[]): Promise<void> {
  await db.execute(
    `insert into worker_heartbeats (worker_id, beat_at) select unnest($1::text[]), clock_timestamp()
     on conflict (worker_id) do update set beat_at = excluded.beat_at`,
    [workerIds],
  )
}

async function forgetWorkers(db: Database, workerIds: string[]): Promise<void> {
  await db.execute('delete from worker_heartbeats where worker_id = any($1::text[])', [workerIds])
}

async function sweepSilentWorkers(db: Database, silentAfterMs: number, log: Logger): Promise<void> {
  // A lock without any heartbeat belongs to a worker killed before its first beat; it gets the same grace, by lock time.
  const silent = await db.rows<{ worker_id: string }>(
    `with locks as (
       select locked_by as worker_id, locked_at from graphile_worker._private_jobs where locked_by is not null
       union all
       select locked_by, locked_at from graphile_worker._private_job_queues where locked_by is not null
     ), limits as (select clock_timestamp() - make_interval(secs => $1::double precision / 1000) as silent_since)
     select distinct worker_id from locks, limits
     where locked_at <= silent_since
       and not exists (select from worker_heartbeats h where h.worker_id = locks.worker_id and h.beat_at > silent_since)`,
    [silentAfterMs],
  )
  if (silent.length === 0) return
  const workerIds = silent.map((row) => row.worker_id)
  await db.execute('select graphile_worker.force_unlock_workers($1::text[])', [workerIds])
  await forgetWorkers(db, workerIds)
  log.warn({ workerIds }, 'freed the jobs of workers that fell silent')
}

function toTaskList(tasks: Readonly<Record<string, Task>>, signal: AbortSignal): TaskList {
  return Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [name, (payload: unknown) => task(payload, signal)]),
  )
}

function openPool(connection: DatabaseAddress, max: number, log: Logger): pg.Pool {
  const pool = new pg.Pool({ ...('url' in connection ? { connectionString: connection.url } : connection), max })
  // A connection that breaks is replaced at its next use; unheard, the event would end the process.
  const tell = (error: Error): void => log.warn({ err: error }, 'a connection of the job queue broke')
  pool.on('error', tell)
  pool.on('connect', (client) => client.on('error', tell))
  return pool
}

function toQueueLogger(log: Logger): QueueLogger {
  const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'debug' } as const
  return new QueueLogger(() => (level, message) => {
    log[levels[level]]({ part: 'queue' }, message)
  })
}

/** The next round begins when the last has ended. A round that fails (the database is away) is only logged: the next comes. */
function repeat(everyMs: number, log: Logger, round: () => Promise<void>): { stop(): Promise<void> } {
  let stopped = false
  let wake: () => void = () => undefined
  const loop = async (): Promise<void> => {
    while (!stopped) {
      await round().catch((error: unknown) => log.warn({ err: error }, 'a round of upkeep failed'))
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
