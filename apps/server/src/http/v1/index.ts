/** Platform v1: the same rules as v2, bare answers, `crypto_source_id` for the provider. No rule lives here. */
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { registerProvider } from './provider.ts'
import { listAssetsV1, listTransactionsV1, refreshAssetsV1, refreshTransactionsV1 } from '@assay/contract'
import { linkHeaders } from '../paging/pages.ts'
import { checkProviders } from '../shapes/providers.ts'
import { toPositionPlace } from '../v2/assets.ts'
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
  serve.reading(app, listAssetsV1, {
    read(access, { query, page: { limit, position } }) {
      checkProviders('crypto_sources', query.crypto_sources)
      return portfolio.readSourcePositions(access, {
        limit: limit ?? undefined,
        after: toPositionPlace(position),
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
  serve.reading(app, listTransactionsV1, {
    read(access, { query, page: { limit, position } }) {
      checkProviders('crypto_sources', query.crypto_sources)
      const [occurredAt, id] = position ?? []
      return portfolio.readTransactions(access, {
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
    answer: ({ result: { page: shown } }, { page }) => ({
      text: `[${shown.items}]`,
      headers: linkHeaders(page.next(shown.end && [shown.end.occurredAt, shown.end.id])),
    }),
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
