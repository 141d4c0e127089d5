/**
 * A transaction's document: its content as an object, rendered to text once. It holds the members after the head: `id`,
 * `updated_at` and the ids of user, provider and connection are written by the statement that serves it, because v1 and
 * v2 name them differently and because deriving again must give the same bytes.
 *
 * Facts that come later than the records (a price, the other side of a transfer) are put into the stored document by
 * the functions that put them into a new one: so the same facts always give the same document.
 */
import {
  certainFrom,
  transactionId,
  valueTransaction,
  type Decimal,
  type LegValue,
  type LegsToValue,
  type TransactionDraft,
} from '@assay/core'

export type Categorization = Pick<TransactionDraft, 'category' | 'method' | 'confidence'>

/** The other side of an own transfer. */
export interface Counterpart {
  /** The id in its stored form. */
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
export interface TransactionContent {
  type: TransactionDraft['type']
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

/** Without prices and without a counterpart. */
export function toContent(draft: TransactionDraft): TransactionContent {
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

/** Begins what `incomplete` says of a fee whose asset has no price; the asset's id follows. */
const feeWithoutPrice = 'fees.total_in_usd:'

/**
 * Writes prices and values into the content. `moved` is what the content moves, for a caller that has it. Returns the
 * assets that have the price of the day, or would have it if it were known.
 */
export function setPrices(
  content: TransactionContent,
  priceOf: PriceOf,
  moved: LegsToValue = legsToValueOf(content),
): string[] {
  const valuation = valueTransaction(moved, priceOf)
  setValues(content.inputs, valuation.inputs)
  setValues(content.outputs, valuation.outputs)
  const { fees } = content
  fees.total_in_usd = valuation.feeTotal ?? null
  for (const [index, item] of fees.items.entries()) item.value_in_usd = valuation.fees[index]?.value ?? null
  const incomplete = content.incomplete.filter((name) => !name.startsWith(feeWithoutPrice))
  content.incomplete = [...incomplete, ...valuation.unpricedFees.map((assetId) => feeWithoutPrice + assetId)]
  return valuation.dailyAssets
}

function setValues(legs: readonly CurrencyValue[], values: readonly LegValue[]): void {
  for (const [index, leg] of legs.entries()) {
    leg.price_in_usd = values[index]?.price ?? null
    leg.value_in_usd = values[index]?.value ?? null
  }
}

function legsToValueOf({ type, inputs, outputs, fees }: TransactionContent): LegsToValue {
  return { type, inputs: inputs.map(toAmount), outputs: outputs.map(toAmount), fees: fees.items.map(toAmount) }
}

function toAmount({ asset_id, amount }: Pick<CurrencyValue, 'asset_id' | 'amount'>): {
  assetId: string
  amount: Decimal
} {
  return { assetId: asset_id, amount }
}

/**
 * `alone` is how the transaction is categorized without a counterpart. The type stays, because the amount left or
 * arrived either way. A counterpart that is not certain enough is a suggestion, and the category stays too.
 */
export function withCounterpart(
  content: TransactionContent,
  alone: Categorization,
  counterpart: Counterpart | undefined,
): TransactionContent {
  if (counterpart === undefined) return { ...content, categorization: alone, counterpart: null }
  const { transactionId, confidence } = counterpart
  return {
    ...content,
    categorization: confidence < certainFrom ? alone : { category: 'transfer', method: 'match', confidence },
    counterpart: { transaction_id: toTransactionId(transactionId), confidence },
  }
}

/** Begins after the head's last member: `"type":…}`. */
export function renderDocument(content: TransactionContent): string {
  return JSON.stringify(content).slice(1)
}

export function parseDocument(document: string): TransactionContent {
  // Safe for our own documents, and only for members that a double or a string holds without loss.
  return JSON.parse(`{${document}`) as TransactionContent
}

export function assetIdsOf({ inputs, outputs, fees }: TransactionContent): Set<string> {
  const ids = new Set<string>()
  for (const { asset_id } of inputs) ids.add(asset_id)
  for (const { asset_id } of outputs) ids.add(asset_id)
  for (const { asset_id } of fees.items) ids.add(asset_id)
  return ids
}

function toCurrencyValue({ symbol, assetId, amount }: TransactionDraft['inputs'][number]): CurrencyValue {
  return { asset_symbol: symbol, asset_id: assetId, amount, price_in_usd: null, value_in_usd: null }
}

/**
 * Throws for a number that is not a time, or whose year does not have four digits: other years are written with a sign.
 */
function toTimestamp(ms: number): string {
  const timestamp = new Date(ms).toISOString()
  if (timestamp.length !== 24) throw new RangeError(`a transaction cannot have the time ${timestamp}`)
  return timestamp
}

/**
 * A transaction has two names: `txn_` and 32 hexadecimal digits on the wire, a uuid of those digits in the database,
 * which takes 16 bytes there. Code of this room uses the stored form, as PostgreSQL writes it.
 */
const prefix = 'txn_'

/** `txn_0123…` → `01234567-…`. */
export function toStoredId(id: string): string {
  const digits = id.slice(prefix.length)
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`
}

export function toTransactionId(storedId: string): string {
  return prefix + storedId.replaceAll('-', '')
}

/** The stored id of the transaction that a provider's key stands for. */
export function storedIdOf(connectionId: string, naturalKey: string, revision: number): string {
  return toStoredId(transactionId(connectionId, naturalKey, revision))
}
