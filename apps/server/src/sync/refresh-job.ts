/**
 * The job behind a refresh: balances or history of one connection, now. A passing failure is tried again a few times,
 * because a person waits; then the refresh has failed, and the regular run goes on by its own rules.
 */
import { SourceError, type Cause } from '@assay/core'
import { z } from 'zod'
import type { Sql } from '../db/index.ts'
import type { Task } from '../jobs/index.ts'
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
} from './read-connection.ts'
import { readingPayload, toReadingTask } from './reading-task.ts'
import { endRefreshes, hasQueued, startRefreshes } from './refresh-store.ts'
import { queueRefresh, type RefreshJob } from './refreshes.ts'

const attemptsMax = 4

const payloadSchema = readingPayload.extend({
  kind: z.enum(['assets', 'transactions']),
  attempt: z.string().regex(/^\d+$/),
})
type Payload = z.infer<typeof payloadSchema>

export function createRefreshTask(deps: ReadingDeps): Task {
  return toReadingTask(
    payloadSchema,
    (ref, payload, signal) => runJob(deps, ref, payload, signal),
    async (ref, payload, error) => {
      deps.log.error({ connection: ref.connectionId, err: error }, 'refresh broke down')
      await end(deps.db, ref, payload, { status: 'failed', cause: 'internal' })
    },
  )
}

async function runJob(deps: ReadingDeps, ref: ConnectionRef, payload: Payload, signal: AbortSignal): Promise<void> {
  // One that goes on answers what it began with; what was asked for since then is answered by the next.
  if (payload.until === undefined) await startRefreshes(deps.db, ref, payload.kind)
  const opened = await deps.connections.open(ref)
  if (opened === undefined) {
    return end(deps.db, ref, payload, { status: 'failed', cause: await findCause(deps, ref) })
  }
  const untilMs = chooseUntil(deps, payload.until)
  const reading = startReading(deps, ref, opened, { untilMs, stage: payload.stage, interactive: true, signal })
  // Repaired since this job was queued: jobs that use the new key wait in that key's lane.
  if (opened.keyLane !== payload.lane) return queueRefresh(deps.db, toJob(payload, reading, 0))
  try {
    const done = await read(deps, reading, payload.kind)
    const [fault] = reading.faults.values()
    if (fault !== undefined) return await backOff(deps, reading, payload, fault)
    if (!done) return await queueRefresh(deps.db, toJob(payload, reading, 0))
    await succeed(deps, reading, payload)
  } catch (error) {
    if (error instanceof Overtaken) return queueRefresh(deps.db, toJob(payload, reading, overtakenDelayMs))
    if (!(error instanceof SourceError)) throw error
    await backOff(deps, reading, payload, error)
  }
}

function toJob({ kind, attempt, until }: Payload, reading: ConnectionReading, delayMs: number): RefreshJob {
  const hasBegun = until !== undefined || reading.allowance.pagesRead() > 0
  const { ref, opened } = reading
  return { ref, lane: opened.keyLane, kind, delayMs, attempt: Number(attempt), ...(hasBegun && { run: reading }) }
}

async function read(deps: ReadingDeps, reading: ConnectionReading, kind: Payload['kind']): Promise<boolean> {
  if (kind === 'transactions') return readHistory(deps, reading)
  await readBalances(deps, reading)
  return true
}

async function succeed(deps: ReadingDeps, { ref, opened }: ConnectionReading, payload: Payload): Promise<void> {
  await deps.db.transaction(async (tx) => {
    if (payload.kind === 'transactions') await deps.connections.recordRefresh(tx, ref, opened.keyLane)
    await end(tx, ref, payload, { status: 'succeeded', cause: null })
  })
}

/** What was asked for while this one was on its way has no job left: there is one for each connection and kind. */
async function end(
  sql: Sql,
  ref: ConnectionRef,
  { kind, lane }: Payload,
  outcome: { status: 'succeeded' | 'failed'; cause: Cause | null },
): Promise<void> {
  await endRefreshes(sql, ref, kind, outcome)
  if (await hasQueued(sql, ref, kind)) await queueRefresh(sql, { ref, lane, kind, delayMs: 0, attempt: 1 })
}

async function backOff(
  deps: ReadingDeps,
  reading: ConnectionReading,
  payload: Payload,
  error: SourceError,
): Promise<void> {
  const { providerId, keyLane } = reading.opened
  const { fault } = error
  if (error instanceof OverBudget) return queueRefresh(deps.db, toJob(payload, reading, error.retryAfterMs ?? 0))
  const attempt = Number(payload.attempt)
  const delayMs = error.retryAfterMs ?? backoffMs(attempt, deps.random()) / deps.pace
  // A provider that is known to be away is not asked, and the person who waits is told at once.
  const mayPass = ['rate_limited', 'venue_down', 'clock_skew'].includes(fault) && !(error instanceof CircuitOpen)
  if (mayPass && attempt < attemptsMax) {
    return queueRefresh(deps.db, { ...toJob(payload, reading, delayMs), attempt: attempt + 1 })
  }
  const sinceMs = error instanceof CircuitOpen ? error.sinceMs : undefined
  await deps.connections.recordFault(reading.ref, { providerId, keyLane, fault, sinceMs })
  await end(deps.db, reading.ref, payload, { status: 'failed', cause: fault })
}

/** It was readable when the refresh was accepted and is not any more. */
async function findCause(deps: ReadingDeps, ref: ConnectionRef): Promise<Cause> {
  return (await deps.connections.find(ref, ref.connectionId))?.status_cause ?? 'needs_reauth'
}
