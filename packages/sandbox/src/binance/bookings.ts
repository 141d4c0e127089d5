/**
 * Which balances an event moves.
 * Sources: https://developers.binance.com/docs/wallet/capital/withdraw-history (the fee is separate),
 * …/docs/wallet/asset/dust-log, …/docs/simple_earn/history/Get-Flexible-Rewards-History, and the fiat pages.
 *
 * Not documented, and assumed until a recorded answer shows otherwise: a fiat deposit credits `amount`, a fiat
 * withdrawal takes `amount` and `totalFee`; a purchase paid by card leaves the fiat wallet alone, one paid from the
 * cash balance takes `sourceAmount`, and a sale credits it; a withdrawal under way is taken from the balance already.
 */
import { divideUnits, multiplyUnits, toFixedText, toUnits } from '../core/units.ts'
import { dayOf, findCoin, priceText } from '../market/series.ts'
import type { Move, Wallet } from './rows.ts'
import type { AccountEvent, Fill, Order, Payment } from './story.ts'
import { decimals, findAsset, findSymbol, type TradingPair } from './api/symbols.ts'

/** 0.1 % of what was received. */
const commissionShare = 1_000n
const credited: ReadonlySet<number> = new Set([1, 6])
const calledOff: ReadonlySet<number> = new Set([1, 3, 5])

export function movesOf(event: AccountEvent): Move[] {
  switch (event.kind) {
    case 'trade':
      return movesOfFill(event)
    case 'deposit':
      return credited.has(event.status) ? [spot(event.coin, event.amount)] : []
    case 'withdrawal':
      return calledOff.has(event.status) ? [] : [spot(event.coin, event.amount, -1n), spot(event.coin, event.fee, -1n)]
    case 'convert':
      return [spot(event.fromAsset, event.fromAmount, -1n), spot(event.toAsset, event.toAmount)]
    case 'fiatOrder':
      if (event.status !== 'Successful') return []
      if (event.direction === 'deposit') return [spot(event.currency, event.amount)]
      return [spot(event.currency, event.amount, -1n), spot(event.currency, event.fee, -1n)]
    case 'payment':
      return movesOfPayment(event)
    case 'dividend':
      return event.repeated === true ? [] : [spot(event.asset, event.amount, BigInt(event.direction))]
    case 'dust':
      return event.details.flatMap(({ asset, amount, received }) => [spot(asset, amount, -1n), spot('BNB', received)])
    case 'subscription':
      return [spot(event.asset, event.amount, -1n), toMove(earnWallet(event), event.asset, event.amount)]
    case 'redemption':
      return [toMove(earnWallet(event), event.asset, event.amount, -1n), spot(event.asset, event.amount)]
    case 'reward':
      return [toMove(event.type === 'REALTIME' ? 'flexible' : 'spot', event.asset, event.amount)]
  }
}

function toMove(wallet: Wallet, asset: string, amount: string, sign = 1n): Move {
  if (findAsset(asset) === undefined) throw new RangeError(`the simulated exchange has no asset ${asset}`)
  return { wallet, asset, change: sign * toUnits(amount, decimals) }
}

function spot(asset: string, amount: string, sign = 1n): Move {
  return toMove('spot', asset, amount, sign)
}

function earnWallet({ product, position }: { product: string; position?: number }): Wallet {
  return product === 'flexible' ? 'flexible' : `locked ${position ?? 0}`
}

function movesOfFill(fill: Fill): Move[] {
  const { base, quote } = getSymbol(fill.symbol)
  const commission = spot(fill.commissionAsset, fill.commission, -1n)
  // What is given comes first, because the account must have it before it receives anything.
  return fill.side === 'buy'
    ? [spot(quote, fill.quoteQty, -1n), spot(base, fill.qty), commission]
    : [spot(base, fill.qty, -1n), spot(quote, fill.quoteQty), commission]
}

function movesOfPayment(payment: Payment): Move[] {
  if (payment.status !== 'Completed') return []
  if (payment.direction === 'sell') {
    return [spot(payment.crypto, payment.obtainAmount, -1n), spot(payment.fiat, payment.sourceAmount)]
  }
  const paid = payment.method === 'Cash Balance' ? [spot(payment.fiat, payment.sourceAmount, -1n)] : []
  return [...paid, spot(payment.crypto, payment.obtainAmount)]
}

export function toFill(order: Order, atMs: number): Fill {
  const symbol = getSymbol(order.symbol)
  const price = toUnits(order.price ?? marketPrice(symbol, atMs), symbol.priceDecimals)
  const qty =
    order.qty !== undefined
      ? toUnits(order.qty, symbol.qtyDecimals)
      : divideUnits(toUnits(order.spend ?? '0', decimals), decimals, price, symbol.priceDecimals, symbol.qtyDecimals)
  const quoteQty = multiplyUnits(qty, symbol.qtyDecimals, price, symbol.priceDecimals, decimals)
  const baseUnits = qty * 10n ** BigInt(decimals - symbol.qtyDecimals)
  const received = order.side === 'buy' ? baseUnits : quoteQty
  const inBnb = order.commissionInBnb
  return {
    kind: 'trade',
    symbol: symbol.name,
    side: order.side,
    price: toFixedText(price, symbol.priceDecimals),
    qty: toFixedText(baseUnits, decimals),
    quoteQty: toFixedText(quoteQty, decimals),
    commission: toFixedText(inBnb === undefined ? received / commissionShare : toUnits(inBnb, decimals), decimals),
    commissionAsset: inBnb !== undefined ? 'BNB' : order.side === 'buy' ? symbol.base : symbol.quote,
    maker: order.maker ?? false,
  }
}

function getSymbol(name: string): TradingPair {
  const symbol = findSymbol(name)
  if (symbol === undefined) throw new RangeError(`the simulated exchange has no symbol ${name}`)
  return symbol
}

// A robot trades many times a day at one price, so the last day's price is cached.
const priceOfDay = new Map<TradingPair, { day: number; price: string }>()

/** That day's price, cut to the symbol's decimals. */
function marketPrice(symbol: TradingPair, atMs: number): string {
  const day = dayOf(atMs)
  const known = priceOfDay.get(symbol)
  if (known?.day === day) return known.price
  const base = findCoin(findAsset(symbol.base)?.coin ?? '')
  const quote = findCoin(findAsset(symbol.quote)?.coin ?? '')
  if (base === undefined || quote === undefined) throw new Error(`${symbol.name} has no market price: give one`)
  const [whole = '', fraction = ''] = priceText(base, quote, day).split('.')
  const price = `${whole}.${fraction.slice(0, symbol.priceDecimals)}`.replace(/\.$/, '')
  priceOfDay.set(symbol, { day, price })
  return price
}
