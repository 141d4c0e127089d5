/**
 * A transaction's text, written once. It holds the members after the head: `id`, `updated_at` and the ids of user,
 * provider and connection are written by the shape that serves it, because v1 and v2 name them differently and because
 * deriving again must give the same bytes.
 */
import { multiply, sum, type Decimal, type FeeLeg, type Leg, type TransactionDraft } from '@assay/core'

type PriceOf = (assetId: string) => Decimal | undefined

/** Begins after the head's last member: `"type":…}`. */
export function renderTransaction(draft: TransactionDraft, priceOf: PriceOf): string {
  const fees = draft.fees.map((fee) => toFeeItem(fee, priceOf))
  const body = {
    type: draft.type,
    status: draft.status,
    timestamp: new Date(draft.occurredAtMs).toISOString(),
    categorization: { category: draft.category, method: draft.method, confidence: draft.confidence },
    inputs: draft.inputs.map((leg) => toCurrencyValue(leg, priceOf)),
    outputs: draft.outputs.map((leg) => toCurrencyValue(leg, priceOf)),
    fees: { total_in_usd: totalOf(fees.map((fee) => fee.value_in_usd)), items: fees },
    network: draft.network,
    hash: draft.hash,
    from_address: draft.fromAddress,
    to_address: draft.toAddress,
    counterpart: null,
    spam: draft.spam,
    provider_reference: draft.providerReference,
    description: draft.description,
    incomplete: draft.incomplete,
  }
  return JSON.stringify(body).slice(1)
}

export function assetSymbolsOf(draft: TransactionDraft): string[] {
  return [...new Set([...draft.inputs, ...draft.outputs, ...draft.fees].map(({ symbol }) => symbol))].toSorted()
}

function toCurrencyValue(leg: Leg, priceOf: PriceOf): Record<string, string | null> {
  const price = priceOf(leg.assetId)
  return {
    asset_symbol: leg.symbol,
    asset_id: leg.assetId,
    amount: leg.amount,
    price_in_usd: price ?? null,
    value_in_usd: price === undefined ? null : multiply(leg.amount, price),
  }
}

function toFeeItem(fee: FeeLeg, priceOf: PriceOf) {
  const price = priceOf(fee.assetId)
  return {
    kind: fee.kind,
    asset_symbol: fee.symbol,
    asset_id: fee.assetId,
    amount: fee.amount,
    value_in_usd: price === undefined ? null : multiply(fee.amount, price),
  }
}

/** Unknown as soon as one part is: a sum that leaves something out would be a wrong number, not a missing one. */
function totalOf(values: readonly (Decimal | null)[]): Decimal | null {
  return values.some((value) => value === null) ? null : sum(values.filter((value) => value !== null))
}
