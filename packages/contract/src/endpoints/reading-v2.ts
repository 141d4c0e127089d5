/** What was read of a connection, and reading it again now. */
import { z } from 'zod'
import { refreshBody, RefreshResponse, StreamCoverage } from '../reading.ts'
import { defineEndpoint } from '../endpoint.ts'
import { successErrors } from '../errors.ts'
import { pageOf, pagesV2 } from '../pages.ts'
import { AssetProof, Explanation, ProofSummary } from '../proof.ts'
import {
  assetProof,
  connectionId,
  coverage,
  errorsNone,
  explanation,
  pageLast,
  proofSummary,
  refreshedV2,
  refreshId,
  transactionId,
} from './examples.ts'

const family = 'accounts_v2'

export const getCoverage = defineEndpoint({
  id: 'getCoverage',
  family,
  method: 'GET',
  path: '/accounts/v2/providers/{connection_id}/coverage',
  scope: 'providers:read',
  params: z.object({ connection_id: z.string() }),
  query: z.object({
    partition: z.string().min(1).optional().meta({
      description: 'Only this list: a symbol, a wallet, an address. Streams without such a list are left out.',
    }),
  }),
  response: z.object({ data: z.object({ streams: z.array(StreamCoverage) }), errors: successErrors }),
  summary: 'See what was read of a connection',
  description:
    'For each list of the provider: the windows that were read to their end, and the holes with their cause.',
  errors: ['not_found'],
  example: {
    params: { connection_id: connectionId },
    query: { partition: 'BTCUSDT' },
    response: { data: { streams: [coverage] }, ...errorsNone },
  },
})

export const getProof = defineEndpoint({
  id: 'getProof',
  family,
  method: 'GET',
  path: '/accounts/v2/providers/{connection_id}/proof',
  scope: 'providers:read',
  moreScopes: ['assets:read'],
  paging: pagesV2,
  params: z.object({ connection_id: z.string() }),
  query: z.strictObject({}),
  response: pageOf(AssetProof).extend({ summary: ProofSummary }),
  summary: 'See whether a connection adds up',
  description:
    'For each asset: what the provider reports, what the transactions add up to, and the difference with its cause. A reading of the balances is judged once the history was read past its time.',
  errors: ['not_found'],
  example: {
    params: { connection_id: connectionId },
    query: { limit: '30' },
    response: { page: pageLast, data: [assetProof], summary: proofSummary, ...errorsNone },
  },
})

export const explainTransaction = defineEndpoint({
  id: 'explainTransaction',
  family,
  method: 'GET',
  path: '/accounts/v2/transactions/{id}/explain',
  scope: 'transactions:read',
  moreScopes: ['assets:read'],
  params: z.object({ id: z.string() }),
  response: z.object({ data: Explanation, errors: successErrors }),
  summary: 'Explain a transaction',
  description:
    'The provider’s own records that it was derived from, the rule, the prices and where they come from, its match, and its former versions.',
  errors: ['not_found'],
  example: { params: { id: transactionId }, response: { data: explanation, ...errorsNone } },
})

const refresh = {
  family,
  method: 'POST',
  body: refreshBody,
  response: RefreshResponse,
  errors: ['not_found'],
  example: { body: { connection_ids: [connectionId] }, response: { data: refreshedV2, ...errorsNone } },
} as const
const coolDown =
  'A connection that was refreshed less than 60 seconds ago is cooling_down; when none could be queued for that reason, the answer is a 429.'

export const refreshAssets = defineEndpoint({
  ...refresh,
  id: 'refreshAssets',
  path: '/accounts/v2/assets/refresh',
  scope: 'assets:read',
  summary: 'Refresh the asset list',
  description: `Reads the balances again, of all connections or of those named. ${coolDown}`,
})

export const refreshTransactions = defineEndpoint({
  ...refresh,
  id: 'refreshTransactions',
  path: '/accounts/v2/transactions/refresh',
  scope: 'transactions:read',
  summary: 'Refresh transactions',
  description: `Reads what is new in the histories, of all connections or of those named. ${coolDown}`,
})

export const getRefresh = defineEndpoint({
  id: 'getRefresh',
  family,
  method: 'GET',
  path: '/accounts/v2/refreshes/{refresh_id}',
  scope: 'providers:read',
  params: z.object({ refresh_id: z.string() }),
  response: RefreshResponse,
  summary: 'Get a refresh',
  description: 'How far it has come. Kept for seven days.',
  errors: ['not_found'],
  example: { params: { refresh_id: refreshId }, response: { data: refreshedV2, ...errorsNone } },
})
