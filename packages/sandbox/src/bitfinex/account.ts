/**
 * What the key may do, wallets, the ledger with its running balance, trades, and movements.
 * Sources: https://docs.bitfinex.com/reference/key-permissions, …/rest-auth-info-user, …/rest-auth-wallets,
 * …/rest-auth-ledgers, …/rest-auth-trades, …/rest-auth-movements
 *
 * A trade makes three ledger entries: what was given, what was received, and the fee. Two things are not documented:
 * descriptions other than those of the examples, and conversions, which Bitfinex shows only here.
 */
import type { CallContext } from '../core/serving/provider-server.ts'
import { toUnits } from '../core/units.ts'
import { decimals, getPair } from '../spot/assets.ts'
import { listOf, type Entry, type RowOf, type World } from '../spot/books.ts'
import type { SpotAccount } from '../spot/exchange.ts'
import { addressOf, hashOf, idBaseOf, uidOf } from '../spot/ids.ts'
import { pageAt, within } from '../spot/pages.ts'
import type { Wallet } from '../spot/story.ts'
import { assetCodeOf, methodOf, pairOf } from './market.ts'
import { amount, type Asked } from './wire.ts'

const scopes = [
  ...['account', 'history', 'orders', 'positions', 'funding', 'settings', 'wallets', 'withdraw'],
  ...['ui_withdraw', 'bfxpay'],
] as const

/** [scope, may read, may write] */
export function permissions({ key }: SpotAccount): unknown[] {
  const may = (right: string): number => (key.permissions.includes(right) ? 1 : 0)
  return scopes.map((scope) => [scope, may(`${scope}:read`), may(`${scope}:write`)])
}

/** Fifty-five places, most of them empty. */
export function userInfo(of: SpotAccount): unknown[] {
  const info: unknown[] = Array.from({ length: 55 }, () => null)
  const told: Readonly<Record<number, unknown>> = {
    ...{ 0: uidOf(of.id), 1: 'remy@example.com', 2: 'remy', 3: Date.UTC(2025, 0, 5), 4: 1, 5: 3, 7: 'UTC', 8: 'en' },
    ...{ 9: 'bitfinex', 10: 1, 14: Date.UTC(2025, 0, 5), 15: 79, 16: uidOf(of.id), 17: 1, 18: 1, 19: 1, 22: 0 },
    ...{ 26: ['otp'], 28: 0, 38: 0, 39: 0, 44: '2025-01-05T10:00:00.000Z', 49: ['DE', 'DE_Berlin'] },
    ...{ 50: ['DE', 'DE_Berlin'], 54: 0 },
  }
  for (const [index, value] of Object.entries(told)) info[Number(index)] = value
  return info
}

const walletNames: Readonly<Record<Wallet, string>> = { funding: 'funding', trading: 'exchange' }

/** [wallet, currency, balance, unsettled interest, available, last change, details of it] */
export function wallets(of: SpotAccount): unknown[] {
  const { balances, entries, story } = of.world()
  return (['trading', 'funding'] as const).flatMap((wallet) =>
    [...balances[wallet]].map(([asset, units]) => {
      const reserved = wallet === 'trading' ? (story.inOrders.get(asset) ?? 0n) : 0n
      const last = entries[wallet].findLast((entry) => entry.asset === asset)
      const told = last === undefined ? null : describeChange(of.id, last).replace(/ on wallet \w+$/, '')
      return [walletNames[wallet], assetCodeOf(asset), amount(units), 0, amount(units - reserved), told, null]
    }),
  )
}

function pageOf<R extends { number: number; atMs: number }>(
  rows: readonly R[],
  { start, end, limit, ascending }: Asked,
  context: CallContext,
): R[] {
  const wanted = within(rows, start, end)
  return pageAt(ascending ? wanted.toReversed() : wanted, 0, limit, context)
}

// A world never changes, and a large one is asked for hundreds of pages.
const inOrder = new WeakMap<World, readonly Entry[]>()

/** The entries of both wallets, oldest first. */
function entriesOf(world: World): readonly Entry[] {
  const known = inOrder.get(world)
  if (known !== undefined) return known
  const { funding, trading } = world.entries
  const sorted = [...funding, ...trading].sort((a, b) => a.atMs - b.atMs || a.number - b.number)
  inOrder.set(world, sorted)
  return sorted
}

/** [id, currency, wallet, time, null, amount, balance, null, description] */
export function ledgers(of: SpotAccount, asked: Asked, context: CallContext, currency?: string): unknown[] {
  const rows = entriesOf(of.world()).filter(
    (entry) =>
      (currency === undefined || assetCodeOf(entry.asset) === currency) &&
      (asked.category === undefined || categoryOf(entry) === asked.category),
  )
  return pageOf(rows, asked, context).map((entry) => describeLedger(of.id, entry))
}

export function describeLedger(accountId: string, entry: Entry): unknown[] {
  const { number, asset, wallet, atMs, change, after } = entry
  const id = 2_000_000_000 + idBaseOf(accountId, 'ledger') + number
  const description = describeChange(accountId, entry)
  return [id, assetCodeOf(asset), walletNames[wallet], atMs, null, amount(change), amount(after), null, description]
}

/** Only fees are booked apart from what they belong to. */
function isFee({ fee }: Entry): boolean {
  return fee !== 0n
}

function categoryOf(entry: Entry): number {
  const { event } = entry.row
  switch (event.kind) {
    case 'trade':
      return !isFee(entry) ? 5 : entry.fee < 0n ? 202 : 201
    case 'deposit':
      return 101
    case 'withdrawal':
      return isFee(entry) ? 254 : 104
    case 'transfer':
      return 51
    case 'reward':
      return 28
    case 'charge':
      return 501
    case 'product':
      return 31
    case 'convert':
      return 5
  }
}

