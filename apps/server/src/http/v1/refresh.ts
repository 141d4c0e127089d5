/** POST /platform/v1/assets/refresh and /platform/v1/transactions/refresh. */
import { refreshAssetsV1, refreshTransactionsV1 } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { ownerOf } from '../shapes/owner.ts'
import { toRefreshV1 } from '../shapes/refreshes.ts'

export function registerRefresh(app: FastifyInstance, { serve, sync }: FrontDoors): void {
  serve(app, refreshAssetsV1, async ({ body, caller }) => ({
    json: toRefreshV1(await sync.requestRefresh(ownerOf(caller), 'assets', body?.connection_ids)),
  }))

  serve(app, refreshTransactionsV1, async ({ body, caller }) => ({
    json: toRefreshV1(await sync.requestRefresh(ownerOf(caller), 'transactions', body?.connection_ids)),
  }))
}
