/**
 * Rows that are read through a connection are written only while the connection exists. It may be removed, or its
 * session declined, while a page is on its way: the removal destroys the rows that it finds, and a page that came
 * afterwards would stay. So every write locks the connection's row against a removal, and after a removal it finds the
 * row gone.
 *
 * The lock order is always the connection, then the user. A removal has locked its connections before it comes here, so
 * a transaction that holds the user never waits for a connection.
 */
import type { Sql } from '../db/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'

export class ConnectionGone extends Error {
  constructor(connectionId: string) {
    super(`the connection ${connectionId} was removed while it was read`)
    this.name = 'ConnectionGone'
  }
}

/**
 * Until the transaction ends. This is the weakest lock that a removal waits for: writers do not wait for each other.
 */
export async function holdConnection(tx: Sql, ref: ConnectionRef): Promise<void> {
  await lockConnection(tx, ref, 'for key share')
}

/**
 * The same, and it excludes every other transaction that writes through the connection, so that no record changes in
 * the meantime.
 */
export async function holdConnectionAlone(tx: Sql, ref: ConnectionRef): Promise<void> {
  await lockConnection(tx, ref, 'for update')
}

async function lockConnection(tx: Sql, ref: ConnectionRef, lock: 'for key share' | 'for update'): Promise<void> {
  const held = await tx.maybeRow(
    `select from existing_connections where user_key = $1::bigint and connection_key = $2::integer ${lock}`,
    [ref.userKey, ref.connectionKey],
  )
  if (held === undefined) throw new ConnectionGone(ref.connectionId)
}

/**
 * Transactions of one connection name those of another (own transfers), so only one transaction at a time writes
 * transactions of a user. This is the row that change numbers come from (changes-store.ts).
 */
export async function holdUser(tx: Sql, { userKey }: Pick<Owner, 'userKey'>): Promise<void> {
  await tx.row('select from user_ledgers where user_key = $1::bigint for no key update', [userKey])
}
