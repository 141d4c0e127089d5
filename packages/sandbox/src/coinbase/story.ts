/**
 * The vocabulary in which a scenario describes what happened on an account. `history.ts` turns them into wallets and
 * transactions, and refuses a story that spends more than a wallet holds.
 *
 * A wallet is named by its currency ("BTC"); a second one of the same currency by what it is for ("SOL/staked",
 * "BTC/vault").
 */
import { multiplyUnits, toShortText, toUnits } from '../core/units.ts'
import { dayOf, findCoin, priceInUsd, priceText } from '../market/series.ts'
import { getCurrency, toCurrency, unitDecimals } from './assets.ts'

export interface Story {
  events: readonly StoryEvent[]
  /** Codes of wallets that Coinbase lists although they were never used. */
  unused: readonly string[]
  nativeCurrency: string
}

export interface StoryEvent {
  /** ISO 8601, UTC, to the second. */
  at: string
  /** One transaction each. Parts of the same event share ids of orders, trades, buys and sells. */
  rows: readonly StoryRow[]
}

export type Status = 'completed' | 'pending' | 'canceled' | 'expired' | 'failed' | 'waiting_for_clearing'

export interface StoryRow {
  wallet: string
  type: string
  amount: string
  status?: Status
  /** When a pending transaction ends, and how. */
  settles?: { at: string; status: Status }
  detail?: Detail
  /** A second row about money that another row already moves. */
  isEcho?: true
}

interface Money {
  amount: string
  currency: string
}

export type Detail =
  | { kind: 'chain'; network: string; hash?: string; address?: string; fee?: string }
  | { kind: 'party'; party: 'user' | 'email' | 'account' }
  | { kind: 'buy' | 'sell'; fee: Money; subtotal: Money; total: Money; method: string }
  | { kind: 'trade'; fee?: Money; method: string }
  | { kind: 'fill'; product: string; price: string; size: string; commission: string; side: Side; tells: Tells }
  | { kind: 'bank' }

type Side = 'buy' | 'sell'

interface Tells {
  /** Not every fill names its side. */
  side: boolean
  /** On the wallet of the quote currency, which pays the commission. */
  pays: boolean
  isMaker: boolean
}

/** Hundredths of a percent: Advanced Trade's second tier, and what a simple buy costs. */
const takerFee = 60n
const makerFee = 40n
const buyFee = 149n

/** An amount and, after a space, its wallet: row('send', '-0.1 BTC'). */
export function row(type: string, what: string, more: Partial<StoryRow> = {}): StoryRow {
  const [amount = '', wallet = ''] = what.split(' ')
  return { type, amount, wallet, ...more }
}

export function single(at: string, type: string, what: string, more: Partial<StoryRow> = {}): StoryEvent {
  return { at, rows: [row(type, what, more)] }
}

interface OnChain {
  hash?: string
  address?: string
  fee?: string
}

/** From another address. Coinbase called this `send` with a positive amount for years, and `receive` since. */
export function receive(at: string, what: string, more: OnChain & { type?: 'send' | 'receive' } = {}): StoryEvent {
  const { type = 'send', ...chain } = more
  return single(at, type, what, { detail: { kind: 'chain', network: networkOf(what), ...chain } })
}

/** To another address. The network's fee is inside the amount. */
export function send(at: string, what: string, chain: OnChain, more: Partial<StoryRow> = {}): StoryEvent {
  return single(at, 'send', `-${what}`, { detail: { kind: 'chain', network: networkOf(what), ...chain }, ...more })
}

/** Between this wallet and another person, Coinbase itself, or an account of another product. */
export function offChain(at: string, type: string, what: string, party: 'user' | 'email' | 'account'): StoryEvent {
  return single(at, type, what, { detail: { kind: 'party', party } })
}

export function bank(at: string, type: 'fiat_deposit' | 'fiat_withdrawal', what: string): StoryEvent {
  return single(at, type, what, { detail: { kind: 'bank' } })
}

/** Paid by card, and then there is one row; or from a wallet with money, and then that wallet has one too. */
export function buy(at: string, total: string, code: string, from: 'card' | 'wallet'): StoryEvent {
  const [paid = '', currency = ''] = total.split(' ')
  const units = toUnits(paid, unitDecimals)
  const fee = cut((units * buyFee) / 10_000n, getCurrency(currency).exponent)
  const received = exchange(units - fee, currency, code, at)
  const detail = {
    kind: 'buy' as const,
    fee: money(fee, currency),
    subtotal: money(units - fee, currency),
    total: money(units, currency),
    method: from === 'card' ? 'Visa debit ********1234' : `${currency} Wallet`,
  }
  const given = row('buy', `-${paid} ${currency}`, { detail })
  const taken = row('buy', `${toShortText(received, unitDecimals)} ${code}`, { detail })
  return { at, rows: from === 'card' ? [taken] : [given, taken] }
}

export function sell(at: string, what: string, currency: string): StoryEvent {
  const [amount = '', code = ''] = what.split(' ')
  const subtotal = exchange(toUnits(amount, unitDecimals), code, currency, at)
  const fee = cut((subtotal * buyFee) / 10_000n, getCurrency(currency).exponent)
  const detail = {
    kind: 'sell' as const,
    fee: money(fee, currency),
    subtotal: money(subtotal, currency),
    total: money(subtotal - fee, currency),
    method: `${currency} Wallet`,
  }
  const received = `${toShortText(subtotal - fee, unitDecimals)} ${currency}`
  return { at, rows: [row('sell', `-${what}`, { detail }), row('sell', received, { detail })] }
}

