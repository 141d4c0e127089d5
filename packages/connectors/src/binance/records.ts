/**
 * Binance's records, from stored text to typed values. Shapes: binance-spot-api-docs (myTrades) and
 * developers.binance.com (wallet/capital, wallet/asset, convert/trade, fiat/rest-api,
 * simple_earn/flexible-locked/history). Only the members that we use are parsed, and all numbers are text.
 */
import { createHash } from 'node:crypto'
import { findDecimal, zero, type Decimal } from '@assay/core'
import { z } from 'zod'
import { parseJson } from '../kit/json.ts'
import { baseAssetCodeOf } from './assets.ts'
import type { StreamName } from './definition.ts'

/** What the reader needs to know about a record of any list. */
export interface Head {
  key: string
  occurredAtMs: number
  /** Set while the record may still change. */
  pending?: true
  /** The assets that it names. */
  codes: string[]
}

const text = z.string().nullish()
const ms = z.string().regex(/^\d{1,15}$/)

const trade = z.object({
  symbol: z.string().min(1),
  id: z.string().regex(/^\d{1,30}$/),
  orderId: z.string().min(1),
  price: z.string(),
  qty: z.string(),
  quoteQty: text,
  commission: z.string(),
  commissionAsset: z.string().min(1),
  time: ms,
  isBuyer: z.boolean(),
})
const deposit = z.object({
  // Missing in answers from before 2022.
  id: text,
  amount: z.string(),
  coin: z.string().min(1),
  network: text,
  status: z.string(),
  address: text,
  sourceAddress: text,
  txId: text,
  insertTime: ms,
  transferType: text,
})
const withdrawal = z.object({
  id: z.string().min(1),
  amount: z.string(),
  transactionFee: text,
  coin: z.string().min(1),
  network: text,
  status: z.string(),
  address: text,
  txId: text,
  // `2019-10-12 11:12:02`, in UTC.
  applyTime: z.string().regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
  transferType: text,
  info: text,
})
const convert = z.object({
  orderId: z.string().min(1),
  orderStatus: z.string(),
  fromAsset: z.string().min(1),
  fromAmount: z.string(),
  toAsset: z.string().min(1),
  toAmount: z.string(),
  createTime: ms,
})
const dividend = z.object({
  id: z.string().min(1),
  amount: z.string(),
  asset: z.string().min(1),
  divTime: ms,
  enInfo: text,
  // −1 when Binance took it back.
  direction: text,
})
const dust = z.object({
  transId: z.string().min(1),
  operateTime: ms,
  userAssetDribbletDetails: z
    .array(
      z.object({
        fromAsset: z.string().min(1),
        amount: z.string(),
        transferedAmount: z.string(),
        serviceChargeAmount: z.string(),
        targetAsset: text,
      }),
    )
    .min(1),
})
const flexibleReward = z.object({
  asset: z.string().min(1),
  rewards: z.string(),
  projectId: text,
  type: text,
  time: ms,
})
const lockedReward = z.object({
  asset: z.string().min(1),
  amount: z.string(),
  positionId: text,
  lockPeriod: text,
  type: text,
  time: ms,
})
const fiatPayment = z.object({
  orderNo: z.string().min(1),
  sourceAmount: z.string(),
  fiatCurrency: z.string().min(1),
  obtainAmount: z.string(),
  cryptoCurrency: z.string().min(1),
  totalFee: text,
  status: z.string(),
  paymentMethod: text,
  createTime: ms,
})
const fiatOrder = z.object({
  orderNo: z.string().min(1),
  fiatCurrency: z.string().min(1),
  amount: z.string(),
  totalFee: text,
  method: text,
  status: z.string(),
  createTime: ms,
})

export type Trade = z.infer<typeof trade>
export type Deposit = z.infer<typeof deposit>
export type Withdrawal = z.infer<typeof withdrawal>
export type Convert = z.infer<typeof convert>
export type Dividend = z.infer<typeof dividend>
export type Dust = z.infer<typeof dust>
export type FlexibleReward = z.infer<typeof flexibleReward>
export type LockedReward = z.infer<typeof lockedReward>
export type FiatPayment = z.infer<typeof fiatPayment>
export type FiatOrder = z.infer<typeof fiatOrder>

export const parseTrade = (body: string): Trade => trade.parse(parseJson(body))
export const parseDeposit = (body: string): Deposit => deposit.parse(parseJson(body))
export const parseWithdrawal = (body: string): Withdrawal => withdrawal.parse(parseJson(body))
export const parseConvert = (body: string): Convert => convert.parse(parseJson(body))
export const parseDividend = (body: string): Dividend => dividend.parse(parseJson(body))
export const parseDust = (body: string): Dust => dust.parse(parseJson(body))
export const parseFlexibleReward = (body: string): FlexibleReward => flexibleReward.parse(parseJson(body))
export const parseLockedReward = (body: string): LockedReward => lockedReward.parse(parseJson(body))
export const parseFiatPayment = (body: string): FiatPayment => fiatPayment.parse(parseJson(body))
export const parseFiatOrder = (body: string): FiatOrder => fiatOrder.parse(parseJson(body))

