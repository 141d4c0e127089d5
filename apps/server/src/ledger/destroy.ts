/**
 * Destroying what was read through a connection. A transaction destroys a batch of it, so that neither a statement nor a
 * transaction grows with the history; whoever removes the connection (connections/removal.ts) asks for the next batch
 * until nothing is left. Begun anew after a crash, it finds what is left.
 */
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { deletePositions, deleteRows, deleteTransactions, type Batch, type Gone } from './destroy-store.ts'
import { holdUser } from './hold-connection.ts'
import { hasOtherLegs } from './transfers-store.ts'
import { dropConnectionLegs } from './transfers.ts'

/** Destroys the next batch in this transaction; true when nothing is left. */
export type DestroyNext = (tx: Sql) => Promise<boolean>

export interface DestroyDeps {
  /** Asks for the user's transfers to be judged again, soon and by a worker. */
  queueMatching(tx: Sql, owner: { tenantId: string; userId: string }): Promise<void>
}

/** Some 0.3 s, and a few megabytes of log. */
const rowsPerBatch = 5_000

export function startDestroying(deps: DestroyDeps, ref: ConnectionRef, was: { served: boolean }): DestroyNext {
  // Legs first: what they were matched with is another connection's, which goes on being served.
  const steps: ((tx: Sql, batch: Batch) => Promise<Gone>)[] = [
    async (tx, batch) => {
      if (!(await hasOtherLegs(tx, ref))) return deleteRows(tx, ref, 'transfer_legs', batch)
      const count = await dropConnectionLegs(tx, ref, batch.limit)
      if (count > 0) await deps.queueMatching(tx, ref)
      return { count, last: '' }
    },
    (tx, batch) => deleteTransactions(tx, ref, was, batch),
    ...(['raw_records', 'poison_groups', 'transaction_revisions'] as const).map(
      (table) => (tx: Sql, batch: Batch) => deleteRows(tx, ref, table, batch),
    ),
  ]
  const places = new Map<number, string>()
  return async (tx) => {
    await holdUser(tx, ref)
    await deletePositions(tx, ref)
    let room = rowsPerBatch
    for (const [index, step] of steps.entries()) {
      const { count, last } = await step(tx, { after: places.get(index) ?? '', limit: room })
      places.set(index, last)
      room -= count
      if (room <= 0) return false
    }
    return true
  }
}
