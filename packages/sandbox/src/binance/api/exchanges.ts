/**
 * /sapi/v1: conversions, fiat orders, fiat payments.
 * Sources: https://developers.binance.com/docs/convert/trade/Get-Convert-Trade-History,
 * https://developers.binance.com/docs/fiat/rest-api/Get-Fiat-Deposit-Withdraw-History, …/Get-Fiat-Payments-History
 *
 * The documents leave two things out. Conversions answer a range of more than thirty days with an empty list, not an
 * error (https://github.com/ccxt/ccxt/issues/22289). A fiat answer without rows has no `data` (rotki met this; see
 * `_api_query_list` in its binance.py).
 */
import { dayMs } from '@assay/core'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { divideUnits, toFixedText, toShortText, toUnits } from '../../core/units.ts'
import type { BinanceAccount } from '../authentication.ts'
import { listOf } from '../history.ts'
import { convertIdOf, textIdOf, type RowOf } from '../rows.ts'
import { viewOf, within } from './pages.ts'
import { decimals } from './symbols.ts'
import { BinanceRefusal, findNumber, requireNumber, requireParameter, sizeOf } from '../wire.ts'

const fiatDecimals = 2

export function tradeFlow(of: BinanceAccount, query: URLSearchParams, context: CallContext): object {
  const startTime = requireNumber(query, 'startTime')
  const endTime = requireNumber(query, 'endTime')
  const limit = sizeOf(query, 'limit', 100, 1000)
  const tooLong = endTime - startTime > 30 * dayMs
  const rows = tooLong ? [] : within(listOf(of.world(), 'convert'), { fromMs: startTime, toMs: endTime })
  const page = context.cutPage(viewOf(rows), 0, limit)
  return {
    list: page.map((row) => describeConvert(of.id, row)),
    startTime,
    endTime,
    limit,
    moreData: rows.length > limit,
  }
}

export function describeConvert(accountId: string, row: RowOf<'convert'>): object {
  const { event } = row
  const from = toUnits(event.fromAmount, decimals)
  const to = toUnits(event.toAmount, decimals)
  return {
    quoteId: textIdOf(accountId, row),
    orderId: convertIdOf(accountId, row),
    orderStatus: 'SUCCESS',
    fromAsset: event.fromAsset,
    fromAmount: toShortText(from, decimals),
    toAsset: event.toAsset,
    toAmount: toShortText(to, decimals),
    ratio: toShortText(divideUnits(to, decimals, from, decimals, decimals), decimals),
    inverseRatio: toShortText(divideUnits(from, decimals, to, decimals, decimals), decimals),
    createTime: row.atMs,
    orderType: 'MARKET',
    side: 'BUY',
  }
}

export function fiatOrders(of: BinanceAccount, query: URLSearchParams, context: CallContext): object {
  const direction = typeOf(query) === '0' ? 'deposit' : 'withdraw'
  const rows = listOf(of.world(), 'fiatOrder').filter(({ event }) => event.direction === direction)
  return fiatAnswer(rows, query, context, (row) => describeFiatOrder(of.id, row))
}

export function fiatPayments(of: BinanceAccount, query: URLSearchParams, context: CallContext): object {
  const direction = typeOf(query) === '0' ? 'buy' : 'sell'
  const rows = listOf(of.world(), 'payment').filter(({ event }) => event.direction === direction)
  return fiatAnswer(rows, query, context, (row) => describePayment(of.id, row))
}

function typeOf(query: URLSearchParams): '0' | '1' {
  const type = requireParameter(query, 'transactionType')
  if (type !== '0' && type !== '1') throw new BinanceRefusal(-1130)
  return type
}

function fiatAnswer<R extends RowOf<'fiatOrder' | 'payment'>>(
  rows: readonly R[],
  query: URLSearchParams,
  context: CallContext,
  describe: (row: R) => object,
): object {
  const toMs = findNumber(query, 'endTime') ?? context.nowMs
  const fromMs = findNumber(query, 'beginTime') ?? toMs - 30 * dayMs
  const found = within(rows, { fromMs, toMs })
  const size = sizeOf(query, 'rows', 100, 500)
  const page = Math.max(1, findNumber(query, 'page') ?? 1)
  const shown = context.cutPage(viewOf(found), (page - 1) * size, size)
  const data = shown.length === 0 ? undefined : shown.map(describe)
  return { code: '000000', message: 'success', ...(data && { data }), total: found.length, success: true }
}

export function describeFiatOrder(accountId: string, row: RowOf<'fiatOrder'>): object {
  const { event } = row
  const amount = toUnits(event.amount, fiatDecimals)
  const fee = toUnits(event.fee, fiatDecimals)
  return {
    orderNo: textIdOf(accountId, row),
    fiatCurrency: event.currency,
    indicatedAmount: toFixedText(amount + fee, fiatDecimals),
    amount: toFixedText(amount, fiatDecimals),
    totalFee: toFixedText(fee, fiatDecimals),
    method: event.method,
    status: event.status,
    createTime: row.atMs,
    updateTime: row.atMs + 60_000,
  }
}

export function describePayment(accountId: string, row: RowOf<'payment'>): object {
  const { event } = row
  return {
    orderNo: textIdOf(accountId, row),
    sourceAmount: event.sourceAmount,
    fiatCurrency: event.fiat,
    obtainAmount: event.obtainAmount,
    cryptoCurrency: event.crypto,
    totalFee: event.fee,
    price: event.price,
    status: event.status,
    // Binance reports the method only for purchases.
    ...(event.direction === 'buy' && { paymentMethod: event.method }),
    createTime: row.atMs,
    updateTime: row.atMs + 30_000,
  }
}
