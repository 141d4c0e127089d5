/**
 * What the simulated Binance holds, read from its books: every record with the list it is in and what it did to the
 * balances. Written from Binance's documents; shares nothing with the connector.
 */
import { createHash } from 'node:crypto'
import { toUnits } from '../../reconciler.ts'
import type { Held, HeldRecord } from '../simulator.ts'

export interface BinanceState {
  balances: Record<string, string>
  records: { kind: string; body: Record<string, unknown> }[]
}

type Body = Record<string, unknown>
type Booked = HeldRecord | undefined

export function toHeld({ balances, records }: BinanceState): Held {
  return {
    records: records.map(({ kind, body }) => books[kind]?.(body)).filter((record) => record !== undefined),
    balances: Object.entries(balances).map(([code, amount]) => ({ code, amount })),
  }
}

/** `locked DOT` and `LDBTC` are the simulator's names for what lies in Simple Earn. LDO is Lido. */
export function symbolOf(code: string): string {
  const bare = code.replace(/^locked /, '')
  return /^LD./.test(bare) && bare !== 'LDO' ? bare.slice(2) : bare
}

const books: Readonly<Record<string, (body: Body) => Booked>> = {
  trade: bookTrade,
  deposit: (body) => one('deposits', text(body, 'id'), isIn(body, ['1', '6']), [plus(body, 'coin', 'amount')]),
  withdrawal: (body) =>
    one('withdrawals', text(body, 'id'), isIn(body, ['0', '2', '4', '6']), [
      minus(body, 'coin', 'amount'),
      minus(body, 'coin', 'transactionFee'),
    ]),
  convert: (body) =>
    one('converts', text(body, 'orderId'), body['orderStatus'] === 'SUCCESS', [
      plus(body, 'toAsset', 'toAmount'),
      minus(body, 'fromAsset', 'fromAmount'),
    ]),
  // The simulator calls the dividends that show a reward once more by this word alone.
  dividend: (body) =>
    one('dividends', text(body, 'id'), body['enInfo'] !== 'Flexible', [
      (body['direction'] === -1 ? minus : plus)(body, 'asset', 'amount'),
    ]),
  dust: bookDust,
  reward: bookReward,
  fiatOrder: bookFiatOrder,
  payment: bookPayment,
  // Both sides of a move between the spot wallet and Simple Earn are the same asset.
  subscription: () => undefined,
  redemption: () => undefined,
}

function bookTrade(body: Body): Booked {
  const [, base = '', quote = ''] = /^(.+?)(USDT|EUR|BTC|BNB)$/.exec(text(body, 'symbol')) ?? []
  const [bought, sold] = body['isBuyer'] === true ? ([plus, minus] as const) : ([minus, plus] as const)
  const sides = { ...body, base, quote }
  return {
    ...one('trades', text(body, 'id'), true, [
      bought(sides, 'base', 'qty'),
      sold(sides, 'quote', 'quoteQty'),
      minus(body, 'commissionAsset', 'commission'),
    ]),
    partition: `${base}/${quote}`,
  }
}

/** `transferedAmount` is what arrived; the service charge was taken off before. */
function bookDust(body: Body): Booked {
  const details = body['userAssetDribbletDetails'] as Body[]
  return one('dust', text(body, 'transId'), true, [
    ...details.map((detail) => minus(detail, 'fromAsset', 'amount')),
    ...details.map((detail) => plus({ ...detail, target: 'BNB' }, 'target', 'transferedAmount')),
  ])
}

/** Rewards have no id: a record is known by what it says, with its amount without the zeros at the end. */
function bookReward(body: Body): Booked {
  const isFlexible = body['rewards'] !== undefined
  const amount = isFlexible ? 'rewards' : 'amount'
  const product = isFlexible ? body['projectId'] : body['positionId']
  const parts = [
    text(body, 'time'),
    body['type'],
    product,
    body['asset'],
    text(body, amount)
      .replace(/(\.\d*?)0+$/, '$1')
      .replace(/\.$/, ''),
  ]
  const key = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
  return one(isFlexible ? 'earn_flexible' : 'earn_locked', key, true, [plus(body, 'asset', amount)])
}

/** A record does not say which way it went. In the simulator withdrawals alone have a fee. */
function bookFiatOrder(body: Body): Booked {
  const isDone = isIn(body, ['Successful', 'Finished'])
  if (toUnits(text(body, 'totalFee')) === 0n) {
    return one('fiat_deposits', text(body, 'orderNo'), isDone, [plus(body, 'fiatCurrency', 'amount')])
  }
  const changes = [minus(body, 'fiatCurrency', 'amount'), minus(body, 'fiatCurrency', 'totalFee')]
  return one('fiat_withdrawals', text(body, 'orderNo'), isDone, changes)
}

/** Only purchases name a way to pay, and only one of the ways takes money out of the account. */
function bookPayment(body: Body): Booked {
  const isDone = isIn(body, ['Completed'])
  const order = text(body, 'orderNo')
  if (body['paymentMethod'] === undefined) {
    return one('fiat_sells', order, isDone, [
      minus(body, 'cryptoCurrency', 'obtainAmount'),
      plus(body, 'fiatCurrency', 'sourceAmount'),
    ])
  }
  return one('fiat_buys', order, isDone, [
    plus(body, 'cryptoCurrency', 'obtainAmount'),
    ...(body['paymentMethod'] === 'Cash Balance' ? [minus(body, 'fiatCurrency', 'sourceAmount')] : []),
  ])
}

function one(stream: string, key: string, hasMoved: boolean, changes: HeldRecord['changes']): HeldRecord {
  return { stream, partition: '', key, changes: hasMoved ? changes : [] }
}

function plus(body: Body, code: string, amount: string): HeldRecord['changes'][number] {
  return { code: text(body, code), amount: text(body, amount) }
}

function minus(body: Body, code: string, amount: string): HeldRecord['changes'][number] {
  return { code: text(body, code), amount: `-${text(body, amount)}` }
}

function isIn(body: Body, statuses: readonly string[]): boolean {
  return statuses.includes(text(body, 'status'))
}

function text(body: Body, member: string): string {
  return String(body[member])
}
