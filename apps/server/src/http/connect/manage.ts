/** /connect/v1/me…: a user's own page. Shapes over the connect module; no rule lives here. */
import * as contract from '@assay/contract'
import type { FastifyInstance } from 'fastify'
import { resendAfterSeconds } from '../../connect/index.ts'
import type { ConnectRoutesDeps } from './deps.ts'
import { createServeSession } from './serve-session.ts'
import { toAskers, toWireMe } from './wire.ts'

export function registerManage(app: FastifyInstance, { connect, admit }: ConnectRoutesDeps): void {
  const serveOpen = createServeSession(async () => undefined, admit)
  const serve = createServeSession(connect.authenticateManaging, admit)
  const removed = { removed: true } as const

  serveOpen(app, contract.createManageSession, async ({ body }) => {
    const { secret, client, tenantName } = await connect.beginManaging(body.client_id)
    return { session_secret: secret, ...toAskers(client, tenantName), email_sign_in: connect.emailSignIn }
  })
  serve(app, contract.requestManageCode, async ({ session, body }, { ip }) => {
    const sentTo = await connect.requestManageCode(session, ip, body.email)
    return { sent_to: sentTo, resend_after_seconds: resendAfterSeconds }
  })
  serve(app, contract.enterManageCode, async ({ session, body }, { ip }) => {
    await connect.enterManageCode(session, ip, body.code)
    return { signed_in: true as const }
  })
  serve(app, contract.getMe, async ({ session }) => toWireMe(await connect.describeMe(session)))
  serve(app, contract.removeMyConnection, async ({ session, params }) => {
    await connect.removeMyConnection(session, params.id)
    return removed
  })
  serve(app, contract.revokeMyGrant, async ({ session, params }) => {
    await connect.revokeMyGrant(session, params.id)
    return removed
  })
  serve(app, contract.deleteMe, async ({ session }) => {
    await connect.deleteMe(session)
    return removed
  })
}
