/**
 * Maps ccxt's codes to assets. ccxt uses one code per asset across all exchanges (`commonCurrencies` translates an
 * exchange's own names, such as XBT), but only the large coins and currencies are certain. Those are listed in core's
 * codes.ts under `ccxt`. Every other code stays an asset of its exchange.
 */
import { assetOf, isKnownAsset, type Asset } from '@assay/core'

/** The meaning that a code has today. */
const today = Number.MAX_SAFE_INTEGER

export function readAssetCode(providerId: string, code: string, atMs = today): Asset {
  const own = assetOf(providerId, code, atMs)
  if (isKnownAsset(own.assetId)) return own
  const shared = assetOf('ccxt', code, atMs)
  return isKnownAsset(shared.assetId) ? shared : own
}
