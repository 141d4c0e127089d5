/** Translates the filters of transactions from the names of the wire to those of the stores. */
import type { QueryOf, listTransactions } from '@assay/contract'
import type { TransactionFilters } from '../../portfolio/index.ts'

export type TransactionQuery = QueryOf<typeof listTransactions>

export function toTransactionFilters(query: TransactionQuery): TransactionFilters {
  return {
    startTime: query.start_time,
    endTime: query.end_time,
    providerIds: query.provider_ids,
    connectionIds: query.connection_ids,
    assetSymbols: query.asset_symbols,
    types: query.types,
    categories: query.categories,
    updatedSince: query.updated_since,
  }
}
