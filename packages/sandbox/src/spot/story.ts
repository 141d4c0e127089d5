/**
 * The words in which a scenario tells what happened on an account of a spot exchange, whichever exchange it is. Bybit,
 * OKX and Bitfinex show the same story in three protocols. `books.ts` turns it into rows and ledger entries, and
 * refuses a story in which the account spends what it does not have.
 */
export { every } from '../core/scenario.ts'

/**
 * Every one of these exchanges keeps coins that come and go apart from coins that trade: FUND and UNIFIED at Bybit,
 * accounts 6 and 18 at OKX, the wallets funding and exchange at Bitfinex.
 */
export type Wallet = 'funding' | 'trading'

export interface Story {
  events: readonly StoryEvent[]
  /**
   * Happens when its time has come, so that an account of an exchange that looks back three months has something to show
   * in every month to come. Nothing here happens before it, whatever the clock said when the sandbox was started.
   */
  continues?: readonly StoryEvent[]
  /** Reserved by open orders: part of the trading wallet that is not free. Decimal text by asset. */
  inOrders?: Readonly<Record<string, string>>
  /** The only addresses that the key may be used from; any address when left out. */
  boundTo?: readonly string[]
  /**
   * The exchange forgets old records as its documents say. Only a story that is about forgetting does this: the dates
   * of a story are fixed while the calendar moves on, so that any other account would lose its history within months.
   */
  forgets?: true
}

/** Times are UTC, to the millisecond: "2025-03-04 09:12:33.447". */
export type StoryEvent = { at: string } & (Exclude<AccountEvent, Fill> | Order)

export type AccountEvent = Fill | Deposit | Withdrawal | Transfer | Convert | Reward | Charge | Product

/** What the story says of a trade; price, cost and fee follow from the market when the books are written. */
export interface Order {
  kind: 'order'
  /** "BTC/USDT". */
  pair: string
  side: 'buy' | 'sell'
  /** Quantity of the base, or with `spend` what to give in the quote. */
  qty?: string
  spend?: string
  price?: string
  maker?: true
  /** The exchange pays for the liquidity, in what was given, instead of charging a fee in what was received. */
  rebate?: true
}

export interface Fill {
  kind: 'trade'
  pair: string
  side: 'buy' | 'sell'
  price: string
  qty: string
  cost: string
  /** Negative for a rebate. */
  fee: string
  feeAsset: string
  maker: boolean
}

export interface Deposit {
  kind: 'deposit'
  asset: string
  amount: string
  network: Network
  status: 'done' | 'pending' | 'failed'
  /** From another account of the exchange, not over a chain. */
  internal?: true
}

export interface Withdrawal {
  kind: 'withdrawal'
  asset: string
  amount: string
  /** Taken besides the amount. */
  fee: string
  network: Network
  status: 'done' | 'pending' | 'cancelled' | 'failed'
  internal?: true
}

/** Between the two wallets of the account. */
export interface Transfer {
  kind: 'transfer'
  asset: string
  amount: string
  to: Wallet
}

export interface Convert {
  kind: 'convert'
  fromAsset: string
  fromAmount: string
  toAsset: string
  toAmount: string
  /** What is too little to trade, which the exchange takes in another way. */
  dust?: true
}

/** Goes to the funding wallet, unless the coins that earned it are in the other one. */
export interface Reward {
  kind: 'reward'
  asset: string
  amount: string
  source: 'interest' | 'airdrop'
  to?: Wallet
}

/** Leaves the trading wallet for nothing: the interest of a loan, or the share of a trader whose trades are copied. */
export interface Charge {
  kind: 'charge'
  asset: string
  amount: string
}

/** From the trading wallet into a product whose contents are in no balance, or back. */
export interface Product {
  kind: 'product'
  asset: string
  amount: string
  to: 'product' | 'trading'
}

export type Network =
  | 'bitcoin'
  | 'ethereum'
  | 'tron'
  | 'solana'
  | 'ripple'
  | 'polkadot'
  | 'dogecoin'
  | 'litecoin'
  | 'cardano'

/** An amount and, after a space, its asset: '0.5 BTC'. */
function split(text: string): [amount: string, asset: string] {
  const [amount = '', asset = ''] = text.split(' ')
  return [amount, asset]
}

type How = Omit<Order, 'kind' | 'pair' | 'side'>

export function buy(at: string, pair: string, how: How): StoryEvent {
  return { at, kind: 'order', pair, side: 'buy', ...how }
}

export function sell(at: string, pair: string, how: How): StoryEvent {
  return { at, kind: 'order', pair, side: 'sell', ...how }
}

export function deposit(at: string, what: string, network: Network, more: Partial<Deposit> = {}): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'deposit', asset, amount, network, status: 'done', ...more }
}

export function withdrawal(
  at: string,
  what: string,
  fee: string,
  network: Network,
  more: Partial<Withdrawal> = {},
): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'withdrawal', asset, amount, fee, network, status: 'done', ...more }
}

export function transfer(at: string, what: string, to: Wallet): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'transfer', asset, amount, to }
}

export function convert(at: string, from: string, to: string, more: Pick<Convert, 'dust'> = {}): StoryEvent {
  const [fromAmount, fromAsset] = split(from)
  const [toAmount, toAsset] = split(to)
  return { at, kind: 'convert', fromAsset, fromAmount, toAsset, toAmount, ...more }
}

export function reward(at: string, what: string, source: Reward['source'], more: Pick<Reward, 'to'> = {}): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'reward', asset, amount, source, ...more }
}

export function charge(at: string, what: string): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'charge', asset, amount }
}

export function product(at: string, what: string, to: Product['to']): StoryEvent {
  const [amount, asset] = split(what)
  return { at, kind: 'product', asset, amount, to }
}
