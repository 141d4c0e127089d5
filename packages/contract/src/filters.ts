/** The filters of transactions, the same for a user's list, its export and a tenant's list. */
import { categories, transactionTypes } from '@assay/core'
import { isoTimeParameter, list } from './values.ts'

export const transactionFilters = {
  start_time: isoTimeParameter('At this moment or later.').optional(),
  end_time: isoTimeParameter('Before this moment.').optional(),
  provider_ids: list('Only these providers, separated by commas.').optional(),
  connection_ids: list('Only these connections, separated by commas.').optional(),
  asset_symbols: list('Only transactions that touch one of these assets, exact case.').optional(),
  types: list('Only these types, separated by commas.', transactionTypes).optional(),
  categories: list('Only these categories, separated by commas.', categories).optional(),
  updated_since: isoTimeParameter('Changed at this moment or later; the answer then also has `removed`.').optional(),
}
