/**
 * Reading: plan, claim, read a page, commit it, back off. One job reads one connection, for at most 50 pages or 20
 * seconds, and queues itself again until everything up to the run's own time is covered; then it derives.
 *
 *   run: balances → the last 30 days of every stream → derived → the rest → derived → recorded as read, the next run queued
 *
 * The first job of a new connection is for its balances alone, and goes before the background: somebody is looking.
 * A run's end is fixed when it begins (`until` in the payload): rows that arrive meanwhile belong to the next run.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { addJob, type Task } from '../jobs/index.ts'
import { ConnectionGone } from '../ledger/index.ts'
import { Overtaken, overtakenDelayMs } from './ask.ts'
import { backoffMs } from './backoff.ts'
import { OverBudget } from './budget.ts'
import { CircuitOpen } from './circuit.ts'
import { findCompleteness, findCoverage, type Completeness, type StreamCoverage } from './coverage.ts'
import {
  chooseUntil,
  readBalances,
  readHistory,
  startReading,
  type ConnectionReading,
  type ReadingDeps,
  type RunState,
} from './read-connection.ts'
import { createRefreshTask } from './refresh-job.ts'
import { deleteOldRefreshes } from './refresh-store.ts'
import { findRefresh, requestRefresh, type Refresh, type RefreshKind } from './refreshes.ts'
import * as store from './store.ts'

export { startAsking } from './ask.ts'
export { createBudgets } from './budget.ts'
export { createCircuits } from './circuit.ts'
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
  stage: z.enum(['recent', 'rest']).default('recent'),
  /** A person waits for the balances. */
  interactive: z.literal('yes').optional(),
})
type Payload = z.infer<typeof payloadSchema>

export function createSync(deps: SyncDeps): Sync {
  return {
    begin: (tx, ref, keyLane) => queue(tx, ref, keyLane, { delayMs: 0, interactive: true }),
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
  when: { delayMs: number; run?: RunState | undefined; interactive?: boolean },
): Promise<void> {
  const { delayMs, run, interactive = false } = when
  const payload: Record<string, string> = {
    tenant_id: ref.tenantId,
    user_id: ref.userId,
    connection_id: ref.connectionId,
    lane,
  }
  if (run !== undefined) Object.assign(payload, { until: String(run.untilMs), stage: run.stage })
  if (interactive) payload['interactive'] = 'yes'
  await addJob(sql, { task: 'sync', payload, key: `sync:${ref.connectionId}`, lane, delayMs, interactive })
}

async function runJob(deps: SyncDeps, payload: Payload, signal: AbortSignal): Promise<void> {
  const ref = { tenantId: payload.tenant_id, userId: payload.user_id, connectionId: payload.connection_id }
  const { lane, stage } = payload
  const opened = await deps.connections.open(ref)
  if (opened === undefined) return
  const interactive = payload.interactive === 'yes'
  const untilMs = chooseUntil(deps, payload.until)
  const reading = startReading(deps, ref, opened, { untilMs, stage, interactive, signal })
  try {
    if (payload.until === undefined) {
      if (opened.status !== 'syncing') await deps.connections.checkRights(ref, opened, reading.ask)
      await readBalances(deps, reading)
      if (interactive) return await queue(deps.db, ref, lane, { delayMs: 0, run: reading })
    }
    const done = await readHistory(deps, reading)
    const [fault] = reading.faults.values()
    if (fault !== undefined) return await standBack(deps, reading, payload, fault)
    if (!done) return await queue(deps.db, ref, lane, { delayMs: 0, run: reading })
    await endRun(deps, ref, lane)
  } catch (error) {
    // Removed meanwhile: nothing was kept of the page, and there is nothing left to read for.
    if (error instanceof ConnectionGone) return
    // Not a failure, which the queue would punish with ever longer waits. It comes back in case the other one dies too.
    if (error instanceof Overtaken) return queue(deps.db, ref, lane, { delayMs: overtakenDelayMs, run: reading })
    if (!(error instanceof SourceError)) throw error
    // Whatever ended the job, a stream that could not be read is what has to be told.
    const [fault = error] = reading.faults.values()
    await standBack(deps, reading, payload, error instanceof CircuitOpen ? error : fault)
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
  reading: ConnectionReading,
  payload: Payload,
  error: SourceError,
): Promise<void> {
  const { ref, opened } = reading
  const { lane } = payload
  const run = resumeAt(reading, payload)
  if (error instanceof OverBudget) {
    return queue(deps.db, ref, lane, { delayMs: error.retryAfterMs ?? 0, run, ...stillWaiting(payload, run) })
  }
  const { fault, message } = error
  const pagesRead = reading.allowance.pagesRead()
  // Being told to wait is how a tier is learned, and an open circuit was told when it opened; the rest an operator may
  // want to see.
  const level = fault === 'rate_limited' || error instanceof CircuitOpen ? 'info' : 'warn'
  deps.log[level](
    { connection: ref.connectionId, provider: opened.providerId, fault, reason: message },
    'reading stopped',
  )
  // A job that read something is progress, however slow: only failures without any page between them add up.
  const failures = await store.countFailure(deps.db, ref, { anew: pagesRead > 0 })
  const nextTryInMs = error.retryAfterMs ?? backoffMs(failures, deps.random()) / deps.pace
  const sinceMs = error instanceof CircuitOpen ? error.sinceMs : undefined
  const mayPass = await deps.connections.recordFault(ref, opened.providerId, fault, { nextTryInMs, sinceMs })
  if (!mayPass) return
  if (fault === 'rate_limited') await deps.budgets.recordLimitError(opened, nextTryInMs)
  await queue(deps.db, ref, lane, { delayMs: nextTryInMs, run, ...stillWaiting(payload, run) })
}

/** A run that had not come past its balances begins again; a later one goes on where its bookmark is. */
function resumeAt(reading: ConnectionReading, payload: Payload): RunState | undefined {
  return reading.allowance.pagesRead() > 0 || payload.until !== undefined ? reading : undefined
}

/** The person whose connection is new still has no balances. */
function stillWaiting(payload: Payload, run: RunState | undefined): { interactive: boolean } {
  return { interactive: payload.interactive === 'yes' && run === undefined }
}
