/**
 * Coins that Kraken exchanged for their successors, and delisted coins that it converted. The half that leaves and the half
 * that arrives are booked under two references, seconds to days apart (rows of type `transfer` or `earn`, subtype
 * `delistingconversion`; before 2023 a `transfer` without a subtype). They share nothing but the amount, and that only
 * where the exchange was one for one.
 */
import { absolute } from '@assay/core'
import type { LedgerRow } from './records.ts'

/** One for one, by Kraken's bare codes: the old coin and its successor. */
const successors: readonly (readonly [from: string, to: string])[] = [
  ['MATIC', 'POL'],
  ['SAI', 'DAI'],
  ['EOS', 'A'],
  ['FTM', 'S'],
]

/** The halves of one migration; both have the same pair. */
function findPair(base: string): string | undefined {
  return successors.find(([from, to]) => base === from || base === to)?.join('-')
}

export function hasSuccessor(row: LedgerRow): boolean {
  return findPair(row.base) !== undefined
}

export function isMigration(row: LedgerRow): boolean {
  if (row.type !== 'transfer' && row.type !== 'earn') return false
  if (row.subtype === 'delistingconversion') return true
  if (!hasSuccessor(row)) return false
  // Only these two: other transfers of MATIC or DAI are ordinary ones. What a lone arrival is, the sign tells.
  return row.subtype === 'migration' || (row.type === 'transfer' && row.subtype === '')
}

/** The second link key of a migration's row: the same for both halves. */
export function migrationKey(row: LedgerRow): string {
  return `migration:${findPair(row.base) ?? 'delisting'}:${absolute(row.amount)}`
}
