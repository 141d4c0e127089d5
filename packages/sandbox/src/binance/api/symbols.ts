/**
 * The assets and symbols of the simulated Binance. Every amount has eight decimals here: balances, trades and Earn
 * print all of them, wallet endpoints leave trailing zeros out. Source:
 * https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md (exchangeInfo)
 *
 * A delisted symbol stays listed as BREAK, or disappears. `exchangeInfo` then answers −1121 for it; whether `myTrades`
 * still returns its history differs; both have been seen in real accounts.
 */
export const decimals = 8

/** Asset and CoinGecko id. BTT was renamed: its successor is BTTC. */
const assetTable = `
EUR eur
USDT tether
BTC bitcoin
ETH ethereum
BNB binancecoin
USDC usd-coin
DAI dai
XRP ripple
SOL solana
ADA cardano
DOT polkadot
DOGE dogecoin
LTC litecoin
LINK chainlink
ATOM cosmos
KSM kusama
XTZ tezos
FLOW flow
TRX tron
MATIC matic-network
POL polygon-ecosystem-token
UNI uniswap
AAVE aave
AVAX avalanche-2
XLM stellar
XMR monero
ZEC zcash
ETC ethereum-classic
BCH bitcoin-cash
ALGO algorand
FIL filecoin
NEAR near
GRT the-graph
MINA mina-protocol
TIA celestia
SHIB shiba-inu
PEPE pepe
BTTC bittorrent
FLR flare-networks
SGB songbird
LUNA terra-luna-2
LDO lido-dao
LEND -
BUSD -
BRL brl`

export interface Asset {
  name: string
  /** The price behind it, if it has one. */
  coin: string | undefined
  isFiat: boolean
}

const fiat = new Set(['EUR', 'BRL'])

export const assets: readonly Asset[] = assetTable
  .trim()
  .split('\n')
  .map((line) => {
    const [name = '', coin] = line.split(' ')
    return { name, coin: coin === '-' ? undefined : coin, isFiat: fiat.has(name) }
  })

const assetByName = new Map(assets.map((asset) => [asset.name, asset]))

export function findAsset(name: string): Asset | undefined {
  return assetByName.get(name)
}

// Tests invent a handful.
const inventedMax = 1_000

/** Adds an asset that is not known yet. It has no symbol and no price. */
export function ensureAsset(name: string): void {
  if (assetByName.has(name)) return
  if (!/^[A-Za-z0-9][A-Za-z0-9.]{0,39}$/.test(name)) throw new RangeError(`not an asset code: ${name}`)
  if (assetByName.size > assets.length + inventedMax) throw new RangeError('too many asset codes were invented')
  assetByName.set(name, { name, coin: undefined, isFiat: false })
}

/**
 * exchangeInfo lists TRADING and BREAK. For `gone` only myTrades answers; for `erased` nothing does, though trades
 * happened.
 */
export type SymbolStatus = 'TRADING' | 'BREAK' | 'gone' | 'erased'

export interface TradingPair {
  name: string
  base: string
  quote: string
  status: SymbolStatus
  priceDecimals: number
  qtyDecimals: number
}

const quotedInOther = ['BTC EUR', 'ETH EUR', 'BNB EUR', 'ETH BTC', 'BNB BTC', 'LDO BTC', 'SOL BNB', 'EUR USDT']
const unlisted: Readonly<Record<string, SymbolStatus>> = { MATICUSDT: 'BREAK', LENDUSDT: 'gone', BUSDUSDT: 'erased' }

function symbolOf(base: string, quote: string): TradingPair {
  const name = base + quote
  return { name, base, quote, status: unlisted[name] ?? 'TRADING', priceDecimals: decimals, qtyDecimals: 5 }
}

export const symbols: readonly TradingPair[] = [
  ...assets.filter(({ name, isFiat }) => !isFiat && name !== 'USDT').map(({ name }) => symbolOf(name, 'USDT')),
  ...quotedInOther.map((pair) => {
    const [base = '', quote = ''] = pair.split(' ')
    return symbolOf(base, quote)
  }),
]

const symbolByName = new Map(symbols.map((symbol) => [symbol.name, symbol]))

export function findSymbol(name: string): TradingPair | undefined {
  return symbolByName.get(name)
}

export function isListed({ status }: TradingPair): boolean {
  return status === 'TRADING' || status === 'BREAK'
}
