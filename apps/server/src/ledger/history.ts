/**
 * What a user's holdings were worth, day by day. Where every connection was seen on a day, that is the answer. Other days
 * are derived: from today's balances backwards through the transactions, at each day's prices, down to the day from
 * which on the history is complete.
 *
 * The work is bounded by the days asked for, however long ago they are: what came after them is one sum for each asset.
 */
import { add, invalidParameter, isNegative, isZero, multiply, subtract, zero, type Decimal } from '@assay/core'
import type { Database } from '../db/index.ts'
import type { Prices } from '../prices/index.ts'
import * as store from './history-store.ts'
import type { AssetChange, Day, DayChange, HeldAsset, ObservedDay } from './history-store.ts'

export interface DailyValue {
  date: Day
  value_in_usd: Decimal
  method: 'observed' | 'derived'
  /** `price`: something held has none that day. `coverage`: the transactions do not explain the balances. */
  incomplete: ('price' | 'coverage')[]
}

export interface HistoryRequest {
  /** Included; by default a month before the end. */
  startTime?: string | undefined
  /** Excluded; by default now. */
  endTime?: string | undefined
  /** Epoch ms: from here on the history has no hole. */
  completeFromMs: number
}

const dayMs = 86_400_000
const daysDefault = 30
const daysMax = 366

interface Owner {
  tenantId: string
  userId: string
}

export async function listDailyValues(
  deps: { db: Database; prices: Prices },
  owner: Owner,
  request: HistoryRequest,
): Promise<DailyValue[]> {
  const { db } = deps
  const today = await store.findToday(db)
  const { firstDay, lastDay } = chooseDays(request, today)
  if (firstDay > lastDay) return []
  const days = daysBetween(firstDay, lastDay)
  const observed = await store.listObserved(db, owner, firstDay, lastDay)
  const seen = new Set(observed.map(({ day }) => day))
  // The end of a day needs only what came after it.
  const completeFromDay = toDay(request.completeFromMs - 1)
  const derived = days.filter((day) => day >= completeFromDay && !seen.has(day))
  const [firstDerived] = derived
  const none = { held: [], changes: [], since: [] }
  const { held, changes, since } = firstDerived === undefined ? none : await loadMoves(db, owner, firstDerived, lastDay)
  const assetIds = [...new Set([...held, ...changes, ...since].map((row) => row.asset_id))]
  const { priceAt } = await deps.prices.loadDaily(
    derived.flatMap((day) => assetIds.map((assetId) => ({ assetId, atMs: Date.parse(day) }))),
  )
  const current = new Map(held.map((row) => [row.asset_id, row.price_in_usd ?? undefined]))
  return toDailyValues({
    days,
    observed,
    held,
    changes,
    since,
    completeFromDay,
    priceOf: (assetId, day) => priceAt(assetId, Date.parse(day)) ?? (day === today ? current.get(assetId) : undefined),
  })
}

async function loadMoves(
  db: Database,
  owner: Owner,
  firstDay: Day,
  lastDay: Day,
): Promise<{ held: HeldAsset[]; changes: DayChange[]; since: AssetChange[] }> {
  const [held, changes, since] = await Promise.all([
    store.listHeld(db, owner),
    store.listChanges(db, owner, firstDay, lastDay),
    store.listChangesSince(db, owner, lastDay),
  ])
  return { held, changes, since }
}

export interface HistoryFacts {
  /** Oldest first, without a gap. */
  days: readonly Day[]
  observed: readonly ObservedDay[]
  held: readonly Pick<HeldAsset, 'asset_id' | 'amount'>[]
  changes: readonly DayChange[]
  /** What changed after the last of the days. */
  since: readonly AssetChange[]
  /** The first day that can be derived. */
  completeFromDay: Day
  priceOf: (assetId: string, day: Day) => Decimal | undefined
}

/** Pure; oldest first. Days before the history is complete are there only if they were observed. */
export function toDailyValues(facts: HistoryFacts): DailyValue[] {
  const observed = new Map(facts.observed.map((row) => [row.day, row]))
  const changes = Map.groupBy(facts.changes, ({ day }) => day)
  const balances = new Map(facts.held.map((row): [string, Decimal] => [row.asset_id, row.amount]))
  const undo = ({ asset_id: assetId, change }: AssetChange): void => {
    balances.set(assetId, subtract(balances.get(assetId) ?? zero, change))
  }
  facts.since.forEach(undo)
  const values: DailyValue[] = []
  for (const day of facts.days.toReversed()) {
    const seen = observed.get(day)
    if (seen !== undefined) {
      const incomplete = seen.unpriced > 0 ? (['price'] as const) : []
      values.push({ date: day, value_in_usd: seen.value_in_usd, method: 'observed', incomplete: [...incomplete] })
    } else if (day >= facts.completeFromDay) {
      values.push(derive(day, balances, facts.priceOf))
    }
    // From the end of this day to the end of the day before.
    changes.get(day)?.forEach(undo)
  }
  return values.toReversed()
}

function derive(
  day: Day,
  balances: ReadonlyMap<string, Decimal>,
  priceOf: (assetId: string, day: Day) => Decimal | undefined,
): DailyValue {
  const incomplete = new Set<'price' | 'coverage'>()
  let value = zero
  for (const [assetId, amount] of balances) {
    if (isZero(amount)) continue
    // Nobody holds less than nothing: something is missing in what was read.
    if (isNegative(amount)) incomplete.add('coverage')
    const price = priceOf(assetId, day)
    if (price === undefined) incomplete.add('price')
    else value = add(value, multiply(amount, price))
  }
  return { date: day, value_in_usd: value, method: 'derived', incomplete: [...incomplete].toSorted() }
}

export function chooseDays(
  { startTime, endTime }: Pick<HistoryRequest, 'startTime' | 'endTime'>,
  today: Day,
): { firstDay: Day; lastDay: Day } {
  const endDay = endTime === undefined ? today : toDay(Date.parse(endTime) - 1)
  const lastDay = endDay < today ? endDay : today
  const firstDay =
    startTime === undefined ? toDay(Date.parse(lastDay) - (daysDefault - 1) * dayMs) : toDay(Date.parse(startTime))
  if (Date.parse(lastDay) - Date.parse(firstDay) >= daysMax * dayMs) {
    throw invalidParameter('start_time', `must be at most ${daysMax} days before end_time`)
  }
  return { firstDay, lastDay }
}

function daysBetween(firstDay: Day, lastDay: Day): Day[] {
  const count = Math.round((Date.parse(lastDay) - Date.parse(firstDay)) / dayMs) + 1
  return Array.from({ length: count }, (_, index) => toDay(Date.parse(firstDay) + index * dayMs))
}

function toDay(ms: number): Day {
  return new Date(ms).toISOString().slice(0, 10)
}
