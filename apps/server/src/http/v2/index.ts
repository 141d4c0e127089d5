/** Platform v2, under /accounts/v2: shapes over the front doors of connections and portfolio. No rule lives here. */
import type { FastifyInstance } from 'fastify'
import { makeClaim } from '@assay/contract'
import type { FrontDoors } from '../front-doors.ts'
import { registerAssets, registerHistory } from './assets.ts'
import { registerChanges } from './changes.ts'
import { registerExport } from './export.ts'
import { registerProof } from './proof.ts'
import { registerProviders } from './providers.ts'
import { registerReading } from './reading.ts'
import { registerTransactions } from './transactions.ts'
import { applicationOf } from '../shapes/owner.ts'
import { toMoment } from './moments.ts'

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

const gradesDefault = ['proved', 'explained'] as const

/** POST /accounts/v2/claims */
function registerClaims(app: FastifyInstance, { serve, claims, now }: FrontDoors): void {
  serve(app, makeClaim, async ({ body, caller }) => {
    const asked = toMoment('as_of', body.as_of, { latestMs: now() })
    const said =
      body.claim === 'value_at_least'
        ? { assetId: null, amount: body.amount_in_usd }
        : { assetId: body.asset_id, amount: body.amount }
    const { holds, grade, asOf, statement, errors } = await claims.make(applicationOf(caller), {
      ...{ claim: body.claim, ...said, asOf: asked, audience: body.audience },
      grades: body.grades ?? gradesDefault,
    })
    return { json: { data: { holds, grade, as_of: asOf, statement }, errors } }
  })
}
