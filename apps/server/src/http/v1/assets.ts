/** GET /platform/v1/assets: the bare array of the reference, six fields a row. */
import { listAssetsV1 } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import { toExactNumber } from '../exact-number.ts'
import { ownerOf } from '../owner.ts'
import { linkHeaders } from '../pages.ts'
import { checkProviders } from '../providers.ts'
import type { FrontDoors } from '../front-doors.ts'

export function registerAssets(app: FastifyInstance, { serve, ledger }: FrontDoors): void {
  serve(app, listAssetsV1, async ({ query, page, caller }) => {
    checkProviders('crypto_sources', query.crypto_sources)
    const [sourceId, symbol, assetId] = page.position ?? []
    const rows = await ledger.listSourcePositions(ownerOf(caller), {
      limit: page.limit === null ? undefined : page.limit + 1,
      after:
        sourceId === undefined || symbol === undefined || assetId === undefined
          ? undefined
          : { sourceId, symbol, assetId },
      sourceIds: query.crypto_sources,
      assetSymbols: query.asset_symbols,
      startTime: query.start_time,
      endTime: query.end_time,
    })
    const shown = page.limit === null ? rows : rows.slice(0, page.limit)
    const last = rows.length > shown.length ? shown.at(-1) : undefined
    return {
      json: shown.map((row) => ({
        crypto_source_id: row.crypto_source_id,
        asset_symbol: row.asset_symbol,
        asset_holdings: toExactNumber(row.liquid),
        staked_holdings: toExactNumber(row.staked),
        price_in_usd: row.price_in_usd === null ? null : toExactNumber(row.price_in_usd),
        time_fetched: row.fetched_at,
      })),
      headers: linkHeaders(page.next(last && [last.crypto_source_id, last.asset_symbol, last.asset_id])),
    }
  })
}
