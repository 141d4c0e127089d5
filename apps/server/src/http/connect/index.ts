/** The connect and manage APIs on the wire, for the configured widget origins alone. */
import type { FastifyInstance } from 'fastify'
import { inTurnForCodes } from './code-turns.ts'
import { createStreams } from './events.ts'
import { registerSession, type ConnectRoutesDeps } from './session.ts'
import * as contract from '@assay/contract'
import { resendAfterSeconds } from '../../connect/index.ts'
import { createServeSession } from './serve-session.ts'
import { toAskers, toWireMe } from './wire.ts'
import { Refusal } from '@assay/core'
import type { SandboxMailbox } from '../../mail/index.ts'
import { createKeyOf } from '../../sandbox/index.ts'

export function registerConnect(app: FastifyInstance, given: Omit<ConnectRoutesDeps, 'streams'>): void {
  const stopping = new AbortController()
  app.addHook('preClose', (done) => {
    stopping.abort()
    done()
  })
  const deps = { ...given, streams: createStreams(stopping.signal, given.slots) }
  registerSession(app, deps)
  registerManage(app, deps)
  if (deps.sandbox !== undefined) registerSandboxHelp(app, deps, deps.sandbox)
}

/** /connect/v1/me…: a user's own page. */
function registerManage(app: FastifyInstance, deps: ConnectRoutesDeps): void {
  const { connect } = deps
  const serveOpen = createServeSession(async () => undefined, deps)
  const serve = createServeSession(connect.authenticateManaging, deps)
  const removed = { removed: true } as const

  serveOpen(app, contract.createManageSession, async ({ body }) => {
    const { secret, client, tenantName } = await connect.beginManageSession(body.client_id)
    const installation = { email_sign_in: connect.emailSignIn, sandbox: deps.sandbox !== undefined }
    return { session_secret: secret, ...toAskers(client, tenantName), ...installation }
  })
  serve(app, contract.requestManageCode, async ({ session, body }, { ip }) => {
    const sentTo = await connect.requestManageCode(session, ip, body.email, inTurnForCodes(deps.codeTurns, session, ip))
    return { sent_to: sentTo, resend_after_seconds: resendAfterSeconds }
  })
  serve(app, contract.enterManageCode, async ({ session, body }, { ip }) => {
    await connect.enterManageCode(session, ip, body.code, inTurnForCodes(deps.codeTurns, session, ip))
    return { signed_in: true as const }
  })
  serve(app, contract.endManageSession, async ({ session }) => {
    await connect.endManageSession(session)
    return { signed_out: true as const }
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

/** Helps a tester in sandbox mode: scenarios in words, fresh test keys, and the mailed code. */
function registerSandboxHelp(
  app: FastifyInstance,
  deps: ConnectRoutesDeps,
  sandbox: NonNullable<ConnectRoutesDeps['sandbox']>,
): void {
  const { control, mailbox, newAccount } = sandbox
  const serve = createServeSession(deps.connect.authenticate, deps)
  const serveManage = createServeSession(deps.connect.authenticateManaging, deps)

  serve(app, contract.getSandboxHelp, async ({ session }) => {
    const { providers } = await control.listProviders()
    const scenarios = providers.flatMap(({ provider_id, scenarios: own }) =>
      own.map(({ name, title, description }) => ({ provider_id, name, title, description })),
    )
    return { scenarios, mail: await findMailedCode(mailbox, session.sessionId) }
  })
  serve(app, contract.createSandboxKey, async ({ session, body }) => {
    if (body.scenario === contract.sameAccount) return { fields: await createKeyToRepair(session.connectionId) }
    const wanted = { providerId: body.provider_id, scenario: body.scenario, account: newAccount() }
    return { fields: { ...(await control.createAccount(wanted)) } }
  })
  async function createKeyToRepair(connectionId: string | null): Promise<Record<string, string>> {
    if (connectionId === null) throw new Refusal('invalid_request', 'This session does not repair a connection.')
    return { ...(await createKeyOf(sandbox, connectionId)) }
  }
  serveManage(app, contract.getManageSandboxHelp, async ({ session }) => ({
    mail: await findMailedCode(mailbox, session.sessionId),
  }))
}

async function findMailedCode(mailbox: SandboxMailbox, sessionId: string): Promise<{ code: string } | null> {
  const mail = await mailbox.findLatest(sessionId)
  const code = /\b\d{6}\b/.exec(mail?.text ?? '')?.[0]
  return code === undefined ? null : { code }
}
