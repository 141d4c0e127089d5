/**
 * Reads the prices of days. The wanted days are stored first; then as many of them are read as the source allows at
 * once, and `backfill`, which upkeep calls every minute, reads the rest. So a source that is slow, down or rate
 * limiting us delays prices and nothing else.
 *
 * An asset's days are one request however many users hold it; currencies with the same days share another.
 *
 * An answer without any price would be final for all days that were wanted, and a source may give it by mistake. So it
 * is believed only after it was repeated for two days, and not while another price of the asset contradicts it.
 */
import { dayMs, getAsset, SourceError, type Day } from '@assay/core'
import type { DailyAnswer, DailyPrice } from '@assay/connectors'
import type { Logger } from 'pino'
import type { Database, Sql } from '../db/index.ts'
import { findMissing, toDay, type Days } from './days.ts'
import { findQuote, type PriceSource } from './source.ts'
import * as store from './store.ts'
import type { Method, Wanted } from './store.ts'

export interface DailyPriceDeps {
  db: Database
  source: PriceSource
  now(): number
  /** How long to wait instead of `ms`: shorter in sandbox mode. */
  scaleWait(this: void, ms: number): number
  log: Logger
}

/** Other jobs wait for the job that reads a connection; upkeep can take longer. */
const roundInSyncMs = 5_000
const roundInUpkeepMs = 20_000
const assetsPerRoundMax = 200
const requestsAtOnce = 4
/** A source that fails this often in a round is down: more requests would only take time. */
const failuresPerRoundMax = 2
const retryFirstMs = 60_000
const retryMaxMs = 3_600_000
/** Days that the source refused, because its free plan ends there: the operator may have bought a key since. */
const olderRetryMs = dayMs
/** An answer without any price is believed when all answers of this time were. Until then the pauses grow to a day. */
const noneForMs = 2 * dayMs
const noneRetryMaxMs = dayMs
/** A current price of this age still shows that the source knows the asset. */
const currentMaxMs = dayMs

export async function ensureDaily(deps: DailyPriceDeps, assetIds: readonly string[], fromMs: number): Promise<void> {
  const quoted = assetIds.filter((assetId) => findQuote(getAsset(assetId)) !== undefined)
  if (quoted.length === 0) return
  const nowMs = deps.now()
  await store.wantDays(deps.db, quoted, { firstDay: toDay(fromMs), lastDay: toDay(nowMs) })
  const wanted = await store.listWanted(deps.db, quoted)
  const due = wanted.filter(({ retryAtMs }) => retryAtMs === undefined || retryAtMs <= nowMs)
  await readRound(deps, due, roundInSyncMs)
}

/** Reads what earlier readings left open, and provisional days that have settled since. */
export async function backfill(deps: DailyPriceDeps): Promise<void> {
  await readRound(deps, await store.listDue(deps.db, deps.now(), assetsPerRoundMax), roundInUpkeepMs)
}

/** One piece of work for the source. */
interface Request {
  assetIds: string[]
  days: Days
  method: Method
  fetch(fromMs: number, toMs: number): Promise<DailyAnswer<ReadonlyMap<string, readonly DailyPrice[]>>>
}

async function readRound(deps: DailyPriceDeps, wanted: readonly Wanted[], roundMs: number): Promise<void> {
  const endsAt = performance.now() + roundMs
  const requests = toRequests(deps.source, wanted, deps.now()).values()
  let failures = 0
  let limited = false
  // All lanes share one iterator.
  async function readLane(): Promise<void> {
    for (const request of requests) {
      const fault = await readOne(deps, request)
      if (fault === 'rate_limited') limited = true
      else if (fault !== undefined) failures += 1
      if (limited || failures >= failuresPerRoundMax || performance.now() > endsAt) return
    }
  }
  await Promise.all(Array.from({ length: requestsAtOnce }, readLane))
}

function toRequests(source: PriceSource, wanted: readonly Wanted[], nowMs: number): Request[] {
  const requests: Request[] = []
  const byDays = new Map<string, Request & { currencies: string[] }>()
  for (const { assetId, wanted: wantedDays, read, olderRetryAtMs } of wanted) {
    const days = findMissing(wantedDays, read, nowMs, (olderRetryAtMs ?? nowMs) <= nowMs)
    const quote = findQuote(getAsset(assetId))
    if (days === undefined || quote === undefined) continue
    if ('coin' in quote) {
      const fetch: Request['fetch'] = async (fromMs, toMs) => {
        const { answeredFromMs, prices } = await source.fetchDaily(quote.coin, fromMs, toMs)
        return { answeredFromMs, prices: new Map([[assetId, prices]]) }
      }
      requests.push({ assetIds: [assetId], days, method: 'market_chart', fetch })
      continue
    }
    const key = `${days.firstDay} ${days.lastDay}`
    const shared = byDays.get(key) ?? toRatesRequest(source, days)
    shared.assetIds.push(assetId)
    shared.currencies.push(quote.currency)
    byDays.set(key, shared)
  }
  return [...requests, ...byDays.values()]
}

