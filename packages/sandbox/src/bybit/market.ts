/**
 * Public data: the clock, the pairs, the coins. Sources: https://bybit-exchange.github.io/docs/v5/market/time,
 * …/market/instrument, …/asset/coin-info, …/system-status
 */
import type { CallContext } from '../core/serving/provider-server.ts'
import { findCoin } from '../market/series.ts'
import { assets, pairs, type Pair } from '../spot/assets.ts'
import type { Network } from '../spot/story.ts'
import { BybitRefusal, type Answer } from './wire.ts'

const categories = new Set(['spot', 'linear', 'inverse', 'option'])

export function categoryOf(query: URLSearchParams): string {
  const category = query.get('category') ?? ''
  if (!categories.has(category)) throw new BybitRefusal(10001, 'params error: Category is invalid')
  return category
}

export function symbolOf({ base, quote }: Pick<Pair, 'base' | 'quote'>): string {
  return base + quote
}

/** Bybit's name of the chain, and the one it shows. */
export const chains: Readonly<Record<Network, { chain: string; chainType: string }>> = {
  bitcoin: { chain: 'BTC', chainType: 'BTC' },
  ethereum: { chain: 'ETH', chainType: 'Ethereum (ERC20)' },
  tron: { chain: 'TRX', chainType: 'TRC20' },
  solana: { chain: 'SOL', chainType: 'SOL' },
  ripple: { chain: 'XRP', chainType: 'XRP' },
  polkadot: { chain: 'DOT', chainType: 'DOT' },
  dogecoin: { chain: 'DOGE', chainType: 'DOGE' },
  litecoin: { chain: 'LTC', chainType: 'LTC' },
  cardano: { chain: 'ADA', chainType: 'ADA' },
}

export function time(_: URLSearchParams, { nowMs }: CallContext): Answer {
  const ms = Math.floor(nowMs)
  return { retMsg: 'OK', result: { timeSecond: String(Math.floor(ms / 1000)), timeNano: `${ms}000000` } }
}

export function systemStatus(): Answer {
  return { retMsg: '', result: { list: [] } }
}

/** This exchange has only spot pairs; ccxt also requests derivatives before it reads anything. */
export function instrumentsInfo(query: URLSearchParams): Answer {
  const category = categoryOf(query)
  const symbol = query.get('symbol')
  const listed = category === 'spot' ? pairs.filter((pair) => symbol === null || symbolOf(pair) === symbol) : []
  const list = listed.map(describePair)
  return { retMsg: 'OK', result: { category, list, ...(category !== 'spot' && { nextPageCursor: '' }) } }
}

function describePair(pair: Pair): object {
  const step = (decimals: number): string => (decimals === 0 ? '1' : `0.${'1'.padStart(decimals, '0')}`)
  return {
    symbolId: 1 + pairs.indexOf(pair),
    symbol: symbolOf(pair),
    baseCoin: pair.base,
    quoteCoin: pair.quote,
    innovation: '0',
    status: 'Trading',
    marginTrading: 'utaOnly',
    stTag: '0',
    lotSizeFilter: {
      basePrecision: step(pair.qtyDecimals),
      quotePrecision: '0.00000001',
      minOrderQty: step(pair.qtyDecimals),
      maxOrderQty: '1000000000',
      minOrderAmt: '5',
      maxOrderAmt: '8000000',
      maxLimitOrderQty: '1000000000',
      maxMarketOrderQty: '500000000',
      postOnlyMaxLimitOrderSize: '5000000000',
    },
    priceFilter: { tickSize: step(pair.priceDecimals) },
    riskParameters: { priceLimitRatioX: '0.005', priceLimitRatioY: '0.01' },
    symbolType: '',
  }
}

export function coinInfo(coin: string | null): Answer {
  const rows = assets
    .filter(({ code }) => coin === null || code === coin)
    .map(({ code, coin: id, networks }) => ({
      name: findCoin(id)?.name ?? code,
      coin: code,
      remainAmount: '10000000',
      chains: networks.map((network) => ({
        ...chains[network],
        confirmation: '6',
        withdrawFee: '0.1',
        depositMin: '0',
        withdrawMin: '1',
        chainDeposit: '1',
        chainWithdraw: '1',
        minAccuracy: '8',
        withdrawPercentageFee: '0',
        contractAddress: '',
        safeConfirmNumber: '65',
        withdrawMax: '10000000',
      })),
    }))
  return { retMsg: 'success', result: { rows } }
}
