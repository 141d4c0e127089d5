/**
 * The job of a run. One job reads one connection, for at most 50 pages or 20 seconds, and queues itself again until
 * everything up to the run's own time is covered; then it derives.
 *
 *   run: balances → the last weeks of every stream → derived → the rest → derived → recorded as read, the next run queued
 *
 * The first job of a new connection is for its balances alone, and goes before the background: a person is looking.
 * A run's end is fixed when it begins (`until` in the payload): rows that arrive meanwhile belong to the next run. One
 * that lasts, because the history is long or a part of the provider is away, begins anew after an interval, with new
 * balances and a new end; bookmarks keep the places it had come to. When the next run is due, connections decides
 * (connections/schedule.ts).
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { Sql } from '../db/index.ts'
import { addJob, toConnectionPayload, type JobRequest, type Task } from '../jobs/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { Overtaken, overtakenDelayMs } from './ask.ts'
import { backoffMs } from './backoff.ts'
import { OverBudget } from './budget.ts'
import { CircuitOpen } from './circuit.ts'
import {
  chooseUntil,
  readBalances,
  readHistory,
  startReading,
  type ConnectionReading,
  type ReadingDeps,
  type RunState,
} from './read-connection.ts'
import { readingPayload, toReadingTask } from './reading-task.ts'
import * as store from './store.ts'

/** A run that lasts longer begins anew, so that its balances and its end are not older than this. */
const runMaxMs = 15 * 60_000
/** After so many breakdowns in a row what is unfinished is read from its beginning: its place may be what breaks. */
const bookmarksDroppedAfter = 3

const payloadSchema = readingPayload.extend({
  /** A person waits for the balances. */
  interactive: z.literal('yes').optional(),
})
type Payload = z.infer<typeof payloadSchema>

interface When {
  delayMs: number
  run?: RunState | undefined
  interactive?: boolean
}

export async function queueRun(sql: Sql, ref: ConnectionRef, lane: string, when: When): Promise<void> {
  await addJob(sql, { ...toRunJob(ref, lane, when), delayMs: when.delayMs })
}

function toRunJob(
  ref: ConnectionRef,
  lane: string,
  { run, interactive = false }: Omit<When, 'delayMs'>,
): Omit<JobRequest, 'delayMs'> {
  const payload = { ...toConnectionPayload(ref), lane }
  if (run !== undefined) Object.assign(payload, { until: String(run.untilMs), stage: run.stage })
  if (interactive) Object.assign(payload, { interactive: 'yes' })
  return { task: 'sync', payload, key: `sync:${ref.connectionId}`, lane, interactive }
}

export function createRunTask(deps: ReadingDeps): Task {
  return toReadingTask(
    payloadSchema,
    (ref, payload, signal) => runJob(deps, ref, payload, signal),
    (ref, payload, error) => breakDown(deps, ref, payload, error),
  )
}

async function runJob(deps: ReadingDeps, ref: ConnectionRef, given: Payload, signal: AbortSignal): Promise<void> {
  const opened = await deps.connections.open(ref)
  if (opened === undefined) return
  const isStale = given.until !== undefined && deps.now() - Number(given.until) > runMaxMs
  const payload: Payload = isStale ? { ...given, until: undefined, stage: 'recent' } : given
  const interactive = payload.interactive === 'yes'
  // Repaired since this job was queued: jobs that use the new key wait in that key's lane.
  if (opened.keyLane !== payload.lane) return queueRun(deps.db, ref, opened.keyLane, { delayMs: 0, interactive })
  const untilMs = chooseUntil(deps, payload.until)
  const reading = startReading(deps, ref, opened, { untilMs, stage: payload.stage, interactive, signal })
  try {
    if (payload.until === undefined) {
      if (opened.status !== 'syncing') await deps.connections.checkRights(ref, opened, reading.ask)
      await readBalances(deps, reading)
      if (interactive) return await requeue(deps, reading, { delayMs: 0, run: reading })
    }
    const done = await readHistory(deps, reading)
    const [fault] = reading.faults.values()
    if (fault !== undefined) return await backOff(deps, reading, payload, fault)
    if (!done) return await requeue(deps, reading, { delayMs: 0, run: reading })
    await endRun(deps, reading)
  } catch (error) {
    // Not a failure, which the queue would punish with ever longer waits. It comes back in case the other one dies too.
    if (error instanceof Overtaken) return requeue(deps, reading, { delayMs: overtakenDelayMs, run: reading })
    if (!(error instanceof SourceError)) throw error
    // Whatever ended the job, a stream that could not be read is what has to be told.
    const [fault = error] = reading.faults.values()
    await backOff(deps, reading, payload, error instanceof CircuitOpen ? error : fault)
  }
}

