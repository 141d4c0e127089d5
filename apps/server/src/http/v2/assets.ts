/** GET /accounts/v2/assets and /accounts/v2/assets/history */
import { getAssetHistory, listAssets } from '@assay/contract'
import type { Decimal, ErrorItem } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { Owner } from '../../owner.ts'
import { finishPositions, type PositionPoint } from '../../portfolio/index.ts'
import type { Completeness } from '../../sync/index.ts'
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
      if (asOf === undefined) {
        const found = await portfolio.readPositions(token, request)
        return found && { ...found, result: { page: found.result } }
      }
      const found = await portfolio.readPositionsAt(token, { ...request, asOf })
      return found && { ...found, issues: [...found.issues, ...(await listHoles(ownerOf(found.caller), asOf))] }
    },
    async answer({ issues, result }, { page, inTurn }) {
      const { items, end } = await finishPositions(result, inTurn)
      const next = JSON.stringify(page.next(end))
      return { text: `{"page":{"next":${next}},"data":[${items}],"errors":${JSON.stringify(issues)}}` }
    },
  })

  /** Where something was not read after the moment, positions cannot be derived back to it. */
  async function listHoles(owner: Owner, asOf: string): Promise<ErrorItem[]> {
    const completeness = await sync.findCompleteness(owner)
    const isCutOff = Date.parse(asOf) < completeness.fromMs
    return toHoleItems(completeness, {
      isCutOff,
      message: (until) => `Positions derived before ${until} may be wrong.`,
    })
  }
}

/** `message` says what the hole means for times before its end. */
function toHoleItems(
  { fromMs, hole, gone }: Completeness,
  { isCutOff, message }: { isCutOff: boolean; message: (until: string) => string },
): ErrorItem[] {
  const until = new Date(fromMs).toISOString()
  const items = hole !== undefined && isCutOff ? [{ ...hole, message: `${message(until)} ${hole.message}` }] : []
  for (const [first, ...others] of Map.groupBy(gone, ({ connectionId }) => connectionId).values()) {
    if (first === undefined) continue
    const more = others.length === 0 ? '' : ` The coverage names ${others.length} more such lists.`
    items.push({ ...first, message: first.message + more })
  }
  return items.map(({ cause, providerId, connectionId, message: text }) => ({
    cause,
    provider_id: providerId,
    connection_id: connectionId,
    message: text,
  }))
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
    const completeness = await sync.findCompleteness(owner)
    const { start_time: startTime, end_time: endTime } = query
    const request = { startTime, endTime, completeFromMs: completeness.fromMs }
    const { days, isCutOff } = await portfolio.listDailyValues(owner, request)
    const message = (until: string): string => `Values before ${until} cannot be derived.`
    const errors = [...(await connections.listIssues(owner)), ...toHoleItems(completeness, { isCutOff, message })]
    return { json: { data: days, errors } }
  })
}
