/**
 * From a story to what Coinbase holds of an account: wallets, and the transactions of each.
 *
 * Building checks that a wallet's balance is the exact sum of what its transactions move, and that none is ever
 * negative. A transaction moves its amount and, for the quote side of a fill, its commission too: recorded fills have
 * amount = size × price to the last digit, and the commission beside it (the fixtures of
 * github.com/jbelanger/exitbook). Outgoing money has left as soon as it is on its way; incoming money has not arrived
 * until it is complete. Rows that were canceled, failed, expired or only requested, and echoes of other rows, move
 * nothing.
 */
import { createTimeline, ticksPerSecond, type Row, type Timeline } from '../core/timeline.ts'
import { toShortText, toUnits } from '../core/units.ts'
import { toCurrency, unitDecimals, type Currency } from './assets.ts'
import { currencyCodeOf, type Detail, type Status, type Story, type StoryEvent, type StoryRow } from './story.ts'

const ticksPerMs = ticksPerSecond / 1_000

export interface TransactionRow extends Row {
  /** Rows of the same event share it. */
  reference: number
  wallet: string
  type: string
  amount: bigint
  /** Taken from the wallet on top of the amount. */
  charge: bigint
  status: Status
  settles: { atTicks: number; status: Status } | undefined
  detail: Detail | undefined
  isEcho: boolean
  /** Was shown before and is now withdrawn. */
  isWithdrawn: boolean
}

export interface Wallet {
  /** "BTC", "SOL/staked": stable, and what the id is made from is `number`. */
  key: string
  number: number
  currency: Currency
  openedAtTicks: number
  /** Withdrawn rows too, so that a cursor that names one still has its place. */
  rows: Timeline<TransactionRow>
  /** The sum of all moves that do not depend on the time. */
  settled: bigint
  unsettled: readonly TransactionRow[]
}

export interface World {
  /** In the order in which they were opened. */
  wallets: readonly Wallet[]
  unused: readonly Currency[]
  nativeCurrency: string
  /** The next free number for rows and references. */
  next: number
}

export function buildWorld({ events, unused, nativeCurrency }: Story): World {
  const empty: World = { wallets: [], unused: unused.map(toCurrency), nativeCurrency, next: 0 }
  // Each time is parsed once, because sorting compares it many times.
  const inOrder = events
    .map((event) => ({ event, atTicks: toTicks(event.at) }))
    .sort((a, b) => a.atTicks - b.atTicks)
    .map(({ event }) => event)
  return withEvents(empty, inOrder)
}

/** A world in which these happened too. Throws a RangeError if the sums would no longer hold. */
export function withEvents(world: World, events: readonly StoryEvent[]): World {
  let { next } = world
  const added = new Map<string, TransactionRow[]>()
  for (const event of events) {
    const reference = next++
    for (const row of event.rows) {
      const rows = added.get(row.wallet) ?? []
      rows.push(toRow(row, toTicks(event.at), reference, next++))
      added.set(row.wallet, rows)
    }
  }
  const present = new Set(world.wallets.map(({ key }) => key))
  const grown = world.wallets.map((wallet) => {
    const more = added.get(wallet.key)
    return more === undefined ? wallet : settle(wallet, [...wallet.rows.rows, ...more])
  })
  const opened = [...added]
    .filter(([key]) => !present.has(key))
    .map(([key, rows], index) => openWallet(key, rows, grown.length + index))
  const wallets = [...grown, ...opened]
  const used = new Set(wallets.map(({ key }) => key))
  return { ...world, wallets, unused: world.unused.filter(({ code }) => !used.has(code)), next }
}

/** A world in which one row is different; undefined when no wallet has it. */
export function withChangedRow(
  world: World,
  number: number,
  change: (row: TransactionRow) => TransactionRow,
): World | undefined {
  const holder = world.wallets.find(({ rows }) => rows.find(number) !== undefined)
  if (holder === undefined) return undefined
  const rows = holder.rows.rows.map((row) => (row.number === number ? change(row) : row))
  const changed = settle(holder, rows)
  return { ...world, wallets: world.wallets.map((wallet) => (wallet === holder ? changed : wallet)) }
}

export function balanceOf(wallet: Wallet, nowMs: number): bigint {
  const nowTicks = nowMs * ticksPerMs
  return wallet.unsettled.reduce((sum, row) => sum + movedBy(row, statusAt(row, nowTicks)), wallet.settled)
}

export function statusOf(row: TransactionRow, nowMs: number): Status {
  return statusAt(row, nowMs * ticksPerMs)
}

export function toTicks(at: string): number {
  const ms = Date.parse(at)
  if (Number.isNaN(ms)) throw new RangeError(`not a time: ${at}`)
  return ms * ticksPerMs
}

export function toMs(atTicks: number): number {
  return atTicks / ticksPerMs
}

/** To the second, as Coinbase prints times: "2024-12-18T20:42:28Z". */
export function toIso(atTicks: number): string {
  return `${new Date(toMs(atTicks)).toISOString().slice(0, 19)}Z`
}

function statusAt({ status, settles }: TransactionRow, nowTicks: number): Status {
  return settles !== undefined && nowTicks >= settles.atTicks ? settles.status : status
}

function movedBy(row: TransactionRow, status: Status): bigint {
  if (row.isEcho || row.isWithdrawn || row.type === 'request') return 0n
  if (status === 'completed') return row.amount - row.charge
  return status === 'pending' && row.amount < 0n ? row.amount - row.charge : 0n
}

function toRow(row: StoryRow, atTicks: number, reference: number, number: number): TransactionRow {
  const { detail } = row
  return {
    number,
    atTicks,
    reference,
    wallet: row.wallet,
    type: row.type,
    amount: toUnits(row.amount, unitDecimals),
    charge: detail?.kind === 'fill' && detail.tells.pays ? toUnits(detail.commission, unitDecimals) : 0n,
    status: row.status ?? (row.settles === undefined ? 'completed' : 'pending'),
    settles: row.settles && { atTicks: toTicks(row.settles.at), status: row.settles.status },
    detail,
    isEcho: row.isEcho ?? false,
    isWithdrawn: false,
  }
}

function openWallet(key: string, rows: TransactionRow[], number: number): Wallet {
  const currency = toCurrency(currencyCodeOf(key))
  const empty = { key, number, currency, openedAtTicks: 0, rows: createTimeline<TransactionRow>([]) }
  return settle({ ...empty, settled: 0n, unsettled: [] }, rows)
}

/** Sorts rows by time and computes what they move. */
function settle(wallet: Wallet, unordered: readonly TransactionRow[]): Wallet {
  const rows = unordered.toSorted((a, b) => a.atTicks - b.atTicks || a.number - b.number)
  let settled = 0n
  let leastCase = 0n
  for (const row of rows) {
    if (row.settles === undefined) settled += movedBy(row, row.status)
    // A pending send that is canceled comes back later; until then it is gone.
    leastCase += movedBy(row, row.status)
    if (leastCase < 0n) {
      const would = toShortText(leastCase, unitDecimals)
      throw new RangeError(`${wallet.key} would be ${would} after ${row.type} at ${toIso(row.atTicks)}`)
    }
  }
  return {
    ...wallet,
    openedAtTicks: rows[0]?.atTicks ?? 0,
    rows: createTimeline(rows),
    settled,
    unsettled: rows.filter((row) => row.settles !== undefined),
  }
}
