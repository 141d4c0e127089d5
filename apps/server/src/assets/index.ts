/**
 * The asset registry in the database: a small key for every asset that was ever seen, with the text that is shown for
 * it. Which assets exist, and what a provider's code means and since when, is data in core. This room gives assets
 * keys, so that a posting or holding names its asset in four bytes.
 */
import { getAsset, isKnownAsset, type Asset } from '@assay/core'
import type { Database, Sql } from '../db/index.ts'
import * as store from './store.ts'

/** An asset as a provider described it. The description is used only for an asset that the registry does not know. */
export interface MetAsset {
  assetId: string
  symbol: string
  name?: string
}

export interface Assets {
  /**
   * The keys of these assets. A new asset is added, in the caller's transaction if `sql` is one. Keys never change, so
   * they are cached; a key that was added in a transaction that rolled back is not.
   */
  ensureKeys(sql: Sql, assets: readonly (string | MetAsset)[]): Promise<ReadonlyMap<string, number>>
  /** Two assets may have one symbol. */
  findKeysBySymbols(sql: Sql, symbols: readonly string[]): Promise<number[]>
}

/** Some hundred bytes each. */
const rememberedMax = 50_000

export function createAssets({ db }: { db: Database }): Assets {
  const remembered = new Map<string, number>()

  return {
    async ensureKeys(sql, assets) {
      const described = new Map(
        assets.map((asset) => (typeof asset === 'string' ? [asset, undefined] : [asset.assetId, asset])),
      )
      const keys = new Map<string, number>()
      const unknown: string[] = []
      for (const assetId of described.keys()) {
        const key = remembered.get(assetId)
        if (key === undefined) unknown.push(assetId)
        else keys.set(assetId, key)
      }
      if (unknown.length === 0) return keys
      const found = await store.listKeys(sql, unknown)
      const missing = unknown.filter((assetId) => !found.has(assetId))
      if (missing.length > 0) {
        // Runs outside the caller's transaction: all users share the registry, and another transaction may need the row
        // in the meantime.
        await store.putAssets(
          db,
          missing.map((assetId) => toAsset(assetId, described.get(assetId))),
        )
        for (const [assetId, key] of await store.listKeys(db, missing)) found.set(assetId, key)
      }
      if (remembered.size + found.size > rememberedMax) remembered.clear()
      for (const [assetId, key] of found) {
        remembered.set(assetId, key)
        keys.set(assetId, key)
      }
      return keys
    },
    findKeysBySymbols: (sql, symbols) => store.listKeysBySymbols(sql, symbols),
  }
}

function toAsset(assetId: string, met: MetAsset | undefined): Asset {
  const asset = getAsset(assetId)
  if (met === undefined || isKnownAsset(assetId)) return asset
  return { ...asset, symbol: met.symbol, name: met.name ?? met.symbol }
}
