/**
 * Removing a connection, with its key and everything that was read through it.
 *
 * Mostly one transaction does it all. A long history would take it minutes: then that transaction destroys the key and
 * hides the connection from every reader (`hidden_connections`), and the history is destroyed in transactions of its
 * own, batch by batch. The row goes last; a process that is killed in between leaves it to upkeep, which goes on.
 *
 * Whoever asked for the removal waits until everything is gone, however long that takes (some 10,000 transactions a
 * second): "destroyed" is said only when it is true, and nobody has to ask again. Where nobody waits, upkeep does it.
 */
import type { Database, Sql } from '../db/index.ts'
import { deleteConnection, listRemovals, lockConnection, retireConnection, type ConnectionRef } from './store.ts'

export interface RemovalDeps {
  /** The connection goes: what is known of reading it, and who has to be told. See `startDestroying` for `served`. */
  onRemoved(tx: Sql, ref: ConnectionRef, was: { served: boolean }): Promise<void>
  /**
   * Destroys what was read through it: each call a batch, in the transaction given; true when nothing is left. `served`
   * is false when it was provisional: its transactions were never shown to an application, so none has to hear that
   * they are gone.
   */
  startDestroying(ref: ConnectionRef, was: { served: boolean }): (tx: Sql) => Promise<boolean>
}

/** False when there is more to destroy: see `finishRemoval`. */
export async function discard(
  deps: RemovalDeps,
  tx: Sql,
  ref: ConnectionRef,
  was: { served: boolean },
): Promise<boolean> {
  if (!(await lockConnection(tx, ref))) return true
  await deps.onRemoved(tx, ref, was)
  const gone = await deps.startDestroying(ref, was)(tx)
  if (gone) await deleteConnection(tx, ref)
  else await retireConnection(tx, ref, was)
  return gone
}

type FinishDeps = Pick<RemovalDeps, 'startDestroying'> & { db: Database }

/** Of a connection that is hidden already; two may do it at once. */
export async function finishRemoval(
  { db, startDestroying }: FinishDeps,
  ref: ConnectionRef,
  was: { served: boolean },
  mayGoOn: () => boolean = () => true,
): Promise<void> {
  const destroyNext = startDestroying(ref, was)
  while (mayGoOn()) {
    if (await db.transaction(destroyNext)) return deleteConnection(db, ref)
  }
}

/** What one round of upkeep gives to it. */
const roundMs = 20_000
const removalsPerRoundMax = 100

export async function finishRemovals(deps: FinishDeps): Promise<void> {
  const endsAt = performance.now() + roundMs
  const mayGoOn = (): boolean => performance.now() < endsAt
  for (const { served, ...ref } of await listRemovals(deps.db, removalsPerRoundMax)) {
    await finishRemoval(deps, ref, { served }, mayGoOn)
  }
}
