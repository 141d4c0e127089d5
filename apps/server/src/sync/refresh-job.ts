/**
 * The job behind a refresh: balances or history of one connection, now. A passing failure is tried again a few times,
 * because somebody waits; then the refresh has failed, and the regular run goes on by its own rules.
 */
import { SourceError, type Cause } from '@assay/core'
import { z } from 'zod'
import type { ConnectionRef } from '../connections/index.ts'
import type { Task } from '../jobs/index.ts'
import { ConnectionGone } from '../ledger/index.ts'
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
import { endRefreshes, startRefreshes } from './refresh-store.ts'
import { queueRefresh, type RefreshJob } from './refreshes.ts'

const attemptsMax = 4

const payloadSchema = z.object({
  tenant_id: z.string(),
  user_id: z.string(),
  connection_id: z.string(),
  lane: z.string(),
  kind: z.enum(['assets', 'transactions']),
  attempt: z.string().regex(/^\d+$/),
  until: z.string().regex(/^\d+$/).optional(),
  stage: z.enum(['recent', 'rest']).default('recent'),
})
type Payload = z.infer<typeof payloadSchema>

export function createRefreshTask(deps: ReadingDeps): Task {
  return async (given, signal) => {
    const payload = payloadSchema.parse(given)
    const ref = { tenantId: payload.tenant_id, userId: payload.user_id, connectionId: payload.connection_id }
    await startRefreshes(deps.db, ref, payload.kind)
    const opened = await deps.connections.open(ref)
    if (opened === undefined) return fail(deps, ref, payload, await findCause(deps, ref))
    const untilMs = chooseUntil(deps, payload.until)
    const reading = startReading(deps, ref, opened, { untilMs, stage: payload.stage, interactive: true, signal })
    try {
      const done = await read(deps, reading, payload.kind)
      const [fault] = reading.faults.values()
      if (fault !== undefined) return await standBack(deps, reading, payload, fault)
      if (!done) return await queueRefresh(deps.db, toJob(payload, reading, 0))
      await succeed(deps, ref, payload)
    } catch (error) {
      if (error instanceof ConnectionGone) return
      if (error instanceof Overtaken) return await queueRefresh(deps.db, toJob(payload, reading, overtakenDelayMs))
      if (!(error instanceof SourceError)) throw error
      await standBack(deps, reading, payload, error)
    }
  }
}

function toJob(payload: Payload, reading: ConnectionReading, delayMs: number): RefreshJob {
  const { lane, kind, attempt, until } = payload
  const hasBegun = until !== undefined || reading.allowance.pagesRead() > 0
  return { ref: reading.ref, lane, kind, delayMs, attempt: Number(attempt), ...(hasBegun && { run: reading }) }
}

async function read(deps: ReadingDeps, reading: ConnectionReading, kind: Payload['kind']): Promise<boolean> {
  if (kind === 'transactions') return readHistory(deps, reading)
  await readBalances(deps, reading)
  return true
}

async function succeed(deps: ReadingDeps, ref: ConnectionRef, { kind }: Payload): Promise<void> {
  await deps.db.transaction(async (tx) => {
    if (kind === 'transactions') {
      const facts = await deps.ledger.summarize(tx, ref)
      await deps.connections.recordRead(tx, ref, { ...facts, nextSyncInMs: null })
    }
    await endRefreshes(tx, ref, kind, { status: 'succeeded', cause: null })
  })
}

async function fail(
  deps: ReadingDeps,
  ref: ConnectionRef,
  { kind }: Pick<Payload, 'kind'>,
  cause: Cause,
): Promise<void> {
  await endRefreshes(deps.db, ref, kind, { status: 'failed', cause })
}

async function standBack(
  deps: ReadingDeps,
  reading: ConnectionReading,
  payload: Payload,
  error: SourceError,
): Promise<void> {
  const { ref, opened } = reading
  if (error instanceof OverBudget) return queueRefresh(deps.db, toJob(payload, reading, error.retryAfterMs ?? 0))
  const attempt = Number(payload.attempt)
  const delayMs = error.retryAfterMs ?? backoffMs(attempt, deps.random()) / deps.pace
  if (error.fault === 'rate_limited') await deps.budgets.recordLimitError(opened, delayMs)
  // Nobody asks a provider that is known to be away, and somebody waits to be told.
  const mayPass = ['rate_limited', 'venue_down', 'clock_skew'].includes(error.fault) && !(error instanceof CircuitOpen)
  if (mayPass && attempt < attemptsMax) {
    return queueRefresh(deps.db, { ...toJob(payload, reading, delayMs), attempt: attempt + 1 })
  }
  const since = error instanceof CircuitOpen ? { sinceMs: error.sinceMs } : {}
  await deps.connections.recordFault(ref, opened.providerId, error.fault, since)
  await fail(deps, ref, payload, error.fault)
}

/** It was readable when the refresh was accepted and is not any more. */
async function findCause(deps: ReadingDeps, ref: ConnectionRef): Promise<Cause> {
  return (await deps.connections.find(ref))?.status_cause ?? 'needs_reauth'
}
