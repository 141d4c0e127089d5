/** GET /platform/v1/transactions: the same records as v2, bare. */
import { listTransactionsV1 } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import { linkHeaders } from '../paging/pages.ts'
import { checkProviders } from '../shapes/providers.ts'
import type { FrontDoors } from '../front-doors.ts'

export function registerTransactions(app: FastifyInstance, { serve, portfolio }: FrontDoors): void {
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
