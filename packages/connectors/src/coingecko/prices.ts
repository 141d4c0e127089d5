/**
 * Prices in US dollars from CoinGecko's public API v3 (docs.coingecko.com): simple/price and
 * coins/{id}/market_chart/range. `precision=full`, and digits as they were sent.
 *
 * Without a paid plan it answers about 30 requests a minute and only the last 365 days; what is older is a data_hole,
 * not a price of 0. An id that it does not know is simply not in the answer.
 */
import { findDecimal, SourceError, type Decimal } from '@assay/core'
import { z } from 'zod'
import type { Io } from '../kit/connector.ts'
import { fetchText } from '../kit/http.ts'
import { parseJson } from '../kit/json.ts'

/** No key and no nonce: prices belong to nobody. */
export type PriceIo = Omit<Io, 'nextNonce'>

export interface DailyPrice {
  /** Midnight UTC at which the day begins. */
  dayMs: number
  price: Decimal
}

// Ids are up to about 60 characters, and a URL of some 8,000 passes everywhere.
const idsPerRequestMax = 100
const dayMs = 24 * 3_600_000

const currentAnswer = z.record(z.string(), z.object({ usd: z.string().nullish() }))
const historyAnswer = z.object({ prices: z.array(z.tuple([z.string(), z.string().nullable()])) })

/** Ids without a price are not in the map. */
export async function fetchCurrentPrices(io: PriceIo, coingeckoIds: readonly string[]): Promise<Map<string, Decimal>> {
  const prices = new Map<string, Decimal>()
  for (let at = 0; at < coingeckoIds.length; at += idsPerRequestMax) {
    const ids = coingeckoIds.slice(at, at + idsPerRequestMax).join(',')
    const answer = await get(io, 'simple/price', { ids, vs_currencies: 'usd', precision: 'full' }, currentAnswer)
    for (const [id, { usd }] of Object.entries(answer)) {
      const price = findDecimal(usd ?? '')
      if (price !== undefined) prices.set(id, price)
    }
  }
  return prices
}

/**
 * The first price of each day in [fromMs, toMs), oldest first. CoinGecko chooses the step itself: five minutes, an
 * hour or a day, by the length of the range.
 */
export async function fetchDailyPrices(
  io: PriceIo,
  coingeckoId: string,
  fromMs: number,
  toMs: number,
): Promise<DailyPrice[]> {
  const path = `coins/${encodeURIComponent(coingeckoId)}/market_chart/range`
  const range = { from: String(Math.floor(fromMs / 1000)), to: String(Math.ceil(toMs / 1000)) }
  const { prices } = await get(io, path, { vs_currency: 'usd', ...range, precision: 'full' }, historyAnswer)
  const byDay = new Map<number, DailyPrice>()
  for (const [time, text] of prices) {
    const timeMs = Number(time)
    const price = findDecimal(text ?? '')
    const day = timeMs - (timeMs % dayMs)
    if (price === undefined || !(fromMs <= timeMs && timeMs < toMs) || byDay.has(day)) continue
    byDay.set(day, { dayMs: day, price })
  }
  return [...byDay.values()].sort((a, b) => a.dayMs - b.dayMs)
}

async function get<T>(
  io: PriceIo,
  path: string,
  query: Readonly<Record<string, string>>,
  schema: z.ZodType<T>,
): Promise<T> {
  const url = `${io.baseUrl ?? 'https://api.coingecko.com'}/api/v3/${path}?${new URLSearchParams(query).toString()}`
  // 401 is how it refuses what only paid plans may see; 404 is a coin it does not know (any more).
  const text = await fetchText(io, url, { faultByStatus: { 401: 'data_hole', 404: 'data_hole' } })
  const answer = schema.safeParse(parseJson(text))
  if (!answer.success) throw new SourceError('venue_down', `CoinGecko ${path}: unexpected answer`)
  return answer.data
}
