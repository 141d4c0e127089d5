/** Platform v1: the same rules as v2, bare answers, `crypto_source_id` for the provider. No rule lives here. */
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { registerAssets } from './assets.ts'
import { registerProvider } from './provider.ts'
import { registerRefresh } from './refresh.ts'
import { registerTransactions } from './transactions.ts'

export function registerV1(app: FastifyInstance, deps: FrontDoors): void {
  registerAssets(app, deps)
  registerProvider(app, deps)
  registerRefresh(app, deps)
  registerTransactions(app, deps)
}
