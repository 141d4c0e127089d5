/**
 * The vocabulary of transactions: six types, eighteen categories, and the draft that a connector makes of a group of
 * a provider's records. A draft has no prices and no id yet; the ledger adds both.
 *
 * The law of a draft: the change of a balance = inputs − outputs − fees, asset by asset, and no amount is negative.
 */
import type { Decimal } from './decimal.ts'

export const transactionTypes = [
  'input_only',
  'send',
  'receive',
  'output_only',
  'input_and_output',
  'uncategorized',
] as const
export type TransactionType = (typeof transactionTypes)[number]

export const categories = [
  'trade',
  'buy',
  'sell',
  'convert',
  'deposit',
  'withdrawal',
  'transfer',
  'staking_reward',
  'staking_lock',
  'staking_unlock',
  'interest',
  'airdrop',
  'mining',
  'fork',
  'gift',
  'payment',
  'fee',
  'other',
] as const
export type Category = (typeof categories)[number]

export const categorizationMethods = ['venue', 'rule', 'match', 'user'] as const
export type CategorizationMethod = (typeof categorizationMethods)[number]

export const transactionStatuses = ['pending', 'confirmed', 'failed'] as const
export type TransactionStatus = (typeof transactionStatuses)[number]

export const feeKinds = ['trading', 'network', 'withdrawal', 'deposit', 'conversion', 'staking', 'other'] as const
export type FeeKind = (typeof feeKinds)[number]

/** An asset as a transaction or position names it. The id distinguishes two assets with one symbol. */
export interface AssetRef {
  assetId: string
  symbol: string
}

export interface Leg extends AssetRef {
  amount: Decimal
  /** The asset's own name, where a chain has one. Not shown: only the spam rule uses it. */
  name?: string
  /** Which part of the balance it changes, as `Balance` divides it; liquid when the provider says nothing. */
  place?: 'liquid' | 'staked'
}

export interface FeeLeg extends Leg {
  kind: FeeKind
}

export interface TransactionDraft {
  /** The provider's own key, unique within the connection; the transaction's id is made of it. */
  naturalKey: string
  type: TransactionType
  category: Category
  method: CategorizationMethod
  /** 0 to 1. */
  confidence: number
  status: TransactionStatus
  /** Set on a pending transaction whose amounts are in the provider's balance already, such as a withdrawal on hold. */
  isDebited?: true
  occurredAtMs: number
  inputs: Leg[]
  outputs: Leg[]
  fees: FeeLeg[]
  network: string | null
  hash: string | null
  fromAddress: string | null
  toAddress: string | null
  spam: boolean
  providerReference: string | null
  description: string | null
  /** Names of members the provider could not give, and of things we could not verify. */
  incomplete: string[]
}

/**
 * A connector names the type by what happened, but one side of it may have been too small to book: a conversion that
 * brought nothing only took. A side that the provider could not give (`incomplete`) or that has not come yet is no
 * reason to say that there was none.
 */
export function withTypeOfLegs(draft: TransactionDraft): TransactionDraft {
  const { type, status, inputs, outputs, incomplete } = draft
  if (type !== 'input_only' && type !== 'output_only' && type !== 'input_and_output') return draft
  const [came, left] = [inputs.length > 0, outputs.length > 0]
  const isUnknown = (!came && incomplete.includes('inputs')) || (!left && incomplete.includes('outputs'))
  if (status !== 'confirmed' || isUnknown || (!came && !left)) return draft
  if (came && left) return { ...draft, type: 'input_and_output' }
  return { ...draft, type: came ? 'input_only' : 'output_only' }
}
