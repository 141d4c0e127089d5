/**
 * How the exchange books what happened: which entries a deposit, a trade or a staking move leaves in the ledger.
 * Source: https://support.kraken.com/articles/360001169383 (how to interpret ledger history fields).
 *
 * Three things here are not documented. A failed withdrawal is a pair of entries that cancel each other, as readers of
 * real accounts have seen. Legacy staking moves have a reference for each side: we do not know whether that is so, and
 * it is the harder case for a reader. Earn entries may have the reference "Unknown"
 * (https://github.com/AlexanderLill/PP-Crypto-Parser/issues/4).
 */
import { ticksPerSecond } from '../core/timeline.ts'
import { divideUnits, multiplyUnits, toFixedText, toUnits } from '../core/units.ts'
import { dayOf, findCoin, priceText } from '../market/series.ts'
import { getAsset, type Asset } from './assets.ts'
import { findPair, type Pair } from './api/pairs.ts'
import type { FundingRow, LedgerRow, Reference, TradeRow } from './rows.ts'
import type { Entries, Funding, StoryEvent, Trade } from './story.ts'

/** In hundredths of a percent: Kraken's fees for small volumes are 0.26 % for takers and 0.16 % for makers. */
const takerFee = 26n
const makerFee = 16n

export interface Draft {
  /** Balances are added once all entries are in order of time: one side may be booked after the next event. */
  ledger: Omit<LedgerRow, 'balance'>[]
  trades: TradeRow[]
  deposits: FundingRow[]
  withdrawals: FundingRow[]
  /** References that a later event can reuse. */
  named: Map<string, Reference>
  next: number
}

export function newDraft(next: number): Draft {
  return { ledger: [], trades: [], deposits: [], withdrawals: [], named: new Map(), next }
}

export function book(draft: Draft, event: StoryEvent, atTicks: number): void {
  if (event.kind === 'trade') bookTrade(draft, event, atTicks)
  else if (event.kind === 'entries') bookEntries(draft, event, atTicks, letterOf(event))
  else bookFunding(draft, event, atTicks)
}

/** Kraken's letter depends on what made the entry. Readers must not rely on it. */
function letterOf(event: Entries): string {
  return event.type === 'earn' ? 'E' : event.type === 'staking' ? 'S' : event.type === 'transfer' ? 'B' : 'T'
}

function bookFunding(draft: Draft, event: Funding, atTicks: number): void {
  const number = draft.next
  const reference: Reference = { letter: event.kind === 'deposit' ? 'Q' : 'A', number }
  draft.next += 1
  const asset = getAsset(event.code)
  const received = toUnits(event.amount, asset.decimals)
  const fee = toUnits(event.fee ?? '0', asset.decimals)
  const amount = event.kind === 'deposit' ? received : -received
  const heading = { type: event.kind, subtype: '', reference, atTicks }
  append(draft, heading, { asset, amount, fee })
  if (event.failed === true) {
    // Booked back an hour later with reversed signs: the pair adds up to zero.
    const later = { ...heading, atTicks: atTicks + 3_600 * ticksPerSecond }
    append(draft, later, { asset, amount: -amount, fee: -fee })
  }
  const rows = event.kind === 'deposit' ? draft.deposits : draft.withdrawals
  rows.push({ number, atTicks, reference, event })
}

/** Books a returned withdrawal: an entry with reversed signs under the same reference. */
export function bookReturn(draft: Draft, { event, reference }: FundingRow, atTicks: number): void {
  const asset = getAsset(event.code)
  const move = { asset, amount: toUnits(event.amount, asset.decimals), fee: -toUnits(event.fee ?? '0', asset.decimals) }
  append(draft, { type: event.kind, subtype: '', reference, atTicks }, move)
}

export function bookEntries(draft: Draft, event: Entries, atTicks: number, letter: string): void {
  const shared = referenceOf(draft, event, letter)
  for (const one of event.legs) {
    const reference = event.references === 'each' ? { letter, number: draft.next } : shared
    const asset = getAsset(one.code)
    const heading = {
      reference,
      type: one.type ?? event.type,
      subtype: one.subtype ?? event.subtype ?? '',
      atTicks: atTicks + (one.delayS ?? 0) * ticksPerSecond,
    }
    const amount = toUnits(one.amount, asset.decimals)
    append(draft, heading, { asset, amount, fee: toUnits(one.fee ?? '0', asset.decimals) })
  }
}

