/**
 * The identity of assets. An id tells apart what a symbol cannot: two coins with one ticker are two assets.
 *
 * Ids: `crypto:<name>` and `fiat:<code>` for the assets listed in known-assets.ts, `<provider>:<code>` for everything
 * else. A venue says in a table of its own which of its codes means which known asset; a code that is not in that table
 * stays scoped to the venue. Nothing is ever matched by ticker alone: money was lost over that elsewhere.
 */
import { knownAssets, type Asset } from './known-assets.ts'

export type { Asset }

const byId = new Map(knownAssets.map((asset) => [asset.assetId, asset]))
const bySymbol = new Map(knownAssets.map((asset) => [asset.symbol, asset]))

/** For those who write a venue's table: among the known assets a symbol is unique. Case matters. */
export function findKnownAsset(symbol: string): Asset | undefined {
  return bySymbol.get(symbol)
}

/** Whether it has an identity of its own here, beyond the code of the provider that named it. */
export function isKnownAsset(assetId: string): boolean {
  return byId.has(assetId)
}

export function getAsset(assetId: string): Asset {
  const known = byId.get(assetId)
  if (known !== undefined) return known
  const [, scope, code] = /^([a-z0-9_-]+):(.+)$/s.exec(assetId) ?? []
  if (scope === undefined || code === undefined || scope === 'crypto' || scope === 'fiat') {
    throw new RangeError(`no such asset: ${JSON.stringify(assetId.slice(0, 80))}`)
  }
  return { assetId, symbol: code, name: code, coingeckoId: null, kind: 'crypto' }
}

/** What a provider means by its code: the known asset its own table names, otherwise an asset of that provider alone. */
export function assetOf(providerId: string, code: string, table: ReadonlyMap<string, string>): Asset {
  return getAsset(table.get(code) ?? `${providerId}:${code}`)
}
