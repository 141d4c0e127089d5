/**
 * From a story to what the exchange holds: rows, the ledger entries that each of them makes, and the balances.
 *
 * The law, checked while the books are written: a balance is the exact sum of the changes of all entries of its wallet,
 * every entry has the balance after it, and no balance is ever negative.
 */
import { divideUnits, multiplyUnits, toFixedText, toShortText, toUnits } from '../core/units.ts'
import { decimals, getPair, marketPrice } from './assets.ts'
import type { AccountEvent, Fill, Order, Story, Wallet } from './story.ts'

export interface Row<Event extends AccountEvent = AccountEvent> {
  /** Stable within the account; ids are made from it. Rises with time, except for rows that were added late. */
  number: number
  atMs: number
  event: Event
}

export type RowOf<Kind extends AccountEvent['kind']> = Row<Extract<AccountEvent, { kind: Kind }>>

export interface Entry {
  /** Stable within the account, like the number of its row. */
  number: number
  atMs: number
  row: Row
  wallet: Wallet
  asset: string
  /** What the balance moved by, the fee included. */
  change: bigint
  /** The part of the change that was charged; negative for a rebate. */
  fee: bigint
  after: bigint
}

/** Bitfinex books every fee as an entry of its own, the others as a part of the entry for the same coin. */
export type Bookkeeping = 'fees within' | 'fees apart'

export interface World {
  bookkeeping: Bookkeeping
  /** Oldest first. */
  rows: readonly Row[]
  /** What will happen when its time has come, oldest first. */
  pending: readonly Row[]
  /** Oldest first, by kind. */
  lists: ReadonlyMap<AccountEvent['kind'], readonly Row[]>
  /** Oldest first. */
  entries: Readonly<Record<Wallet, readonly Entry[]>>
  balances: Readonly<Record<Wallet, ReadonlyMap<string, bigint>>>
  story: Pick<Story, 'boundTo' | 'forgets'> & { inOrders: ReadonlyMap<string, bigint> }
  /** The next free number for a row. */
  next: number
}

// A trade has three legs, and no event has more.
const entriesOfRowMax = 4

export function buildWorld(story: Story, bookkeeping: Bookkeeping, nowMs: number): World {
  const { events, continues = [] } = story
  const inOrder = [...events, ...continues]
    .map((told, index) => ({ told, index, atMs: toMs(told.at), continues: index >= events.length }))
    .sort((a, b) => a.atMs - b.atMs || a.index - b.index)
  // A row has the same number in every process, whether it has happened or not: ids are made from it.
  const all = inOrder.map(({ told, atMs, continues: isLater }, number) => ({
    isLater,
    row: { number, atMs, event: told.kind === 'order' ? toFill(told, atMs) : told } satisfies Row,
  }))
  const { inOrders = {}, boundTo, forgets } = story
  const reserved = Object.entries(inOrders).map(([asset, text]) => [asset, toUnits(text, decimals)] as const)
  const isPending = ({ isLater, row }: (typeof all)[number]): boolean => isLater && row.atMs > nowMs
  return writeBooks(
    all.filter((one) => !isPending(one)).map(({ row }) => row),
    {
      bookkeeping,
      pending: all.filter(isPending).map(({ row }) => row),
      story: { inOrders: new Map(reserved), ...(boundTo && { boundTo }), ...(forgets && { forgets }) },
      next: all.length,
    },
  )
}

/** The same world once what was pending has happened. */
export function advanceWorld(world: World, nowMs: number): World {
  const { rows, pending } = world
  const [first] = pending
  if (first === undefined || first.atMs > nowMs) return world
  const due = pending.filter(({ atMs }) => atMs <= nowMs)
  return writeBooks([...rows, ...due], { ...world, pending: pending.slice(due.length) })
}

/** A world in which this happened too. Throws if the sums would no longer hold. */
export function withEvent(world: World, event: AccountEvent, atMs: number): World {
  return writeBooks([...world.rows, { number: world.next, atMs, event }], { ...world, next: world.next + 1 })
}

/** The books of these rows. Throws if the sums would no longer hold. */
export function writeBooks(
  unsorted: readonly Row[],
  rest: Omit<World, 'rows' | 'lists' | 'entries' | 'balances'>,
): World {
  const rows = unsorted.toSorted((a, b) => a.atMs - b.atMs || a.number - b.number)
  const lists = new Map<AccountEvent['kind'], Row[]>()
  const entries: Record<Wallet, Entry[]> = { funding: [], trading: [] }
  const balances: Record<Wallet, Map<string, bigint>> = { funding: new Map(), trading: new Map() }
  for (const row of rows) {
    const list = lists.get(row.event.kind)
    if (list === undefined) lists.set(row.event.kind, [row])
    else list.push(row)
    const legs =
      rest.bookkeeping === 'fees apart' ? withoutNothing(legsOf(row.event)) : withFeesWithin(legsOf(row.event))
    for (const [index, { wallet, asset, change, fee }] of legs.entries()) {
      const after = (balances[wallet].get(asset) ?? 0n) + change
      if (after < 0n) {
        const when = new Date(row.atMs).toISOString()
        throw new RangeError(`${asset} (${wallet}) would be ${toFixedText(after, decimals)} after ${when}`)
      }
      balances[wallet].set(asset, after)
      const number = row.number * entriesOfRowMax + index
      entries[wallet].push({ number, atMs: row.atMs, row, wallet, asset, change, fee, after })
    }
  }
  const { bookkeeping, pending, story, next } = rest
  return { bookkeeping, rows, pending, lists, entries, balances, story, next }
}

