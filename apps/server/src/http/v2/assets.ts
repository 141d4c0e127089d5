/** GET /accounts/v2/assets */
import { listAssets } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { Position } from '../../ledger/index.ts'
import { toExactNumber } from '../exact-number.ts'
import { ownerOf } from '../owner.ts'
import { checkProviders } from '../providers.ts'
import type { FrontDoors } from '../front-doors.ts'

export function registerAssets(app: FastifyInstance, { serve, connections, ledger }: FrontDoors): void {
  serve(app, listAssets, async ({ query, page, caller }) => {
    checkProviders('provider_ids', query.provider_ids)
    const owner = ownerOf(caller)
    const [connectionId, symbol, assetId] = page.position ?? []
    const [rows, errors] = await Promise.all([
      ledger.listPositions(owner, {
        limit: page.limit + 1,
        after:
          connectionId === undefined || symbol === undefined || assetId === undefined
            ? undefined
            : { connectionId, symbol, assetId },
        providerIds: query.provider_ids,
        connectionIds: query.connection_ids,
        assetSymbols: query.asset_symbols,
      }),
      connections.listRemarks(owner),
    ])
    const shown = rows.slice(0, page.limit)
    const last = rows.length > page.limit ? shown.at(-1) : undefined
    const next = page.next(last && [last.connection_id, last.asset_symbol, last.asset_id])
    return { json: { page: { next }, data: shown.map(toAsset), errors } }
  })
}

export function toAsset(row: Position) {
  return {
    provider_id: row.provider_id,
    connection_id: row.connection_id,
    asset_id: row.asset_id,
    asset_symbol: row.asset_symbol,
    asset_name: row.asset_name,
    asset_holdings: toExactNumber(row.liquid),
    staked_holdings: toExactNumber(row.staked),
    price_in_usd: row.price_in_usd === null ? null : toExactNumber(row.price_in_usd),
    time_fetched: row.fetched_at,
    value_in_usd: row.value_in_usd,
    spam: row.spam,
    exact: {
      asset_holdings: row.liquid,
      staked_holdings: row.staked,
      total_holdings: row.total,
      price_in_usd: row.price_in_usd,
    },
  }
}
