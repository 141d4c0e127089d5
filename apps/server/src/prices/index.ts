/**
 * The price ledger: what an asset was worth in US dollars on a day, and is worth now. Kept once, for all tenants.
 * Unknown is unknown: an asset without a price has no row, and is served as null, never as 0.
 */
import { getAsset, parseDecimal, SourceError, type Decimal } from '@assay/core'
import type { Logger } from 'pino'
import type { Database } from '../db/index.ts'
import * as store from './store.ts'
import type { Day, Days } from './store.ts'

/** Where prices come from, by the source's own ids. */
export interface PriceSource {
  name: string
  fetchCurrent(sourceIds: readonly string[]): Promise<ReadonlyMap<string, Decimal>>
  fetchDaily(sourceId: string, fromMs: number, toMs: number): Promise<readonly { dayMs: number; price: Decimal }[]>
}

export interface Prices {
  /** Reads what is not known yet of each asset's days from `fromMs` to today. A failing source leaves a gap, not an error. */
  ensureDaily(assetIds: readonly string[], fromMs: number): Promise<void>
  /** The price of the day, for the pairs asked for. */
  loadDaily(
    wanted: readonly { assetId: string; atMs: number }[],
  ): Promise<(assetId: string, atMs: number) => Decimal | undefined>
  ensureCurrent(assetIds: readonly string[]): Promise<void>
}

export interface PricesDeps {
  db: Database
  source: PriceSource
  now(): number
  log: Logger
}

const dollar = 'fiat:usd'
const one = parseDecimal('1')
const dayMs = 86_400_000
const currentStaleAfterMs = 5 * 60_000

export function createPrices(deps: PricesDeps): Prices {
  const { db, source } = deps

  async function readDaily(assetId: string, sourceId: string, days: Days): Promise<void> {
    const points = await source.fetchDaily(sourceId, Date.parse(days.firstDay), Date.parse(days.lastDay) + dayMs)
    const byDay = new Map(points.map((point) => [toDay(point.dayMs), point.price]))
    const prices = [...byDay].map(([day, price]) => ({ day, price }))
    await db.transaction((tx) => store.keepDailyPrices(tx, assetId, source.name, days, prices))
  }

  return {
    async ensureDaily(assetIds, fromMs) {
      const firstDay = toDay(fromMs)
      const lastDay = toDay(deps.now())
      const known = new Map((await store.listDailyReads(db, assetIds)).map((read) => [read.asset_id, read]))
      for (const assetId of assetIds) {
        const sourceId = getAsset(assetId).coingeckoId
        const missing = findMissing({ firstDay, lastDay }, known.get(assetId))
        if (sourceId === null || missing === undefined) continue
        await tolerate(deps, assetId, () => readDaily(assetId, sourceId, missing))
      }
    },

    async loadDaily(wanted) {
      const rows = await store.listDailyPrices(db, {
        assetIds: wanted.map(({ assetId }) => assetId),
        days: wanted.map(({ atMs }) => toDay(atMs)),
      })
      const prices = new Map(rows.map((row) => [`${row.day} ${row.asset_id}`, row.price]))
      return (assetId, atMs) => (assetId === dollar ? one : prices.get(`${toDay(atMs)} ${assetId}`))
    },

    async ensureCurrent(assetIds) {
      const stale = await store.listStale(db, assetIds, currentStaleAfterMs)
      if (stale.includes(dollar)) await store.keepCurrentPrices(db, 'definition', [{ assetId: dollar, price: one }])
      const bySourceId = new Map(stale.map((assetId) => [getAsset(assetId).coingeckoId, assetId]))
      const sourceIds = [...bySourceId.keys()].filter((id) => id !== null)
      if (sourceIds.length === 0) return
      await tolerate(deps, sourceIds.join(' '), async () => {
        const found = await source.fetchCurrent(sourceIds)
        const prices = [...found].flatMap(([sourceId, price]) => {
          const assetId = bySourceId.get(sourceId)
          return assetId === undefined ? [] : [{ assetId, price }]
        })
        await store.keepCurrentPrices(db, source.name, prices)
      })
    },
  }
}

/**
 * What was read stays one unbroken run of days, so that "read from, read to" tells all: older days are asked for
 * together with everything after them, newer ones from the last day on, whose price may not have been there yet.
 */
function findMissing(wanted: Days, read: { first_day: Day; last_day: Day } | undefined): Days | undefined {
  if (read === undefined || wanted.firstDay < read.first_day) return wanted
  return wanted.lastDay > read.last_day ? { firstDay: read.last_day, lastDay: wanted.lastDay } : undefined
}

/** A bulkhead: without a price the rest of the data is still right, so a failing source is logged and left for later. */
async function tolerate(deps: PricesDeps, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    deps.log.warn({ source: deps.source.name, what, fault: error.fault, reason: error.message }, 'no prices for now')
  }
}

function toDay(ms: number): Day {
  return new Date(ms).toISOString().slice(0, 10)
}
