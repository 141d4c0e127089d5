/** Platform v2, under /accounts/v2: answers are `data` and `errors`, lists have a `page`. */
import { z } from 'zod'
import { AssetPosition } from '../assets.ts'
import { defineEndpoint } from '../endpoint.ts'
import { successErrors } from '../errors.ts'
import {
  knownAt,
  refuseBesideKnownAt,
  RemovedTransaction,
  Transaction,
  TransactionChange,
  transactionFilters,
} from '../transactions.ts'
import { pageOf, pagesV2 } from '../pages.ts'
import { connectionId, isoTimeParameter, list, oneOf, parameter, ProviderId, readRange, text, line } from '../values.ts'
import { addedAnswer, callbackBody, ConnectedProvidersMetadata, connection, ProviderMetadata } from '../providers.ts'
import * as examples from './examples.ts'

const family = 'accounts_v2'
const { errorsNone, pageLast } = examples

export const addProvider = defineEndpoint({
  id: 'addProvider',
  family,
  method: 'POST',
  path: '/accounts/v2/providers',
  scope: 'providers:write',
  body: z.strictObject({ provider_id: ProviderId, display_label: line(80).optional(), connection }),
  response: addedAnswer,
  summary: 'Add a provider',
  description:
    'Verifies the credentials before anything is stored. A refusal by the provider is a 200 with added false and the reason in errors.',
  errors: [],
  example: {
    body: { provider_id: 'kraken', display_label: 'Savings', connection: examples.apiConnection },
    response: { data: examples.addedV2, ...errorsNone },
  },
})

export const listProviders = defineEndpoint({
  id: 'listProviders',
  family,
  method: 'GET',
  path: '/accounts/v2/providers',
  scope: 'providers:read',
  paging: pagesV2,
  query: z.strictObject({}),
  response: pageOf(ConnectedProvidersMetadata),
  summary: 'List connected providers',
  description: 'The connections of the user, oldest first.',
  errors: [],
  example: { query: { limit: '30' }, response: { page: pageLast, data: [examples.connectedV2], ...errorsNone } },
})

const selector = { connection_id: text(64).optional(), provider_id: ProviderId.optional() }

export const removeProvider = defineEndpoint({
  id: 'removeProvider',
  family,
  method: 'DELETE',
  path: '/accounts/v2/providers',
  scope: 'providers:write',
  query: z.strictObject(selector),
  body: z.strictObject(selector).optional(),
  response: z.object({
    data: z.object({ removed: z.literal(true), connection_ids: z.array(connectionId), data_destroyed: z.boolean() }),
    errors: successErrors,
  }),
  summary: 'Remove a provider',
  description:
    'Takes connection_id, or provider_id for all connections to that provider; in body or query, exactly one. Credentials and data are destroyed.',
  errors: ['not_found'],
  example: { query: { connection_id: examples.connectionId }, response: { data: examples.removed, ...errorsNone } },
})

export const listCatalog = defineEndpoint({
  id: 'listCatalog',
  family,
  method: 'GET',
  path: '/accounts/v2/providers/catalog',
  scope: null,
  paging: { ...pagesV2, bound: 'filters' },
  query: z.strictObject({
    search: parameter(
      { type: 'string', maxLength: 80, description: 'Part of the name.' },
      'must have at most 80 characters',
      (given) => (given.length <= 80 ? given : undefined),
    ).optional(),
    kind: oneOf(['exchange', 'wallet'], 'Only this kind.').optional(),
  }),
  response: pageOf(ProviderMetadata),
  summary: 'List the catalogue',
  description: 'Every provider that can be connected.',
  errors: [],
  example: {
    query: { search: 'krak', kind: 'exchange' },
    response: { page: pageLast, data: [examples.catalogued], ...errorsNone },
  },
})

