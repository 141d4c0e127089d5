/** POST /accounts/v2/claims */
import { makeClaim } from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import type { FrontDoors } from '../front-doors.ts'
import { applicationOf } from '../shapes/owner.ts'
import { toMoment } from './moments.ts'

const gradesDefault = ['proved', 'explained'] as const

export function registerClaims(app: FastifyInstance, { serve, claims, now }: FrontDoors): void {
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
