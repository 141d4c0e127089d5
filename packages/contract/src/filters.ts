/** The filters of transactions, the same for a user's list, its export and a tenant's list. */
import { categories, transactionTypes } from '@assay/core'
import type { z } from 'zod'
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

export const knownAt = isoTimeParameter(
  'As the service knew it at this moment. Former versions are kept 400 days (setting); an earlier moment is a 400.',
)

const besideKnownAt = new Set(['known_at', 'start_time', 'end_time', 'connection_ids'])

/** Former versions are indexed only by time and connection, so known_at takes no other filter. */
export function refuseBesideKnownAt(context: {
  value: { known_at?: string | undefined }
  issues: z.core.$ZodRawIssue[]
}): void {
  if (context.value.known_at === undefined) return
  for (const [name, value] of Object.entries(context.value)) {
    if (value === undefined || besideKnownAt.has(name)) continue
    const message = 'cannot be combined with known_at, which takes start_time, end_time and connection_ids'
    context.issues.push({ code: 'custom', path: [name], message, input: value })
  }
}
