/**
 * Which ledger rows belong together (linkKeys) and which family each row belongs to. Each family becomes its own
 * transaction: a card purchase is a deposit and then a purchase, and the rollover fees of a margin position continue
 * for weeks under its one reference.
 *
 * Types and subtypes: docs.kraken.com get-ledgers-info, support.kraken.com "How to interpret Ledger history fields",
 * and what rotki and others have found beyond those. The list grows; a type that is not here is `other`, never an
 * error.
 */
import { absolute } from '@assay/core'
import type { StoredRecord } from '../../kit/connector.ts'
import { parseFundingRecord, parseLedgerRow, type LedgerRow } from '../records.ts'

// The transactions of a story are returned in this order, then its migrations, then what was only announced.
export const families = [
  'deposit',
  'withdrawal',
  'exchange',
  'migration',
  'move',
  'reward',
  'margin',
  'rollover',
  'transfer',
  'other',
] as const
export type Family = (typeof families)[number]

const familyByType: ReadonlyMap<string, Exclude<Family, 'migration'>> = new Map<string, Exclude<Family, 'migration'>>([
  ['deposit', 'deposit'],
  ['withdrawal', 'withdrawal'],
  ['trade', 'exchange'],
  ['spend', 'exchange'],
  ['receive', 'exchange'],
  ['sale', 'exchange'],
  ['conversion', 'exchange'],
  ['adjustment', 'exchange'],
  ['nfttrade', 'exchange'],
  ['staking', 'reward'],
  ['reward', 'reward'],
  ['dividend', 'reward'],
  ['invite bonus', 'reward'],
  ['nftrebate', 'reward'],
  ['margin', 'margin'],
  ['margin trade', 'margin'],
  ['settled', 'margin'],
  ['rollover', 'rollover'],
  ['transfer', 'transfer'],
  ['custodytransfer', 'transfer'],
])

export const lockSubtypes = new Set([
  'spottostaking',
  'stakingfromspot',
  'allocation',
  'autoallocation',
  'autoallocate',
])
export const unlockSubtypes = new Set(['stakingtospot', 'spotfromstaking', 'deallocation', 'autodeallocation'])

export function familyOf(row: LedgerRow): Family {
  return isMigration(row) ? 'migration' : bookOf(row)
}

/**
 * The family by type and subtype alone. It is part of the natural key, so that an id survives when the rules improve.
 */
export function bookOf(row: LedgerRow): Exclude<Family, 'migration'> {
  if (row.type === 'earn' || row.type === 'transfer') {
    if (lockSubtypes.has(row.subtype) || unlockSubtypes.has(row.subtype) || row.subtype === 'migration') return 'move'
    if (row.type === 'earn') return row.subtype === 'reward' ? 'reward' : 'other'
  }
  return familyByType.get(row.type) ?? 'other'
}

/**
 * Coins that Kraken exchanged one for one, by its bare codes: the old coin and its successor. Kraken books the half
 * that leaves and the half that arrives under two references, seconds to days apart (rows of type `transfer` or `earn`,
 * subtype `delistingconversion`; before 2023 a `transfer` without a subtype). The halves share only the amount.
 * Delisted coins that it converted are booked the same way; at another rate their halves share nothing.
 */
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
  // Other transfers of MATIC or DAI are ordinary transfers.
  return row.subtype === 'migration' || (row.type === 'transfer' && row.subtype === '')
}

/** The second link key of a migration row. Both halves share it. */
export function migrationKey(row: LedgerRow): string {
  return `migration:${findPair(row.base) ?? 'delisting'}:${absolute(row.amount)}`
}

/**
 * Which records belong together. Usually they share the reference, which a ledger row has in common with the other side
 * of the trade and with the funding lists. There are two exceptions, both seen in real histories:
 *
 * - The halves of a transfer between spot and staking have different references. They share asset and amount, and
 *   nearly the time, so all such transfers of one amount are one group and are paired inside it by time.
 * - The halves of a migration (MATIC to POL) have different references too, and share the amount alone.
 */
export function linkKeys(record: StoredRecord): readonly [string, ...string[]] {
  if (record.stream !== 'ledger') return [parseFundingRecord(record.body).refid]
  const row = parseLedgerRow(record.key, record.body)
  if (isPairedByAmount(row)) return [`move:${row.base}:${absolute(row.amount)}`]
  const reference = row.refid === '' ? row.id : row.refid
  return isMigration(row) ? [reference, migrationKey(row)] : [reference]
}

/** A half of a transfer between spot and staking in Kraken's older books. */
export function isPairedByAmount(row: LedgerRow): boolean {
  return row.type === 'transfer' && familyOf(row) === 'move'
}
