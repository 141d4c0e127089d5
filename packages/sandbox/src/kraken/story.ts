/**
 * The vocabulary in which a scenario describes what happened on an account. `history.ts` turns them into ledger
 * entries, trades, deposits and withdrawals, and refuses a story that spends more than the account holds.
 */
export { every } from '../core/scenario.ts'

export interface Story {
  events: readonly StoryEvent[]
  strategies: readonly EarnStrategy[]
  /** By how much the `count` of Ledgers falls short of the entries there are. */
  countShort?: number
}

export type StoryEvent = Funding | Trade | Entries

/** Times are UTC, to the ten-thousandth of a second: "2021-03-04 09:12:33.4471". */
interface Happening {
  at: string
}

export interface Funding extends Happening {
  kind: 'deposit' | 'withdrawal'
  code: string
  amount: string
  fee?: string
  method: string
  /** Absent for money that moved through a bank. */
  network?: string
  /**
   * The hash and address that another simulator shows for the same transfer; invented for each account when left out.
   */
  hash?: string
  address?: string
  /** A failed withdrawal is booked, then booked back, fee and all. */
  failed?: true
  /** Held for review from the start until this time; then it is sent, or booked back like a failed one. */
  hold?: { until: string; ends: 'Success' | 'return' }
}

export interface Trade extends Happening {
  kind: 'trade'
  pair: string
  side: 'buy' | 'sell'
  /** Volume of the base, or with `spend` what to give in the quote; the price is the market's by default. */
  volume?: string
  spend?: string
  price?: string
  /** Paid in fee credits instead of the quote. */
  feeCredits?: string
  maker?: true
}

/** Anything else the ledger can hold. */
export interface Entries extends Happening {
  kind: 'entries'
  type: string
  subtype?: string
  legs: readonly Leg[]
  /** Legacy staking moves book each side under a reference of its own; everything else shares one. */
  references?: 'each'
  /** Events of one name share one reference, however far apart they are. "Unknown" is written literally. */
  reference?: string
}

export interface Leg {
  code: string
  amount: string
  fee?: string
  /** When this side was booked later than the event. */
  delayS?: number
  /** Where one event books two types or subtypes: spend and receive, spottostaking and stakingfromspot. */
  type?: string
  subtype?: string
}

export interface EarnStrategy {
  id: string
  /** What the person put in, by altname. */
  asset: string
  /** The code under which the balance holds it. */
  code: string
  /** Part of it that is not bonded yet. */
  bonding?: { amount: string; createdAt: string; expires: string }
}

export function deposit(
  at: string,
  code: string,
  amount: string,
  method: string,
  more: Partial<Funding> = {},
): Funding {
  return { kind: 'deposit', at, code, amount, method, ...more }
}

export function withdrawal(
  at: string,
  code: string,
  amount: string,
  method: string,
  more: Partial<Funding> = {},
): Funding {
  return { kind: 'withdrawal', at, code, amount, method, ...more }
}

export function buy(at: string, pair: string, how: Omit<Trade, 'kind' | 'at' | 'pair' | 'side'>): Trade {
  return { kind: 'trade', at, pair, side: 'buy', ...how }
}

export function sell(at: string, pair: string, how: Omit<Trade, 'kind' | 'at' | 'pair' | 'side'>): Trade {
  return { kind: 'trade', at, pair, side: 'sell', ...how }
}

export function entries(at: string, type: string, legs: readonly Leg[], more: Partial<Entries> = {}): Entries {
  return { kind: 'entries', at, type, legs, ...more }
}

/** An amount and, after a space, its code: leg('-10 DOT'). */
export function leg(text: string, more: Partial<Leg> = {}): Leg {
  const [amount = '', code = ''] = text.split(' ')
  return { amount, code, ...more }
}

/**
 * An app purchase: the Kraken app books a spend and a receive under one reference instead of a trade, and TradesHistory
 * does not show it.
 */
export function appBuy(at: string, spent: string, received: string, fee: string): Entries {
  return entries(at, 'spend', [leg(`-${spent}`, { fee }), leg(received, { type: 'receive' })])
}
