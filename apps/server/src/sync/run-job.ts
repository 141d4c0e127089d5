/**
 * The job of a run, and what happens after each outcome. One job reads one connection for at most 20 seconds, and queues
 * itself again until everything up to the run's own time is covered.
 *
 *   done → recorded as read, the next run queued      more → queued again at once      wait → queued for then
 *   fault → backs off, or waits for the owner         overtaken → queued again, in case the other worker dies too
 *
 * A run's end is fixed when it begins (`run` in the payload): rows that arrive meanwhile belong to the next run. A run
 * that takes longer than 15 minutes, and longer than its lists need, begins again with new balances and a new end; its
 * bookmarks stay. connections/schedule.ts decides when the next run is due.
 */
import { minuteMs, toBackoffMs, toJitter, type SourceError } from '@assay/core'
import type { OpenedConnection } from '../connections/index.ts'
import { isPassing, type Sql } from '../db/index.ts'
import { addJob, type Handler, type PayloadOf } from '../jobs/index.ts'
import { ConnectionGone } from '../ledger/index.ts'
import { CircuitOpen } from '../metering/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { readConnection, type ReadingDeps, type ReadResult, type RunState } from './read-connection.ts'
import * as store from './store.ts'

/** A run that lasts longer begins again, so that its balances and its end are not older than this. */
const runMaxMs = 15 * minuteMs
/**
 * A run over many lists may last longer: strangers can open thousands of accounts in the name of a wallet. A run that
 * began again before each list had its turn would read the first ones again, and nothing would ever be derived.
 */
const listMaxMs = 10_000
/**
 * After so many failures in a row, some four minutes, the balances are judged around what the provider cannot give.
 * Most holes close sooner, and an application would be told twice that the verdict changed.
 */
const judgedAfter = 8
/** After so many breakdowns in a row, unfinished windows are read from the start: a bookmark may be what breaks. */
const bookmarksDroppedAfter = 3

interface When {
  delayMs: number
  run?: RunState | undefined
  interactive?: boolean
}

export async function queueRun(sql: Sql, ref: ConnectionRef, lane: string, when: When): Promise<void> {
  await addJob(sql, 'sync', toPayload(ref, lane, when), { delayMs: when.delayMs })
}

/** `interactive`: a person waits for the balances. */
function toPayload(
  ref: ConnectionRef,
  lane: string,
  { run, interactive = false }: Omit<When, 'delayMs'>,
): PayloadOf<'sync'> {
  return { ref, lane, ...(run && { run }), ...(interactive && { interactive }) }
}

interface Job {
  ref: ConnectionRef
  opened: OpenedConnection
  interactive: boolean
}

export function createRunTask(deps: ReadingDeps): Handler<'sync'> {
  return guardReading(
    (payload, signal) => runJob(deps, payload, signal),
    (payload, error) => breakDown(deps, payload, error),
  )
}

async function runJob(deps: ReadingDeps, payload: PayloadOf<'sync'>, signal: AbortSignal): Promise<void> {
  const { ref, lane, interactive = false } = payload
  const opened = await deps.connections.open(ref)
  if (opened === undefined) return
  // Repaired since this job was queued: jobs that use the new key wait in that key's lane.
  if (opened.keyLane !== lane) return queueRun(deps.db, ref, opened.keyLane, { delayMs: 0, interactive })
  const run = payload.run !== undefined && (await isStale(deps, ref, payload.run)) ? undefined : payload.run
  const result = await readConnection(deps, ref, opened, { what: 'run', run, interactive, signal })
  const job = { ref, opened, interactive }
  const { outcome } = result
  switch (outcome.kind) {
    case 'done':
      return endRun(deps, job, result, signal)
    case 'more':
      return requeue(deps, job, { delayMs: 0, run: result.run })
    case 'wait':
      return requeue(deps, job, { delayMs: outcome.ms, run: result.run, ...stillWaiting(job, result) })
    case 'overtaken':
      // Being overtaken is not a failure: the queue would retry it with growing pauses.
      return requeue(deps, job, { delayMs: overtakenDelayMs, run: result.run })
    case 'fault':
      return backOff(deps, job, result, outcome.error, signal)
  }
}