/** "900.0": at least one decimal, as in Bitfinex's examples. */
function told(text: string): string {
  return text.includes('.') ? text : `${text}.0`
}

function describeChange(accountId: string, entry: Entry): string {
  const { row, wallet, asset } = entry
  const { event } = row
  const on = `on wallet ${walletNames[wallet]}`
  switch (event.kind) {
    case 'trade': {
      const pair = getPair(event.pair)
      const what = `${told(event.qty)} ${assetCodeOf(pair.base)}`
      if (!isFee(entry)) return `Exchange ${what} for ${assetCodeOf(pair.quote)} @ ${told(event.price)} ${on}`
      const [word, share] = entry.fee < 0n ? ['rebate', '0.01%'] : ['fees', '0.1%']
      return `Trading ${word} for ${what} (${pairOf(pair)}) @ ${told(event.price)} on BFX (${share}) ${on}`
    }
    case 'deposit':
      return `Deposit (${methodOf(asset, event.network)}) #${movementIdOf(accountId, row)} ${on}`
    case 'withdrawal':
      if (isFee(entry)) return `Crypto Withdrawal fee ${on}`
      return `${methodOf(asset, event.network)} Withdrawal #${movementIdOf(accountId, row)} ${on}`
    case 'transfer': {
      // The funding wallet was once called "deposit", and the descriptions still say so.
      const [from, to] = event.to === 'trading' ? ['Deposit', 'Exchange'] : ['Exchange', 'Deposit']
      return `Transfer of ${told(event.amount)} ${assetCodeOf(asset)} from wallet ${from} to ${to} ${on}`
    }
    case 'reward':
      return event.source === 'interest' ? `Margin Funding Payment ${on}` : `${assetCodeOf(asset)} airdrop ${on}`
    case 'convert': {
      const [given, taken] = [`${told(event.fromAmount)} ${assetCodeOf(event.fromAsset)}`, assetCodeOf(event.toAsset)]
      return `Conversion of ${given} to ${told(event.toAmount)} ${taken} ${on}`
    }
    case 'charge':
      return `Expense ${on}`
    case 'product':
      return `Settlement ${on}`
  }
}

/** [id, symbol, time, order id, amount, price, order type, order price, maker, fee, fee currency, client's order id] */
export function trades(of: SpotAccount, asked: Asked, context: CallContext, symbol?: string): unknown[] {
  const rows = listOf(of.world(), 'trade').filter(
    ({ event }) => symbol === undefined || `t${pairOf(getPair(event.pair))}` === symbol,
  )
  return pageOf(rows, asked, context).map((row) => describeTrade(of.id, row))
}

export function describeTrade(accountId: string, { event, number, atMs }: RowOf<'trade'>): unknown[] {
  const sign = event.side === 'buy' ? 1n : -1n
  const price = amount(toUnits(event.price, decimals))
  return [
    idBaseOf(accountId, 'trade') + number,
    `t${pairOf(getPair(event.pair))}`,
    atMs,
    34_000_000_000 + idBaseOf(accountId, 'order') + (atMs % 1_000_000_000),
    amount(sign * toUnits(event.qty, decimals)),
    price,
    event.maker ? 'EXCHANGE LIMIT' : 'EXCHANGE MARKET',
    price,
    event.maker ? 1 : -1,
    amount(-toUnits(event.fee, decimals)),
    assetCodeOf(event.feeAsset),
    atMs % 86_400_000,
  ]
}

type Movement = RowOf<'deposit'> | RowOf<'withdrawal'>

function movementIdOf(accountId: string, { number }: { number: number }): number {
  return idBaseOf(accountId, 'movement') + number
}

/** Deposits and withdrawals in one list, the latter with negative amounts; twenty-two places. */
export function movements(of: SpotAccount, asked: Asked, context: CallContext, currency?: string): unknown[] {
  const rows: Movement[] = [...listOf(of.world(), 'deposit'), ...listOf(of.world(), 'withdrawal')]
  const wanted = rows
    .filter(({ event }) => currency === undefined || assetCodeOf(event.asset) === currency)
    .sort((a, b) => a.atMs - b.atMs || a.number - b.number)
  return pageOf(wanted, asked, context).map((row) => describeMovement(of.id, row))
}

const statuses = { done: 'COMPLETED', pending: 'PENDING', cancelled: 'CANCELED', failed: 'FAILURE' } as const

export function describeMovement(accountId: string, row: Movement): unknown[] {
  const { event, number, atMs } = row
  const out = event.kind === 'withdrawal'
  const movement: unknown[] = Array.from({ length: 22 }, () => null)
  const onChain = event.internal !== true && (!out || event.status === 'done')
  const places: Readonly<Record<number, unknown>> = {
    0: movementIdOf(accountId, row),
    1: assetCodeOf(event.asset),
    2: methodOf(event.asset, event.network),
    5: atMs,
    6: atMs + (event.status === 'pending' ? 0 : 240_000),
    9: statuses[event.status],
    12: amount((out ? -1n : 1n) * toUnits(event.amount, decimals)),
    13: out ? amount(-toUnits(event.fee, decimals)) : 0,
    16: event.internal === true ? 'remy' : addressOf(accountId, event.network, out ? 1 + (number % 3) : 0),
    20: onChain ? hashOf(accountId, event.network, number) : null,
  }
  for (const [index, value] of Object.entries(places)) movement[Number(index)] = value
  return movement
}
