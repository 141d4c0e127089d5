/** Harbor's codes. Its document says that they are the usual ones; still only those of core's registry are matched. */
import { assetOf, type Asset } from '@assay/core'

export function harborAsset(code: string, atMs = Number.MAX_SAFE_INTEGER): Asset {
  return assetOf('harbor', code, atMs)
}