function referenceOf(draft: Draft, { reference: name }: Entries, letter: string): Reference {
  const known = name === undefined ? undefined : draft.named.get(name)
  if (known !== undefined) return known
  const made: Reference = { letter, number: draft.next, ...(name === 'Unknown' && { literal: name }) }
  draft.next += 1
  if (name !== undefined) draft.named.set(name, made)
  return made
}

function bookTrade(draft: Draft, event: Trade, atTicks: number): void {
  const pair = findPair(event.pair)
  if (pair === undefined) throw new Error(`the simulated exchange has no pair ${event.pair}`)
  const { base, quote, lotDecimals, priceDecimals } = pair
  const price = toUnits(event.price ?? marketPrice(pair, atTicks), priceDecimals)
  const volume =
    event.volume !== undefined
      ? toUnits(event.volume, lotDecimals)
      : divideUnits(toUnits(event.spend ?? '0', quote.decimals), quote.decimals, price, priceDecimals, lotDecimals)
  const cost = multiplyUnits(volume, lotDecimals, price, priceDecimals, quote.decimals)
  const rate = event.maker === true ? makerFee : takerFee
  const fee = event.feeCredits === undefined ? (cost * rate) / 10_000n : 0n

  const number = draft.next
  draft.next += 1
  const sign = event.side === 'buy' ? 1n : -1n
  const lot = volume * 10n ** BigInt(base.decimals - lotDecimals)
  const moves: Move[] = [
    { asset: quote, amount: -sign * cost, fee },
    { asset: base, amount: sign * lot, fee: 0n },
  ]
  // The side that was given is booked first, because an account cannot spend what has not arrived.
  if (event.side === 'sell') moves.reverse()
  if (event.feeCredits !== undefined) {
    const credits = getAsset('KFEE')
    moves.push({ asset: credits, amount: 0n, fee: toUnits(event.feeCredits, credits.decimals) })
  }
  const heading = { type: 'trade', subtype: 'tradespot', atTicks, reference: { letter: 'T', number } }
  for (const move of moves) append(draft, heading, move)
  draft.trades.push({
    number,
    atTicks,
    pair,
    side: event.side,
    price: toFixedText(price, priceDecimals),
    cost: toFixedText(cost, quote.decimals),
    fee: toFixedText(fee, quote.decimals),
    volume: toFixedText(volume, lotDecimals),
    maker: event.maker ?? false,
  })
}

/** That day's price, cut to the pair's decimals. */
function marketPrice(pair: Pair, atTicks: number): string {
  const day = dayOf((atTicks / ticksPerSecond) * 1000)
  const known = priceOfDay.get(pair)
  if (known?.day === day) return known.price
  const price = priceOn(pair, day)
  priceOfDay.set(pair, { day, price })
  return price
}

// A robot trades many times a day at one price, so the last day's price is cached.
const priceOfDay = new Map<Pair, { day: number; price: string }>()

function priceOn(pair: Pair, day: number): string {
  const base = findCoin(pair.base.coin ?? '')
  const quote = findCoin(pair.quote.coin ?? '')
  if (base === undefined || quote === undefined) throw new Error(`${pair.name} has no market price: give one`)
  const [whole = '', fraction = ''] = priceText(base, quote, day).split('.')
  return `${whole}.${fraction.slice(0, pair.priceDecimals)}`.replace(/\.$/, '')
}

/** What an entry moves, in units of its asset. */
interface Move {
  asset: Asset
  amount: bigint
  fee: bigint
}

type Heading = Pick<LedgerRow, 'type' | 'subtype' | 'reference' | 'atTicks'>

function append(draft: Draft, { type, subtype, reference, atTicks }: Heading, { asset, amount, fee }: Move): void {
  draft.ledger.push({
    number: draft.next,
    atTicks,
    reference,
    type,
    subtype,
    code: asset.code,
    amount: toFixedText(amount, asset.decimals),
    fee: toFixedText(fee, asset.decimals),
    change: amount - fee,
  })
  draft.next += 1
}
