/** /connect/v1/session…: one run of the connect flow, step by step. Only shapes; the rules are in the connect room. */
import * as contract from '@assay/contract'
import { Refusal } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import { resendAfterSeconds, type ConnectSession, type Connect } from '../../connect/index.ts'
import { OAuthError } from '../../oauth/index.ts'
import { toAdded, toCredentials } from '../shapes/providers.ts'
import { inTurnForCodes, type CodeTurns } from './code-turns.ts'
import { followSession, type Streams } from './events.ts'
import { createServeSession, type ServeSession } from './serve-session.ts'
import { toAskers, toWireSession } from './wire.ts'
import type { Slots } from '../../limits/index.ts'
import type { SandboxMailbox } from '../../mail/index.ts'
import type { SandboxControl, TestAccountDeps } from '../../sandbox/index.ts'
import type { Admit } from '../request/admission.ts'
import type { Turns } from '../request/turns.ts'

/** What the connect routes need. */
export interface ConnectRoutesDeps {
  connect: Connect
  admit: Admit
  /** How many requests of one address are worked on at once. */
  turns: Turns
  /** Asking for a code and entering one. */
  codeTurns: CodeTurns
  slots: Slots
  streams: Streams
  /** In sandbox mode only: test keys, and the mailed codes. */
  sandbox:
    | (TestAccountDeps & {
        control: SandboxControl
        mailbox: SandboxMailbox
      })
    | undefined
}

export function registerSession(app: FastifyInstance, deps: ConnectRoutesDeps): void {
  const { connect } = deps
  const serveOpen = createServeSession(async () => undefined, deps)
  const serve = createServeSession(connect.authenticate, deps)

  const read = async (sessionId: string) => {
    const view = await connect.describe(sessionId)
    if (view === undefined) throw new Refusal('invalid_token', 'This session has expired.')
    return toWireSession(view, { emailSignIn: connect.emailSignIn, sandbox: deps.sandbox !== undefined })
  }
  const answer = async ({ sessionId }: ConnectSession) => ({ session: await read(sessionId) })

  serveOpen(app, contract.createSession, async ({ body }) => {
    try {
      const { session, secret } = await connect.beginConnectSession(parseConnectQuery(body.query))
      return { session_secret: secret, ...(await answer(session)), redirect_to: null }
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      const redirectTo = connect.findErrorRedirect(error)
      // A bad client_id or redirect_uri: the page shows it, and nothing redirects (RFC 6749 §4.1.2.1).
      if (redirectTo === undefined) throw new Refusal('invalid_request', error.message)
      return { session_secret: null, session: null, redirect_to: redirectTo }
    }
  })
  serve(app, contract.getSession, ({ session }) => answer(session))
  serve(app, contract.requestSessionCode, async ({ session, body }, { ip }) => {
    const sentTo = await connect.requestSessionCode(
      session,
      ip,
      body.email,
      inTurnForCodes(deps.codeTurns, session, ip),
    )
    return { sent_to: sentTo, resend_after_seconds: resendAfterSeconds }
  })
  serve(app, contract.enterSessionCode, async ({ session, body }, { ip }) => {
    await connect.enterSessionCode(session, ip, body.code, inTurnForCodes(deps.codeTurns, session, ip))
    return answer(session)
  })
  serve(app, contract.giveConsent, async ({ session, body }) => {
    const { session_id: sessionId, language, existing } = body ?? {}
    await connect.giveConsent(session, { sessionId, language, existing })
    return answer(session)
  })
  serve(app, contract.removeSessionConnection, async ({ session, params }) => {
    await connect.removeSource(session, params.connection_id)
    return answer(session)
  })
  serveOpen(app, contract.findProviderAsker, async ({ body }) => {
    const asker = await connect.findProviderAsker(body.state)
    if (asker === undefined) return { asker: null }
    return { asker: { ...toAskers(asker.client, asker.tenantName), provider_name: asker.providerName } }
  })
  serveOpen(app, contract.forwardProviderAnswer, async ({ body }) => ({
    redirect_to: (await connect.forwardAnswer(body)) ?? null,
  }))
  serve(app, contract.resumeSession, async ({ session, body }) => {
    await connect.resume(session, body.session_id)
    return answer(session)
  })
  serve(app, contract.finishSession, async ({ session }) => {
    const { redirectTo } = await connect.finish(session)
    return { redirect_to: redirectTo }
  })
  serve(app, contract.declineSession, async ({ session }) => ({ redirect_to: await connect.decline(session) }))
  registerWaiting(app, deps, serve, read)
}

/** Calls that wait: for a worker that checks a key, or for news of the session. */
function registerWaiting(
  app: FastifyInstance,
  { connect, streams }: ConnectRoutesDeps,
  serve: ServeSession<ConnectSession>,
  read: (sessionId: string) => Promise<{ step: string }>,
): void {
  const waits = true
  serve(
    app,
    contract.addSessionConnection,
    async ({ session, body, inTurn }) => {
      const result = await connect.addSource(session, {
        providerId: body.provider_id,
        displayLabel: body.display_label ?? null,
        credentials: toCredentials('provider_id', body.provider_id, body.connection),
        ...(body.connection_id === undefined ? {} : { repairOf: body.connection_id }),
        inTurn,
      })
      return toAdded(result)
    },
    { waits },
  )
  serve(
    app,
    contract.completeSessionCallback,
    async ({ session, body, inTurn }) => toAdded(await connect.completeInSession(session, body, inTurn)),
    { waits },
  )
  serve(
    app,
    contract.followSession,
    async ({ session: { sessionId }, inTurn }, { ip: address }) =>
      followSession(streams, { sessionId, address }, (id) => inTurn(() => read(id))),
    { waits },
  )
}

/**
 * Parsed like URLSearchParams does, so that repeated names stay separate. A NUL is refused because PostgreSQL cannot
 * store it.
 */
function parseConnectQuery(query: string): [string, string][] {
  if (!query.isWellFormed()) throw new Refusal('invalid_request', 'query must be well-formed text')
  const entries = [...new URLSearchParams(query)]
  if (entries.some(([name, value]) => name.includes('\0') || value.includes('\0'))) {
    throw new Refusal('invalid_request', 'query must not have a NUL character')
  }
  return entries
}
