/** What a transaction that changes a user's transactions reports to the rest of the service. */
import type { CountedTransactions } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { noteUser, type ChangeCounts } from '../notices.ts'
import type { ConnectionRef, Owner } from '../owner.ts'

export interface ChangeDeps {
  /** Adds to what the tenant's webhook will announce. */
  addChanges(tx: Sql, ref: Pick<ConnectionRef, 'userKey' | 'connectionKey'>, counts: ChangeCounts): Promise<void>
  /** Moves `transaction_count` and `history_from` of the connection's row, which the transaction has locked. */
  recordTransactions(tx: Sql, ref: ConnectionRef, counted: CountedTransactions): Promise<void>
}

/** Call it once in the transaction, with the changes of each connection by its key. */
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

/** Counts documents that were written again, by connection. */
export function countChanged(rows: readonly { connectionKey: number }[]): Map<number, ChangeCounts> {
  const counts = new Map<number, ChangeCounts>()
  for (const { connectionKey } of rows) {
    const count = counts.get(connectionKey) ?? { added: 0, changed: 0, removed: 0 }
    count.changed += 1
    counts.set(connectionKey, count)
  }
  return counts
}
