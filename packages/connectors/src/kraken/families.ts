/**
 * Which ledger rows tell one story. Rows of a story fall into families, and each family becomes its own transaction:
 * a card purchase is a deposit and then a purchase, and the rollover fees of a margin position go on for weeks under
 * its one reference.
 *
 * Types and subtypes: docs.kraken.com get-ledgers-info, support.kraken.com "How to interpret Ledger history fields",
 * and what rotki and others have met beyond those. The list grows; a type that is not here is `other`, never an error.
 */
import { isMigration } from './successors.ts'
import type { LedgerRow } from './records.ts'

// In the order in which the transactions of one story are given out.
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

/** The family by type and subtype alone. It is a part of natural keys, so an id survives when a row is understood better. */
export function bookOf(row: LedgerRow): Exclude<Family, 'migration'> {
  if (row.type === 'earn' || row.type === 'transfer') {
    if (lockSubtypes.has(row.subtype) || unlockSubtypes.has(row.subtype) || row.subtype === 'migration') return 'move'
    if (row.type === 'earn') return row.subtype === 'reward' ? 'reward' : 'other'
  }
  return familyByType.get(row.type) ?? 'other'
}
