/**
 * Identifiers: prefixed and opaque. Random ones are TypeIDs (a UUIDv7 in base 32), so that fresh rows land together in
 * an index. A transaction's id is a function of the connection and the provider's own key: reading a history again
 * gives the same ids. Only a correction that a confirmed transaction may not undergo gives its key another id.
 */
import { hash } from 'node:crypto'
import { typeid } from 'typeid-js'

export type IdPrefix = 'ten' | 'cli' | 'usr' | 'con' | 'txn' | 'grt' | 'rfr' | 'req'

export function newId(prefix: Exclude<IdPrefix, 'txn'>): string {
  return typeid(prefix).toString()
}

/** `revision` counts how often an id of this key was retired although the transaction still exists. */
export function transactionId(connectionId: string, naturalKey: string, revision = 0): string {
  // Neither separator can occur in an id, so no two triples hash the same text.
  const owner = revision === 0 ? connectionId : `${connectionId}#${revision}`
  return `txn_${hash('sha256', `${owner}\n${naturalKey}`, 'hex').slice(0, 32)}`
}

/** Cheap shape check for ids that come from outside, before a query is made of them. */
export function hasIdShape(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[a-z0-9_]{5,64}$/.test(text)
}
