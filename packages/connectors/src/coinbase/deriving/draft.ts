/**
 * The common parts of every Coinbase draft: its legs, and the members that most drafts share. For each asset, Σ amounts
 * of the rows − commission of fills = inputs − outputs − fees.
 */
import {
  absolute,
  add,
  compare,
  isNegative,
  isPositive,
  isZero,
  subtract,
  type Category,
  type Decimal,
  type FeeKind,
  type FeeLeg,
  type Leg,
  type TransactionDraft,
  type TransactionStatus,
  type TransactionType,
} from '@assay/core'
import type { Money, Transaction } from '../records.ts'

/** A row, and whether its wallet is liquid or staked. */
export interface Entry extends Transaction {
  place: 'liquid' | 'staked'
}

export type Entries = readonly [Entry, ...Entry[]]

export interface Legs {
  inputs: Leg[]
  outputs: Leg[]
  fees: FeeLeg[]
}

/** One leg for each asset, sign and place. A move of one asset keeps both its input and its output. */
export function toLegs(entries: readonly Entry[]): Legs {
  const inputs = sumLegs(entries.filter(({ amount }) => isPositive(amount)))
  const outputs = sumLegs(entries.filter(({ amount }) => isNegative(amount)))
  return { inputs, outputs, fees: [] }
}

function sumLegs(entries: readonly Entry[]): Leg[] {
  const legs = new Map<string, Leg>()
  for (const { asset, amount, place } of entries) {
    const key = `${asset.assetId} ${place}`
    const before = legs.get(key)
    const size = absolute(amount)
    legs.set(key, {
      ...{ assetId: asset.assetId, symbol: asset.symbol },
      amount: before === undefined ? size : add(before.amount, size),
      ...(place === 'staked' ? { place } : {}),
    })
  }
  return [...legs.values()]
}

/** Separates a fee that is included in the paid or received amount. The sum of the legs stays the same. */
export function withIncludedFee(legs: Legs, fee: Money | undefined, kind: FeeKind): Legs {
  if (fee === undefined || !isPositive(fee.amount)) return legs
  const { assetId, symbol } = fee.asset
  const feeLeg: FeeLeg = { assetId, symbol, amount: fee.amount, kind }
  const paid = legs.outputs.find((leg) => leg.assetId === assetId)
  if (paid !== undefined && compare(paid.amount, fee.amount) > 0) {
    const outputs = legs.outputs.map((leg) =>
      leg === paid ? { ...leg, amount: subtract(leg.amount, fee.amount) } : leg,
    )
    return { ...legs, outputs, fees: [...legs.fees, feeLeg] }
  }
  const got = legs.inputs.find((leg) => leg.assetId === assetId)
  if (got === undefined) return legs
  const inputs = legs.inputs.map((leg) => (leg === got ? { ...leg, amount: add(leg.amount, fee.amount) } : leg))
  return { ...legs, inputs, fees: [...legs.fees, feeLeg] }
}

/**
 * The commission of fills is charged to the quote wallet in addition to the row amounts. A negative one is a rebate.
 */
export function withCommission(legs: Legs, commission: Decimal, quote: Entry): Legs {
  if (isZero(commission)) return legs
  const { assetId, symbol } = quote.asset
  const leg = { assetId, symbol, amount: absolute(commission) }
  return isPositive(commission)
    ? { ...legs, fees: [...legs.fees, { ...leg, kind: 'trading' }] }
    : { ...legs, inputs: [...legs.inputs, leg] }
}

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
