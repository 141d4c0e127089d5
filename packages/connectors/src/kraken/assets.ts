/**
 * Maps Kraken's asset codes to assets. Sources: docs.kraken.com (get-account-balance, "Symbol Extensions"),
 * support.kraken.com "Explanation of Asset Codes", ccxt's commonCurrencies, and rotki's issue 6587 for bonded codes.
 *
 * A code names an asset and, after a dot, its wallet or network: `DOT28.S` is DOT, bonded for 28 days. Old listings
 * have an X (crypto) or Z (fiat) prefix, which earn wallets sometimes lack: XXBT and XBT.F are the same asset. Core's
 * registry (assets/codes.ts) maps bare codes.
 */
import { assetOf, isKnownAsset, type Asset } from '@assay/core'

/** Kraken's other names for its own codes, mapped to the code without a prefix. */
const aliases: ReadonlyMap<string, string> = toMap(
  'XXBT:XBT BTC:XBT XXDG:XDG DOGE:XDG XETH:ETH ETH2:ETH XETC:ETC XLTC:LTC XMLN:MLN XREP:REP XXLM:XLM XXMR:XMR XXRP:XRP ' +
    'XZEC:ZEC RNDR:RENDER FEE:KFEE ZUSD:USD ZEUR:EUR ZGBP:GBP ZCAD:CAD ZJPY:JPY ZAUD:AUD ZKRW:KRW ZMXN:MXN ZARS:ARS',
)

/**
 * Networks that Kraken writes after the dot when it lists a coin on several of them (`ETH.INK` is ether on Ink). It is
 * the same coin and can be spent.
 */
const networks: ReadonlySet<string> = new Set(['INK', 'TEMPO', 'CORE', 'BASE', 'ARB', 'OP', 'SOL', 'POL'])

export type WalletKind = 'spot' | 'earning' | 'staked'

/**
 * Where the assets of each wallet are. `.F` earns automatically and can be spent at any time (Kraken trades X and X.F
 * as one balance). `.HOLD` is a deposit that has not cleared yet; it belongs to the user like any other.
 */
const kindByWallet: ReadonlyMap<string, WalletKind> = new Map<string, WalletKind>([
  ['S', 'staked'],
  ['M', 'staked'],
  ['B', 'staked'],
  ['P', 'staked'],
  ['F', 'earning'],
  ['HOLD', 'spot'],
])

interface KrakenAssetCode {
  asset: Asset
  /** Kraken's own code without prefix, wallet and bonding days. */
  base: string
  walletKind: WalletKind
  /** False when we do not know the wallet after the dot. The code is then a separate asset. */
  verified: boolean
}

/** The meaning that a code has today. */
const today = Number.MAX_SAFE_INTEGER

export function readAssetCode(code: string, atMs = today): KrakenAssetCode {
  const toAsset = (base: string): Asset => assetOf('kraken', base, atMs)
  const dot = code.lastIndexOf('.')
  if (dot <= 0) {
    const base = aliases.get(code) ?? code
    // Staked ether had its own code until withdrawals were enabled.
    return { asset: toAsset(base), base, walletKind: code === 'ETH2' ? 'staked' : 'spot', verified: true }
  }
  const wallet = code.slice(dot + 1)
  const name = code.slice(0, dot)
  const walletKind = kindByWallet.get(wallet)
  if (walletKind !== undefined) {
    const base = baseOf(name, wallet)
    return { asset: toAsset(base), base, walletKind, verified: true }
  }
  if (networks.has(wallet)) {
    const base = aliases.get(name) ?? name
    const asset = toAsset(base)
    if (isKnownAsset(asset.assetId)) return { asset, base, walletKind: 'spot', verified: true }
  }
  // A tokenised share: `TSLAx.T` is TSLAx. It must not become the coin with the same ticker.
  if (wallet === 'T' && !isKnownAsset(toAsset(name).assetId))
    return { asset: toAsset(name), base: name, walletKind: 'spot', verified: true }
  // A share class contains a dot: `BRK.Bx`.
  const whole = toAsset(code)
  return { asset: whole, base: code, walletKind: 'spot', verified: whole.kind === 'share' }
}

function baseOf(name: string, wallet: string): string {
  // Up to 31 bonding days: DOT28.S is DOT, while C98.S is the coin C98.
  const bonded = wallet === 'S' ? /^(.*[A-Z])(?:0[1-9]|[12]\d|3[01])$/.exec(name)?.[1] : undefined
  const base = bonded ?? name
  return aliases.get(base) ?? base
}

function toMap(pairs: string): Map<string, string> {
  return new Map(pairs.split(' ').map((pair) => pair.split(':', 2) as [string, string]))
}
