/** GET /accounts/v2/assets and /accounts/v2/assets/history */
import { getAssetHistory, listAssets } from '@assay/contract'
import type { Decimal, ErrorItem } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { Owner } from '../../owner.ts'
import type { PositionPoint } from '../../portfolio/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { toAssetIconUrl } from '../system/icons.ts'
import type { Point } from '../paging/cursor.ts'
import { toExactNumber } from '../shapes/exact-number.ts'
import { ownerOf } from '../shapes/owner.ts'
import { checkProviders } from '../shapes/providers.ts'
import { toMoment } from './moments.ts'

export function registerAssets(app: FastifyInstance, { serve, portfolio, sync, now }: FrontDoors): void {
  serve.authorizedRead(app, listAssets, {
    async read(token, { query, page: { limit, point } }) {
      checkProviders('provider_ids', query.provider_ids)
      const asOf = toMoment('as_of', query.as_of, { latestMs: now() })
      const request = {
        limit,
        after: toPositionPoint(point),
        providerIds: query.provider_ids,
        connectionIds: query.connection_ids,
        assetSymbols: query.asset_symbols,
      }
      if (asOf === undefined) return portfolio.readPositions(token, request)
      const found = await portfolio.readPositionsAt(token, { ...request, asOf })
      return found && { ...found, issues: [...found.issues, ...(await listHoles(ownerOf(found.caller), asOf))] }
    },
    answer({ issues, result: { items, end } }, { page }) {
      const next = JSON.stringify(page.next(end))
      return { text: `{"page":{"next":${next}},"data":[${items}],"errors":${JSON.stringify(issues)}}` }
    },
  })

  /** Where something was not read after the moment, positions cannot be derived back to it. */
  async function listHoles(owner: Owner, asOf: string): Promise<ErrorItem[]> {
    const { fromMs, hole } = await sync.findCompleteness(owner)
    if (hole === undefined || Date.parse(asOf) >= fromMs) return []
    const { cause, connectionId, message } = hole
    const until = new Date(fromMs).toISOString()
    return [
      { cause, connection_id: connectionId, message: `Positions derived before ${until} may be wrong. ${message}` },
    ]
  }
}

export function toPositionPoint(point: Point | undefined): PositionPoint | undefined {
  const [group, symbol, assetId] = point ?? []
  return group === undefined || symbol === undefined || assetId === undefined ? undefined : [group, symbol, assetId]
}

/** A position as a tenant's lists read it, row by row. */
interface PositionRow {
  connection_id: string
  provider_id: string
  asset_id: string
  asset_symbol: string
  asset_name: string
  liquid: Decimal
  staked: Decimal
  total: Decimal
  price_in_usd: Decimal | null
  value_in_usd: Decimal | null
  spam: boolean
  fetched_at: string
}

/** What portfolio's statement writes for a user, for a tenant. */
export function toAsset(row: PositionRow) {
  return {
    provider_id: row.provider_id,
    connection_id: row.connection_id,
    asset_id: row.asset_id,
    asset_symbol: row.asset_symbol,
    asset_name: row.asset_name,
    icon_url: toAssetIconUrl(row.asset_id),
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

export function registerHistory(app: FastifyInstance, { serve, connections, portfolio, sync }: FrontDoors): void {
  serve(app, getAssetHistory, async ({ query, caller }) => {
    const owner = ownerOf(caller)
    const { fromMs, hole } = await sync.findCompleteness(owner)
    const { start_time: startTime, end_time: endTime } = query
    const data = await portfolio.listDailyValues(owner, { startTime, endTime, completeFromMs: fromMs })
    const errors: ErrorItem[] = await connections.listIssues(owner)
    if (hole !== undefined) {
      const { cause, connectionId } = hole
      const until = new Date(fromMs).toISOString()
      const message = `Values before ${until} cannot be derived. ${hole.message}`
      errors.push({ cause, connection_id: connectionId, message })
    }
    return { json: { data, errors } }
  })
}
