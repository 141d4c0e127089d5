/**
 * The assets the simulated exchange knows, with Kraken's codes. Source:
 * https://docs.kraken.com/api-reference/market-data/get-asset-info, and the support article on `.S .M .B .F .P`.
 *
 * Old codes carry a class letter (X crypto, Z fiat) and bitcoin is XBT; newer ones are plain. A suffix makes another
 * asset with its own balance: `.S` staked (`DOT28.S`: bonded for 28 days), `.M` opt-in rewards, `.F` auto-earning, `.B`
 * yield-bearing, `.P` parachain, `.HOLD` on hold, `.T` tokenized
 * (https://docs.kraken.com/api/docs/rest-api/get-extended-balance). Suffixed codes never carry the class letter: XBT.M,
 * not XXBT.M.
 *
 * Some letters mislead: ZMXN and ZARS are the pesos of Mexico and Argentina, but FLOWH is FLOW (rotki's test_kraken.py
 * knows all three). A coin on a further network may have a code of its own: ETH.INK, USDT0.TEMPO, HYPER.CORE. Those
 * three come from readers of real accounts; no document that we found names their altnames or decimals.
 */
export interface Asset {
  code: string
  altname: string
  decimals: number
  displayDecimals: number
  /** Tokenized stocks have a class of their own: /Assets names them only when asked for that class. */
  class: 'currency' | 'tokenized_asset'
  /** The price behind it, if it has one. */
  coin: string | undefined
  /** False: occurs in histories, but /Assets does not name it (delisted, or newer than the reader). */
  listed: boolean
}

const suffixes: Readonly<Record<string, readonly string[]>> = {
  USD: ['M', 'HOLD'],
  EUR: ['M', 'F', 'HOLD'],
  XBT: ['M', 'F', 'B'],
  ETH: ['F', 'B'],
  ETH2: ['S'],
  ADA: ['S', 'F'],
  ATOM: ['S', 'B'],
  DOT: ['S', 'F', 'B', 'P'],
  DOT28: ['S'],
  FLOW: ['S'],
  FLOWH: ['S'],
  KSM: ['S', 'P'],
  SOL: ['S', 'F', 'B'],
  TRX: ['S', 'F'],
  USDC: ['F', 'M'],
  USDT: ['F', 'M'],
  XTZ: ['S', 'F'],
}

// code, altname, decimals, display decimals, CoinGecko id
const plain = `
ZUSD USD 4 2 usd
ZEUR EUR 4 2 eur
ZGBP GBP 4 2 gbp
CHF CHF 4 2 chf
ZMXN MXN 4 2 mxn
ZARS ARS 4 2 -
XXBT XBT 10 5 bitcoin
XETH ETH 10 5 ethereum
ETH2 ETH2 10 5 ethereum
XXRP XRP 8 5 ripple
XLTC LTC 10 5 litecoin
XXDG XDG 8 2 dogecoin
XXLM XLM 8 5 stellar
XXMR XMR 10 5 monero
XZEC ZEC 10 5 zcash
XETC ETC 10 5 ethereum-classic
AAVE AAVE 10 5 aave
ADA ADA 8 6 cardano
ALGO ALGO 8 5 algorand
ATOM ATOM 8 6 cosmos
AVAX AVAX 10 5 avalanche-2
BCH BCH 10 5 bitcoin-cash
BTT BTT 5 2 bittorrent
DAI DAI 10 5 dai
DOT DOT 10 8 polkadot
DOT28 DOT28 10 8 polkadot
FIL FIL 10 5 filecoin
FLOW FLOW 10 5 flow
FLOWH FLOWH 10 5 flow
FLR FLR 8 5 flare-networks
GRT GRT 10 5 the-graph
KSM KSM 10 8 kusama
LINK LINK 10 5 chainlink
LUNA2 LUNA2 8 5 terra-luna-2
MATIC MATIC 10 5 matic-network
MINA MINA 10 5 mina-protocol
NEAR NEAR 10 5 near
PEPE PEPE 10 2 pepe
POL POL 10 5 polygon-ecosystem-token
SGB SGB 8 5 songbird
SHIB SHIB 5 2 shiba-inu
SOL SOL 10 5 solana
TIA TIA 10 5 celestia
TRX TRX 8 6 tron
UNI UNI 10 5 uniswap
USDC USDC 8 4 usd-coin
USDT USDT 8 4 tether
XTZ XTZ 8 5 tezos
AAPLx AAPLx 10 5 apple-xstock
KFEE FEE 2 2 -
SAI SAI 10 5 dai
ETHW ETHW 10 5 -
STRK STRK 10 5 -
NANO NANO 10 5 -
ETH.INK ETH.INK 10 5 ethereum
USDT0.TEMPO USDT0.TEMPO 8 4 tether
HYPER.CORE HYPER.CORE 8 5 -`

const listed: Asset[] = plain
  .trim()
  .split('\n')
  .flatMap((line) => {
    const [code = '', altname = '', decimals, displayDecimals, coin] = line.split(' ')
    const asset = {
      code,
      altname,
      decimals: Number(decimals),
      displayDecimals: Number(displayDecimals),
      class: 'currency' as const,
      coin: coin === '-' ? undefined : coin,
      listed: true,
    }
    const variants = (suffixes[altname] ?? []).map((suffix) => `${altname}.${suffix}`)
    return [asset, ...variants.map((variant) => ({ ...asset, code: variant, altname: variant }))]
  })

const hidden = { class: 'currency', listed: false } as const

/** Not in /Assets. Eighteen decimals, because nothing says how many an unknown code may have. */
const unlisted: Asset[] = [
  { ...hidden, code: 'ZQNT', altname: 'ZQNT', decimals: 18, displayDecimals: 8, coin: undefined },
  // A wallet suffix that Kraken may add later.
  { ...hidden, code: 'DOT.Q9', altname: 'DOT.Q9', decimals: 10, displayDecimals: 8, coin: 'polkadot' },
]

/** The ledger and the balances write TSLAx.T, /Assets writes TSLAx. */
const tokenized: Asset[] = ['TSLAx', 'SPYx'].flatMap((altname) => {
  const asset = { altname, decimals: 10, displayDecimals: 5, class: 'tokenized_asset', coin: undefined } as const
  return [
    { ...asset, code: altname, listed: true },
    { ...asset, code: `${altname}.T`, altname: `${altname}.T`, listed: false },
  ]
})

export const assets: readonly Asset[] = [...listed, ...tokenized, ...unlisted]

const byCode = new Map(assets.map((asset) => [asset.code, asset]))
const byAltname = new Map(assets.map((asset) => [asset.altname, asset]))

export function getAsset(code: string): Asset {
  const asset = byCode.get(code)
  if (asset === undefined) throw new Error(`the simulated exchange has no asset ${code}`)
  return asset
}

/** By code or altname, as Kraken takes them. */
export function findAsset(name: string): Asset | undefined {
  return byCode.get(name) ?? byAltname.get(name)
}

// Tests invent a handful.
const inventedMax = 1_000

/** Adds a code that /Assets does not name. It gets eighteen decimals, because any coin may have that many. */
export function inventAsset(code: string): Asset {
  if (!/^[A-Za-z0-9][A-Za-z0-9.]{0,39}$/.test(code)) throw new RangeError(`not an asset code: ${code}`)
  if (byCode.size > assets.length + inventedMax) throw new RangeError('too many asset codes were invented')
  const asset: Asset = { ...hidden, code, altname: code, decimals: 18, displayDecimals: 8, coin: undefined }
  byCode.set(code, asset)
  return asset
}
