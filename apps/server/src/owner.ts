/**
 * The owner of a row. Statements find rows by keys (the user's key comes first in every primary key); callers outside
 * know ids. Both are carried together, so that neither has to be looked up by the other.
 */

export interface Tenant {
  tenantKey: number
  tenantId: string
}

/** One user of one tenant. */
export interface Owner extends Tenant {
  /** The decimal text of a 64-bit number, because a JavaScript number cannot hold it. */
  userKey: string
  userId: string
}

/** One connection of one user. */
export interface ConnectionRef extends Owner {
  connectionKey: number
  connectionId: string
}

/** The first two parameters of every statement over one connection. */
export const keysOf = (ref: Pick<ConnectionRef, 'userKey' | 'connectionKey'>): [string, number] => [
  ref.userKey,
  ref.connectionKey,
]
