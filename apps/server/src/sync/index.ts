/**
 * Reading: plan, claim, read a page, commit it, back off. One job reads one connection, for at most 50 pages or 20
 * seconds, and queues itself again until everything up to the run's own time is covered; then it derives.
 *
 *   run: balances → streams, newest window first → derive → recorded as read, the next run queued
 *
 * A run's end is fixed when it begins (`until` in the payload): rows that arrive meanwhile belong to the next run.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { Logger } from 'pino'
import type { ConnectionRef, Connections, OpenedConnection } from '../connections/index.ts'
import type { Database, Sql } from '../db/index.ts'
import { addJob, type Task } from '../jobs/index.ts'
import type { Ledger } from '../ledger/index.ts'
import { backoffMs } from './backoff.ts'
import { OverBudget, type Budgets } from './budget.ts'
import { readStream, type JobAllowance } from './read-stream.ts'
import * as store from './store.ts'

export { createBudgets } from './budget.ts'
export type { Budgets } from './budget.ts'

export interface Sync {
  /** Begins a run as soon as a worker is free. */
  begin(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<void>
  task: Task
  forget(tx: Sql, ref: ConnectionRef): Promise<void>
}

export interface SyncDeps {
  db: Database
  connections: Connections
  ledger: Ledger
  budgets: Budgets
  now(): number
  random(): number
  /** Divides every wait, in sandbox mode. */
  pace: number
  log: Logger
}

const pagesPerJobMax = 50
const jobMaxMs = 20_000
const intervalMs = 15 * 60_000
/** Rows of the last moments may still be on their way to the provider's own list. */
const settleMs = 2_000

const payloadSchema = z.object({
  tenant_id: z.string(),
  user_id: z.string(),
  connection_id: z.string(),
  lane: z.string(),
  /** Epoch ms; absent at the beginning of a run. */
  until: z.string().regex(/^\d+$/).optional(),
})
type Payload = z.infer<typeof payloadSchema>

export function createSync(deps: SyncDeps): Sync {
  return {
    begin: (tx, ref, keyLane) => queue(tx, ref, keyLane, { delayMs: 0 }),
    task: (payload, signal) => runJob(deps, payloadSchema.parse(payload), signal),
    forget: (tx, ref) => store.forgetConnection(tx, ref),
  }
}

async function queue(
  sql: Sql,
  ref: ConnectionRef,
  lane: string,
  when: { delayMs: number; untilMs?: number },
): Promise<void> {
  const payload: Record<string, string> = {
    tenant_id: ref.tenantId,
    user_id: ref.userId,
    connection_id: ref.connectionId,
    lane,
  }
  if (when.untilMs !== undefined) payload['until'] = String(when.untilMs)
  await addJob(sql, { task: 'sync', payload, key: `sync:${ref.connectionId}`, lane, delayMs: when.delayMs })
}

async function runJob(deps: SyncDeps, payload: Payload, signal: AbortSignal): Promise<void> {
  const ref = { tenantId: payload.tenant_id, userId: payload.user_id, connectionId: payload.connection_id }
  const opened = await deps.connections.open(ref)
  if (opened === undefined) return
  const untilMs = payload.until === undefined ? deps.now() - settleMs / deps.pace : Number(payload.until)
  const allowance = startAllowance(signal)
  try {
    if (payload.until === undefined) await readBalances(deps, ref, opened)
    const done = await readHistory(deps, ref, opened, untilMs, allowance)
    if (!done) {
      await queue(deps.db, ref, payload.lane, { delayMs: 0, untilMs })
      return
    }
    await endRun(deps, ref, payload.lane)
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    await standBack(deps, ref, opened, { payload, untilMs, pagesRead: allowance.pagesRead() }, error)
  }
}

async function readBalances(deps: SyncDeps, ref: ConnectionRef, opened: OpenedConnection): Promise<void> {
  await deps.budgets.take(opened, opened.connector.budget.balancesCost)
  const balances = await opened.session.fetchBalances()
  await deps.ledger.keepHoldings(ref, opened.providerId, balances)
}

/** False when the job's allowance ended first. Deriving waits for every stream: half a conversion must not show as a sale. */
async function readHistory(
  deps: SyncDeps,
  ref: ConnectionRef,
  opened: OpenedConnection,
  untilMs: number,
  allowance: JobAllowance,
): Promise<boolean> {
  for (const stream of opened.connector.streams) {
    if (!(await readStream(deps, ref, opened, stream, untilMs, allowance))) return false
  }
  return deps.ledger.derive(ref, opened.connector, () => allowance.mayReadOn())
}

async function endRun(deps: SyncDeps, ref: ConnectionRef, lane: string): Promise<void> {
  // Spread by half an interval, so that connections made in one minute are not read in one minute for ever.
  const nextSyncInMs = Math.round(intervalMs * (0.75 + deps.random() / 2))
  await deps.db.transaction(async (tx) => {
    const facts = await deps.ledger.summarize(tx, ref)
    await deps.connections.recordRead(tx, ref, { ...facts, nextSyncInMs })
    await store.clearFailures(tx, ref)
    await queue(tx, ref, lane, { delayMs: nextSyncInMs })
  })
}

async function standBack(
  deps: SyncDeps,
  ref: ConnectionRef,
  opened: OpenedConnection,
  job: { payload: Payload; untilMs: number; pagesRead: number },
  error: SourceError,
): Promise<void> {
  if (error instanceof OverBudget) {
    await queue(deps.db, ref, job.payload.lane, { delayMs: error.retryAfterMs ?? 0, ...resumeAt(job) })
    return
  }
  const { fault, message } = error
  deps.log.warn(
    { connection: ref.connectionId, provider: opened.providerId, fault, reason: message },
    'reading stopped',
  )
  const mayPass = await deps.connections.recordFault(ref, opened.providerId, fault)
  if (!mayPass) return
  // A job that read something is progress, however slow: only failures without any page between them add up.
  const failures = await store.countFailure(deps.db, ref, { anew: job.pagesRead > 0 })
  const delayMs = error.retryAfterMs ?? backoffMs(failures, deps.random()) / deps.pace
  if (fault === 'rate_limited') await deps.budgets.recordLimitError(opened, delayMs)
  await queue(deps.db, ref, job.payload.lane, { delayMs, ...resumeAt(job) })
}

/** A run that had not come past its balances begins again; a later one goes on where its bookmark is. */
function resumeAt(job: { payload: Payload; untilMs: number; pagesRead: number }): { untilMs?: number } {
  return job.pagesRead > 0 || job.payload.until !== undefined ? { untilMs: job.untilMs } : {}
}

function startAllowance(signal: AbortSignal): JobAllowance {
  const endsAt = performance.now() + jobMaxMs
  let pages = 0
  return {
    mayReadOn: () => pages < pagesPerJobMax && performance.now() < endsAt && !signal.aborted,
    countPage() {
      pages += 1
    },
    pagesRead: () => pages,
  }
}
