/**
 * The vocabulary in which a scenario describes what happened on an account. `history.ts` turns the events into rows
 * with the balances they move, and refuses a story in which the account spends what it does not have.
 */
export { every } from '../core/scenario.ts'

export interface Story {
  events: readonly StoryEvent[]
  /** Reserved by open orders: part of the spot balance that is not free. Decimal text by asset. */
  inOrders?: Readonly<Record<string, string>>
}

/** Times are UTC, to the millisecond: "2021-03-04 09:12:33.447". */
export type StoryEvent = { at: string } & (Exclude<AccountEvent, Fill> | Order)

export type AccountEvent =
  | Fill
  | Deposit
  | Withdrawal
  | Convert
  | FiatOrder
  | Payment
  | Dividend
  | Dust
  | Subscription
  | Redemption
  | Reward

/**
 * What the story says about a trade; price, cost and commission are computed from the market when the history is built.
 */
export interface Order {
  kind: 'order'
  symbol: string
  side: 'buy' | 'sell'
  /** Quantity of the base, or with `spend` what to give in the quote. */
  qty?: string
  spend?: string
  price?: string
  /** A commission of this much BNB; otherwise 0.1 % of what was received. */
  commissionInBnb?: string
  maker?: true
}

export interface Fill {
  kind: 'trade'
  symbol: string
  side: 'buy' | 'sell'
  price: string
  qty: string
  quoteQty: string
  commission: string
  commissionAsset: string
  maker: boolean
}

/** 0 pending, 1 success, 2 rejected, 6 credited but cannot withdraw, 7 wrong deposit, 8 waiting for the user. */
export interface Deposit {
  kind: 'deposit'
  coin: string
  amount: string
  network: string
  status: 0 | 1 | 2 | 6 | 7 | 8
  /** From another account of the exchange, not over a chain. */
  internal?: true
}

/** 0 email sent, 1 cancelled, 2 awaiting approval, 3 rejected, 4 processing, 5 failure, 6 completed. */
export interface Withdrawal {
  kind: 'withdrawal'
  coin: string
  amount: string
  /** Taken besides the amount. */
  fee: string
  /** Old withdrawals have none. */
  network?: string
  status: 0 | 1 | 2 | 3 | 4 | 5 | 6
  internal?: true
  /** The answer has no transaction id although the withdrawal has ended. */
  withoutTxId?: true
}

export interface Convert {
  kind: 'convert'
  fromAsset: string
  fromAmount: string
  toAsset: string
  toAmount: string
}

export interface FiatOrder {
  kind: 'fiatOrder'
  direction: 'deposit' | 'withdraw'
  currency: string
  amount: string
  fee: string
  method: string
  status: 'Successful' | 'Failed' | 'Expired' | 'Processing' | 'Refunded'
}

/** Crypto bought with a card or with the cash balance, or sold for cash. */
export interface Payment {
  kind: 'payment'
  direction: 'buy' | 'sell'
  fiat: string
  sourceAmount: string
  crypto: string
  obtainAmount: string
  /** In the fiat currency, and part of the source amount of a purchase. */
  fee: string
  price: string
  method: 'Credit Card' | 'Cash Balance' | 'Online Banking' | 'Bank Transfer'
  status: 'Completed' | 'Failed' | 'Processing' | 'Refunded'
}

/** An airdrop or another distribution; with direction −1 the exchange takes it back. */
export interface Dividend {
  kind: 'dividend'
  asset: string
  amount: string
  info: string
  direction: 1 | -1
  /** It shows a reward of Simple Earn once more, and moves nothing. */
  repeated?: true
}

/** Small remainders were turned into BNB. The service charge is already deducted from `received`. */
export interface Dust {
  kind: 'dust'
  details: readonly { asset: string; amount: string; received: string; charge: string }[]
}

interface EarnEvent {
  product: 'flexible' | 'locked'
  asset: string
  amount: string
  /** Which locked position. */
  position?: number
  /** The duration of a locked position. */
  days?: number
}

export interface Subscription extends EarnEvent {
  kind: 'subscription'
}

export interface Redemption extends EarnEvent {
  kind: 'redemption'
}

/** REALTIME rewards stay in the position; every other kind, and all of locked products, goes to the spot wallet. */
export interface Reward extends EarnEvent {
  kind: 'reward'
  type?: 'REALTIME' | 'BONUS' | 'REWARDS'
}

/** An amount and, after a space, its asset: '0.5 BTC'. */
function split(text: string): [amount: string, asset: string] {
  const [amount = '', asset = ''] = text.split(' ')
  return [amount, asset]
}

export function buy(at: string, symbol: string, how: Omit<Order, 'kind' | 'symbol' | 'side'>): StoryEvent {
  return { at, kind: 'order', symbol, side: 'buy', ...how }
}

export function sell(at: string, symbol: string, how: Omit<Order, 'kind' | 'symbol' | 'side'>): StoryEvent {
  return { at, kind: 'order', symbol, side: 'sell', ...how }
}

export function deposit(at: string, what: string, network: string, more: Partial<Deposit> = {}): StoryEvent {
  const [amount, coin] = split(what)
  return { at, kind: 'deposit', coin, amount, network, status: 1, ...more }
}

export function withdrawal(at: string, what: string, fee: string, more: Partial<Withdrawal> = {}): StoryEvent {
  const [amount, coin] = split(what)
  return { at, kind: 'withdrawal', coin, amount, fee, status: 6, ...more }
}

export function convert(at: string, from: string, to: string): StoryEvent {
  const [fromAmount, fromAsset] = split(from)
  const [toAmount, toAsset] = split(to)
  return { at, kind: 'convert', fromAsset, fromAmount, toAsset, toAmount }
}

export function fiat(
  at: string,
  direction: FiatOrder['direction'],
  what: string,
  more: Partial<FiatOrder> = {},
): StoryEvent {
  const [amount, currency] = split(what)
  const order = { direction, currency, amount, fee: '0', method: 'BankAccount', status: 'Successful' } as const
  return { at, kind: 'fiatOrder', ...order, ...more }
}

export function dividend(at: string, what: string, info: string, direction: 1 | -1 = 1): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'dividend', asset, amount, info, direction }
}

/** Binance lists each bonus reward among the dividends too, some hours later (https://github.com/ccxt/ccxt/issues/25793). */
export function bonus(at: string, shownAt: string, what: string): StoryEvent[] {
  const [amount, asset] = split(what)
  const shown = { kind: 'dividend', asset, amount, info: 'Flexible', direction: 1, repeated: true } as const
  return [reward(at, what, { type: 'BONUS' }), { at: shownAt, ...shown }]
}

export function subscribe(
  at: string,
  product: EarnEvent['product'],
  what: string,
  more: Partial<EarnEvent> = {},
): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'subscription', product, asset, amount, ...more }
}

export function redeem(
  at: string,
  product: EarnEvent['product'],
  what: string,
  more: Partial<EarnEvent> = {},
): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'redemption', product, asset, amount, ...more }
}

export function reward(at: string, what: string, more: Partial<Reward> = {}): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'reward', product: 'flexible', asset, amount, ...more }
}