async function isStale({ db, now }: ReadingDeps, ref: ConnectionRef, { untilMs }: RunState): Promise<boolean> {
  const ageMs = now() - untilMs
  return ageMs > runMaxMs && ageMs > listMaxMs * (await store.countLists(db, ref))
}

async function endRun(deps: ReadingDeps, { ref, opened }: Job, result: ReadResult, signal: AbortSignal): Promise<void> {
  const { keyLane, status, definition } = opened
  const { isIdle, isProofDue, reach } = result
  const waitingForMs = isProofDue ? (await deps.prove(ref, opened, reach, { signal })).waitingForMs : undefined
  // The lists of an account that was never used have no end: nothing is missing up to the present.
  const provedUntilMs = isProofDue || reach === undefined ? undefined : Math.min(reach.untilMs, deps.now())
  const run = { keyLane, jitter: toJitter(deps.random()), provedUntilMs }
  const mayBeIdle = isIdle && status === 'active'
  if (mayBeIdle && (await deps.connections.recordIdleRun(ref, run, toPayload(ref, keyLane, {})))) return
  await deps.db.transaction(async (tx) => {
    const recorded = await deps.connections.recordRun(tx, ref, run)
    if (recorded === undefined) return
    await store.clearFailures(tx, ref)
    if (waitingForMs === undefined) return queueRun(tx, ref, keyLane, { delayMs: recorded.nextSyncInMs })
    // The history of a first read ends before its balances. One more run, of the lists alone, reads past them as soon
    // as the lists must show everything, and the balances are judged.
    const untilMs = waitingForMs + 1
    const delayMs = Math.max(0, Math.ceil(untilMs + definition.settlesMs - deps.now()))
    await deps.connections.planNext(tx, ref, keyLane, delayMs)
    await queueRun(tx, ref, keyLane, { delayMs, run: { untilMs, stage: 'rest' } })
  })
}

/** Does nothing when the connection was repaired meanwhile: a run with the new key is already queued. */
async function requeue(deps: ReadingDeps, { ref, opened }: Job, when: When): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const isPlanned = await deps.connections.planNext(tx, ref, opened.keyLane, when.delayMs)
    if (isPlanned) await queueRun(tx, ref, opened.keyLane, when)
  })
}

async function backOff(
  deps: ReadingDeps,
  job: Job,
  result: ReadResult,
  error: SourceError,
  signal: AbortSignal,
): Promise<void> {
  const { ref, opened } = job
  const { providerId, keyLane } = opened
  const { fault, message } = error
  const isKnownAway = error instanceof CircuitOpen
  // Limit errors are expected: they teach us the tier. An open circuit was logged when it opened. An operator may want
  // to see every other fault.
  const level = fault === 'rate_limited' || isKnownAway ? 'info' : 'warn'
  deps.log[level]({ connection: ref.connectionId, provider: providerId, fault, reason: message }, 'reading stopped')
  const failures = await store.countFailure(deps.db, ref, { restart: result.hasProgressed })
  if (failures >= judgedAfter && result.isRead && result.isProofDue) {
    await deps.prove(ref, opened, result.reach, { signal })
  }
  const { lacksBalances: isOfBalances, parts } = result
  const nextTryInMs = await findPause(deps, job, result, error, failures)
  const sinceMs = isKnownAway ? error.sinceMs : undefined
  const failure = { providerId, keyLane, fault, parts, isOfBalances, nextTryInMs, sinceMs }
  const mayPass = await deps.connections.recordFault(ref, failure)
  if (mayPass) await requeue(deps, job, { delayMs: nextTryInMs, run: result.run, ...stillWaiting(job, result) })
}

