/**
 * What needs no credentials: time, currencies, exchange rates, prices and products.
 * Sources: https://docs.cdp.coinbase.com/coinbase-app/track-apis/currencies, …/exchange-rates, …/prices, …/time,
 * https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/public/list-public-products; field names of a
 * product as in github.com/coinbase/coinbase-advanced-py, `coinbase/rest/types/product_types.py`.
 */
import { dayOf, findCoin, priceText } from '../../market/series.ts'
import { currencies, findCurrency, type Currency } from '../assets.ts'
import { CoinbaseRefusal } from '../wire.ts'
import { assetIdOf, describeCurrency } from './wallets.ts'

type PublicEndpoint = (query: URLSearchParams, nowMs: number, part: string) => object

const quotes = ['USD', 'EUR', 'USDC']
const listed = currencies.filter((currency) => currency.listed)

/** A `*` stands for one part of the path. */
export const publicEndpoints: Readonly<Record<string, PublicEndpoint>> = {
  '/v2/time': (_, nowMs) => ({
    data: { iso: `${new Date(nowMs).toISOString().slice(0, 19)}Z`, epoch: Math.floor(nowMs / 1_000) },
  }),
  '/v2/currencies': () => ({
    data: listed.filter(({ isFiat }) => isFiat).map(({ code, name }) => ({ id: code, name, min_size: '0.01' })),
  }),
  '/v2/currencies/crypto': () => ({
    data: listed
      .filter(({ isFiat }) => !isFiat)
      .map((currency) => ({ asset_id: assetIdOf(currency.code), ...describeCurrency(currency) })),
  }),
  '/v2/exchange-rates': exchangeRates,
  '/v2/prices/*/spot': spotPrice,
  '/api/v3/brokerage/time': (_, nowMs) => ({
    iso: `${new Date(nowMs).toISOString().slice(0, 19)}Z`,
    epochSeconds: String(Math.floor(nowMs / 1_000)),
    epochMillis: String(nowMs),
  }),
  '/api/v3/brokerage/market/products': listProducts,
  '/api/v3/brokerage/market/products/*': showProduct,
}

/** Futures and perpetuals are not simulated: a list of them is empty. */
export function listProducts(query: URLSearchParams, nowMs: number): object {
  const type = query.get('product_type')
  const products = type === null || type === 'SPOT' ? allProducts(nowMs) : []
  return { products, num_products: products.length }
}

function showProduct(_: URLSearchParams, nowMs: number, id: string): object {
  const found = allProducts(nowMs).find((product) => product.product_id === id)
  if (found === undefined) throw new CoinbaseRefusal('NOT_FOUND')
  return found
}

function allProducts(nowMs: number): { product_id: string }[] {
  return quotes.flatMap((code) => {
    const quote = findCurrency(code)
    const bases = listed.filter((base) => !base.isFiat && base.coin !== undefined && base.code !== code)
    return quote === undefined ? [] : bases.map((base) => describeProduct(base, quote, nowMs))
  })
}

function describeProduct(base: Currency, quote: Currency, nowMs: number): { product_id: string } {
  const id = `${base.code}-${quote.code}`
  const price = priceIn(base, quote, nowMs) ?? ''
  const increment = '0.00000001'
  return {
    product_id: id,
    ...{ price, price_percentage_change_24h: '0.5', volume_24h: '1000', volume_percentage_change_24h: '1' },
    ...{ base_increment: increment, quote_increment: '0.01', price_increment: '0.0001' },
    ...{ quote_min_size: '1', quote_max_size: '10000000', base_min_size: increment, base_max_size: '1000000' },
    ...{ base_name: base.name, quote_name: quote.name, watched: false, is_disabled: false, new: false },
    ...{ status: 'online', cancel_only: false, limit_only: false, post_only: false, trading_disabled: false },
    ...{ auction_mode: false, product_type: 'SPOT', quote_currency_id: quote.code, base_currency_id: base.code },
    ...{ fcm_trading_session_details: null, mid_market_price: '', alias: '', alias_to: [] },
    ...{ base_display_symbol: base.code, quote_display_symbol: quote.code, view_only: false },
    ...{ display_name: id, product_venue: 'CBE', approximate_quote_24h_volume: '1000000' },
  }
}

/** How much of each currency one unit of the asked one buys. */
function exchangeRates(query: URLSearchParams, nowMs: number): object {
  const code = query.get('currency') ?? 'USD'
  const of = findCurrency(code)
  if (of?.coin === undefined) throw new CoinbaseRefusal('invalid_request')
  const rates = listed.flatMap((to) => {
    const rate = priceIn(of, to, nowMs)
    return rate === undefined ? [] : [[to.code, rate]]
  })
  return { data: { currency: code, rates: Object.fromEntries(rates) as Record<string, string> } }
}

function spotPrice(_: URLSearchParams, nowMs: number, pair: string): object {
  const [base = '', currency = ''] = pair.split('-')
  const [of, into] = [findCurrency(base), findCurrency(currency)]
  const amount = of && into && priceIn(of, into, nowMs)
  if (amount === undefined) throw new CoinbaseRefusal('not_found')
  return { data: { amount, base, currency } }
}

function priceIn(of: Currency, into: Currency, nowMs: number): string | undefined {
  const [coin, quote] = [findCoin(of.coin ?? ''), findCoin(into.coin ?? '')]
  return coin && quote && priceText(coin, quote, dayOf(nowMs))
}
