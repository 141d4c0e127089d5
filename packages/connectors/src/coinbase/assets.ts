/** Coinbase's codes. Which asset each means is in core's registry; ETH2 is ether in the wallet of staked ether. */
import { assetOf, type Asset } from '@assay/core'

export function coinbaseAsset(code: string, atMs = Number.MAX_SAFE_INTEGER): Asset {
  return assetOf('coinbase', code, atMs)
}

export function isStakedCode(code: string): boolean {
  return code === 'ETH2'
}
