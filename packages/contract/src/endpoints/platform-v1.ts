/** Platform v1: bare answers, `crypto_source_id` for the provider, further pages by Link header. */
import { z } from 'zod'
import { AssetPositionV1 } from '../assets.ts'
import { defineEndpoint } from '../endpoint.ts'
import { ErrorItemV1 } from '../errors.ts'
import { linksV1 } from '../pages.ts'
import { anyRangeTimeParameter, connectionId, CryptoSourceId, list, readRange, text, line } from '../values.ts'
import { connectedMembers, connection, connectionStatus } from '../providers.ts'
import { TransactionV1 } from '../transactions.ts'
import {
  addedV1,
  apiConnection,
  callback,
  connectedV1,
  connectionId as connectionIdExample,
  positionV1,
  refreshedV1,
  removed,
  thisYear,
  transactionV1,
} from './examples.ts'
import { refreshBody, RefreshResponseV1 } from '../reading.ts'

const family = 'platform_v1'

const filters = {
  asset_symbols: list('Only these assets, exact case, separated by commas.').optional(),
  crypto_sources: list('Only these crypto sources, separated by commas.').optional(),
}

export const listAssetsV1 = defineEndpoint({
  id: 'listAssetsV1',
  family,
  method: 'GET',
  path: '/platform/v1/assets',
  scope: 'assets:read',
  paging: { ...linksV1, limitDefault: null },
  query: z
    .strictObject({
      ...filters,
      start_time: anyRangeTimeParameter('Fetched at this moment or later.').optional(),
      end_time: anyRangeTimeParameter('Fetched before this moment.').optional(),
    })
    .check(readRange),
  response: z.array(AssetPositionV1),
  summary: 'List asset positions',
  description:
    'One row for each crypto source and asset, ordered by source and symbol. Without limit, all of them; rows left out are behind the Link header.',
  errors: [],
  example: { query: { asset_symbols: 'BTC,ETH', limit: '30' }, response: [positionV1] },
})

const addedAnswerV1 = z.object({
  crypto_source_id: CryptoSourceId,
  connection_id: connectionId.nullable(),
  added: z.boolean(),
  redirect_url: z.string().nullable(),
  status: connectionStatus.nullable(),
  errors: z.array(ErrorItemV1),
})

export const addProviderV1 = defineEndpoint({
  id: 'addProviderV1',
  family,
  method: 'POST',
  path: '/platform/v1/provider',
  scope: 'providers:write',
  body: z.strictObject({ crypto_source_id: CryptoSourceId, display_label: line(80).optional(), connection }),
  response: addedAnswerV1,
  summary: 'Add a crypto source',
  description:
    'Verifies the credentials before anything is stored. A refusal by the crypto source is a 200 with added false and the reason in errors.',
  errors: [],
  example: { body: { crypto_source_id: 'kraken', connection: apiConnection }, response: addedV1 },
})

export const listProvidersV1 = defineEndpoint({
  id: 'listProvidersV1',
  family,
  method: 'GET',
  path: '/platform/v1/provider',
  scope: 'providers:read',
  paging: { ...linksV1, limitDefault: null },
  query: z.strictObject({}),
  response: z.array(
    z
      .object({ connection_id: connectionId, crypto_source_id: CryptoSourceId, ...connectedMembers })
      .meta({ id: 'v1/ConnectedCryptoSource' }),
  ),
  summary: 'List connected crypto sources',
  description: 'Every connection of the user, oldest first.',
  errors: [],
  example: { query: { limit: '30' }, response: [connectedV1] },
})

const selector = { connection_id: text(64).optional(), crypto_source_id: CryptoSourceId.optional() }

export const removeProviderV1 = defineEndpoint({
  id: 'removeProviderV1',
  family,
  method: 'DELETE',
  path: '/platform/v1/provider',
  scope: 'providers:write',
  query: z.strictObject(selector),
  body: z.strictObject(selector).optional(),
  response: z.object({ removed: z.literal(true), connection_ids: z.array(connectionId), data_destroyed: z.boolean() }),
  summary: 'Remove a crypto source',
  description:
    'Takes connection_id, or crypto_source_id for all connections to that source; in body or query, exactly one. Credentials and data are destroyed.',
  errors: ['not_found'],
  example: { query: { connection_id: connectionIdExample }, response: removed },
})

export const listTransactionsV1 = defineEndpoint({
  id: 'listTransactionsV1',
  family,
  method: 'GET',
  path: '/platform/v1/transactions',
  scope: 'transactions:read',
  paging: linksV1,
  query: z
    .strictObject({
      ...filters,
      start_time: anyRangeTimeParameter('At this moment or later.').optional(),
      end_time: anyRangeTimeParameter('Before this moment.').optional(),
    })
    .check(readRange),
  response: z.array(TransactionV1),
  summary: 'List transactions',
  description: 'Newest first. Further pages are behind the Link header.',
  errors: [],
  example: { query: { ...thisYear, limit: '30' }, response: [transactionV1] },
})

export const completeProviderV1 = defineEndpoint({
  id: 'completeProviderV1',
  family,
  method: 'GET',
  path: '/platform/v1/oauth/callback/{crypto_source_id}',
  scope: 'providers:write',
  params: z.object({ crypto_source_id: z.string() }),
  query: z.strictObject({ code: text(4_096), state: text(256) }),
  response: addedAnswerV1,
  summary: 'Complete a sign-in at a crypto source',
  description:
    'With a token of the user and client that began. A state that is unknown, used, expired or another’s is invalid_state.',
  errors: [],
  example: { params: { crypto_source_id: 'kraken' }, query: callback, response: addedV1 },
})

/** Refreshes have the same rules as in v2 and bare responses. */
const refresh = {
  family,
  method: 'POST',
  body: refreshBody,
  response: RefreshResponseV1,
  errors: ['not_found'],
  example: { body: { connection_ids: [connectionIdExample] }, response: refreshedV1 },
} as const

export const refreshAssetsV1 = defineEndpoint({
  ...refresh,
  id: 'refreshAssetsV1',
  path: '/platform/v1/assets/refresh',
  scope: 'assets:read',
  summary: 'Refresh the asset list',
  description: 'Reads the balances again. A crypto source that was refreshed less than 60 seconds ago is cooling_down.',
})

export const refreshTransactionsV1 = defineEndpoint({
  ...refresh,
  id: 'refreshTransactionsV1',
  path: '/platform/v1/transactions/refresh',
  scope: 'transactions:read',
  summary: 'Refresh transactions',
  description:
    'Reads what is new in the histories. A crypto source that was refreshed less than 60 seconds ago is cooling_down.',
})
