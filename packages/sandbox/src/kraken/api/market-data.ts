/**
 * Public endpoints: Time, SystemStatus, Assets, AssetPairs, Ticker.
 * Sources: https://docs.kraken.com/api-reference/market-data/get-server-time, …/get-system-status, …/get-asset-info,
 * …/get-tradable-asset-pairs, …/get-ticker-information
 */
import { dayOf, findCoin, priceText } from '../../market/series.ts'
import { assets, findAsset, type Asset } from '../assets.ts'
import { findPair, pairs, type Pair } from './pairs.ts'
import { KrakenRefusal } from '../wire.ts'

export type PublicMethod = (parameters: URLSearchParams, nowMs: number) => unknown

const feeSchedule = [
  [0, 0.26],
  [50_000, 0.24],
  [100_000, 0.22],
]
const makerSchedule = [
  [0, 0.16],
  [50_000, 0.14],
  [100_000, 0.12],
]

export const publicMethods: Readonly<Record<string, PublicMethod>> = {
  Time: (_, nowMs) => ({ unixtime: Math.floor(nowMs / 1000), rfc1123: rfc1123(nowMs) }),

  SystemStatus: (_, nowMs) => ({ status: 'online', timestamp: `${new Date(nowMs).toISOString().slice(0, 19)}Z` }),

  Assets(parameters) {
    const wanted = namesOf(parameters, 'asset')
    const ofClass = parameters.get('aclass') ?? 'currency'
    const found = wanted?.map(getListedAsset) ?? assets.filter((asset) => asset.listed && asset.class === ofClass)
    return Object.fromEntries(found.map((asset) => [asset.code, describeAsset(asset)]))
  },

  AssetPairs(parameters) {
    const found = namesOf(parameters, 'pair')?.map(getPair) ?? pairs
    return Object.fromEntries(found.map((pair) => [pair.name, describePair(pair)]))
  },

  Ticker(parameters, nowMs) {
    const found = namesOf(parameters, 'pair')?.map(getPair) ?? pairs
    return Object.fromEntries(found.map((pair) => [pair.name, describeTicker(pair, nowMs)]))
  },
}

function namesOf(parameters: URLSearchParams, name: string): string[] | undefined {
  const text = parameters.get(name)
  return text === null || text === '' ? undefined : text.split(',')
}

function getListedAsset(name: string): Asset {
  const asset = findAsset(name)
  if (asset?.listed !== true) throw new KrakenRefusal('EQuery:Unknown asset')
  return asset
}

function getPair(name: string): Pair {
  const pair = findPair(name)
  if (pair === undefined) throw new KrakenRefusal('EQuery:Unknown asset pair')
  return pair
}

function describeAsset(asset: Asset): object {
  const { altname, decimals, displayDecimals } = asset
  return { aclass: asset.class, altname, decimals, display_decimals: displayDecimals, status: 'enabled' }
}

function describePair(pair: Pair): object {
  return {
    altname: pair.altname,
    wsname: pair.wsname,
    aclass_base: 'currency',
    base: pair.base.code,
    aclass_quote: 'currency',
    quote: pair.quote.code,
    lot: 'unit',
    cost_decimals: pair.quote.decimals,
    pair_decimals: pair.priceDecimals,
    lot_decimals: pair.lotDecimals,
    lot_multiplier: 1,
    leverage_buy: [],
    leverage_sell: [],
    fees: feeSchedule,
    fees_maker: makerSchedule,
    fee_volume_currency: 'ZUSD',
    margin_call: 80,
    margin_stop: 40,
    ordermin: pair.orderMin,
    costmin: '0.5',
    tick_size: `0.${'1'.padStart(pair.priceDecimals, '0')}`,
    status: 'online',
  }
}

/** Yesterday's price is the open and today's the last; the spread is zero. */
function describeTicker(pair: Pair, nowMs: number): object {
  const base = findCoin(pair.base.coin ?? '')
  const quote = findCoin(pair.quote.coin ?? '')
  if (base === undefined || quote === undefined) throw new KrakenRefusal('EQuery:Unknown asset pair')
  const last = priceText(base, quote, dayOf(nowMs))
  const open = priceText(base, quote, dayOf(nowMs) - 1)
  return {
    a: [last, '1', '1.000'],
    b: [last, '1', '1.000'],
    c: [last, '0.10000000'],
    v: ['120.00000000', '240.00000000'],
    p: [last, last],
    t: [1200, 2400],
    l: [last, last],
    h: [last, last],
    o: open,
  }
}

/** Kraken prints a two-digit year and a numeric zone: "Sun,  7 Jun 20 04:07:53 +0000". */
function rfc1123(ms: number): string {
  const [weekday = '', day = '', month = '', year = '', time = ''] = new Date(ms).toUTCString().split(' ')
  return `${weekday} ${String(Number(day)).padStart(2, ' ')} ${month} ${year.slice(2)} ${time} +0000`
}
