/** Platform v1: the same rules as v2, bare answers, `crypto_source_id` for the provider. No rule lives here. */
import type { FastifyInstance } from 'fastify'
import { listAssetsV1, listTransactionsV1, refreshAssetsV1, refreshTransactionsV1 } from '@assay/contract'
import { finishPage } from '../../portfolio/index.ts'
import type { FrontDoors } from '../front-doors.ts'
import { registerProvider } from './provider.ts'
import { linkHeaders } from '../paging/pages.ts'
import { checkProviders } from '../shapes/providers.ts'
import { toPositionPoint } from '../v2/assets.ts'
import { ownerOf } from '../shapes/owner.ts'
import { toRefreshV1 } from '../shapes/refreshes.ts'

export function registerV1(app: FastifyInstance, deps: FrontDoors): void {
  registerAssets(app, deps)
  registerProvider(app, deps)
  registerRefresh(app, deps)
  registerTransactions(app, deps)
}

/** GET /platform/v1/assets: a bare array with six fields per row, as in the reference. */
function registerAssets(app: FastifyInstance, { serve, portfolio }: FrontDoors): void {
  serve.authorizedRead(app, listAssetsV1, {
    read(token, { query, page: { limit, point } }) {
      checkProviders('crypto_sources', query.crypto_sources)
      return portfolio.readSourcePositions(token, {
        limit: limit ?? undefined,
        after: toPositionPoint(point),
        sourceIds: query.crypto_sources,
        assetSymbols: query.asset_symbols,
        startTime: query.start_time,
        endTime: query.end_time,
      })
    },
    answer: ({ result: { items, end } }, { page }) => ({ text: `[${items}]`, headers: linkHeaders(page.next(end)) }),
  })
}

/** GET /platform/v1/transactions: the same records as v2, as a bare array. */
function registerTransactions(app: FastifyInstance, { serve, portfolio }: FrontDoors): void {
  serve.authorizedRead(app, listTransactionsV1, {
    read(token, { query, page: { limit, point } }) {
      checkProviders('crypto_sources', query.crypto_sources)
      const [occurredAt, id] = point ?? []
      return portfolio.readTransactions(token, {
        shape: 'v1',
        limit,
        after: occurredAt === undefined || id === undefined ? undefined : { occurredAt, id },
        filters: {
          startTime: query.start_time,
          endTime: query.end_time,
          providerIds: query.crypto_sources,
          assetSymbols: query.asset_symbols,
        },
      })
    },
    async answer({ result }, { page, inTurn }) {
      const { items, end } = await finishPage(result, inTurn)
      return { text: `[${items}]`, headers: linkHeaders(page.next(end && [end.occurredAt, end.id])) }
    },
  })
}

/** POST /platform/v1/assets/refresh and /platform/v1/transactions/refresh. */
function registerRefresh(app: FastifyInstance, { serve, sync }: FrontDoors): void {
  serve(app, refreshAssetsV1, async ({ body, caller }) => ({
    json: toRefreshV1(await sync.requestRefresh(ownerOf(caller), 'assets', body?.connection_ids)),
  }))

  serve(app, refreshTransactionsV1, async ({ body, caller }) => ({
    json: toRefreshV1(await sync.requestRefresh(ownerOf(caller), 'transactions', body?.connection_ids)),
  }))
}

// When an operator has set an end to v1, every v1 answer says so: Deprecation (RFC 9745) and Sunset (RFC 8594).

/**
 * The day on which v2, which takes the place of v1, was published. Since then v1 is deprecated wherever it has an end.
 */
const supersededAtMs = Date.UTC(2026, 10, 15)

export function sunsetHeaders(sunsetMs: number | undefined): Readonly<Record<string, string>> | undefined {
  if (sunsetMs === undefined) return undefined
  return { Deprecation: `@${supersededAtMs / 1_000}`, Sunset: new Date(sunsetMs).toUTCString() }
}
