/**
 * The job behind a refresh: balances or history of one connection, now. A passing failure is tried again a few times,
 * because somebody waits; then the refresh has failed, and the regular run goes on by its own rules.
 */
import { SourceError, type Cause } from '@assay/core'
import { z } from 'zod'
import type { ConnectionRef, OpenedConnection } from '../connections/index.ts'
import type { Task } from '../jobs/index.ts'
import { ConnectionGone } from '../ledger/index.ts'
import { backoffMs } from './backoff.ts'
import { OverBudget } from './budget.ts'
import { chooseUntil, readBalances, readHistory, startAllowance, type ReadingDeps } from './read-connection.ts'
import { Overtaken, overtakenDelayMs } from './read-stream.ts'
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
})
type Payload = z.infer<typeof payloadSchema>

export function createRefreshTask(deps: ReadingDeps): Task {
  return async (given, signal) => {
    const payload = payloadSchema.parse(given)
    const ref = { tenantId: payload.tenant_id, userId: payload.user_id, connectionId: payload.connection_id }
    await startRefreshes(deps.db, ref, payload.kind)
    const opened = await deps.connections.open(ref)
    if (opened === undefined) return fail(deps, ref, payload, await findCause(deps, ref))
    const job = toJob(deps, payload)
    try {
      const done = await read(deps, ref, opened, job, signal)
      if (!done) return await queueRefresh(deps.db, { ...job, delayMs: 0 })
      await succeed(deps, ref, payload)
    } catch (error) {
      if (error instanceof ConnectionGone) return
      if (error instanceof Overtaken) return await queueRefresh(deps.db, { ...job, delayMs: overtakenDelayMs })
      if (!(error instanceof SourceError)) throw error
      await standBack(deps, ref, opened, job, error)
    }
  }
}

type Begun = RefreshJob & { untilMs: number }

function toJob(deps: ReadingDeps, payload: Payload): Begun {
  return {
    owner: { tenantId: payload.tenant_id, userId: payload.user_id },
    connectionId: payload.connection_id,
    lane: payload.lane,
    kind: payload.kind,
    delayMs: 0,
    untilMs: chooseUntil(deps, payload.until),
    attempt: Number(payload.attempt),
  }
}

async function read(
  deps: ReadingDeps,
  ref: ConnectionRef,
  opened: OpenedConnection,
  { kind, untilMs }: Begun,
  signal: AbortSignal,
): Promise<boolean> {
  if (kind === 'transactions') return readHistory(deps, ref, opened, untilMs, startAllowance(signal))
  await readBalances(deps, ref, opened)
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
  ref: ConnectionRef,
  opened: OpenedConnection,
  job: Begun,
  error: SourceError,
): Promise<void> {
  if (error instanceof OverBudget) return queueRefresh(deps.db, { ...job, delayMs: error.retryAfterMs ?? 0 })
  const passing = ['rate_limited', 'venue_down', 'clock_skew'].includes(error.fault)
  const delayMs = error.retryAfterMs ?? backoffMs(job.attempt, deps.random()) / deps.pace
  if (error.fault === 'rate_limited') await deps.budgets.recordLimitError(opened, delayMs)
  if (passing && job.attempt < attemptsMax) {
    return queueRefresh(deps.db, { ...job, delayMs, attempt: job.attempt + 1 })
  }
  await deps.connections.recordFault(ref, opened.providerId, error.fault)
  await fail(deps, ref, job, error.fault)
}

/** It was readable when the refresh was accepted and is not any more. */
async function findCause(deps: ReadingDeps, ref: ConnectionRef): Promise<Cause> {
  return (await deps.connections.find(ref))?.status_cause ?? 'needs_reauth'
}