export function toAmount(name: string, value: string | null | undefined): Decimal {
  if (value === undefined || value === null || value === '') return zero
  const amount = findDecimal(value)
  if (amount === undefined) throw new RangeError(`${name} is not a decimal number`)
  return amount
}

/** Binance leaves members out, or writes nothing into them. */
export function textOf(value: string | null | undefined): string | null {
  return value === undefined || value === null || value === '' ? null : value
}

export function withdrawalTimeMs({ applyTime }: Withdrawal): number {
  return Date.parse(`${applyTime.replace(' ', 'T')}Z`)
}

type Progress = 'pending' | 'confirmed' | 'failed'

/**
 * 0 pending, 6 credited but cannot be withdrawn yet, 7 wrong deposit, 8 waiting for the user, 1 success, 2 rejected.
 */
export function depositProgress({ status }: Deposit): Progress {
  if (status === '1' || status === '6') return 'confirmed'
  return status === '2' || status === '7' ? 'failed' : 'pending'
}

/** 0 email sent, 1 cancelled, 2 awaiting approval, 3 rejected, 4 processing, 5 failure, 6 completed. */
export function withdrawalProgress({ status }: Withdrawal): Progress {
  if (status === '6') return 'confirmed'
  return status === '1' || status === '3' || status === '5' ? 'failed' : 'pending'
}

/** PROCESS, ACCEPT_SUCCESS, SUCCESS, FAIL. */
export function convertProgress({ orderStatus }: Convert): Progress {
  if (orderStatus === 'SUCCESS') return 'confirmed'
  return orderStatus === 'PROCESS' || orderStatus === 'ACCEPT_SUCCESS' ? 'pending' : 'failed'
}

const fiatDone = new Set(['Successful', 'Finished', 'Completed', 'Success', 'Order Partial credit Stopped'])
const fiatUnderWay = new Set(['Processing', 'Refunding', 'Pending'])

/** Both fiat lists: in all other states (Failed, Expired, Refunded, Refund Failed) no money came or went. */
export function fiatProgress({ status }: { status: string }): Progress {
  if (fiatDone.has(status)) return 'confirmed'
  return fiatUnderWay.has(status) ? 'pending' : 'failed'
}

function headOf(key: string, timeMs: number, codes: readonly string[], progress: Progress = 'confirmed'): Head {
  const head = { key, occurredAtMs: timeMs, codes: [...new Set(codes.map(baseAssetCodeOf))] }
  return progress === 'pending' ? { ...head, pending: true } : head
}

/**
 * Rewards have no id, so the content of a row is its id. Two equal rows cannot be distinguished from one that is shown
 * twice.
 */
function contentKey(...parts: readonly (string | null | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}

/** A row stays the same row if its amount is written with fewer zeros. */
function toCanonical(amount: string): string {
  return findDecimal(amount) ?? amount
}

/** By list: the key of a record, its time, and the assets that it names. */
export const headReaders: Readonly<Record<StreamName, (body: string) => Head>> = {
  trades(body) {
    const { id, time, commissionAsset } = parseTrade(body)
    return headOf(id, Number(time), [commissionAsset])
  },
  deposits(body) {
    const row = parseDeposit(body)
    const key = textOf(row.id) ?? contentKey(row.txId, row.coin, row.insertTime, toCanonical(row.amount))
    return headOf(key, Number(row.insertTime), [row.coin], depositProgress(row))
  },
  withdrawals(body) {
    const row = parseWithdrawal(body)
    return headOf(row.id, withdrawalTimeMs(row), [row.coin], withdrawalProgress(row))
  },
  converts(body) {
    const row = parseConvert(body)
    return headOf(row.orderId, Number(row.createTime), [row.fromAsset, row.toAsset], convertProgress(row))
  },
  dividends(body) {
    const { id, divTime, asset } = parseDividend(body)
    return headOf(id, Number(divTime), [asset])
  },
  dust(body) {
    const { transId, operateTime, userAssetDribbletDetails: details } = parseDust(body)
    return headOf(transId, Number(operateTime), ['BNB', ...details.map(({ fromAsset }) => fromAsset)])
  },
  earn_flexible(body) {
    const { asset, rewards, projectId, type, time } = parseFlexibleReward(body)
    return headOf(contentKey(time, type, projectId, asset, toCanonical(rewards)), Number(time), [asset])
  },
  earn_locked(body) {
    const { asset, amount, positionId, type, time } = parseLockedReward(body)
    return headOf(contentKey(time, type, positionId, asset, toCanonical(amount)), Number(time), [asset])
  },
  fiat_buys: readPayment,
  fiat_sells: readPayment,
  fiat_deposits: readOrder,
  fiat_withdrawals: readOrder,
}

function readPayment(body: string): Head {
  const row = parseFiatPayment(body)
  return headOf(row.orderNo, Number(row.createTime), [row.fiatCurrency, row.cryptoCurrency], fiatProgress(row))
}

function readOrder(body: string): Head {
  const row = parseFiatOrder(body)
  return headOf(row.orderNo, Number(row.createTime), [row.fiatCurrency], fiatProgress(row))
}
