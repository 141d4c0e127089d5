/**
 * A transaction's text. It holds the members after the head: `id`, `updated_at` and the ids of user, provider and
 * connection are written by the shape that serves it, because v1 and v2 name them differently and because deriving again
 * must give the same bytes.
 *
 * What comes later than the records (a price, the other side of a transfer) is put into the document that is there, by
 * the functions that put it into a new one: whichever way a text came about, it is the same text.
 */
import { multiply, sum, type Decimal, type TransactionDraft } from '@assay/core'

export type Categorization = Pick<TransactionDraft, 'category' | 'method' | 'confidence'>

/** The other side of an own transfer. */
export interface Counterpart {
  transactionId: string
  confidence: number
}

type PriceOf = (assetId: string) => Decimal | undefined

interface CurrencyValue {
  asset_symbol: string
  asset_id: string
  amount: Decimal
  price_in_usd: Decimal | null
  value_in_usd: Decimal | null
}

type FeeItem = { kind: string } & Omit<CurrencyValue, 'price_in_usd'>

/** The members in the order in which they are written. */
export interface TransactionDocument {
  type: string
  status: string
  timestamp: string
  categorization: Categorization
  inputs: CurrencyValue[]
  outputs: CurrencyValue[]
  fees: { total_in_usd: Decimal | null; items: FeeItem[] }
  network: string | null
  hash: string | null
  from_address: string | null
  to_address: string | null
  counterpart: { transaction_id: string; confidence: number } | null
  spam: boolean
  provider_reference: string | null
  description: string | null
  incomplete: string[]
}

/** Without prices, and without a counterpart. */
export function toDocument(draft: TransactionDraft): TransactionDocument {
  const { category, method, confidence } = draft
  return {
    type: draft.type,
    status: draft.status,
    timestamp: toTimestamp(draft.occurredAtMs),
    categorization: { category, method, confidence },
    inputs: draft.inputs.map(toCurrencyValue),
    outputs: draft.outputs.map(toCurrencyValue),
    fees: {
      total_in_usd: null,
      items: draft.fees.map(({ kind, symbol, assetId, amount }) => ({
        kind,
        asset_symbol: symbol,
        asset_id: assetId,
        amount,
        value_in_usd: null,
      })),
    },
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
}

export function withPrices(document: TransactionDocument, priceOf: PriceOf): TransactionDocument {
  const valueOf = (asset_id: string, amount: Decimal): Decimal | null => {
    const price = priceOf(asset_id)
    return price === undefined ? null : multiply(amount, price)
  }
  const priced = (one: CurrencyValue): CurrencyValue => ({
    ...one,
    price_in_usd: priceOf(one.asset_id) ?? null,
    value_in_usd: valueOf(one.asset_id, one.amount),
  })
  const items = document.fees.items.map((fee) => ({ ...fee, value_in_usd: valueOf(fee.asset_id, fee.amount) }))
  return {
    ...document,
    inputs: document.inputs.map(priced),
    outputs: document.outputs.map(priced),
    fees: { total_in_usd: totalOf(items.map((item) => item.value_in_usd)), items },
  }
}

/** `alone`: what it is called without a counterpart. The type stays: it left, or came, either way. */
export function withCounterpart(
  document: TransactionDocument,
  alone: Categorization,
  counterpart: Counterpart | undefined,
): TransactionDocument {
  if (counterpart === undefined) return { ...document, categorization: alone, counterpart: null }
  const { transactionId, confidence } = counterpart
  return {
    ...document,
    categorization: { category: 'transfer', method: 'match', confidence },
    counterpart: { transaction_id: transactionId, confidence },
  }
}

/** Begins after the head's last member: `"type":…}`. */
export function renderDocument(document: TransactionDocument): string {
  return JSON.stringify(document).slice(1)
}

export function parseDocument(text: string): TransactionDocument {
  // Our own text, and only of members that a double or a string holds without loss.
  return JSON.parse(`{${text}`) as TransactionDocument
}

export function assetIdsOf(document: TransactionDocument): string[] {
  const all = [...document.inputs, ...document.outputs, ...document.fees.items]
  return [...new Set(all.map(({ asset_id }) => asset_id))]
}

export function assetSymbolsOf(document: TransactionDocument): string[] {
  const all = [...document.inputs, ...document.outputs, ...document.fees.items]
  return [...new Set(all.map(({ asset_symbol }) => asset_symbol))].toSorted()
}

function toCurrencyValue({ symbol, assetId, amount }: TransactionDraft['inputs'][number]): CurrencyValue {
  return { asset_symbol: symbol, asset_id: assetId, amount, price_in_usd: null, value_in_usd: null }
}

/** Throws for what is no time, or in a year of more than four digits, which nobody reads. */
function toTimestamp(ms: number): string {
  const timestamp = new Date(ms).toISOString()
  if (!/^\d{4}-/.test(timestamp)) throw new RangeError(`${timestamp} is no time of a transaction`)
  return timestamp
}

/** Unknown as soon as one part is: a sum that leaves something out would be a wrong number, not a missing one. */
function totalOf(values: readonly (Decimal | null)[]): Decimal | null {
  return values.some((value) => value === null) ? null : sum(values.filter((value) => value !== null))
}
