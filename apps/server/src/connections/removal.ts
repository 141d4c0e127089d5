/**
 * Removing a connection, with its key and everything that was read through it.
 *
 * One transaction destroys the key and hides the connection from every reader and writer. It also destroys the first
 * 5,000 rows, which is the whole history of most connections. A longer history is destroyed by a job, batch by batch;
 * the connection's row goes last, and then the tenant hears `connection.destroyed`. A process that is killed in between
 * leaves the rest to the queue, and a job that was lost is queued again by upkeep.
 */
import { recordAudit } from '../audit.ts'
import { noteUser } from '../notices.ts'
import type { Database, Sql } from '../db/index.ts'
import { addJob, type Handler } from '../jobs/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { recordCheckOfRemoved } from './adding/pending-store.ts'
import * as store from './removal-store.ts'

export interface RemovalDeps {
  /** Numbers of the user's changes (ledger). */
  takeChangeNumbers(tx: Sql, userKey: string, count: number): Promise<{ first: string; updatedAt: string }>
  /**
   * Called when a connection is removed: deletes the state of reading it and announces the removal. `isShown`:
   * applications could see it.
   */
  onRemoved(tx: Sql, ref: ConnectionRef, was: { isShown: boolean }): Promise<void>
  /**
   * Destroys what was read through it: each call a batch, in the transaction given; true when nothing is left.
   * `hiddenSeq` is the change number at which its transactions disappeared; null when no application saw them, so none
   * has to hear that they are gone.
   */
  startDestroying(ref: ConnectionRef, hidden: { hiddenSeq: string | null }): (tx: Sql) => Promise<boolean>
  /** Called before each batch of the job, so that PostgreSQL does not plan for tables as they were long ago. */
  ensureStatistics(): Promise<void>
  /** Nothing of a connection that was shown is left. */
  onDestroyed(tx: Sql, ref: ConnectionRef): Promise<void>
}

/** Who removes it, for the audit log; by default the service itself. */
export interface RemovedBy {
  actor: 'user' | 'application'
  clientId?: string
}

/** Hides it and destroys a batch; true when that was everything. */
export async function discard(
  deps: RemovalDeps,
  tx: Sql,
  ref: ConnectionRef,
  was: { isShown: boolean; by?: RemovedBy },
): Promise<boolean> {
  if (!(await store.lockConnection(tx, ref))) return true
  const { tenantId, userId, connectionId } = ref
  const providerId = await store.findProviderId(tx, ref)
  const { actor, clientId } = was.by ?? { actor: 'service' }
  const who = { tenantId, userId, actor, clientId, providerId }
  await recordAudit(tx, { ...who, action: 'connection.removed', subject: connectionId })
  await recordCheckOfRemoved(tx, ref)
  const hiddenSeq = was.isShown ? (await deps.takeChangeNumbers(tx, ref.userKey, 1)).first : null
  await store.hideConnection(tx, ref, hiddenSeq)
  await deps.onRemoved(tx, ref, was)
  if (was.isShown) await noteUser(tx, ref)
  const isGone = await deps.startDestroying(ref, { hiddenSeq })(tx)
  if (isGone) await store.deleteConnection(tx, ref)
  else await queueDestroying(tx, ref)
  return isGone
}

async function queueDestroying(sql: Sql, ref: ConnectionRef): Promise<void> {
  await addJob(sql, 'destroy', { ref })
}

type DestroyDeps = Pick<RemovalDeps, 'startDestroying' | 'ensureStatistics' | 'onDestroyed'> & { db: Database }

const jobMaxMs = 20_000

/** The job that destroys the rest of a hidden connection. */
export function createDestroyTask(deps: DestroyDeps): Handler<'destroy'> {
  return async ({ ref }, signal) => {
    const endsAt = performance.now() + jobMaxMs
    const mayGoOn = (): boolean => !signal.aborted && performance.now() < endsAt
    if (!(await destroyRest(deps, ref, mayGoOn))) await queueDestroying(deps.db, ref)
  }
}

/** False when `mayGoOn` ended it first. Two processes may do it at once: the one that deletes the row announces it. */
async function destroyRest(deps: DestroyDeps, ref: ConnectionRef, mayGoOn: () => boolean): Promise<boolean> {
  const hidden = await store.findHidden(deps.db, ref)
  if (hidden === undefined) return true
  let begun = { ...hidden, destroyNext: deps.startDestroying(ref, hidden) }
  while (mayGoOn()) {
    await deps.ensureStatistics()
    const isGone = await deps.db.transaction(async (tx) => {
      const now = await store.findHiddenOfHeldUser(tx, ref)
      if (now === undefined) return true
      if (now.hiddenSeq !== begun.hiddenSeq) begun = { ...now, destroyNext: deps.startDestroying(ref, now) }
      if (!(await begun.destroyNext(tx))) return false
      if ((await store.deleteConnection(tx, ref)) && begun.hiddenSeq !== null) await deps.onDestroyed(tx, ref)
      return true
    })
    if (isGone) return true
  }
  return false
}

/** In one round of upkeep; the rest waits a minute. */
const unattendedBatchSize = 100

/** Upkeep: hidden connections whose job was lost. */
export async function requeueDestroying(db: Database): Promise<void> {
  for (const ref of await store.listUnattended(db, unattendedBatchSize)) await queueDestroying(db, ref)
}
