/** Harbor's codes. Its document says that they are the usual ones; still only those listed here are matched. */
import { assetOf, findKnownAsset, type Asset } from '@assay/core'

const codes = ['BTC', 'ETH', 'SOL', 'ADA', 'DOT', 'XRP', 'USDC', 'USDT', 'USD', 'EUR', 'GBP'] as const

const table: ReadonlyMap<string, string> = new Map(
  codes.map((code) => {
    const asset = findKnownAsset(code)
    if (asset === undefined) throw new Error(`core does not know ${code}`)
    return [code, asset.assetId]
  }),
)

export function harborAsset(code: string): Asset {
  return assetOf('harbor', code, table)
}
