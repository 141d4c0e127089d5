/**
 * What Kraken's asset codes mean. Outside truth: docs.kraken.com (get-account-balance, "Symbol Extensions"),
 * support.kraken.com "Explanation of Asset Codes", ccxt's commonCurrencies, and rotki's issue 6587 for bonded codes.
 *
 * A code is an asset and, behind a dot, the wallet it lies in: `DOT28.S` is DOT, bonded for 28 days. Old listings have
 * an X (crypto) or Z (fiat) in front, and earn wallets sometimes lack it: XXBT and XBT.F are one asset. Which asset a
 * bare code means is in core's registry (assets/codes.ts).
 */
import { assetOf, isKnownAsset, type Asset } from '@assay/core'

/** Kraken's other names for its own codes, brought to the one without a prefix. */
const aliases: ReadonlyMap<string, string> = toMap(
  'XXBT:XBT BTC:XBT XXDG:XDG DOGE:XDG XETH:ETH ETH2:ETH XETC:ETC XLTC:LTC XMLN:MLN XREP:REP XXLM:XLM XXMR:XMR XXRP:XRP ' +
    'XZEC:ZEC RNDR:RENDER FEE:KFEE ZUSD:USD ZEUR:EUR ZGBP:GBP ZCAD:CAD ZJPY:JPY ZAUD:AUD ZKRW:KRW ZMXN:MXN ZARS:ARS',
)

/**
 * Networks that Kraken writes behind the dot when it lists one coin on several (`ETH.INK` is ether on Ink). The coin is the
 * same one, and can be spent.
 */
const networks: ReadonlySet<string> = new Set(['INK', 'TEMPO', 'CORE', 'BASE', 'ARB', 'OP', 'SOL', 'POL'])

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
  /** False when we do not know the wallet behind the dot: then it is a separate asset. */
  verified: boolean
}

/** The meaning that a code has today. */
const today = Number.MAX_SAFE_INTEGER

export function readCode(code: string, atMs = today): KrakenCode {
  const toAsset = (base: string): Asset => assetOf('kraken', base, atMs)
  const dot = code.lastIndexOf('.')
  if (dot <= 0) {
    const base = aliases.get(code) ?? code
    // Staked ether had its own code until withdrawals opened.
    return { asset: toAsset(base), base, place: code === 'ETH2' ? 'staked' : 'spot', verified: true }
  }
  const wallet = code.slice(dot + 1)
  const name = code.slice(0, dot)
  const place = placeByWallet.get(wallet)
  if (place !== undefined) {
    const base = baseOf(name, wallet)
    return { asset: toAsset(base), base, place, verified: true }
  }
  if (networks.has(wallet)) {
    const base = aliases.get(name) ?? name
    const asset = toAsset(base)
    if (isKnownAsset(asset.assetId)) return { asset, base, place: 'spot', verified: true }
  }
  // Tokenised shares: `TSLAx.T` is TSLAx, but a share must not become the coin that has its ticker.
  if (wallet === 'T' && !isKnownAsset(toAsset(name).assetId))
    return { asset: toAsset(name), base: name, place: 'spot', verified: true }
  // A class of shares contains a dot: `BRK.Bx`.
  const whole = toAsset(code)
  return { asset: whole, base: code, place: 'spot', verified: whole.kind === 'share' }
}

function baseOf(name: string, wallet: string): string {
  // Bonding days, at most a month of them: DOT28.S is DOT, while C98.S is a coin called C98.
  const bonded = wallet === 'S' ? /^(.*[A-Z])(?:0[1-9]|[12]\d|3[01])$/.exec(name)?.[1] : undefined
  const base = bonded ?? name
  return aliases.get(base) ?? base
}

function toMap(pairs: string): Map<string, string> {
  return new Map(pairs.split(' ').map((pair) => pair.split(':', 2) as [string, string]))
}
