/**
 * From a story to what the exchange holds: rows, each with the balances it moved, and the balances themselves.
 *
 * Checked while building: a balance is the exact sum of the moves of all rows, and none is ever negative. Binance
 * has no ledger, so this holds for all lists together: trades, deposits, conversions, rewards and the rest.
 */
import { toFixedText, toUnits } from '../core/units.ts'
import { movesOf, toFill } from './bookings.ts'
import { decimals } from './api/symbols.ts'
import type { Move, Row, RowOf, Wallet } from './rows.ts'
import type { AccountEvent, Story } from './story.ts'

export interface World {
  /** Oldest first. */
  rows: readonly Row[]
  /** Oldest first, by `listOf`. */
  lists: ReadonlyMap<string, readonly Row[]>
  balances: ReadonlyMap<Wallet, ReadonlyMap<string, bigint>>
  inOrders: ReadonlyMap<string, bigint>
  /** The next free number for a row. */
  next: number
}

export function buildWorld(story: Story): World {
  const inOrder = story.events
    .map((told, index) => ({ told, index, atMs: toMs(told.at) }))
    .sort((a, b) => a.atMs - b.atMs || a.index - b.index)
  const rows = inOrder.map(({ told, atMs }, number) =>
    toRow(number, atMs, told.kind === 'order' ? toFill(told, atMs) : told),
  )
  const inOrders = Object.entries(story.inOrders ?? {}).map(
    ([asset, text]) => [asset, toUnits(text, decimals)] as const,
  )
  return toWorld(rows, new Map(inOrders), rows.length)
}

export function toRow(number: number, atMs: number, event: AccountEvent): Row {
  return { number, atMs, event, moves: movesOf(event) }
}

/** A world in which this happened too. Throws if the sums would no longer hold. */
export function withEvent(world: World, event: AccountEvent, atMs: number): World {
  return toWorld([...world.rows, toRow(world.next, atMs, event)], world.inOrders, world.next + 1)
}

/** A world with other rows. Throws if the sums would no longer hold. */
export function toWorld(unsorted: readonly Row[], inOrders: World['inOrders'], next: number): World {
  const rows = unsorted.toSorted((a, b) => a.atMs - b.atMs || a.number - b.number)
  const balances = new Map<Wallet, Map<string, bigint>>()
  const lists = new Map<string, Row[]>()
  for (const row of rows) {
    for (const move of row.moves) applyMove(balances, move, row)
    const name = listNameOf(row.event)
    const list = lists.get(name)
    if (list === undefined) lists.set(name, [row])
    else list.push(row)
  }
  return { rows, lists, balances, inOrders, next }
}

function applyMove(balances: Map<Wallet, Map<string, bigint>>, { wallet, asset, change }: Move, row: Row): void {
  const held = balances.get(wallet) ?? new Map<string, bigint>()
  balances.set(wallet, held)
  const after = (held.get(asset) ?? 0n) + change
  if (after < 0n) {
    const when = new Date(row.atMs).toISOString()
    throw new RangeError(
      `${asset} (${wallet}) would be ${toFixedText(after, decimals)} after ${row.event.kind} at ${when}`,
    )
  }
  held.set(asset, after)
}

/** Trades are kept by symbol, Earn's records by product, everything else by kind. */
function listNameOf(event: AccountEvent): string {
  if (event.kind === 'trade') return `trade ${event.symbol}`
  return 'product' in event ? `${event.kind} ${event.product}` : event.kind
}

/** The rows of a list, oldest first. */
export function listOf<Kind extends AccountEvent['kind']>(
  world: World,
  kind: Kind,
  part?: string,
): readonly RowOf<Kind>[] {
  const rows = world.lists.get(part === undefined ? kind : `${kind} ${part}`) ?? []
  return rows as readonly RowOf<Kind>[]
}

function toMs(at: string): number {
  const ms = Date.parse(`${at.replace(' ', 'T')}Z`)
  if (Number.isNaN(ms)) throw new RangeError(`not a time: ${at}`)
  return ms
}
