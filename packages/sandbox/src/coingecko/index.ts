/**
 * A CoinGecko-shaped price API: /api/v3/ping, simple/price, simple/supported_vs_currencies, coins/list,
 * coins/{id}/market_chart/range.
 * Sources: https://docs.coingecko.com/demo/reference/simple-price, …/simple-supported-currencies, …/coins-list,
 * …/coins-id-market-chart-range, and …/common-errors-rate-limit for 429 and its body.
 *
 * Unknown ids are silently left out of simple/price, as at CoinGecko. Prices are JSON numbers, and those below 0.0001
 * have an exponent of two digits at least (8.1e-06), as Ruby writes them: answers are written by hand.
 */
import { dayMs } from '@assay/core'
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import { createMeter } from '../core/serving/meter.ts'
import { speedOf, type Pace } from '../core/clock.ts'
import type { Provider } from '../core/serving/provider-server.ts'
import { coins, currencies, type Coin } from '../market/coins.ts'
import { dayOf, findCoin, firstDay, priceText } from '../market/series.ts'

/** The public plan: 30 calls a minute. */
const callsPerMinute = 30
const idsMax = 500

export function createCoinGecko(options: { pace: Pace; nowMs: () => number }): Provider {
  const decayPerSecond = (callsPerMinute / 60) * speedOf(options.pace)
  const meter = createMeter({ max: callsPerMinute, decayPerSecond })
  return {
    id: 'coingecko',
    recognise: () => undefined,
    answer(request, context) {
      const taken = meter.take(1, options.nowMs())
      return taken.accepted
        ? answer(request, context.nowMs)
        : tooMany(Math.max(1, Math.ceil(taken.retryAfterMs / 1000)))
    },
    words: {
      rateLimited: () => tooMany(1),
      revoked: () => problem(401, 'API Key Missing'),
      serviceUnavailable: () => problem(503, 'Service unavailable'),
    },
    insertRow: () => undefined,
  }
}

function answer(request: WireRequest, nowMs: number): WireAnswer {
  if (request.method !== 'GET') return problem(405, 'Method not allowed')
  const chart = /^\/api\/v3\/coins\/([^/]+)\/market_chart\/range$/.exec(request.path)
  if (chart !== null) return marketChart(decodeURIComponent(chart[1] ?? ''), request.query, nowMs)
  if (request.path === '/api/v3/simple/price') return simplePrice(request.query, nowMs)
  if (request.path === '/api/v3/simple/supported_vs_currencies')
    return ok(JSON.stringify(currencies.map(({ id }) => id)))
  if (request.path === '/api/v3/coins/list')
    return ok(JSON.stringify(coins.map(({ id, symbol, name }) => ({ id, symbol, name }))))
  if (request.path === '/api/v3/ping') return ok('{"gecko_says":"(V3) To the Moon!"}')
  return problem(404, 'Incorrect path. Please check https://www.coingecko.com/api/')
}

function simplePrice(query: URLSearchParams, nowMs: number): WireAnswer {
  const ids = listOf(query, 'ids')
  const quotes = listOf(query, 'vs_currencies').map(findCurrency)
  if (ids.length === 0) return problem(422, 'Missing parameter ids')
  if (quotes.length === 0) return problem(422, 'Missing parameter vs_currencies')
  if (ids.length > idsMax) return problem(400, 'too many ids')
  const updated =
    query.get('include_last_updated_at') === 'true' ? `,"last_updated_at":${Math.floor(nowMs / 1000)}` : ''
  const members = ids.map(findListed).flatMap((coin) => {
    if (coin === undefined) return []
    const prices = quotes.flatMap((quote) =>
      quote ? [`"${quote.id}":${asNumber(priceText(coin, quote, dayOf(nowMs)))}`] : [],
    )
    return [`${JSON.stringify(coin.id)}:{${prices.join(',')}${prices.length > 0 ? updated : ''}}`]
  })
  return ok(`{${members.join(',')}}`)
}

