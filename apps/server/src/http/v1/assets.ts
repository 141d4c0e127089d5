/** GET /platform/v1/assets: the bare array of the reference, six fields a row. */
import { listAssetsV1 } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import { linkHeaders } from '../paging/pages.ts'
import { checkProviders } from '../shapes/providers.ts'
import { toPositionPlace } from '../v2/assets.ts'
import type { FrontDoors } from '../front-doors.ts'

export function registerAssets(app: FastifyInstance, { serve, portfolio }: FrontDoors): void {
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
