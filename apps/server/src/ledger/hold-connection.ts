/**
 * What is read through a connection is written only while the connection is there. It may be removed, or its session
 * declined, while a page is on its way: the removal destroys what it finds, and a page that came afterwards would stay
 * for good. So every write takes a lock on the connection that a removal waits for, and finds it gone after one.
 *
 * Always in this order: the connection, then the user. A removal has its connections locked before it comes here, so
 * nobody who has the user ever waits for a connection.
 */
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

export class ConnectionGone extends Error {
  constructor(connectionId: string) {
    super(`the connection ${connectionId} was removed while it was read`)
    this.name = 'ConnectionGone'
  }
}

/** To the end of the transaction. The weakest lock that a deletion minds: writers do not wait for each other. */
export async function holdConnection(tx: Sql, ref: ConnectionRef): Promise<void> {
  await lockConnection(tx, ref, 'for key share')
}

/** The same, and nobody else writes what is read through it: no record changes under the hands of whoever derives it. */
export async function holdConnectionAlone(tx: Sql, ref: ConnectionRef): Promise<void> {
  await lockConnection(tx, ref, 'for update')
}

async function lockConnection(tx: Sql, ref: ConnectionRef, lock: 'for key share' | 'for update'): Promise<void> {
  const held = await tx.maybeRow(
    `select id from existing_connections where tenant_id = $1 and user_id = $2 and id = $3 ${lock}`,
    [ref.tenantId, ref.userId, ref.connectionId],
  )
  if (held === undefined) throw new ConnectionGone(ref.connectionId)
}

/**
 * Transactions of one connection name those of another (own transfers), so whoever writes transactions of a user does
 * it alone, whichever connection they belong to. To the end of the transaction.
 */
export async function holdUser(tx: Sql, owner: { tenantId: string; userId: string }): Promise<void> {
  await tx.rows(`select pg_advisory_xact_lock(hashtextextended('ledger of ' || $1 || ' ' || $2, 0))`, [
    owner.tenantId,
    owner.userId,
  ])
}