/** One point for each day, at 00:00 UTC, both edges included; nothing before 2020 and nothing from the future. */
function marketChart(id: string, query: URLSearchParams, nowMs: number): WireAnswer {
  const coin = findListed(id)
  if (coin === undefined) return problem(404, 'coin not found')
  const quote = findCurrency(query.get('vs_currency') ?? '')
  if (quote === undefined) return problem(422, 'invalid vs_currency')
  const interval = query.get('interval') ?? 'daily'
  if (interval !== 'daily') return problem(422, 'invalid interval')
  const fromMs = momentOf(query.get('from'))
  const toMs = momentOf(query.get('to'))
  if (fromMs === undefined || toMs === undefined || fromMs > toMs) return problem(422, 'invalid date range')
  const first = Math.max(firstDay, Math.ceil(fromMs / dayMs))
  const last = Math.min(dayOf(nowMs), dayOf(toMs))
  const days = first > last ? [] : listDays(coin, quote, last).slice(first - firstDay, last + 1 - firstDay)
  const prices = days.map(({ price }) => price).join(',')
  const none = days.map(({ zero }) => zero).join(',')
  return ok(`{"prices":[${prices}],"market_caps":[${none}],"total_volumes":[${none}]}`)
}

interface Day {
  price: string
  zero: string
}

/** A cache: every account with a wallet asks for 2,000 days of a dozen coins, and the past does not change. */
const written = new Map<Coin, Map<Coin, Day[]>>()

function listDays(coin: Coin, quote: Coin, last: number): readonly Day[] {
  const byQuote = written.get(coin) ?? new Map<Coin, Day[]>()
  written.set(coin, byQuote)
  const days = byQuote.get(quote) ?? []
  byQuote.set(quote, days)
  for (let day = firstDay + days.length; day <= last; day += 1) {
    const price = `[${day * dayMs},${asNumber(priceText(coin, quote, day))}]`
    days.push({ price, zero: `[${day * dayMs},0]` })
  }
  return days
}

/** 0.0000081 as 8.1e-06. */
function asNumber(plain: string): string {
  const [, zeros = '', digits = ''] = /^0\.(0{4,})(\d+)$/.exec(plain) ?? []
  if (digits === '') return plain
  const exponent = String(zeros.length + 1).padStart(2, '0')
  return `${digits.slice(0, 1)}.${digits.slice(1) || '0'}e-${exponent}`
}

function listOf(query: URLSearchParams, name: string): string[] {
  return (query.get(name) ?? '').split(',').filter((one) => one !== '')
}

function findListed(id: string): Coin | undefined {
  return currencies.some((currency) => currency.id === id) ? undefined : findCoin(id)
}

function findCurrency(name: string): Coin | undefined {
  return currencies.find((currency) => currency.id === name.toLowerCase())
}

/** Unix seconds, or a date that CoinGecko recommends: YYYY-MM-DD or YYYY-MM-DDTHH:MM. */
function momentOf(text: string | null): number | undefined {
  if (text === null) return undefined
  if (/^\d{1,11}$/.test(text)) return Number(text) * 1000
  const ms = /^\d{4}-\d\d-\d\d(T\d\d:\d\d)?$/.test(text)
    ? Date.parse(`${text}${text.includes('T') ? ':00' : 'T00:00:00'}Z`)
    : NaN
  return Number.isNaN(ms) ? undefined : ms
}

function ok(body: string): WireAnswer {
  return { status: 200, body }
}

function problem(status: number, error: string): WireAnswer {
  return { status, body: JSON.stringify({ error }), error }
}

function tooMany(seconds: number): WireAnswer {
  const error_message = "You've exceeded the Rate Limit. Please visit https://www.coingecko.com/en/api/pricing"
  const body = JSON.stringify({ status: { error_code: 429, error_message } })
  return { status: 429, headers: { 'retry-after': String(seconds) }, body, error: 'rate limit' }
}
