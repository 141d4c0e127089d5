/**
 * The queue, in the same database as the data (graphile-worker): a job is added in the transaction that makes it
 * necessary, or not at all. Payloads carry ids, never secrets: job tables are read by whoever operates the database.
 */
import type { Sql } from '../db/index.ts'
import { toLane } from './lanes.ts'
import { backgroundPriority, interactivePriority, yieldingPriority } from './priority.ts'
export { startWorker, installQueue } from './worker.ts'
export type { Task, Worker } from './worker.ts'

export interface JobRequest {
  task: string
  payload: Record<string, string>
  /** One waiting job for each key: adding it again moves it. A job that is running is not disturbed. */
  key: string
  /** Jobs of one lane run one after another, whichever worker takes them. */
  lane?: string
  /** From now. Absolute times would need two clocks to agree: PostgreSQL's and the sandbox's. */
  delayMs?: number
  /** A person waits for it. */
  interactive?: boolean
  /** Everything else that is due goes first, for a minute at most. */
  yields?: boolean
}

export async function addJob(sql: Sql, job: JobRequest): Promise<void> {
  const lane = job.lane === undefined ? null : toLane(job.lane)
  await sql.execute(
    `select graphile_worker.add_job($1, $2::json, queue_name => $3, job_key => $4, priority => $5,
       run_at => clock_timestamp() + make_interval(secs => $6::double precision / 1000))`,
    [job.task, JSON.stringify(job.payload), lane, job.key, toPriority(job), job.delayMs ?? 0],
  )
}

/** SQL: no job of this key waits or runs. */
export const isNotQueued = (key: string): string =>
  `not exists (select from graphile_worker._private_jobs job where job.key = ${key})`

function toPriority({ interactive, yields }: JobRequest): number {
  if (interactive === true) return interactivePriority
  return yields === true ? yieldingPriority : backgroundPriority
}

/** The sandbox clock went forward: what was due in that time is due now. */
export async function hastenJobs(sql: Sql, byMs: number): Promise<void> {
  await sql.execute(
    `select graphile_worker.reschedule_jobs(array[id], run_at => run_at - make_interval(secs => $1::double precision / 1000))
     from graphile_worker.jobs where locked_at is null`,
    [byMs],
  )
}
