/**
 * What Binance's asset codes mean. A balance `LDBTC` in the spot wallet mirrors BTC in Simple Earn Flexible: it is the
 * same money that the positions of Simple Earn list, and must not be counted twice. `LDO` is Lido (rotki keeps the same
 * exception, exchanges/binance.py), and `LDLDO` is Lido in Simple Earn.
 */
import { assetOf, isKnownAsset, type Asset } from '@assay/core'

/** The meaning that a code has today. */
const today = Number.MAX_SAFE_INTEGER

/**
 * Whether a code mirrors Simple Earn, as far as the code alone shows: the rest has to be a known asset, because a coin
 * may be called LDX. If the positions are given, they decide.
 */
export function isEarnMirror(code: string, positions?: ReadonlySet<string>): boolean {
  if (!code.startsWith('LD') || code === 'LDO') return false
  const rest = code.slice(2)
  if (positions?.has(rest) === true) return true
  return rest.length > 1 && isKnownAsset(assetOf('binance', rest, today).assetId)
}

/** The code without the mirror's prefix. */
export function baseAssetCodeOf(code: string): string {
  return isEarnMirror(code) ? code.slice(2) : code
}

export function readAssetCode(code: string, atMs = today): Asset {
  return assetOf('binance', baseAssetCodeOf(code), atMs)
}
