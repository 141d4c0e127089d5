/**
 * The price ledger: what an asset was worth in US dollars on a day, and is worth now. Kept once, for all tenants, with
 * where each price came from, how (`method`) and when it was asked for. docs/decisions/0012 says how prices change.
 *
 * Unknown is unknown: an asset without a price is served as null, never as 0.
 */
import {
  dayMs,
  getAsset,
  invalidParameter,
  isNegative,
  parseDecimal,
  SourceError,
  type Decimal,
  type Day,
} from '@assay/core'
import type { Sql } from '../db/index.ts'
import { backfill, ensureDaily, type DailyPriceDeps } from './daily.ts'
import { isFinal, settleMs, toDay } from './days.ts'
import { findQuote } from './source.ts'
import * as store from './store.ts'
import type { Method } from './store.ts'

export { createCoinGecko } from './source.ts'
export type { PriceSource, SourceBudget } from './source.ts'

export interface Prices {
  /**
   * Reads the prices that are missing for each asset's days from `fromMs` to today, as far as the source gives them at
   * once; `backfill` reads the rest. A source failure leaves a gap, not an error.
   */
  ensureDaily(assetIds: readonly string[], fromMs: number): Promise<void>
  /** Loads the prices of these pairs. */
  loadDaily(wanted: readonly { assetId: string; atMs: number }[]): Promise<DailyPrices>
  ensureCurrent(assetIds: readonly string[]): Promise<void>
  /** Upkeep: days left behind by a failing source, and provisional days that have settled. Bounded; call it again. */
  backfill(): Promise<void>
  /** Sets the operator's price for a past day, which no source replaces. Refused while the day is provisional. */
  correct(assetId: string, day: Day, price: Decimal): Promise<void>
  /**
   * Days whose price the operator has corrected since. The caller takes them over in its transaction: it must price the
   * transactions of these days that touch the asset again. (A provisional price that is replaced needs no such list:
   * `isPricePending` named it when it was used.)
   */
  takeCorrections(tx: Sql, limit: number): Promise<{ assetId: string; day: Day }[]>
}

export interface DailyPrices {
  /** The price of the day. */
  priceAt(assetId: string, atMs: number): Decimal | undefined
  /**
   * The final price of that day is missing but may still come: the source knows the asset, and the day was never read,
   * or was read before it was over (then `priceAt` may have a provisional one), or the source failed. A caller that
   * uses the price should ask again later.
   */
  isPricePending(assetId: string, atMs: number): boolean
}

export type PricesDeps = DailyPriceDeps

const dollar = 'fiat:usd'
const one = parseDecimal('1')

export function createPrices(deps: PricesDeps): Prices {
  const { db } = deps
  const rest: Rest = { untilMs: 0 }
  return {
    ensureDaily: (assetIds, fromMs) => ensureDaily(deps, assetIds, fromMs),
    ensureCurrent: (assetIds) => ensureCurrent(deps, assetIds, rest),
    backfill: () => backfill(deps),

    async loadDaily(wanted) {
      const assetIds = wanted.map(({ assetId }) => assetId)
      // In this order, a day that is read in between either has its price or is asked about once more. In the other
      // order it would count as read without its price.
      const reads = await store.listWanted(db, [...new Set(assetIds)])
      const rows = await store.listDailyPrices(db, { assetIds, days: wanted.map(({ atMs }) => toDay(atMs)) })
      const readOf = new Map(reads.map(({ assetId, read }) => [assetId, read]))
      const prices = new Map(rows.map((row) => [`${row.day} ${row.asset_id}`, row.price]))
      return {
        priceAt: (assetId, atMs) => (assetId === dollar ? one : prices.get(`${toDay(atMs)} ${assetId}`)),
        isPricePending: (assetId, atMs) =>
          findQuote(getAsset(assetId)) !== undefined && !isFinal(toDay(atMs), readOf.get(assetId)),
      }
    },

    correct: (assetId, day, price) => correctPrice(deps, assetId, day, price),

    async takeCorrections(tx, limit) {
      const rows = await store.takeCorrections(tx, limit)
      return rows.map((row) => ({ assetId: row.asset_id, day: row.day }))
    },
  }
}

/** Once a day has settled, its price can be corrected. Refuses a provisional day, and a text that is not a price. */
export async function correctPrice(
  { db, now, onCorrected }: Pick<PricesDeps, 'db' | 'now'> & { onCorrected?: (tx: Sql) => Promise<void> },
  assetId: string,
  day: Day,
  price: Decimal,
): Promise<void> {
  const nowMs = now()
  if (Date.parse(day) + dayMs + settleMs > nowMs) {
    throw invalidParameter('day', 'must be over for an hour: until then its price is provisional')
  }
  if (isNegative(price)) throw invalidParameter('price', 'must not be negative')
  getAsset(assetId)
  await db.transaction(async (tx) => {
    await store.correctDaily(tx, assetId, day, price, nowMs)
    await onCorrected?.(tx)
  })
}

/**
 * What assets are worth now, at most five minutes old. The first reading that finds a stale price requests everything
 * that becomes stale soon: one request for the whole fleet every few minutes, not one per user.
 */
const ages = { staleMs: 5 * 60_000, oldMs: 2.5 * 60_000, limit: 500 }
/**
 * How long this process does not ask a source that failed. Every reading of balances asks, and one that hangs takes
 * seconds of each: with four places, a worker would read thirty connections in a minute. A rate limit is answered at
 * once, and our own budget knows when to ask again.
 */
const restMs = 60_000

interface Rest {
  /** Epoch ms. */
  untilMs: number
}

async function ensureCurrent(deps: DailyPriceDeps, assetIds: readonly string[], rest: Rest): Promise<void> {
  const { db, source, now, scaleWait } = deps
  const known = assetIds.filter((assetId) => assetId === dollar || findQuote(getAsset(assetId)) !== undefined)
  const stale = await store.listStale(db, known, ages)
  if (stale.includes(dollar)) {
    await store.keepCurrent(db, 'definition', [{ assetId: dollar, price: one, method: 'definition' }])
  }
  const quotes = stale.flatMap((assetId) => {
    const quote = findQuote(getAsset(assetId))
    return quote === undefined ? [] : [{ assetId, quote }]
  })
  if (quotes.length === 0 || now() < rest.untilMs) return
  try {
    const coins = quotes.flatMap(({ quote }) => ('coin' in quote ? [quote.coin] : []))
    const currencies = quotes.flatMap(({ quote }) => ('currency' in quote ? [quote.currency] : []))
    const found = await source.fetchCurrent(coins, currencies)
    const prices = quotes.map(({ assetId, quote }): { assetId: string; price: Decimal | undefined; method: Method } =>
      'coin' in quote
        ? { assetId, price: found.coins.get(quote.coin), method: 'simple_price' }
        : { assetId, price: found.currencies.get(quote.currency), method: 'cross_rate' },
    )
    await store.keepCurrent(db, source.name, prices)
  } catch (error) {
    // A bulkhead, like that of the days: the last known prices stay, and a later reading asks again.
    if (!(error instanceof SourceError)) throw error
    const { fault, message } = error
    if (fault !== 'rate_limited') rest.untilMs = now() + scaleWait(restMs)
    deps.log.warn({ source: source.name, assets: quotes.length, fault, reason: message }, 'no current prices for now')
  }
}
