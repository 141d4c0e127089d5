/**
 * The queue, in the same database as the data (graphile-worker): a job is added in the transaction that makes it
 * necessary, or not at all. Payloads carry ids, never secrets: operators of the database read the job tables.
 */
import type { Sql } from '../db/index.ts'
import { toLane } from './lanes.ts'
import type { Payload } from './payload.ts'
import { backgroundPriority, interactivePriority, yieldingPriority } from './priority.ts'
export {
  connectionPayload,
  ownerPayload,
  toConnectionPayload,
  toConnectionRef,
  toOwner,
  toOwnerPayload,
} from './payload.ts'
export { repeat } from './silence.ts'
export { startWorker, installQueue } from './worker.ts'
export type { Task, Worker } from './worker.ts'

export interface JobRequest {
  task: string
  payload: Payload
  /** One waiting job for each key: adding it again moves it. A job that is running is not disturbed. */
  key: string
  /** Jobs of one lane run one after another, whichever worker takes them. */
  lane?: string
  /** From now. Absolute times would need two clocks to agree: PostgreSQL's and the sandbox's. */
  delayMs?: number
  /** A person waits for it. */
  interactive?: boolean
  /** Every other due job goes first, for a minute at most. */
  yields?: boolean
}

export async function addJob(sql: Sql, job: JobRequest): Promise<void> {
  const { call, values } = toAddJob(job, 0, `make_interval(secs => $6::double precision / 1000)`)
  await sql.execute(`select ${call}`, [...values, job.delayMs ?? 0])
}

/**
 * SQL that adds a job inside a larger statement, whose further parameters begin after `offset`. `delay` is an SQL
 * interval, which that statement may compute.
 */
export function toAddJob(
  job: Omit<JobRequest, 'delayMs'>,
  offset: number,
  delay: string,
): { call: string; values: unknown[] } {
  const [task, payload, lane, key, priority] = [1, 2, 3, 4, 5].map((place) => `$${offset + place}`)
  return {
    call: `graphile_worker.add_job(${task}::text, ${payload}::json, queue_name => ${lane}::text,
      job_key => ${key}::text, priority => ${priority}::integer, run_at => clock_timestamp() + ${delay})`,
    values: [
      job.task,
      JSON.stringify(job.payload),
      job.lane === undefined ? null : toLane(job.lane),
      job.key,
      toPriority(job),
    ],
  }
}

/** SQL: no job of this key waits or runs. */
export const isNotQueued = (key: string): string =>
  `not exists (select from graphile_worker._private_jobs job where job.key = ${key})`

function toPriority({ interactive, yields }: Pick<JobRequest, 'interactive' | 'yields'>): number {
  if (interactive === true) return interactivePriority
  return yields === true ? yieldingPriority : backgroundPriority
}

/** The sandbox clock went forward: jobs that were due within that time are due now. */
export async function bringJobsForward(sql: Sql, byMs: number): Promise<void> {
  await sql.execute(
    `select graphile_worker.reschedule_jobs(array[id], run_at => run_at - make_interval(secs => $1::double precision / 1000))
     from graphile_worker.jobs where locked_at is null`,
    [byMs],
  )
}
