/**
 * Arithmetic of ledger rows: from signed rows to inputs, outputs and fees. The law that every function here keeps:
 * Σ (amount − fee) of the rows = inputs − outputs − fees, asset by asset, after codes were folded into assets.
 */
import { absolute, add, isNegative, isPositive, isZero, negate, zero } from '@assay/core'
import type { Asset, Decimal, FeeKind, FeeLeg, Leg } from '@assay/core'
import type { LedgerRow } from './records.ts'

export interface Legs {
  inputs: Leg[]
  outputs: Leg[]
  fees: FeeLeg[]
}

/**
 * One leg for each asset. What cancels inside a group disappears: the two dollar legs through which Kraken settles a
 * tokenised share, and a withdrawal that came back.
 */
export function netLegs(rows: readonly LedgerRow[], feeKind: FeeKind): Legs {
  const legs = feeLegs(rows, feeKind)
  for (const [asset, amount] of sumByAsset(rows, (row) => row.amount)) {
    if (isPositive(amount)) legs.inputs.push(toLeg(asset, amount))
    if (isNegative(amount)) legs.outputs.push(toLeg(asset, negate(amount)))
  }
  return legs
}

/** Both directions of a move inside the account, which netting would make invisible. */
export function grossLegs(rows: readonly LedgerRow[], feeKind: FeeKind): Legs {
  const legs = feeLegs(rows, feeKind)
  for (const [asset, amount] of sumByAsset(rows, (row) => (isPositive(row.amount) ? row.amount : zero))) {
    if (!isZero(amount)) legs.inputs.push(toLeg(asset, amount))
  }
  for (const [asset, amount] of sumByAsset(rows, (row) => (isNegative(row.amount) ? row.amount : zero))) {
    if (!isZero(amount)) legs.outputs.push(toLeg(asset, absolute(amount)))
  }
  return legs
}

/** The other side of a dust trade, so small that Kraken wrote 0: it still says what the dust was traded for. */
export function findZeroLeg(rows: readonly LedgerRow[]): Leg | undefined {
  const row = rows.find((candidate) => isZero(candidate.amount) && isZero(candidate.fee))
  return row === undefined ? undefined : toLeg(row.asset, zero)
}

function feeLegs(rows: readonly LedgerRow[], kind: FeeKind): Legs {
  const legs: Legs = { inputs: [], outputs: [], fees: [] }
  for (const [asset, fee] of sumByAsset(rows, (row) => row.fee)) {
    if (isPositive(fee)) legs.fees.push({ ...toLeg(asset, fee), kind })
    // A rebate is an input.
    if (isNegative(fee)) legs.inputs.push(toLeg(asset, negate(fee)))
  }
  return legs
}

function sumByAsset(rows: readonly LedgerRow[], amountOf: (row: LedgerRow) => Decimal): Iterable<[Asset, Decimal]> {
  const sums = new Map<string, [Asset, Decimal]>()
  for (const row of rows) {
    const before = sums.get(row.asset.assetId)?.[1] ?? zero
    sums.set(row.asset.assetId, [row.asset, add(before, amountOf(row))])
  }
  return sums.values()
}

function toLeg(asset: Asset, amount: Decimal): Leg {
  return { assetId: asset.assetId, symbol: asset.symbol, amount }
}
