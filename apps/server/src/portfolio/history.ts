/**
 * What a user's holdings were worth, day by day. If every connection was read on a day, that day has the value observed
 * then. Other days are derived from the present balances backwards through each day's postings, at the prices of that
 * day's end, down to the day from which the history is complete.
 */
import { dayMs, invalidParameter, type Decimal, type Day } from '@assay/core'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import { listValues } from './history-store.ts'

export interface DailyValue {
  date: Day
  value_in_usd: Decimal
  method: 'observed' | 'derived'
  /** `price`: a held asset has no price that day. `coverage`: the transactions do not explain the balances. */
  incomplete: ('price' | 'coverage')[]
}

export interface HistoryRequest {
  /** Included; by default a month before the end. */
  startTime?: string | undefined
  /** Excluded; by default now. */
  endTime?: string | undefined
  /** Epoch ms from which the history has no gap. */
  completeFromMs: number
}

export interface DailyValues {
  /** Oldest first. */
  days: DailyValue[]
  /** The history is not complete for as long as was asked for; days from before are included only if they were observed. */
  isCutOff: boolean
}

const daysDefault = 30
const daysMax = 366
/** The year before it is 0000 in ISO 8601, which PostgreSQL does not read. */
const dayOne: Day = '0001-01-01'

export async function listDailyValues(
  sql: Sql,
  owner: Pick<Owner, 'userKey'>,
  request: HistoryRequest,
): Promise<DailyValues> {
  const today = sql.now().slice(0, 10)
  const { firstDay, lastDay } = chooseDays(request, today)
  if (firstDay > lastDay) return { days: [], isCutOff: false }
  // The value at the end of a day depends only on later postings.
  const completeFrom = toDay(request.completeFromMs - 1)
  const derivedFrom = laterOf(completeFrom, firstDay)
  const rows = await listValues(sql, owner, { firstDay, lastDay, today, derivedFrom })
  const days = rows.map(({ day, value_in_usd, observed, unpriced, negative }): DailyValue => ({
    date: day,
    value_in_usd,
    method: observed ? 'observed' : 'derived',
    incomplete: [...(negative ? (['coverage'] as const) : []), ...(unpriced ? (['price'] as const) : [])],
  }))
  return { days, isCutOff: firstDay < completeFrom }
}

export function chooseDays(
  { startTime, endTime }: Pick<HistoryRequest, 'startTime' | 'endTime'>,
  today: Day,
): { firstDay: Day; lastDay: Day } {
  const endDay = endTime === undefined ? today : toDay(Date.parse(endTime) - 1)
  const lastDay = endDay < today ? endDay : today
  const monthAgo = toDay(Date.parse(lastDay) - (daysDefault - 1) * dayMs)
  const firstDay = startTime === undefined ? laterOf(monthAgo, dayOne) : toDay(Date.parse(startTime))
  if (Date.parse(lastDay) - Date.parse(firstDay) >= daysMax * dayMs) {
    throw invalidParameter('start_time', `must be at most ${daysMax} days before end_time`)
  }
  return { firstDay, lastDay }
}

function laterOf(a: Day, b: Day): Day {
  return a > b ? a : b
}

function toDay(ms: number): Day {
  return new Date(ms).toISOString().slice(0, 10)
}
