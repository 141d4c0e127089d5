/** Transactions. Both versions serve the same record; v1 calls the provider a crypto source. */
import { categories, categorizationMethods, feeKinds, transactionStatuses, transactionTypes } from '@assay/core'
import { z } from 'zod'
import {
  connectionId,
  CryptoSourceId,
  decimalText,
  isoTimeParameter,
  list,
  ProviderId,
  rangeTimeParameter,
  time,
} from './values.ts'

const usd = decimalText.nullable()

const TransactionType = z.enum(transactionTypes).meta({ id: 'TransactionType' })

const TransactionCategorization = z
  .object({
    category: z.enum(categories),
    method: z.enum(categorizationMethods).meta({ description: 'How the category was determined.' }),
    confidence: z.number().min(0).max(1),
  })
  .meta({ id: 'TransactionCategorization' })

const CurrencyValue = z
  .object({
    asset_symbol: z.string(),
    asset_id: z.string(),
    amount: decimalText,
    price_in_usd: usd,
    value_in_usd: usd,
  })
  .meta({ id: 'CurrencyValue', description: 'An amount of one asset that came or left; never negative.' })

const FeeItem = z
  .object({
    kind: z.enum(feeKinds),
    asset_symbol: z.string(),
    asset_id: z.string(),
    amount: decimalText,
    value_in_usd: usd,
  })
  .meta({ id: 'FeeItem' })

const FeeObject = z.object({ total_in_usd: usd, items: z.array(FeeItem) }).meta({ id: 'FeeObject' })

const head = { id: z.string().meta({ examples: ['txn_5f3c0e8a9b7d4c21a6e0f4b2d8c19e37'] }) }

const members = {
  type: TransactionType,
  status: z.enum(transactionStatuses),
  timestamp: time,
  updated_at: time,
  categorization: TransactionCategorization,
  inputs: z.array(CurrencyValue).meta({ description: 'What came to the user, without fees.' }),
  outputs: z.array(CurrencyValue).meta({ description: 'What left the user, without fees.' }),
  fees: FeeObject,
  network: z.string().nullable(),
  hash: z.string().nullable(),
  from_address: z.string().nullable(),
  to_address: z.string().nullable(),
  counterpart: z
    .object({ transaction_id: z.string(), confidence: z.number().min(0).max(1) })
    .nullable()
    .meta({ description: 'The other half of a transfer between two of the user’s own connections.' }),
  spam: z.boolean(),
  provider_reference: z.string().nullable(),
  description: z.string().nullable(),
  incomplete: z.array(z.string()).meta({ description: 'Members the provider could not give, and what is unverified.' }),
}

export const Transaction = z
  .object({ ...head, provider_id: ProviderId, connection_id: connectionId, ...members })
  .meta({ id: 'Transaction' })

export const EnterpriseTransaction = z
  .object({
    ...head,
    user_id: z.string().meta({ description: 'Whose transaction it is.' }),
    provider_id: ProviderId,
    connection_id: connectionId,
    ...members,
  })
  .meta({ id: 'EnterpriseTransaction' })

export const TransactionV1 = z
  .object({ ...head, crypto_source_id: CryptoSourceId, connection_id: connectionId, ...members })
  .meta({ id: 'v1/Transaction' })

export const RemovedTransaction = z
  .object({ id: z.string(), removed_at: time })
  .meta({ description: 'A transaction that no longer exists; kept for 90 days.' })

export const TransactionChange = z
  .discriminatedUnion('op', [
    z.object({ op: z.literal('upsert'), transaction: Transaction }),
    z.object({ op: z.literal('remove'), id: z.string(), removed_at: time }),
  ])
  .meta({ id: 'TransactionChange', description: 'One step that brings a copy of the list of transactions up to date.' })

/** The same filters apply to a user's list, its export and a tenant's list. */
export const transactionFilters = {
  start_time: rangeTimeParameter('At this moment or later.').optional(),
  end_time: rangeTimeParameter('Before this moment.').optional(),
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