/**
 * A conversion: two rows in two wallets that share a trade's id. The fee is reported and already inside the amounts.
 */
export function convert(at: string, given: string, code: string): StoryEvent {
  const [amount = '', from = ''] = given.split(' ')
  const units = toUnits(amount, unitDecimals)
  const fee = cut(units / 100n, getCurrency(from).exponent)
  const received = exchange(units - fee, from, code, at)
  const detail = { kind: 'trade' as const, fee: money(fee, from), method: `${from} Wallet` }
  const rows = [
    row('trade', `-${given}`, { detail }),
    row('trade', `${toShortText(received, unitDecimals)} ${code}`, { detail }),
  ]
  return { at, rows }
}

interface FillOptions {
  price?: string
  isMaker?: boolean
  withoutSide?: true
}

/** One order of Advanced Trade, filled in as many parts as there are sizes; each part is a row in both wallets. */
export function fill(
  at: string,
  product: string,
  side: Side,
  sizes: readonly string[],
  { price, isMaker = false, withoutSide }: FillOptions = {},
): StoryEvent {
  const [base = '', quote = ''] = product.split('-')
  const atPrice = price ?? marketPrice(base, quote, at)
  const [given, taken] = side === 'buy' ? ['', '-'] : ['-', '']
  const rows = sizes.flatMap((size) => {
    const gross = multiplyUnits(toUnits(size, 12), 12, toUnits(atPrice, 12), 12, unitDecimals)
    const commission = toShortText((gross * (isMaker ? makerFee : takerFee)) / 10_000n, unitDecimals)
    const shared = { kind: 'fill' as const, product, price: atPrice, size, commission, side }
    const detailOf = (pays: boolean): Detail => ({
      ...shared,
      tells: { side: withoutSide === undefined, pays, isMaker },
    })
    const cost = toShortText(gross, unitDecimals)
    const legs = [
      row('advanced_trade_fill', `${given}${size} ${base}`, { detail: detailOf(false) }),
      row('advanced_trade_fill', `${taken}${cost} ${quote}`, { detail: detailOf(true) }),
    ]
    // The side that was given is booked first, because an account cannot spend what has not arrived.
    return side === 'buy' ? legs.toReversed() : legs
  })
  return { at, rows }
}

/** Out of one wallet and into another of the same person. */
export function move(at: string, type: string, what: string, to: string): StoryEvent {
  const [amount = ''] = what.split(' ')
  return { at, rows: [row(type, `-${what}`), row(type, `${amount} ${to}`)] }
}

/** Repeats an event: once for each step from `from` while it is before `to` (dates). */
export function every(
  step: { days: number } | { months: number },
  from: string,
  to: string,
  tell: (date: string, index: number) => StoryEvent,
): StoryEvent[] {
  const told: StoryEvent[] = []
  for (let index = 0; index < 5_000; index += 1) {
    const date = new Date(`${from}T00:00:00Z`)
    if ('days' in step) date.setUTCDate(date.getUTCDate() + step.days * index)
    else date.setUTCMonth(date.getUTCMonth() + step.months * index)
    const text = date.toISOString().slice(0, 10)
    if (text >= to) return told
    told.push(tell(text, index))
  }
  throw new RangeError(`a step repeated more than 5,000 times between ${from} and ${to}`)
}

export function currencyCodeOf(wallet: string): string {
  return wallet.split('/')[0] ?? ''
}

/** What an amount is worth in another currency on that day; undefined when one of them has no price. */
export function valueIn(units: bigint, code: string, into: string, atMs: number): bigint | undefined {
  const [from, to] = [findCoin(toCurrency(code).coin ?? ''), findCoin(toCurrency(into).coin ?? '')]
  if (from === undefined || to === undefined) return undefined
  const day = dayOf(atMs)
  return (units * priceInUsd(from, day)) / priceInUsd(to, day)
}

function exchange(units: bigint, code: string, into: string, at: string): bigint {
  const value = valueIn(units, code, into, Date.parse(at))
  if (value === undefined) throw new RangeError(`${code} has no market price in ${into}`)
  return cut(value, getCurrency(into).exponent)
}

function marketPrice(base: string, quote: string, at: string): string {
  const [coin, other] = [findCoin(getCurrency(base).coin ?? ''), findCoin(getCurrency(quote).coin ?? '')]
  if (coin === undefined || other === undefined) throw new RangeError(`${base}-${quote} has no market price: give one`)
  return priceText(coin, other, dayOf(Date.parse(at)))
}

function money(units: bigint, currency: string): Money {
  return { amount: toShortText(units, unitDecimals), currency }
}

/** Rounds towards zero, to this many decimals. */
function cut(units: bigint, decimals: number): bigint {
  return units - (units % 10n ** BigInt(unitDecimals - decimals))
}

function networkOf(what: string): string {
  return toCurrency(currencyCodeOf(what.split(' ')[1] ?? '')).network
}
