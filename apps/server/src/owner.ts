/**
 * Whose rows. Keys are what rows are found by (the user's key comes first in every key); ids are what the outside knows.
 * They are carried together, so that neither has to be looked up for the other.
 */

export interface Tenant {
  tenantKey: number
  tenantId: string
}

/** One user of one tenant. */
export interface Owner extends Tenant {
  /** A 64-bit number, which JavaScript's own numbers cannot hold: its decimal text. */
  userKey: string
  userId: string
}

/** One connection of one user. */
export interface ConnectionRef extends Owner {
  connectionKey: number
  connectionId: string
}
