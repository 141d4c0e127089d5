/** The members that most drafts share, so that each rule only states what is special about it. */
import type { Category, TransactionDraft, TransactionType } from '@assay/core'
import { bookOf } from './families.ts'
import type { Legs } from './legs.ts'
import type { LedgerRow } from '../records.ts'

interface Kind {
  type: TransactionType
  category: Category
}

const unknown = { type: 'uncategorized', category: 'other' } as const satisfies Kind

/** `rows` are the rows of the draft, oldest first. */
export function toDraft(
  rows: readonly [LedgerRow, ...LedgerRow[]],
  legs: Legs,
  kind: Kind,
  special: Partial<TransactionDraft> = {},
): TransactionDraft {
  const [first] = rows
  const reference = first.refid === '' ? first.id : first.refid
  return {
    naturalKey: `${bookOf(first)}:${reference}`,
    ...kind,
    method: 'venue',
    confidence: 1,
    status: 'confirmed',
    occurredAtMs: first.timeMs,
    ...legs,
    network: null,
    hash: null,
    fromAddress: null,
    toAddress: null,
    spam: false,
    providerReference: first.refid === '' ? null : first.refid,
    description: null,
    ...special,
    incomplete: [
      ...(special.incomplete ?? []),
      // We do not know the wallet after the dot. The amount is right, but the asset may be wrong.
      ...(rows.every((row) => row.verified) ? [] : ['asset_id']),
    ],
  }
}

/** Nothing is dropped. If no rule applies, the transaction is kept with its amounts and Kraken's own words. */
export function toUnknownDraft(
  rows: readonly [LedgerRow, ...LedgerRow[]],
  legs: Legs,
  special: Partial<TransactionDraft> = {},
): TransactionDraft {
  return toDraft(rows, legs, unknown, {
    method: 'rule',
    confidence: 0,
    description: labelOf(rows[0]),
    incomplete: ['type'],
    ...special,
  })
}

/** Nothing came in or went out, except perhaps a fee. A fee alone is an output of category `fee` without fee items. */
export function toLeglessDraft(
  rows: readonly [LedgerRow, ...LedgerRow[]],
  legs: Legs,
  special: Partial<TransactionDraft> = {},
): TransactionDraft {
  if (legs.fees.length === 0) return toUnknownDraft(rows, legs, special)
  const outputs = legs.fees.map(({ assetId, symbol, amount }) => ({ assetId, symbol, amount }))
  const kind = { type: 'output_only', category: 'fee' } as const
  return toDraft(rows, { inputs: [], outputs, fees: [] }, kind, { description: labelOf(rows[0]), ...special })
}

/** Kraken's own words for a row. */
export function labelOf(row: LedgerRow): string {
  return row.subtype === '' ? row.type : `${row.type}/${row.subtype}`
}
