/**
 * One request to CoinGecko's API v3 (docs.coingecko.com), and the two answers that prices come from: simple/price and
 * coins/{id}/market_chart/range. We request `precision=full` and keep the digits that were sent: prices are JSON
 * numbers, some with an exponent (1.2e-7), and become decimal text without rounding.
 */
import { dayMs, findDecimal, isNegative, SourceError, type Decimal } from '@assay/core'
import { z } from 'zod'
import type { Connector, Io } from '../kit/connector.ts'
import { fetchText } from '../kit/http.ts'
import { parseJson } from '../kit/json.ts'

/** A plan of CoinGecko's: a demo key counts requests for its owner, a pro key also opens history older than a year. */
export interface PriceKey {
  plan: 'demo' | 'pro'
  key: string
}

/** Prices need no user's key and no nonce. */
export type PriceIo = Omit<Io, 'nextNonce'> & { priceKey?: PriceKey | undefined }

export interface DailyPrice {
  /** Midnight UTC at which the day begins. */
  dayMs: number
  price: Decimal
}

/**
 * How often we may ask, counted by our address. For years CoinGecko documented 30 calls a minute without a key; now it
 * only says that all users of an address share the limit. So we ask somewhat less often, and much less after a refusal.
 */
export const coinGeckoBudget: Pick<Connector, 'providerId' | 'budget'> = {
  providerId: 'coingecko',
  budget: {
    buckets: [
      {
        name: 'calls',
        scope: 'address',
        tiers: [
          { capacity: 25, refillPerSecond: 25 / 60 },
          { capacity: 8, refillPerSecond: 8 / 60 },
        ],
      },
    ],
    verify: { calls: 1 },
    balances: { calls: 1 },
    partitions: {},
  },
}

const [openHost, proHost] = ['api.coingecko.com', 'pro-api.coingecko.com']
export const coinGeckoHosts: readonly string[] = [openHost, proHost]

interface Point {
  timeMs: number
  price: Decimal
}

const currentAnswer = z.record(z.string(), z.record(z.string(), z.string().nullish()))
const historyAnswer = z.object({ prices: z.array(z.tuple([z.string(), z.string().nullable()])) })

/** The last price of a coin that is no longer traded stays in the answers, and only `last_updated_at` says how old it is. */
const priceAgeMaxMs = dayMs

/** By coin and currency; null or absent when there is no price. */
export async function fetchSimplePrice(
  io: PriceIo,
  coingeckoIds: readonly string[],
  currencies: readonly string[],
): Promise<(coingeckoId: string, currency: string) => Decimal | undefined> {
  const wanted = { ids: coingeckoIds.join(','), vs_currencies: currencies.join(',') }
  const query = { ...wanted, include_last_updated_at: 'true', precision: 'full' }
  const answer = await get(io, 'simple/price', query, currentAnswer)
  const isStale = (prices: Map<string, string | null | undefined>): boolean =>
    Number(prices.get('last_updated_at') ?? Infinity) * 1000 < io.now() - priceAgeMaxMs
  // Looks only at own members: an id must not match the prototype of an object.
  const byId = new Map(Object.entries(answer).map(([id, prices]) => [id, new Map(Object.entries(prices))]))
  return (id, currency) => {
    const prices = byId.get(id)
    return prices === undefined || isStale(prices) ? undefined : findPrice(prices.get(currency) ?? '')
  }
}

/**
 * The prices in [fromMs, toMs), oldest first. With `interval=daily` these are midnight of each day, and for today also
 * the present.
 */
export async function fetchChart(
  io: PriceIo,
  coingeckoId: string,
  currency: string,
  range: { fromMs: number; toMs: number },
): Promise<Point[]> {
  const { fromMs, toMs } = range
  const path = `coins/${encodeURIComponent(coingeckoId)}/market_chart/range`
  const seconds = { from: String(Math.floor(fromMs / 1000)), to: String(Math.ceil(toMs / 1000)) }
  const query = { vs_currency: currency, ...seconds, interval: 'daily', precision: 'full' }
  const { prices } = await get(io, path, query, historyAnswer)
  return prices
    .flatMap(([time, text]): Point[] => {
      const timeMs = Number(time)
      const price = findPrice(text ?? '')
      return price !== undefined && fromMs <= timeMs && timeMs < toMs ? [{ timeMs, price }] : []
    })
    .sort((a, b) => a.timeMs - b.timeMs)
}

/** A coin may be worth nothing, but never less: a negative number is a mistake of the source, and no price. */
function findPrice(text: string): Decimal | undefined {
  const price = findDecimal(text)
  return price === undefined || isNegative(price) ? undefined : price
}

async function get<T>(
  io: PriceIo,
  path: string,
  query: Readonly<Record<string, string>>,
  schema: z.ZodType<T>,
): Promise<T> {
  const { priceKey } = io
  const host = `https://${priceKey?.plan === 'pro' ? proHost : openHost}`
  const url = `${io.baseUrl ?? host}/api/v3/${path}?${new URLSearchParams(query).toString()}`
  const headers: Record<string, string> =
    priceKey === undefined ? {} : { [`x-cg-${priceKey.plan}-api-key`]: priceKey.key }
  // CoinGecko answers 401 to a request that needs a paid plan, and 404 for a coin that it does not know, or no longer
  // knows.
  const text = await fetchText(io, url, { headers, faultByStatus: { 401: 'missing_permission', 404: 'data_hole' } })
  const answer = schema.safeParse(parseJson(text))
  if (!answer.success) throw new SourceError('unreadable_answer', `CoinGecko ${path}: unexpected answer`)
  return answer.data
}
