/** A price ledger over a source whose answers, failures and clock a test sets. */
import { dayMs, parseDecimal, type Decimal, type SourceError } from '@assay/core'
import type { DailyPrice } from '@assay/connectors'
import { pino } from 'pino'
import { testDatabase } from '../../../../test/postgres.ts'
import { createStillClock } from '../../../../test/still-clock.ts'
import type { Database } from '../db/index.ts'
import { createPrices, type PriceSource, type Prices } from './index.ts'

export interface TestPrices {
  db: Database
  prices: Prices
  /** What the source was asked for. */
  asked: string[]
  /** The source's answers: dollars for each coin or currency; others have no price. */
  known: Map<string, Decimal>
  /** What the source fails with, by coin or currency. */
  faults: Map<string, SourceError>
  lines: string[]
  moveTo(time: string): void
  /** The source answers nothing about earlier days, like a free plan. */
  refuseBefore(day: string | undefined): void
  /** The source's answers have no price for this day. */
  leaveOut(day: string): void
  /** `undefined` for no price; with a question mark while the final price may still come. */
  priceOn(assetId: string, at: string): Promise<string>
  /** Asset, day, price, source and method. */
  listDaily(): Promise<string[]>
  takeCorrections(): Promise<string[]>
}

export const dayOf = (text: string): number => Date.parse(`${text}T00:00:00Z`)

export async function openPrices(t: Parameters<typeof testDatabase>[0]): Promise<TestPrices> {
  const db = createStillClock().of((await testDatabase(t)).db)
  const asked: string[] = []
  const known = new Map([['bitcoin', parseDecimal('64000.5')]])
  const faults = new Map<string, SourceError>()
  const lines: string[] = []
  let nowMs = Date.parse('2026-03-05T23:59:59.999Z')
  let refusedBeforeMs = -Infinity
  const leftOut = new Set<number>()
  const startOf = (fromMs: number): number => Math.max(fromMs, refusedBeforeMs)

  const failFor = (names: readonly string[]): void => {
    for (const name of names) {
      const fault = faults.get(name)
      if (fault !== undefined) throw fault
    }
  }
  const daysOf = (name: string, fromMs: number, toMs: number): DailyPrice[] => {
    const price = known.get(name)
    const days: DailyPrice[] = []
    for (let day = fromMs; day < toMs && day <= nowMs; day += dayMs) {
      if (price !== undefined && !leftOut.has(day)) days.push({ dayMs: day, price })
    }
    return days
  }
  const spell = (fromMs: number, toMs: number): string =>
    [fromMs, toMs - dayMs].map((ms) => new Date(ms).toISOString().slice(0, 10)).join(' ')

  const source: PriceSource = {
    name: 'a test',
    async fetchCurrent(coins, currencies) {
      const names = [...coins, ...currencies]
      asked.push(`now ${names.toSorted().join(' ')}`)
      failFor(names)
      const pick = (of: readonly string[]): Map<string, Decimal> =>
        new Map([...known].filter(([name]) => of.includes(name)))
      return { coins: pick(coins), currencies: pick(currencies) }
    },
    async fetchDaily(coin, fromMs, toMs) {
      asked.push(`${coin} ${spell(fromMs, toMs)}`)
      failFor([coin])
      return { answeredFromMs: startOf(fromMs), prices: daysOf(coin, startOf(fromMs), toMs) }
    },
    async fetchDailyRates(currencies, fromMs, toMs) {
      asked.push(`${currencies.toSorted().join('+')} ${spell(fromMs, toMs)}`)
      failFor(currencies)
      const rates = new Map(currencies.map((currency) => [currency, daysOf(currency, startOf(fromMs), toMs)]))
      return { answeredFromMs: startOf(fromMs), prices: rates }
    },
  }
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const prices = createPrices({ db, source, now: () => nowMs, scaleWait: (ms) => ms, log })
  return {
    ...{ db, prices, asked, known, faults, lines },
    refuseBefore: (day) => void (refusedBeforeMs = day === undefined ? -Infinity : dayOf(day)),
    leaveOut: (day) => void leftOut.add(dayOf(day)),
    moveTo: (time) => void (nowMs = Date.parse(time)),
    async priceOn(assetId, at) {
      const atMs = Date.parse(at)
      const { priceAt, isPricePending } = await prices.loadDaily([{ assetId, atMs }])
      return `${priceAt(assetId, atMs)}${isPricePending(assetId, atMs) ? '?' : ''}`
    },
    async listDaily() {
      const rows = await db.rows<{ line: string }>(
        `select concat_ws(' ', asset_id, day, trim_scale(price_in_usd), source, method) as line
         from daily_prices order by asset_id, day`,
      )
      return rows.map(({ line }) => line)
    },
    async takeCorrections() {
      const corrected = await db.transaction((tx) => prices.takeCorrections(tx, 100))
      return corrected.map(({ assetId, day }) => `${assetId} ${day}`).toSorted()
    },
  }
}
