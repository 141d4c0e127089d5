/**
 * The job of a refresh, which reads the balances or the history of one connection now, and what happens after each
 * outcome. A passing failure is retried a few times, because a person waits; then the refresh has failed. The regular
 * run continues by its own rules.
 */
import { minuteMs, type Cause, type SourceError } from '@assay/core'
import type { OpenedConnection } from '../../connections/index.ts'
import type { Sql } from '../../db/index.ts'
import { isInteractiveRefresh, type Handler, type PayloadOf } from '../../jobs/index.ts'
import { CircuitOpen } from '../../metering/index.ts'
import type { ConnectionRef } from '../../owner.ts'
import { backoffMs, guardReading, overtakenDelayMs, toPauseMs } from '../run-job.ts'
import { readConnection, type ReadingDeps, type RunState } from '../read-connection.ts'
import { forgetConnection } from '../store.ts'
import { endRefreshes, hasQueued, startRefreshes } from './refresh-store.ts'
import { queueRefresh } from './refreshes.ts'

const attemptsMax = 4
/** A person waits, so a provider that asks for a longer pause ends the refresh. */
const patienceMs = 2 * minuteMs

type Payload = PayloadOf<'refresh'>

export function createRefreshTask(deps: ReadingDeps): Handler<'refresh'> {
  return guardReading(
    (payload, signal) => runJob(deps, payload, signal),
    async (payload, error) => {
      deps.log.error({ connection: payload.ref.connectionId, err: error }, 'refresh broke down')
      await end(deps.db, payload, { status: 'failed', cause: 'internal' })
    },
    // The removal may have taken the requests away before this one was written: it would run for ever.
    ({ ref }) => forgetConnection(deps.db, ref),
  )
}

async function runJob(deps: ReadingDeps, payload: Payload, signal: AbortSignal): Promise<void> {
  const { ref, kind, lane } = payload
  // A job that continues answers the requests that it began with. Later requests wait for the next job.
  if (payload.run === undefined) await startRefreshes(deps.db, ref, kind)
  const opened = await deps.connections.open(ref)
  if (opened === undefined) return end(deps.db, payload, { status: 'failed', cause: await findCause(deps, ref) })
  // Repaired since this job was queued: jobs that use the new key wait in that key's lane.
  if (opened.keyLane !== lane) return queueRefresh(deps.db, { ...payload, lane: opened.keyLane }, 0)
  const request = { what: kind, run: payload.run, interactive: isInteractiveRefresh(payload), signal }
  const { outcome, run, reach, isProofDue, lacksBalances, parts } = await readConnection(deps, ref, opened, request)
  const next = withRun(payload, run)
  switch (outcome.kind) {
    case 'done':
      if (kind === 'transactions' && isProofDue) await deps.prove(ref, opened, reach, { signal })
      return succeed(deps, opened, payload)
    case 'more':
      return queueRefresh(deps.db, next, 0)
    case 'wait':
      return queueRefresh(deps.db, next, outcome.ms)
    case 'overtaken':
      return queueRefresh(deps.db, next, overtakenDelayMs)
    case 'fault':
      return backOff(deps, opened, next, { error: outcome.error, isOfBalances: lacksBalances, parts })
  }
}

function withRun({ ref, lane, kind, attempt, inBackground }: Payload, run: RunState | undefined): Payload {
  return { ref, lane, kind, attempt, ...(inBackground && { inBackground }), ...(run && { run }) }
}

async function succeed(deps: ReadingDeps, { keyLane }: OpenedConnection, payload: Payload): Promise<void> {
  await deps.db.transaction(async (tx) => {
    if (payload.kind === 'transactions') await deps.connections.recordRefresh(tx, payload.ref, keyLane)
    await end(tx, payload, { status: 'succeeded', cause: null })
  })
}

/** Requests that arrived during this job have no job of their own: a connection has one job of each kind. */
async function end(
  sql: Sql,
  payload: Payload,
  outcome: { status: 'succeeded' | 'failed'; cause: Cause | null },
): Promise<void> {
  const { ref, kind } = payload
  await endRefreshes(sql, ref, kind, outcome)
  if (await hasQueued(sql, ref, kind)) await queueRefresh(sql, { ...withRun(payload, undefined), attempt: 1 }, 0)
}

async function backOff(
  deps: ReadingDeps,
  opened: OpenedConnection,
  next: Payload,
  { error, isOfBalances, parts }: { error: SourceError; isOfBalances: boolean; parts: readonly string[] },
): Promise<void> {
  const { providerId, keyLane } = opened
  const { attempt } = next
  const { fault } = error
  const delayMs = toPauseMs(error, deps.scaleWait(backoffMs(attempt, deps.random())))
  // A provider that is known to be away is not asked: the person who waits learns it at once.
  const isKnownAway = error instanceof CircuitOpen
  const mayPass = ['rate_limited', 'venue_down', 'clock_skew'].includes(fault) && !isKnownAway && delayMs <= patienceMs
  if (mayPass && attempt < attemptsMax) return queueRefresh(deps.db, { ...next, attempt: attempt + 1 }, delayMs)
  const sinceMs = isKnownAway ? error.sinceMs : undefined
  await deps.connections.recordFault(next.ref, { providerId, keyLane, fault, parts, isOfBalances, sinceMs })
  await end(deps.db, next, { status: 'failed', cause: fault })
}

/** The connection was readable when the refresh was accepted, but is not now. */
async function findCause(deps: ReadingDeps, ref: ConnectionRef): Promise<Cause> {
  return (await deps.connections.find(ref, ref.connectionId))?.status_cause ?? 'needs_reauth'
}
