/** The common part of every Coinbase draft. */
import type { Category, TransactionDraft, TransactionStatus, TransactionType } from '@assay/core'
import { toLegs, type Entries, type Legs } from './legs.ts'

export interface Kind {
  type: TransactionType
  category: Category
}

type Special = Partial<TransactionDraft> & Pick<TransactionDraft, 'naturalKey'>

/** Entries oldest first. Nothing moves in a transaction that failed, so it has no legs. */
export function toDraft(entries: Entries, legs: Legs, kind: Kind, special: Special): TransactionDraft {
  const [first] = entries
  const status = statusOf(entries)
  return {
    ...kind,
    method: 'venue',
    confidence: 1,
    status,
    occurredAtMs: first.timeMs,
    ...(status === 'failed' ? { inputs: [], outputs: [], fees: [] } : legs),
    network: null,
    hash: null,
    fromAddress: null,
    toAddress: null,
    spam: false,
    providerReference: first.id,
    description: null,
    incomplete: [],
    ...special,
  }
}

/** When no rule applies, the transaction is kept with its amounts and Coinbase's own words. */
export function toUnknownDraft(entries: Entries, special: Special, legs: Legs = toLegs(entries)): TransactionDraft {
  return toDraft(
    entries,
    legs,
    { type: 'uncategorized', category: 'other' },
    {
      method: 'rule',
      confidence: 0,
      description: [...new Set(entries.map(({ type }) => type))].join(', '),
      incomplete: ['type'],
      ...special,
    },
  )
}

/** One side is missing because its wallet was not read yet, or because the key cannot see it. */
export function toHalfDraft(entries: Entries, category: Category, special: Special): TransactionDraft {
  const legs = toLegs(entries)
  return toUnknownDraft(
    entries,
    { category, incomplete: [legs.inputs.length > 0 ? 'outputs' : 'inputs'], ...special },
    legs,
  )
}

function statusOf(entries: Entries): TransactionStatus {
  if (entries.every(({ status }) => status === 'failed')) return 'failed'
  return entries.some(({ status }) => status === 'pending') ? 'pending' : 'confirmed'
}
