/**
 * The coins and pairs of the simulated spot exchanges. Amounts have eight decimals everywhere. The decimals of a pair's
 * price and quantity add up to eight, so that price times quantity is the exact cost: OKX reports no cost, and a reader
 * can only multiply.
 */
import { dayOf, findCoin, priceDecimals, priceInUsd, priceText } from '../market/series.ts'
import type { Network } from './story.ts'

export const decimals = 8

export interface Asset {
  code: string
  /** CoinGecko's id. */
  coin: string
  networks: readonly Network[]
}

export const assets: readonly Asset[] = [
  { code: 'BTC', coin: 'bitcoin', networks: ['bitcoin'] },
  { code: 'ETH', coin: 'ethereum', networks: ['ethereum'] },
  { code: 'USDT', coin: 'tether', networks: ['tron', 'ethereum'] },
  { code: 'USDC', coin: 'usd-coin', networks: ['ethereum', 'solana'] },
  { code: 'SOL', coin: 'solana', networks: ['solana'] },
  { code: 'XRP', coin: 'ripple', networks: ['ripple'] },
  { code: 'DOT', coin: 'polkadot', networks: ['polkadot'] },
  { code: 'DOGE', coin: 'dogecoin', networks: ['dogecoin'] },
  { code: 'LTC', coin: 'litecoin', networks: ['litecoin'] },
  { code: 'ADA', coin: 'cardano', networks: ['cardano'] },
  { code: 'LINK', coin: 'chainlink', networks: ['ethereum'] },
  { code: 'PEPE', coin: 'pepe', networks: ['ethereum'] },
]

const assetByCode = new Map(assets.map((asset) => [asset.code, asset]))

export interface Pair {
  /** "BTC/USDT". */
  name: string
  base: string
  quote: string
  priceDecimals: number
  qtyDecimals: number
}

function pair(name: string, inPrice: number): Pair {
  const [base = '', quote = ''] = name.split('/')
  return { name, base, quote, priceDecimals: inPrice, qtyDecimals: decimals - inPrice }
}

export const pairs: readonly Pair[] = [
  pair('BTC/USDT', 2),
  pair('ETH/USDT', 2),
  pair('SOL/USDT', 3),
  pair('XRP/USDT', 4),
  pair('DOT/USDT', 4),
  pair('DOGE/USDT', 5),
  pair('LTC/USDT', 2),
  pair('ADA/USDT', 4),
  pair('LINK/USDT', 3),
  pair('PEPE/USDT', 8),
  pair('USDC/USDT', 4),
  pair('BTC/USDC', 2),
  pair('ETH/BTC', 5),
]

const pairByName = new Map(pairs.map((one) => [one.name, one]))

export function getPair(name: string): Pair {
  const found = pairByName.get(name)
  if (found === undefined) throw new RangeError(`the simulated exchange has no pair ${name}`)
  return found
}

// A bot trades many times a day at one price, so each pair's latest price is kept.
const priceOfDay = new Map<string, { day: number; price: string }>()

/** That day's price, cut to the pair's decimals. */
export function marketPrice({ name, base, quote, priceDecimals: shown }: Pair, atMs: number): string {
  const day = dayOf(atMs)
  const known = priceOfDay.get(name)
  if (known?.day === day) return known.price
  const [given, taken] = [base, quote].map((code) => findCoin(assetByCode.get(code)?.coin ?? ''))
  if (given === undefined || taken === undefined) throw new Error(`${name} has no market price: set one in the story`)
  const [whole = '', fraction = ''] = priceText(given, taken, day).split('.')
  const price = `${whole}.${fraction.slice(0, shown)}`.replace(/\.$/, '')
  priceOfDay.set(name, { day, price })
  return price
}

/** US dollars for this much of an asset, with the same decimals; zero for an asset without a market. */
export function toDollars(code: string, units: bigint, atMs: number): bigint {
  const coin = findCoin(assetByCode.get(code)?.coin ?? '')
  return coin === undefined ? 0n : (units * priceInUsd(coin, dayOf(atMs))) / 10n ** BigInt(priceDecimals)
}
