/**
 * Prices in US dollars from CoinGecko: those of coins come from its markets, those of currencies from a cross rate.
 *
 * CoinGecko has no history of currencies, but quotes every coin in all of them. So a euro is what bitcoin cost in
 * dollars, divided by what it cost in euros at the same moment. Bitcoin has the deepest of all markets. The rate is
 * rounded half to even at `rateDecimals`.
 *
 * Without a paid plan CoinGecko answers only for the last 365 days. It refuses a longer range as a whole (401, code
 * 10012), so we request that year instead. The result names its first day: the days before were refused, not found
 * empty, and must be requested again. An id that it does not know is simply not in the answer of current prices, and a
 * data_hole in history.
 */
import { dayMs, divide, SourceError, type Decimal } from '@assay/core'
import { fetchChart, fetchSimplePrice, type DailyPrice, type PriceIo } from './client.ts'

export { coinGeckoBudget } from './client.ts'
export type { DailyPrice, PriceIo, PriceKey } from './client.ts'

export interface CurrentPrices {
  /** By CoinGecko's id. Coins without a price are not in the map. */
  coins: Map<string, Decimal>
  /** US dollars for one unit, by CoinGecko's code (`eur`). */
  currencies: Map<string, Decimal>
}

interface Range {
  fromMs: number
  toMs: number
}

// No limit on ids is documented. They are up to about 60 characters, and a URL of some 8,000 passes everywhere.
const idsPerRequestMax = 100
const market = 'bitcoin'
const rateDecimals = 12
/** Bitcoin moves more in an hour than a currency in a month: the two prices of a cross rate must be of one moment. */
const momentMs = 5 * 60_000
/** A day less than the plan's year, whose edge moves while we ask. */
const freeHistoryMs = 364 * dayMs

/** One request for each hundred coins; the currencies come with the first. */
export async function fetchCurrentPrices(
  io: PriceIo,
  coingeckoIds: readonly string[],
  currencies: readonly string[],
): Promise<CurrentPrices> {
  const found: CurrentPrices = { coins: new Map(), currencies: new Map() }
  const ids = currencies.length === 0 ? coingeckoIds : [market, ...coingeckoIds.filter((id) => id !== market)]
  for (let at = 0; at < ids.length; at += idsPerRequestMax) {
    const batch = ids.slice(at, at + idsPerRequestMax)
    const quoted = at === 0 ? currencies : []
    const priceOf = await fetchSimplePrice(io, batch, ['usd', ...quoted])
    for (const id of batch) {
      const price = priceOf(id, 'usd')
      if (price !== undefined && coingeckoIds.includes(id)) found.coins.set(id, price)
    }
    for (const currency of quoted) {
      const rate = toRate(priceOf(market, 'usd'), priceOf(market, currency))
      if (rate !== undefined) found.currencies.set(currency, rate)
    }
  }
  return found
}

/** `answeredFromMs`: days before it were refused. Otherwise a day that is not there has no price. */
export interface DailyAnswer<Prices> {
  answeredFromMs: number
  prices: Prices
}

/** The first price of each day in [fromMs, toMs), oldest first. */
export async function fetchDailyPrices(
  io: PriceIo,
  coingeckoId: string,
  fromMs: number,
  toMs: number,
): Promise<DailyAnswer<DailyPrice[]>> {
  return withinPlan(io, { fromMs, toMs }, async (range) => {
    const first = firstOfDays(await fetchChart(io, coingeckoId, 'usd', range))
    return [...first].map(([day, { price }]) => ({ dayMs: day, price }))
  })
}

/**
 * US dollars for one unit of each currency, in the same form. It takes one request for each currency, and one for all
 * of them together.
 */
export async function fetchDailyRates(
  io: PriceIo,
  currencies: readonly string[],
  fromMs: number,
  toMs: number,
): Promise<DailyAnswer<Map<string, DailyPrice[]>>> {
  return withinPlan(io, { fromMs, toMs }, async (range) => {
    const dollars = firstOfDays(await fetchChart(io, market, 'usd', range))
    const rates = new Map<string, DailyPrice[]>()
    for (const currency of currencies) {
      const quotes = firstOfDays(await fetchChart(io, market, currency, range))
      const days = [...dollars].flatMap(([day, dollar]): DailyPrice[] => {
        const quote = quotes.get(day)
        if (quote === undefined || Math.abs(quote.timeMs - dollar.timeMs) > momentMs) return []
        const price = toRate(dollar.price, quote.price)
        return price === undefined ? [] : [{ dayMs: day, price }]
      })
      rates.set(currency, days)
    }
    return rates
  })
}

function toRate(dollars: Decimal | undefined, units: Decimal | undefined): Decimal | undefined {
  return dollars === undefined || units === undefined ? undefined : divide(dollars, units, rateDecimals)
}

/** Points are oldest first. */
function firstOfDays<P extends { timeMs: number }>(points: readonly P[]): Map<number, P> {
  const first = new Map<number, P>()
  for (const point of points) {
    const day = point.timeMs - (point.timeMs % dayMs)
    if (!first.has(day)) first.set(day, point)
  }
  return first
}

async function withinPlan<T>(io: PriceIo, range: Range, ask: (range: Range) => Promise<T>): Promise<DailyAnswer<T>> {
  try {
    return { answeredFromMs: range.fromMs, prices: await ask(range) }
  } catch (error) {
    const freeFromMs = io.now() - freeHistoryMs
    const mayBeOld = error instanceof SourceError && error.fault === 'missing_permission'
    if (!mayBeOld || range.fromMs >= freeFromMs || range.toMs <= freeFromMs) throw error
    const answeredFromMs = freeFromMs - (freeFromMs % dayMs) + dayMs
    return { answeredFromMs, prices: await ask({ fromMs: answeredFromMs, toMs: range.toMs }) }
  }
}
