/** GET /platform/v1/transactions: the same records as v2, bare. */
import { listTransactionsV1 } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { TransactionRow } from '../../ledger/index.ts'
import { ownerOf } from '../owner.ts'
import { linkHeaders } from '../pages.ts'
import { checkProviders } from '../providers.ts'
import type { FrontDoors } from '../front-doors.ts'

export function registerTransactions(app: FastifyInstance, { serve, ledger }: FrontDoors): void {
  serve(app, listTransactionsV1, async ({ query, page, caller }) => {
    checkProviders('crypto_sources', query.crypto_sources)
    const [occurredAt, id] = page.position ?? []
    const rows = await ledger.listTransactions(ownerOf(caller), {
      limit: page.limit + 1,
      after: occurredAt === undefined || id === undefined ? undefined : { occurredAt, id },
      filters: {
        startTime: query.start_time,
        endTime: query.end_time,
        providerIds: query.crypto_sources,
        assetSymbols: query.asset_symbols,
      },
    })
    const shown = rows.slice(0, page.limit)
    const last = rows.length > page.limit ? shown.at(-1) : undefined
    return {
      text: `[${shown.map(toText).join(',')}]`,
      headers: linkHeaders(page.next(last && [last.occurred_at, last.id])),
    }
  })
}

/** The head in v1's words, then the ready text. None of the head's values needs escaping: ids and times. */
function toText(row: TransactionRow): string {
  return `{"id":"${row.id}","crypto_source_id":"${row.provider_id}","connection_id":"${row.connection_id}","updated_at":"${row.updated_at}",${row.document}`
}
