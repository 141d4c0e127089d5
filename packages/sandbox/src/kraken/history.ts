/**
 * From a story to what the exchange holds: ledger entries with running balances, trades, deposits, withdrawals.
 *
 * Checked while building: a balance is the exact sum of its entries (amount − fee), and none is ever negative.
 */
import { createTimeline, ticksPerSecond, type Timeline } from '../core/timeline.ts'
import { toFixedText } from '../core/units.ts'
import { getAsset } from './assets.ts'
import { book, bookEntries, newDraft } from './bookings.ts'
import type { FundingRow, LedgerRow, TradeRow } from './rows.ts'
import type { EarnStrategy, Entries, Story } from './story.ts'

export interface World {
  ledger: Timeline<LedgerRow>
  trades: Timeline<TradeRow>
  deposits: Timeline<FundingRow>
  withdrawals: Timeline<FundingRow>
  balances: ReadonlyMap<string, bigint>
  strategies: readonly EarnStrategy[]
  /** By how much the `count` of Ledgers falls short. */
  countShort: number
  /** The next free number for rows and references. */
  next: number
}

export function buildWorld(story: Story): World {
  const draft = newDraft(0)
  const inOrder = story.events
    .map((event, index) => ({ event, index, atTicks: toTicks(event.at) }))
    .sort((a, b) => a.atTicks - b.atTicks || a.index - b.index)
  for (const { event, atTicks } of inOrder) book(draft, event, atTicks)
  const { rows, balances } = settle(draft.ledger)
  return {
    ledger: createTimeline(rows),
    trades: createTimeline(draft.trades),
    deposits: createTimeline(draft.deposits),
    withdrawals: createTimeline(draft.withdrawals),
    balances,
    strategies: story.strategies,
    countShort: story.countShort ?? 0,
    next: draft.next,
  }
}

/**
 * A world in which these entries were booked too, all under one new reference, or under the one that is given as text.
 * Throws if the sums would no longer hold.
 */
export function withEntries(
  world: World,
  event: Omit<Entries, 'kind' | 'at' | 'reference'>,
  atTicks: number,
  refid?: string,
): World {
  const draft = newDraft(world.next)
  if (refid !== undefined) draft.named.set('given', { letter: 'F', number: draft.next++, literal: refid })
  const reference = refid === undefined ? {} : { reference: 'given' }
  bookEntries(draft, { ...event, ...reference, kind: 'entries', at: '' }, atTicks, 'F')
  const touched = new Set(event.legs.map((one) => one.code))
  const { rows, balances } = settle([...world.ledger.rows, ...draft.ledger], touched)
  return {
    ...world,
    ledger: createTimeline(rows),
    balances: new Map([...world.balances, ...balances]),
    next: draft.next,
  }
}

export function toTicks(at: string): number {
  const [whole = '', fraction = ''] = at.split('.')
  const ms = Date.parse(`${whole.replace(' ', 'T')}Z`)
  if (Number.isNaN(ms) || fraction.length > 4) throw new RangeError(`not a time: ${at}`)
  return (ms / 1000) * ticksPerSecond + Number(fraction.padEnd(4, '0'))
}

/**
 * Puts entries in order of time and writes the running balance of each. With `codes`, only of those: the others carry
 * theirs already.
 */
export function settle(
  entries: (Omit<LedgerRow, 'balance'> | LedgerRow)[],
  codes?: ReadonlySet<string>,
): { rows: LedgerRow[]; balances: Map<string, bigint> } {
  const balances = new Map<string, bigint>()
  entries.sort((a, b) => a.atTicks - b.atTicks || a.number - b.number)
  const rows = entries.map((entry): LedgerRow => {
    if (codes?.has(entry.code) === false && 'balance' in entry) return entry
    const { decimals } = getAsset(entry.code)
    const balance = (balances.get(entry.code) ?? 0n) + entry.change
    if (balance < 0n) {
      const when = new Date((entry.atTicks / ticksPerSecond) * 1000).toISOString()
      throw new RangeError(`${entry.code} would be ${toFixedText(balance, decimals)} after ${entry.type} at ${when}`)
    }
    balances.set(entry.code, balance)
    return { ...entry, balance: toFixedText(balance, decimals) }
  })
  return { rows, balances }
}