/**
 * While a network is away and the others were read, each try reads them again. So the pauses grow up to the time between
 * two regular runs, and have that length once the network is known to be away: an outage of one network would
 * otherwise use up what the others allow.
 */
async function findPause(
  deps: ReadingDeps,
  { ref, opened }: Job,
  { hasMore, parts }: ReadResult,
  error: SourceError,
  failures: number,
): Promise<number> {
  const isPartAway = error instanceof CircuitOpen && !error.isOfProvider
  const isOfNetworks = opened.definition.networks !== undefined && error.fault !== 'data_hole' && parts.length > 0
  const regularMs = isOfNetworks ? await deps.connections.findInterval(ref, toJitter(deps.random())) : 0
  if (isPartAway && regularMs > 0 && !hasMore) return regularMs
  const maxMs = Math.max(backoffMaxMs, regularMs)
  const pauseMs = deps.scaleWait(backoffMs(failures, deps.random(), hasMore ? backoffMaxMs : maxMs))
  return isPartAway ? pauseMs : toPauseMs(error, pauseMs)
}

/** A ban or an outage may end before the time that was told, and a clock may be wrong: the budgets wait no longer. */
const toldMaxMs = 60 * minuteMs

/**
 * A server may say "at once", for hours, so its word only lengthens our own pause. Our circuits, and connectors that
 * doubt an answer, know when to ask again.
 */
export function toPauseMs(error: SourceError, ownMs: number): number {
  const toldMs = error.retryAfterMs === undefined ? ownMs : Math.min(error.retryAfterMs, toldMaxMs)
  const isOfServer = error.fault !== 'data_hole' && !(error instanceof CircuitOpen)
  return isOfServer ? Math.max(toldMs, ownMs) : toldMs
}

/** Neither the provider nor the owner can fix this error. It is reported, and retried with growing pauses. */
async function breakDown(deps: ReadingDeps, { ref, lane }: PayloadOf<'sync'>, error: unknown): Promise<void> {
  deps.log.error({ connection: ref.connectionId, err: error }, 'reading broke down')
  deps.watch.brokeDown()
  const failures = await store.countFailure(deps.db, ref, { restart: false })
  if (failures === bookmarksDroppedAfter) await store.dropBookmarks(deps.db, ref)
  const nextTryInMs = deps.scaleWait(backoffMs(failures, deps.random()))
  if (await deps.connections.recordBreakdown(ref, nextTryInMs)) {
    await queueRun(deps.db, ref, lane, { delayMs: nextTryInMs })
  }
}

/** A job stays interactive until the person who waits has balances. */
function stillWaiting({ interactive }: Job, { run }: ReadResult): { interactive: boolean } {
  return { interactive: interactive && run === undefined }
}

// ------------------------------------------------------------------------------ failures, here and in refresh-job.ts

const backoffMaxMs = 15 * minuteMs

export function backoffMs(failures: number, random: number, maxMs = backoffMaxMs): number {
  return toBackoffMs(failures, { firstMs: 2_000, maxMs }, random)
}

/** How long a job that was overtaken waits before it looks again: longer than a page takes. */
export const overtakenDelayMs = 5_000

/**
 * `breakDown` handles errors that neither the provider nor the owner can fix; `onGone` what is left when the connection
 * was removed meanwhile.
 */
export function guardReading<Payload>(
  run: (payload: Payload, signal: AbortSignal) => Promise<void>,
  breakDown: (payload: Payload, error: unknown) => Promise<void>,
  onGone: (payload: Payload) => Promise<void> = async () => undefined,
): (payload: Payload, signal: AbortSignal) => Promise<void> {
  return async (payload, signal) => {
    try {
      await run(payload, signal)
    } catch (error) {
      // Nothing of the page was kept.
      if (error instanceof ConnectionGone) return onGone(payload)
      // The queue tries again: without a database, nothing can be recorded.
      if (isPassing(error)) throw error
      await breakDown(payload, error)
    }
  }
}
