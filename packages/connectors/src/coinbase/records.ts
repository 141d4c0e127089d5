/**
 * Parses stored Coinbase transactions (docs.cdp.coinbase.com, coinbase-app/track-apis/transactions). Only the members
 * that we use are parsed.
 */
import { assetOf, findDecimal, type Asset, type Decimal } from '@assay/core'
import { z } from 'zod'
import { parseJson } from '../kit/json.ts'

/** Core's registry maps Coinbase's codes to assets. */
export function coinbaseAsset(code: string, atMs = Number.MAX_SAFE_INTEGER): Asset {
  return assetOf('coinbase', code, atMs)
}

/** ETH2 is ether in the wallet for staked ether. */
export function isStakedAssetCode(code: string): boolean {
  return code === 'ETH2'
}

export type Status = 'pending' | 'done' | 'failed'

export interface Money {
  asset: Asset
  amount: Decimal
}

export interface Fill {
  orderId: string
  /** The second code of `product_id`: EUR of ETH-EUR. Undefined when it does not have two. */
  quoteCode: string | undefined
  commission: Decimal
}

export interface Transaction {
  id: string
  type: string
  status: Status
  timeMs: number
  code: string
  asset: Asset
  /** The signed change of this wallet, without the commission of a fill. */
  amount: Decimal
  isStakedCode: boolean
  fill: Fill | undefined
  /** The id that both halves of a purchase, a sale or a conversion share. */
  dealId: string | undefined
  dealFee: Money | undefined
  paymentMethod: string | null
  hash: string | null
  network: string | null
  isOnChain: boolean
  networkFee: Money | undefined
  fromAddress: string | null
  toAddress: string | null
  /** `user`, `account`, `email` … of the other side. */
  counterparty: string | null
}

const text = z.string().nullish()
const money = z.object({ amount: z.string(), currency: z.string().min(1) })
const deal = z
  .object({ id: text, fee: money.nullish().catch(null), payment_method_name: text })
  .nullish()
  .catch(null)
const fillSchema = z.object({ order_id: text, product_id: text, commission: text }).nullish()
const party = z.object({ resource: text, address: text }).nullish().catch(null)

const transaction = z.object({
  id: z.string().min(1),
  type: z.string().min(1),
  status: z.string(),
  created_at: z.iso.datetime({ offset: true }),
  amount: money,
  advanced_trade_fill: fillSchema,
  buy: deal,
  sell: deal,
  trade: deal,
  network: z
    .object({ status: text, hash: text, network_name: text, transaction_fee: money.nullish().catch(null) })
    .nullish()
    .catch(null),
  from: party,
  to: party,
})

export function parseTransaction(body: string): Transaction {
  const row = transaction.parse(parseJson(body))
  const timeMs = Date.parse(row.created_at)
  const terms = row.trade ?? row.buy ?? row.sell
  const { network, from, to } = row
  return {
    id: row.id,
    type: row.type,
    status: toStatus(row.status),
    timeMs,
    code: row.amount.currency,
    ...toMoney(row.amount, timeMs),
    isStakedCode: isStakedAssetCode(row.amount.currency),
    fill: toFill(row.advanced_trade_fill),
    dealId: textOf(terms?.id) ?? undefined,
    dealFee: terms?.fee ? toMoney(terms.fee, timeMs) : undefined,
    paymentMethod: textOf(terms?.payment_method_name),
    hash: textOf(network?.hash),
    network: textOf(network?.network_name),
    isOnChain: network !== null && network !== undefined && network.status !== 'off_blockchain',
    networkFee: network?.transaction_fee ? toMoney(network.transaction_fee, timeMs) : undefined,
    fromAddress: textOf(from?.address),
    toAddress: textOf(to?.address),
    counterparty: textOf((from ?? to)?.resource),
  }
}

/** The wallet that a row names: `/v2/accounts/<wallet>/transactions/<id>`. */
export function findWalletId(row: unknown): string | undefined {
  const path = z.object({ resource_path: z.string() }).safeParse(row).data?.resource_path
  return path === undefined ? undefined : /^\/v2\/accounts\/([^/]+)\/transactions\//.exec(path)?.[1]
}

function toFill(fill: z.infer<typeof fillSchema>): Fill | undefined {
  const orderId = textOf(fill?.order_id)
  if (orderId === null) return undefined
  const codes = fill?.product_id?.split('-') ?? []
  return {
    orderId,
    quoteCode: codes.length === 2 ? codes[1] : undefined,
    commission: toAmount('commission', textOf(fill?.commission) ?? '0'),
  }
}

function toMoney({ amount, currency }: { amount: string; currency: string }, atMs: number): Money {
  return { asset: coinbaseAsset(currency, atMs), amount: toAmount('amount', amount) }
}

function toAmount(name: string, value: string): Decimal {
  const amount = findDecimal(value)
  if (amount === undefined) throw new RangeError(`${name} is not a decimal number`)
  return amount
}

function textOf(value: string | null | undefined): string | null {
  return value === undefined || value === null || value === '' ? null : value
}

/** Coinbase adds statuses (docs: "both types and statuses can change"), so an unknown status counts as pending. */
function toStatus(status: string): Status {
  if (status === 'completed') return 'done'
  return ['failed', 'expired', 'canceled', 'cancelled'].includes(status) ? 'failed' : 'pending'
}
