/**
 * A transaction's two names: `txn_` and 32 hexadecimal digits on the wire, a uuid of those digits in the database, which
 * takes 16 bytes there. Code of this room uses the stored form, as PostgreSQL writes it.
 */
import { transactionId } from '@assay/core'

const prefix = 'txn_'

/** `txn_0123…` → `01234567-…`. */
export function toStoredId(id: string): string {
  const digits = id.slice(prefix.length)
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`
}

export function toTransactionId(storedId: string): string {
  return prefix + storedId.replaceAll('-', '')
}

/** The stored id of the transaction that a provider's key stands for. */
export function storedIdOf(connectionId: string, naturalKey: string, revision: number): string {
  return toStoredId(transactionId(connectionId, naturalKey, revision))
}
