/**
 * What is read through a connection is written only while the connection is there. It may be removed, or its session
 * declined, while a page is on its way: the removal destroys what it finds, and a page that came afterwards would stay
 * for good. So every write takes a lock on the connection that a removal waits for, and finds it gone after one.
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
  const held = await tx.maybeRow(
    `select id from existing_connections where tenant_id = $1 and user_id = $2 and id = $3 for key share`,
    [ref.tenantId, ref.userId, ref.connectionId],
  )
  if (held === undefined) throw new ConnectionGone(ref.connectionId)
}