function toRatesRequest(source: PriceSource, days: Days): Request & { currencies: string[] } {
  const assetIds: string[] = []
  const currencies: string[] = []
  return {
    assetIds,
    currencies,
    days,
    method: 'cross_rate',
    async fetch(fromMs, toMs) {
      const { answeredFromMs, prices: rates } = await source.fetchDailyRates(currencies, fromMs, toMs)
      const prices = new Map(assetIds.map((assetId, index) => [assetId, rates.get(currencies[index] ?? '') ?? []]))
      return { answeredFromMs, prices }
    },
  }
}

/** A bulkhead: without a price the rest of the data is still right, so a source failure is logged and retried later. */
async function readOne(deps: DailyPriceDeps, request: Request): Promise<SourceError['fault'] | undefined> {
  const { assetIds, days } = request
  const askedAtMs = deps.now()
  try {
    const found = await request.fetch(Date.parse(days.firstDay), Date.parse(days.lastDay) + dayMs)
    await keep(deps, request, askedAtMs, found)
    return undefined
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    const { fault } = error
    deps.log.warn({ source: deps.source.name, assets: assetIds, fault, reason: error.message }, 'no prices for now')
    // The source does not know the coin. That is an answer without prices.
    const none = { answeredFromMs: Date.parse(days.firstDay), prices: new Map<string, DailyPrice[]>() }
    if (fault === 'data_hole') await keep(deps, request, askedAtMs, none)
    // A rate limit says nothing about the asset, which stays due.
    else if (fault !== 'rate_limited') await retryLater(deps, deps.db, assetIds, retryMaxMs)
    return fault === 'data_hole' ? undefined : fault
  }
}

async function retryLater(
  { now, scaleWait }: DailyPriceDeps,
  sql: Sql,
  assetIds: readonly string[],
  maxMs: number,
): Promise<void> {
  const retry = { nowMs: now(), firstMs: scaleWait(retryFirstMs), maxMs: scaleWait(maxMs) }
  await store.countFailure(sql, assetIds, retry)
}

/** Only the days that the source answered count as read. */
async function keep(
  deps: DailyPriceDeps,
  { assetIds, days, method }: Request,
  askedAtMs: number,
  found: DailyAnswer<ReadonlyMap<string, readonly DailyPrice[]>>,
): Promise<void> {
  const { db, source, scaleWait } = deps
  const read = { firstDay: toDay(found.answeredFromMs), lastDay: days.lastDay }
  const olderRetryAtMs = read.firstDay > days.firstDay ? askedAtMs + scaleWait(olderRetryMs) : undefined
  await db.transaction(async (tx) => {
    for (const assetId of assetIds.toSorted()) {
      const byDay = new Map((found.prices.get(assetId) ?? []).map((point) => [toDay(point.dayMs), point.price]))
      const prices = [...byDay].map(([day, price]) => ({ day, price }))
      if (prices.length === 0 && !(await isBelieved(deps, tx, { assetId, firstDay: read.firstDay, askedAtMs }))) {
        await retryLater(deps, tx, [assetId], noneRetryMaxMs)
        continue
      }
      await store.keepDaily(tx, { assetId, source: source.name, method, askedAtMs, read, olderRetryAtMs, prices })
    }
  })
}

/** Whether the source is right that it has no price of the asset for any of the days. */
async function isBelieved(
  { log, source, scaleWait }: DailyPriceDeps,
  tx: Sql,
  { assetId, firstDay, askedAtMs }: { assetId: string; firstDay: Day; askedAtMs: number },
): Promise<boolean> {
  const sinceMs = await store.noteNone(tx, assetId, askedAtMs)
  const isRepeated = askedAtMs - sinceMs >= scaleWait(noneForMs)
  if (isRepeated && !(await store.hasOtherPrice(tx, assetId, firstDay, askedAtMs - currentMaxMs))) return true
  log.warn({ source: source.name, asset: assetId, firstDay }, 'no price of any day: asking again')
  return false
}
