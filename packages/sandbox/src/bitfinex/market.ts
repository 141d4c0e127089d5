/**
 * Public data: whether the platform works, and its configuration.
 * Sources: https://docs.bitfinex.com/reference/rest-public-platform-status, …/reference/rest-public-conf
 *
 * Bitfinex uses its own codes for some coins: UST is Tether and UDC is USDC. A pair of two codes with three letters is
 * written in one word, any other with a colon.
 */
import { findCoin } from '../market/series.ts'
import { assets, pairs, type Pair } from '../spot/assets.ts'
import type { Network } from '../spot/story.ts'
import { BitfinexRefusal } from './wire.ts'

const ownCodes: Readonly<Record<string, string>> = { USDT: 'UST', USDC: 'UDC' }

export function assetCodeOf(asset: string): string {
  return ownCodes[asset] ?? asset
}

export function pairOf({ base, quote }: Pick<Pair, 'base' | 'quote'>): string {
  const [one, other] = [assetCodeOf(base), assetCodeOf(quote)]
  return one.length === 3 && other.length === 3 ? one + other : `${one}:${other}`
}

const methods: Readonly<Record<Network, string>> = {
  bitcoin: 'BITCOIN',
  ethereum: 'ETHEREUM',
  tron: 'TRX',
  solana: 'SOL',
  ripple: 'XRP',
  polkadot: 'DOT',
  dogecoin: 'DOGE',
  litecoin: 'LITECOIN',
  cardano: 'ADA',
}

/** "TETHERUSX": a token has a method for each of its chains, a coin the name of its own. */
export function methodOf(asset: string, network: Network): string {
  if (asset === 'USDT') return network === 'tron' ? 'TETHERUSX' : 'TETHERUSE'
  if (asset === 'USDC') return network === 'solana' ? 'USDCSOL' : 'USDC'
  return network === 'ethereum' && asset !== 'ETH' ? asset : methods[network]
}

const codes = assets.map(({ code }) => assetCodeOf(code))
const transactions = assets.flatMap(({ code, networks }) =>
  networks.map((network) => ({ code: assetCodeOf(code), method: methodOf(code, network) })),
)

const configurations: Readonly<Record<string, readonly unknown[]>> = {
  'pub:info:pair': pairs.map((pair) => [
    pairOf(pair),
    [null, null, null, '0.00000001', '1000000000.0', null, null, null, null, null, null, null],
  ]),
  'pub:info:pair:futures': [],
  'pub:list:pair:exchange': pairs.map(pairOf),
  'pub:list:pair:securities': [],
  'pub:list:pair:margin': [],
  'pub:list:currency': codes,
  'pub:list:currency:margin': [],
  'pub:map:currency:sym': [
    ['UDC', 'USDC'],
    ['UST', 'USDt'],
  ],
  'pub:map:currency:label': assets.map(({ code, coin }) => [assetCodeOf(code), findCoin(coin)?.name ?? code]),
  'pub:map:currency:unit': [],
  'pub:map:currency:undl': [],
  'pub:map:currency:pool': assets
    .filter(({ code, networks }) => networks.includes('ethereum') && code !== 'ETH')
    .map(({ code }) => [assetCodeOf(code), 'ETH']),
  'pub:map:currency:explorer': codes.map((code) => [code, ['https://example.com', null, null]]),
  'pub:map:currency:tx:fee': codes.map((code) => [code, [0, 0.1]]),
  'pub:map:tx:method': transactions.map(({ code, method }) => [method, [code]]),
  'pub:info:tx:status': transactions.map(({ method }) => [method, 1, 1, null, null, null, null, 0, 0, null, null, 3]),
}

/** Several names, separated by commas: one answer for each. */
export function conf(names: string): unknown[] {
  return names.split(',').map((name) => {
    const found = Object.hasOwn(configurations, name) ? configurations[name] : undefined
    if (found === undefined) throw new BitfinexRefusal(10020, 'config: invalid')
    return found
  })
}
