/**
 * The queue, in the same database as the data (graphile-worker): a job is added in the transaction that makes it
 * necessary, or not at all. declarations.ts says which jobs there are.
 */
import type { Sql } from '../db/index.ts'
import { findTraceparent } from '../trace-context.ts'
import { declarations, toStored, type Declaration, type JobName, type PayloadOf } from './declarations.ts'
import { deleteWaiting, insertJob, isKeyDue, isKeyFree, toInsertJob, type QueuedJob } from './queue-store.ts'

export { isInteractiveRefresh, parseStored, providerOfLane, toProviderLane } from './declarations.ts'
export type { Handler, Handlers, JobName, PayloadOf } from './declarations.ts'
export { bringJobsForward } from './queue-store.ts'
export { repeat } from './rounds.ts'
export { installQueue, startWorker } from './worker.ts'
export type { Worker } from './worker.ts'

export async function addJob<Name extends JobName>(
  sql: Sql,
  name: Name,
  payload: PayloadOf<Name>,
  { delayMs = 0 }: { delayMs?: number } = {},
): Promise<void> {
  // A job that is due later starts a new trace: otherwise a trace would continue from run to run and never end.
  await insertJob(sql, toQueued(name, payload, delayMs === 0 ? findTraceparent() : undefined), delayMs)
}

/**
 * SQL that adds a job inside a larger statement, whose further parameters begin after `offset`. `delay` is an SQL
 * interval, which that statement may compute.
 */
export function toAddJob<Name extends JobName>(
  name: Name,
  payload: PayloadOf<Name>,
  offset: number,
  delay: string,
): { call: string; values: unknown[] } {
  return toInsertJob(toQueued(name, payload), offset, delay)
}

/** Takes back jobs that wait, by their subjects. One that is running finds out by itself that it is not needed. */
export const dropWaiting = (sql: Sql, name: JobName, subjects: readonly string[]): Promise<void> =>
  deleteWaiting(
    sql,
    subjects.map((subject) => `${name}:${subject}`),
  )

/** SQL: no such job waits or runs; `subject` is an SQL expression for its subject. */
export const isNotQueued = (name: JobName, subject: string): string => isKeyFree(`'${name}:' || ${subject}`)

/** SQL: such a job waits for a worker, and its payload has this member. */
export const isDue = <Name extends JobName>(
  name: Name,
  subject: string,
  member: keyof PayloadOf<Name> & string,
): string => isKeyDue(`'${name}:' || ${subject}`, `'${member}'`)

function toQueued<Name extends JobName>(name: Name, payload: PayloadOf<Name>, traceparent?: string): QueuedJob {
  const declaration: Declaration = declarations[name]
  const subject = declaration.subject?.(payload)
  return {
    task: name,
    payload: toStored(name, payload, traceparent),
    key: subject === undefined ? name : `${name}:${subject}`,
    lane: declaration.lane?.(payload),
    priority: declaration.priority(payload),
    flags: declaration.flags?.(payload),
    amongMany: declaration.amongMany,
  }
}
