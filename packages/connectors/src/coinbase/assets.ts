/** Coinbase's asset codes. Core's registry maps them to assets; ETH2 is ether in the wallet for staked ether. */
import { assetOf, type Asset } from '@assay/core'

export function coinbaseAsset(code: string, atMs = Number.MAX_SAFE_INTEGER): Asset {
  return assetOf('coinbase', code, atMs)
}

export function isStakedCode(code: string): boolean {
  return code === 'ETH2'
}
