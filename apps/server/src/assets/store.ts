/** Writes `assets`, and finds their keys. */
import type { Asset } from '@assay/core'
import type { Sql } from '../db/index.ts'

export async function listKeys(sql: Sql, assetIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await sql.rows<{ id: string; asset_key: number }>(
    'select id, asset_key from assets where id = any($1::text[])',
    [[...assetIds]],
  )
  return new Map(rows.map((row) => [row.id, row.asset_key]))
}

/**
 * Adds assets, or updates them to the registry's present description, so that a corrected name shows at once. Writes in
 * the order of their ids, so that two processes that add the same assets cannot deadlock.
 */
export async function putAssets(sql: Sql, assets: readonly Asset[]): Promise<void> {
  const sorted = assets.toSorted((a, b) => (a.assetId < b.assetId ? -1 : 1))
  await sql.execute(
    `insert into assets as a (id, kind, symbol, name, coingecko_id)
     select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
     on conflict (id) do update
       set kind = excluded.kind, symbol = excluded.symbol, name = excluded.name, coingecko_id = excluded.coingecko_id
       where (a.kind, a.symbol, a.name, a.coingecko_id)
         is distinct from (excluded.kind, excluded.symbol, excluded.name, excluded.coingecko_id)`,
    [
      sorted.map(({ assetId }) => assetId),
      sorted.map(({ kind }) => kind),
      sorted.map(({ symbol }) => symbol),
      sorted.map(({ name }) => name),
      sorted.map(({ coingeckoId }) => coingeckoId),
    ],
  )
}

export async function listKeysBySymbols(sql: Sql, symbols: readonly string[]): Promise<number[]> {
  const rows = await sql.rows<{ asset_key: number }>('select asset_key from assets where symbol = any($1::text[])', [
    [...symbols],
  ])
  return rows.map((row) => row.asset_key)
}
