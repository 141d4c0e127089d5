/**
 * From a story to what Harbor holds of an account: entries, balances, and what is staked of them.
 *
 * The law, checked while building: a balance is the exact sum of amounts less fees, none is ever negative, and no more
 * is staked than is there.
 */
import { createTimeline, ticksPerSecond, type Row, type Timeline } from '../core/timeline.ts'
import { toShortText, toUnits } from '../core/units.ts'
import { getAsset } from './assets.ts'
import type { Passage, Story, StoryEvent } from './story.ts'

const ticksPerMs = ticksPerSecond / 1_000

export interface EntryRow extends Row {
  /** Entries of one happening share it. */
  reference: number
  kind: string
  asset: string
  amount: bigint
  fee: bigint
  passage: Passage | undefined
}

export interface World {
  entries: Timeline<EntryRow>
  balances: ReadonlyMap<string, bigint>
  staked: ReadonlyMap<string, bigint>
  endsAfterEntries: number | undefined
  /** The next free number for rows and references. */
  next: number
}

export function buildWorld({ events, staked = {}, endsAfterEntries }: Story): World {
  const inStake = Object.entries(staked).map(([code, text]): [string, bigint] => [
    code,
    toUnits(text, getAsset(code).decimals),
  ])
  const empty: World = {
    entries: createTimeline<EntryRow>([]),
    balances: new Map(),
    staked: new Map(inStake),
    endsAfterEntries,
    next: 0,
  }
  const inOrder = events.toSorted((a, b) => toTicks(a.at) - toTicks(b.at))
  return withEvents(empty, inOrder)
}

/** A world in which these happened too. Throws a RangeError where the law would break. */
export function withEvents(world: World, events: readonly StoryEvent[]): World {
  const added: EntryRow[] = []
  let { next } = world
  for (const { at, kind, legs, passage } of events) {
    const reference = next++
    for (const { asset: code, amount, fee = '0' } of legs) {
      const { decimals } = getAsset(code)
      const [moved, paid] = [toUnits(amount, decimals), toUnits(fee, decimals)]
      if (paid < 0n) throw new RangeError(`a fee of ${fee} ${code}`)
      added.push({
        number: next++,
        atTicks: toTicks(at),
        reference,
        kind,
        asset: code,
        amount: moved,
        fee: paid,
        passage,
      })
    }
  }
  const rows = [...world.entries.rows, ...added].toSorted((a, b) => a.atTicks - b.atTicks || a.number - b.number)
  return { ...world, entries: createTimeline(rows), balances: settle(rows, world.staked), next }
}

/** A world without these entries. Throws a RangeError where the law would break. */
export function withoutEntries(world: World, numbers: ReadonlySet<number>): World {
  const rows = world.entries.rows.filter((row) => !numbers.has(row.number))
  // A code that was held once stays in the balances, at zero.
  const emptied = [...world.balances.keys()].map((code) => [code, 0n] as const)
  const balances = new Map([...emptied, ...settle(rows, world.staked)])
  return { ...world, entries: createTimeline(rows), balances }
}

export function toTicks(at: string): number {
  const ms = Date.parse(at)
  if (Number.isNaN(ms)) throw new RangeError(`not a time: ${at}`)
  return ms * ticksPerMs
}

export function toIso(atTicks: number): string {
  return new Date(atTicks / ticksPerMs).toISOString()
}

function settle(rows: readonly EntryRow[], staked: ReadonlyMap<string, bigint>): Map<string, bigint> {
  const balances = new Map<string, bigint>()
  for (const { asset, amount, fee, kind, atTicks } of rows) {
    const balance = (balances.get(asset) ?? 0n) + amount - fee
    if (balance < 0n) {
      const would = toShortText(balance, getAsset(asset).decimals)
      throw new RangeError(`${asset} would be ${would} after ${kind} at ${toIso(atTicks)}`)
    }
    balances.set(asset, balance)
  }
  for (const [asset, units] of staked) {
    if (units > (balances.get(asset) ?? 0n)) throw new RangeError(`more ${asset} is staked than is there`)
  }
  return balances
}