async function endRun(deps: ReadingDeps, reading: ConnectionReading): Promise<void> {
  const { ref, opened, places, hasNews } = reading
  const { keyLane, status } = opened
  // Spread by half an interval, so that connections made in one minute are not read in one minute for ever.
  const run = { keyLane, jitter: 0.75 + deps.random() / 2 }
  const isIdle = !hasNews && status === 'active' && places?.hasFailures === false
  if (isIdle && (await deps.connections.recordIdleRun(ref, run, toRunJob(ref, keyLane, {})))) return
  await deps.db.transaction(async (tx) => {
    const recorded = await deps.connections.recordRun(tx, ref, run)
    if (recorded === undefined) return
    await store.clearFailures(tx, ref)
    await queueRun(tx, ref, keyLane, { delayMs: recorded.nextSyncInMs })
  })
}

/** Unless the connection was repaired meanwhile: then a run with the new key is queued, and this one only ends. */
async function requeue(deps: ReadingDeps, { ref, opened }: ConnectionReading, when: When): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const isPlanned = await deps.connections.planNext(tx, ref, opened.keyLane, when.delayMs)
    if (isPlanned) await queueRun(tx, ref, opened.keyLane, when)
  })
}

async function backOff(
  deps: ReadingDeps,
  reading: ConnectionReading,
  payload: Payload,
  error: SourceError,
): Promise<void> {
  const { ref, opened } = reading
  const { providerId, keyLane } = opened
  const run = resumeAt(reading, payload)
  if (error instanceof OverBudget) {
    return requeue(deps, reading, { delayMs: error.retryAfterMs ?? 0, run, ...stillWaiting(payload, run) })
  }
  const { fault, message } = error
  // Being told to wait is how a tier is learned, and an open circuit was told when it opened; the rest an operator may
  // want to see.
  const level = fault === 'rate_limited' || error instanceof CircuitOpen ? 'info' : 'warn'
  deps.log[level]({ connection: ref.connectionId, provider: providerId, fault, reason: message }, 'reading stopped')
  const failures = await store.countFailure(deps.db, ref, { anew: hasProgressed(reading) })
  const nextTryInMs = error.retryAfterMs ?? backoffMs(failures, deps.random()) / deps.pace
  const sinceMs = error instanceof CircuitOpen ? error.sinceMs : undefined
  const mayPass = await deps.connections.recordFault(ref, { providerId, keyLane, fault, nextTryInMs, sinceMs })
  if (mayPass) await requeue(deps, reading, { delayMs: nextTryInMs, run, ...stillWaiting(payload, run) })
}

/**
 * A job that read something is progress, however slow: only failures without any page between them add up. What other
 * streams gave is none for the one that is away.
 */
function hasProgressed({ allowance, faults, progressed }: ConnectionReading): boolean {
  return allowance.pagesRead() > 0 && [...faults.keys()].every((stream) => progressed.has(stream))
}

/** Neither the provider nor the owner can mend it. It is told, and tried again ever more rarely. */
async function breakDown(deps: ReadingDeps, ref: ConnectionRef, { lane }: Payload, error: unknown): Promise<void> {
  deps.log.error({ connection: ref.connectionId, err: error }, 'reading broke down')
  const failures = await store.countFailure(deps.db, ref, { anew: false })
  if (failures === bookmarksDroppedAfter) await store.dropBookmarks(deps.db, ref)
  const nextTryInMs = backoffMs(failures, deps.random()) / deps.pace
  if (await deps.connections.recordBreakdown(ref, nextTryInMs)) {
    await queueRun(deps.db, ref, lane, { delayMs: nextTryInMs })
  }
}

/** A run that had not come past its balances begins again; a later one goes on where its bookmark is. */
function resumeAt(reading: ConnectionReading, payload: Payload): RunState | undefined {
  return reading.allowance.pagesRead() > 0 || payload.until !== undefined ? reading : undefined
}

/** The person whose connection is new still has no balances. */
function stillWaiting(payload: Payload, run: RunState | undefined): { interactive: boolean } {
  return { interactive: payload.interactive === 'yes' && run === undefined }
}
