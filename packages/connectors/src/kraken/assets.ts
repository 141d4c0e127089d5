/**
 * What Kraken's asset codes mean. Outside truth: docs.kraken.com (get-account-balance, "Symbol Extensions"),
 * support.kraken.com "Explanation of Asset Codes", ccxt's commonCurrencies, and rotki's issue 6587 for bonded codes.
 *
 * A code is an asset and, behind a dot, the wallet it lies in: `DOT28.S` is DOT, bonded for 28 days. Old listings have
 * an X (crypto) or Z (fiat) in front, and earn wallets sometimes lack it: XXBT and XBT.F are one asset. Kraken's LUNA
 * is what others call LUNC, and its LUNA2 is their LUNA.
 */
import { assetOf, findKnownAsset, type Asset } from '@assay/core'

/** Kraken's other names for its own codes, brought to the one without a prefix. */
const aliases: ReadonlyMap<string, string> = toMap(
  'XXBT:XBT BTC:XBT XXDG:XDG DOGE:XDG XETH:ETH ETH2:ETH XETC:ETC XLTC:LTC XMLN:MLN XREP:REP XXLM:XLM XXMR:XMR XXRP:XRP ' +
    'XZEC:ZEC RNDR:RENDER FEE:KFEE ZUSD:USD ZEUR:EUR ZGBP:GBP ZCAD:CAD ZJPY:JPY ZAUD:AUD ZKRW:KRW',
)

// Kraken's code on the left, the symbol under which core knows the asset on the right.
const renamed = toMap('XBT:BTC XDG:DOGE LUNA:LUNC LUNA2:LUNA REPV2:REP')
const sameCode =
  'ETH ETC USDT USDC DAI PYUSD TUSD XRP SOL BNB SHIB PEPE WIF BONK ADA TRX AVAX DOT KSM LINK LTC BCH XLM XMR ZEC DASH ' +
  'XTZ ATOM OSMO TIA INJ SEI SUI APT NEAR ICP FIL ALGO HBAR EOS FLOW MINA TON KAS TAO POL MATIC ARB OP STRK IMX UNI ' +
  'AAVE MKR COMP CRV SNX LDO SUSHI YFI 1INCH GRT ENS BAT RENDER FET SAND MANA AXS APE CHZ JUP PYTH ONDO ENA PAXG WBTC ' +
  'ETHW QTUM KAVA USD EUR GBP CAD JPY CHF AUD AED KRW'

const table: ReadonlyMap<string, string> = new Map(
  [...renamed, ...sameCode.split(' ').map((code) => [code, code] as const)].map(([code, symbol]) => {
    const asset = findKnownAsset(symbol)
    if (asset === undefined) throw new Error(`core does not know ${symbol}`)
    return [code, asset.assetId]
  }),
)

export type Place = 'spot' | 'earning' | 'staked'

/**
 * Where each wallet's money is. `.F` earns by itself and can be spent at once (Kraken trades X and X.F as one balance);
 * `.HOLD` is a deposit not yet cleared, which is the user's like any other.
 */
const placeByWallet: ReadonlyMap<string, Place> = new Map<string, Place>([
  ['S', 'staked'],
  ['M', 'staked'],
  ['B', 'staked'],
  ['P', 'staked'],
  ['F', 'earning'],
  ['HOLD', 'spot'],
])

interface KrakenCode {
  asset: Asset
  /** Kraken's own code without prefix, wallet and bonding days. */
  base: string
  place: Place
  /** False when the wallet behind the dot is one we do not know: then it is an asset of its own. */
  verified: boolean
}

export function readCode(code: string): KrakenCode {
  const dot = code.lastIndexOf('.')
  if (dot <= 0) {
    const base = aliases.get(code) ?? code
    // Staked ether had a code of its own until withdrawals opened.
    return { asset: toAsset(base), base, place: code === 'ETH2' ? 'staked' : 'spot', verified: true }
  }
  const wallet = code.slice(dot + 1)
  const name = code.slice(0, dot)
  const place = placeByWallet.get(wallet)
  if (place !== undefined) {
    const base = baseOf(name, wallet)
    return { asset: toAsset(base), base, place, verified: true }
  }
  // Tokenised shares: `TSLAx.T` is TSLAx, but a share must not become the coin that has its ticker.
  if (wallet === 'T' && !table.has(name)) return { asset: toAsset(name), base: name, place: 'spot', verified: true }
  return { asset: toAsset(code), base: code, place: 'spot', verified: false }
}

function baseOf(name: string, wallet: string): string {
  // Bonding days, at most a month of them: DOT28.S is DOT, while C98.S is a coin called C98.
  const bonded = wallet === 'S' ? /^(.*[A-Z])(?:0[1-9]|[12]\d|3[01])$/.exec(name)?.[1] : undefined
  const base = bonded ?? name
  return aliases.get(base) ?? base
}

function toAsset(base: string): Asset {
  return assetOf('kraken', base, table)
}

function toMap(pairs: string): Map<string, string> {
  return new Map(pairs.split(' ').map((pair) => pair.split(':', 2) as [string, string]))
}