export const listAssets = defineEndpoint({
  id: 'listAssets',
  family,
  method: 'GET',
  path: '/accounts/v2/assets',
  scope: 'assets:read',
  paging: pagesV2,
  query: z.strictObject({
    provider_ids: list('Only these providers, separated by commas.').optional(),
    connection_ids: list('Only these connections, separated by commas.').optional(),
    asset_symbols: list('Only these assets, exact case, separated by commas.').optional(),
    as_of: isoTimeParameter('What was held at this moment, at the prices of that time.').optional(),
  }),
  response: pageOf(AssetPosition),
  summary: 'List asset positions',
  description:
    'One row for each connection and asset. With as_of, what was held at that moment: as a reading of the balances found it (method observed), or derived from the nearest reading and the transactions in between. Before the first record of a connection it contributes nothing.',
  errors: [],
  example: {
    query: { asset_symbols: 'BTC,ETH', as_of: '2026-03-02T10:11:12.345Z' },
    response: { page: pageLast, data: [examples.positionAtV2], ...errorsNone },
  },
})

export const listTransactions = defineEndpoint({
  id: 'listTransactions',
  family,
  method: 'GET',
  path: '/accounts/v2/transactions',
  scope: 'transactions:read',
  paging: pagesV2,
  query: z
    .strictObject({ ...transactionFilters, known_at: knownAt.optional() })
    .check(readRange)
    .check(refuseBesideKnownAt),
  response: pageOf(Transaction).extend({ removed: z.array(RemovedTransaction).optional() }),
  summary: 'List transactions',
  description:
    'Newest first by (timestamp, id). With updated_since the answer also has removed, at most limit on a page; next continues until both lists have ended. To keep a copy, prefer the changes. With known_at, the list as the service knew it at that moment; of the other filters it takes start_time, end_time and connection_ids.',
  errors: [],
  example: {
    query: { ...examples.thisYear, types: 'input_and_output,send', limit: '30' },
    response: { page: examples.pageMore, data: [examples.transactionV2], ...errorsNone },
  },
})

export const listTransactionChanges = defineEndpoint({
  id: 'listTransactionChanges',
  family,
  method: 'GET',
  path: '/accounts/v2/transactions/changes',
  scope: 'transactions:read',
  paging: pagesV2,
  query: z.strictObject({}),
  response: pageOf(TransactionChange).extend({
    cursor: z.string().meta({ description: 'Always there: send it later to read what has changed since this page.' }),
  }),
  summary: 'Follow changes of transactions',
  description:
    'Oldest change first. Without a cursor the feed starts with everything there is. A transaction that changed several times appears once, in its present state. A client that applies the pages in order has, after the last page, exactly what the list of transactions shows. A cursor that is older than the removals we keep (90 days by default) is a 400 with the cause cursor_expired: start again without one.',
  errors: [],
  example: {
    query: { limit: '30' },
    response: {
      page: pageLast,
      cursor: examples.changesCursor,
      data: [
        { op: 'upsert', transaction: examples.transactionV2 },
        { op: 'remove', id: examples.removedTransactionId, removed_at: '2026-03-02T10:15:00.000Z' },
      ],
      ...errorsNone,
    },
  },
})

export const getTransaction = defineEndpoint({
  id: 'getTransaction',
  family,
  method: 'GET',
  path: '/accounts/v2/transactions/{id}',
  scope: 'transactions:read',
  params: z.object({ id: z.string() }),
  query: z.strictObject({ known_at: knownAt.optional() }),
  response: z.object({ data: Transaction, errors: successErrors }),
  summary: 'Get a transaction',
  description: 'Another user’s transaction is a 404 like a missing one, and so is one that was not known at known_at.',
  errors: ['not_found'],
  example: {
    params: { id: examples.transactionId },
    query: {},
    response: { data: examples.transactionV2, ...errorsNone },
  },
})

export const completeProvider = defineEndpoint({
  id: 'completeProvider',
  family,
  method: 'POST',
  path: '/accounts/v2/oauth/callback/{provider_id}',
  scope: 'providers:write',
  params: z.object({ provider_id: z.string() }),
  body: callbackBody,
  response: addedAnswer,
  summary: 'Complete a sign-in at a provider',
  description:
    'With a token of the user and client that began. A state that is unknown, used, expired or another’s is invalid_state.',
  errors: [],
  example: {
    params: { provider_id: 'kraken' },
    body: examples.callback,
    response: { data: examples.addedV2, ...errorsNone },
  },
})
