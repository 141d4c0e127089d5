/** Platform v2, under /accounts/v2: shapes over the front doors of connections and portfolio. No rule lives here. */
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { registerAssets, registerHistory } from './assets.ts'
import { registerChanges } from './changes.ts'
import { registerClaims } from './claims.ts'
import { registerExport } from './export.ts'
import { registerProof } from './proof.ts'
import { registerProviders } from './providers.ts'
import { registerReading } from './reading.ts'
import { registerTransactions } from './transactions.ts'

export function registerV2(app: FastifyInstance, deps: FrontDoors): void {
  registerProviders(app, deps)
  registerAssets(app, deps)
  registerTransactions(app, deps)
  registerChanges(app, deps)
  registerExport(app, deps)
  registerReading(app, deps)
  registerProof(app, deps)
  registerHistory(app, deps)
  registerClaims(app, deps)
}
