/** Refreshes of platform v1: the same rules as in v2, the answer bare. */
import { defineEndpoint } from '../endpoint.ts'
import { RefreshResponseV1, refreshBody } from '../reading.ts'
import { connectionId, refreshedV1 } from './examples.ts'

const refresh = {
  family: 'platform_v1',
  method: 'POST',
  body: refreshBody,
  response: RefreshResponseV1,
  errors: ['not_found'],
  example: { body: { connection_ids: [connectionId] }, response: refreshedV1 },
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
