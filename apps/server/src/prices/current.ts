/**
 * What assets are worth now, at most five minutes old. The first reading that finds a stale price requests everything
 * that becomes stale soon: one request for the whole fleet every few minutes, not one per user.
 */
import { getAsset, parseDecimal, SourceError, type Decimal } from '@assay/core'
import type { DailyPriceDeps } from './daily.ts'
import { findQuote } from './source.ts'
import * as store from './store.ts'
import type { Method } from './store.ts'

const dollar = 'fiat:usd'
const one = parseDecimal('1')
const ages = { staleMs: 5 * 60_000, oldMs: 2.5 * 60_000, limit: 500 }

export async function ensureCurrent(deps: DailyPriceDeps, assetIds: readonly string[]): Promise<void> {
  const { db, source } = deps
  const known = assetIds.filter((assetId) => assetId === dollar || findQuote(getAsset(assetId)) !== undefined)
  const stale = await store.listStale(db, known, ages)
  if (stale.includes(dollar)) {
    await store.keepCurrent(db, 'definition', [{ assetId: dollar, price: one, method: 'definition' }])
  }
  const quotes = stale.flatMap((assetId) => {
    const quote = findQuote(getAsset(assetId))
    return quote === undefined ? [] : [{ assetId, quote }]
  })
  if (quotes.length === 0) return
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
    // A bulkhead, like that of the days: the last known prices stay, and the next reading asks again.
    if (!(error instanceof SourceError)) throw error
    const { fault, message } = error
    deps.log.warn({ source: source.name, assets: quotes.length, fault, reason: message }, 'no current prices for now')
  }
}
