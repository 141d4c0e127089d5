/**
 * Turns signed ledger rows into inputs, outputs and fees. Every function here keeps this equation for each asset, after
 * codes are mapped to assets: Σ (amount − fee) of the rows = inputs − outputs − fees.
 */
import { absolute, add, isNegative, isPositive, isZero, negate, zero } from '@assay/core'
import type { Asset, Decimal, FeeKind, FeeLeg, Leg } from '@assay/core'
import type { WalletKind } from '../assets.ts'
import type { LedgerRow } from '../records.ts'

export interface Legs {
  inputs: Leg[]
  outputs: Leg[]
  fees: FeeLeg[]
}

/**
 * One leg for each asset, in the wallet of the rows that have its sign. Amounts that cancel out within a group
 * disappear, such as the two dollar legs of a tokenised share, and a withdrawal that was returned.
 */
export function netLegs(rows: readonly LedgerRow[], feeKind: FeeKind): Legs {
  const legs = feeLegs(rows, feeKind)
  for (const [asset, amount] of sumByAsset(rows, (row) => row.amount)) {
    if (isPositive(amount)) legs.inputs.push(toLeg(asset, amount, walletKindOf(rows, asset, isGain)))
    if (isNegative(amount)) legs.outputs.push(toLeg(asset, negate(amount), walletKindOf(rows, asset, isLoss)))
  }
  return legs
}

/** Keeps both directions of a move inside the account, which netting would hide. */
export function grossLegs(rows: readonly LedgerRow[], feeKind: FeeKind): Legs {
  const legs = feeLegs(rows, feeKind)
  for (const [asset, amount] of sumByAsset(rows, (row) => (isPositive(row.amount) ? row.amount : zero))) {
    if (!isZero(amount)) legs.inputs.push(toLeg(asset, amount, walletKindOf(rows, asset, isGain)))
  }
  for (const [asset, amount] of sumByAsset(rows, (row) => (isNegative(row.amount) ? row.amount : zero))) {
    if (!isZero(amount)) legs.outputs.push(toLeg(asset, absolute(amount), walletKindOf(rows, asset, isLoss)))
  }
  return legs
}

/** The other side of a dust trade, so small that Kraken wrote 0. It still shows what the dust was traded for. */
export function findZeroLeg(rows: readonly LedgerRow[]): Leg | undefined {
  const row = rows.find((candidate) => isZero(candidate.amount) && isZero(candidate.fee))
  return row === undefined ? undefined : toLeg(row.asset, zero, row.walletKind)
}

function feeLegs(rows: readonly LedgerRow[], kind: FeeKind): Legs {
  const legs: Legs = { inputs: [], outputs: [], fees: [] }
  for (const [asset, fee] of sumByAsset(rows, (row) => row.fee)) {
    if (isZero(fee)) continue
    const walletKind = walletKindOf(rows, asset, (row) => !isZero(row.fee))
    if (isPositive(fee)) legs.fees.push({ ...toLeg(asset, fee, walletKind), kind })
    // A rebate is an input.
    else legs.inputs.push(toLeg(asset, negate(fee), walletKind))
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

const isGain = (row: LedgerRow): boolean => isPositive(row.amount)
const isLoss = (row: LedgerRow): boolean => isNegative(row.amount)

/** The wallet of the asset's rows that count; spot if they are in several wallets. */
function walletKindOf(rows: readonly LedgerRow[], asset: Asset, counts: (row: LedgerRow) => boolean): WalletKind {
  const kinds = rows.filter((row) => row.asset.assetId === asset.assetId && counts(row)).map((row) => row.walletKind)
  return kinds.length > 0 && kinds.every((kind) => kind === 'staked') ? 'staked' : 'spot'
}

/** Automatically earning assets can be spent at any time, so a leg counts them as liquid, as balances do. */
function toLeg(asset: Asset, amount: Decimal, walletKind: WalletKind): Leg {
  const leg = { assetId: asset.assetId, symbol: asset.symbol, amount }
  return walletKind === 'staked' ? { ...leg, place: walletKind } : leg
}
