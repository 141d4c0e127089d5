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
import type { ConnectionRef, OpenedConnection } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { addJob, type Task } from '../jobs/index.ts'
import { ConnectionGone } from '../ledger/index.ts'
import { backoffMs } from './backoff.ts'
import { OverBudget } from './budget.ts'
import { findCompleteness, findCoverage, type Completeness, type StreamCoverage } from './coverage.ts'
import { chooseUntil, readBalances, readHistory, startAllowance, type ReadingDeps } from './read-connection.ts'
import { Overtaken, overtakenDelayMs } from './read-stream.ts'
import { createRefreshTask } from './refresh-job.ts'
import { deleteOldRefreshes } from './refresh-store.ts'
import { findRefresh, requestRefresh, type Refresh, type RefreshKind } from './refreshes.ts'
import * as store from './store.ts'

export { createBudgets } from './budget.ts'
export type { StreamCoverage } from './coverage.ts'
export type { Refresh, RefreshKind } from './refreshes.ts'

interface Owner {
  tenantId: string
  userId: string
}

export interface Sync {
  /** Begins a run as soon as a worker is free. */
  begin(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<void>
  task: Task
  /** The job behind a refresh. */
  refreshTask: Task
  forget(tx: Sql, ref: ConnectionRef): Promise<void>
  /** Undefined when the owner has no such connection. */
  findCoverage(ref: ConnectionRef): Promise<StreamCoverage[] | undefined>
  /** From when on nothing is missing in the histories of all the owner's connections. */
  findCompleteness(owner: Owner): Promise<Completeness>
  /** Reads again, all connections or those named; refuses when every one of them was read again a moment ago. */
  requestRefresh(owner: Owner, kind: RefreshKind, connectionIds: readonly string[] | undefined): Promise<Refresh>
  findRefresh(owner: Owner, refreshId: string): Promise<Refresh | undefined>
  /** Upkeep: refreshes nobody asks about any more. */
  sweep(): Promise<void>
}

export type SyncDeps = ReadingDeps

const intervalMs = 15 * 60_000

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
    refreshTask: createRefreshTask(deps),
    forget: (tx, ref) => store.forgetConnection(tx, ref),
    findCoverage: (ref) => findCoverage(deps, ref),
    findCompleteness: (owner) => findCompleteness(deps, owner),
    requestRefresh: (owner, kind, connectionIds) => requestRefresh(deps.db, owner, kind, connectionIds),
    findRefresh: (owner, refreshId) => findRefresh(deps.db, owner, refreshId),
    async sweep() {
      await deleteOldRefreshes(deps.db)
    },
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
  const untilMs = chooseUntil(deps, payload.until)
  const allowance = startAllowance(signal)
  try {
    if (payload.until === undefined) {
      if (opened.status !== 'syncing') await deps.connections.checkRights(opened)
      await readBalances(deps, ref, opened)
    }
    const done = await readHistory(deps, ref, opened, untilMs, allowance)
    if (!done) {
      await queue(deps.db, ref, payload.lane, { delayMs: 0, untilMs })
      return
    }
    await endRun(deps, ref, payload.lane)
  } catch (error) {
    // Removed meanwhile: nothing was kept of the page, and there is nothing left to read for.
    if (error instanceof ConnectionGone) return
    // Not a failure, which the queue would punish with ever longer waits. It comes back in case the other one dies too.
    if (error instanceof Overtaken) return queue(deps.db, ref, payload.lane, { delayMs: overtakenDelayMs, untilMs })
    if (!(error instanceof SourceError)) throw error
    await standBack(deps, ref, opened, { payload, untilMs, pagesRead: allowance.pagesRead() }, error)
  }
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
  // Being told to wait is how a tier is learned; everything else an operator may want to see.
  deps.log[fault === 'rate_limited' ? 'info' : 'warn'](
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
