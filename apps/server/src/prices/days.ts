/**
 * Which days of an asset were read, which of them are final, and which are missing. Pure. Days are UTC.
 *
 * The days that were read are one unbroken run, so its first day, its last day and the time of reading describe it: a
 * day is final when it was read after it was over and had settled at the source. Only the last two days of the run may
 * not be.
 */
import { dayMs, type Day } from '@assay/core'

/** Both included. */
export interface Days {
  firstDay: Day
  lastDay: Day
}

/** A run of days, and when the source was asked for its newest part. */
export interface DaysRead extends Days {
  readAtMs: number
}

/** CoinGecko publishes a day that is over 35 minutes after its end at the latest. */
export const settleMs = 60 * 60_000

// Deriving asks for the day of every amount, and a date takes as long to write as the rest of its pricing.
const knownDays = new Map<number, Day>()
/** Room for all days since 2009, several times over. */
const knownDaysMax = 50_000

export function toDay(ms: number): Day {
  const number = Math.floor(ms / dayMs)
  const known = knownDays.get(number)
  if (known !== undefined) return known
  const day = new Date(ms).toISOString().slice(0, 10)
  if (knownDays.size < knownDaysMax) knownDays.set(number, day)
  return day
}

/** The newest day that is over and settled. */
function settledDay(nowMs: number): Day {
  return toDay(nowMs - settleMs - dayMs)
}

export function isFinal(day: Day, read: DaysRead | undefined): boolean {
  return read !== undefined && read.firstDay <= day && day <= read.lastDay && day <= settledDay(read.readAtMs)
}

/**
 * Older days are asked for together with everything after them, unless the source refused them a short time ago
 * (`askOlder` false); newer ones from the first day on that is not final. A provisional day is asked for again
 * once, when it has settled.
 */
export function findMissing(
  wanted: Days,
  read: DaysRead | undefined,
  nowMs: number,
  askOlder = true,
): Days | undefined {
  if (read === undefined || (askOlder && wanted.firstDay < read.firstDay)) {
    return { firstDay: wanted.firstDay, lastDay: later(wanted.lastDay, read?.lastDay) }
  }
  const settled = earlier(read.lastDay, settledDay(read.readAtMs))
  const settledNow = earlier(read.lastDay, settledDay(nowMs))
  if (wanted.lastDay <= read.lastDay && settledNow <= settled) return undefined
  const firstDay = settled < read.firstDay ? read.firstDay : earlier(read.lastDay, dayAfter(settled))
  return { firstDay, lastDay: later(wanted.lastDay, read.lastDay) }
}

function dayAfter(day: Day): Day {
  return toDay(Date.parse(day) + dayMs)
}

function earlier(a: Day, b: Day): Day {
  return a < b ? a : b
}

function later(a: Day, b: Day | undefined): Day {
  return b === undefined || a > b ? a : b
}
