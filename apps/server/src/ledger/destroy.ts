/**
 * Destroys what was read through a connection. Each transaction destroys one batch, so that neither a statement nor a
 * transaction grows with the history; connections/removal.ts asks for the next batch until nothing is left. After a
 * crash it can begin again: it finds what is left.
 */
import type { Sql } from '../db/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import type { ChangeDeps } from './changes.ts'
import { deletePositions, deleteRows, deleteTransactions, type Batch, type Gone } from './destroy-store.ts'
import { holdUser } from './locks-store.ts'
import { planForAnyUser } from './store.ts'
import { hasOtherTransferLegs } from './transfers/transfers-store.ts'
import { dropConnectionTransferLegs } from './transfers/transfers.ts'

/** Destroys the next batch in this transaction; true when nothing is left. */
export type DestroyNext = (tx: Sql) => Promise<boolean>

export interface DestroyDeps extends Pick<ChangeDeps, 'addChanges'> {
  /** Queues a job that judges the user's transfers again. */
  queueMatching(tx: Sql, owner: Owner): Promise<void>
}

/**
 * A batch takes some 0.3 s and a few megabytes of log. It is one row more than the contract lets a removal leave behind
 * (§6), so that a history of 5,000 rows is known to be gone after the first batch.
 */
const rowsPerBatch = 5_001
/** A transaction, its postings and what it waits for. */
const rowsPerTransaction = 4

export function startDestroying(deps: DestroyDeps, ref: ConnectionRef, was: { hiddenSeq: string | null }): DestroyNext {
  // Legs first: their counterparts belong to other connections, which are still served.
  const steps: ((tx: Sql, batch: Batch) => Promise<Gone>)[] = [
    async (tx, batch) => {
      if (!(await hasOtherTransferLegs(tx, ref))) return deleteRows(tx, ref, 'transfer_legs', batch)
      const count = await dropConnectionTransferLegs(deps, tx, ref, batch.limit)
      if (count > 0) await deps.queueMatching(tx, ref)
      return { count, last: undefined, isDone: count < batch.limit }
    },
    (tx, { after, limit }) => deleteTransactions(tx, ref, was, { after, limit: Math.ceil(limit / rowsPerTransaction) }),
    ...(
      [
        'daily_changes',
        'observed_balances',
        'due_proofs',
        'proofs',
        'transaction_versions',
        'replay_findings',
        'raw_records',
        'group_aliases',
        'due_groups',
        'poison_groups',
        'transaction_revisions',
      ] as const
    ).map((table) => (tx: Sql, batch: Batch) => deleteRows(tx, ref, table, batch)),
  ]
  const places = new Map<number, string | undefined>()
  return async (tx) => {
    await planForAnyUser(tx)
    await holdUser(tx, ref)
    await deletePositions(tx, ref)
    // One more than a batch, so that a history of exactly one batch is known to be gone.
    let room = rowsPerBatch
    for (const [index, step] of steps.entries()) {
      for (let isDone = false; !isDone;) {
        const gone = await step(tx, { after: places.get(index), limit: room })
        places.set(index, gone.last)
        room -= gone.count
        if (room <= 0) return false
        isDone = gone.isDone
      }
    }
    return true
  }
}
