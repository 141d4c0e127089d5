/** What the rest of the service is told in a transaction that changes a user's transactions. */
import type { Sql } from '../db/index.ts'
import { noteUser } from '../notices.ts'
import type { ConnectionRef, Owner } from '../owner.ts'

export interface ChangeCounts {
  added: number
  changed: number
  removed: number
}

/** How a connection's counters move. */
export interface TransactionFacts {
  /** Transactions added less those removed. */
  difference: number
  /** The first moment of what was written; with `isExact` the first of everything there is. Null when there is nothing. */
  firstAt: string | null
  isExact: boolean
}

export interface ChangeDeps {
  /** Adds to what the tenant's webhook will announce. */
  addChanges(tx: Sql, ref: Pick<ConnectionRef, 'userKey' | 'connectionKey'>, counts: ChangeCounts): Promise<void>
  /** Moves `transaction_count` and `history_from` of the connection's row, which the transaction has locked. */
  recordTransactions(tx: Sql, ref: ConnectionRef, facts: TransactionFacts): Promise<void>
}

/** To be called once in the transaction, with the changes of each connection by its key. */
export async function announceChanges(
  deps: Pick<ChangeDeps, 'addChanges'>,
  tx: Sql,
  owner: Pick<Owner, 'tenantKey' | 'userKey'>,
  byConnection: ReadonlyMap<number, ChangeCounts>,
): Promise<void> {
  await noteUser(tx, owner)
  for (const [connectionKey, counts] of byConnection) {
    await deps.addChanges(tx, { userKey: owner.userKey, connectionKey }, counts)
  }
}

/** Of documents that were written again: the changes of each connection. */
export function countChanged(rows: readonly { connectionKey: number }[]): Map<number, ChangeCounts> {
  const counts = new Map<number, ChangeCounts>()
  for (const { connectionKey } of rows) {
    const count = counts.get(connectionKey) ?? { added: 0, changed: 0, removed: 0 }
    count.changed += 1
    counts.set(connectionKey, count)
  }
  return counts
}