type Leg = Pick<Entry, 'wallet' | 'asset' | 'change' | 'fee'>

/** What is given comes first, because the account must have it before it receives anything. */
function legsOf(event: AccountEvent): Leg[] {
  switch (event.kind) {
    case 'trade':
      return legsOfFill(event)
    case 'deposit':
      return event.status === 'done' ? [leg('funding', event.asset, event.amount)] : []
    case 'withdrawal':
      if (event.status === 'cancelled' || event.status === 'failed') return []
      return [leg('funding', event.asset, event.amount, -1n), feeLeg('funding', event.asset, event.fee)]
    case 'transfer': {
      const from = event.to === 'trading' ? 'funding' : 'trading'
      return [leg(from, event.asset, event.amount, -1n), leg(event.to, event.asset, event.amount)]
    }
    case 'convert':
      return [leg('trading', event.fromAsset, event.fromAmount, -1n), leg('trading', event.toAsset, event.toAmount)]
    case 'reward':
      return [leg(event.to ?? 'funding', event.asset, event.amount)]
    case 'charge':
      return [leg('trading', event.asset, event.amount, -1n)]
    case 'product':
      return [leg('trading', event.asset, event.amount, event.to === 'product' ? -1n : 1n)]
  }
}

function legsOfFill(fill: Fill): Leg[] {
  const { base, quote } = getPair(fill.pair)
  const [given, taken] =
    fill.side === 'buy'
      ? [leg('trading', quote, fill.cost, -1n), leg('trading', base, fill.qty)]
      : [leg('trading', base, fill.qty, -1n), leg('trading', quote, fill.cost)]
  return [given, taken, feeLeg('trading', fill.feeAsset, fill.fee)]
}

function leg(wallet: Wallet, asset: string, amount: string, sign = 1n): Leg {
  if (!/^[A-Za-z0-9][A-Za-z0-9.]{0,39}$/.test(asset)) throw new RangeError(`not an asset code: ${asset}`)
  return { wallet, asset, change: sign * toUnits(amount, decimals), fee: 0n }
}

function feeLeg(wallet: Wallet, asset: string, amount: string): Leg {
  const fee = toUnits(amount, decimals)
  return { wallet, asset, change: -fee, fee }
}

/** A fee of zero makes no entry. */
function withoutNothing(legs: readonly Leg[]): Leg[] {
  return legs.filter(({ change }) => change !== 0n)
}

function withFeesWithin(legs: readonly Leg[]): Leg[] {
  const merged: Leg[] = []
  for (const one of legs) {
    const same = merged.find(({ wallet, asset }) => wallet === one.wallet && asset === one.asset)
    if (same === undefined) merged.push({ ...one })
    else Object.assign(same, { change: same.change + one.change, fee: same.fee + one.fee })
  }
  return merged
}

/** A fee of 0.1 % of what was received, or a rebate of 0.01 % of what was given. */
function toFill(order: Order, atMs: number): Fill {
  const pair = getPair(order.pair)
  const { priceDecimals, qtyDecimals, base, quote } = pair
  const price = toUnits(order.price ?? marketPrice(pair, atMs), priceDecimals)
  const qty =
    order.qty !== undefined
      ? toUnits(order.qty, qtyDecimals)
      : divideUnits(toUnits(order.spend ?? '0', decimals), decimals, price, priceDecimals, qtyDecimals)
  const cost = multiplyUnits(qty, qtyDecimals, price, priceDecimals, decimals)
  const baseUnits = qty * 10n ** BigInt(decimals - qtyDecimals)
  const bought = order.side === 'buy'
  const [given, taken] = bought ? [cost, baseUnits] : [baseUnits, cost]
  const inBase = bought !== (order.rebate === true)
  return {
    kind: 'trade',
    pair: pair.name,
    side: order.side,
    price: toShortText(price, priceDecimals),
    qty: toShortText(qty, qtyDecimals),
    cost: toShortText(cost, decimals),
    fee: toShortText(order.rebate === true ? -(given / 10_000n) : taken / 1_000n, decimals),
    feeAsset: inBase ? base : quote,
    maker: order.maker ?? false,
  }
}

/** The rows of a list, oldest first. */
export function listOf<Kind extends AccountEvent['kind']>(world: World, kind: Kind): readonly RowOf<Kind>[] {
  return (world.lists.get(kind) ?? []) as readonly RowOf<Kind>[]
}

export function toText(units: bigint): string {
  return toShortText(units, decimals)
}

export function toMs(at: string): number {
  const ms = Date.parse(at.includes('T') ? at : `${at.replace(' ', 'T')}Z`)
  if (Number.isNaN(ms)) throw new RangeError(`not a time: ${at}`)
  return ms
}
