/** Northwind's actions: send a person to the widget, handle the callback, disconnect an account, and sign out. Its pages are in show.ts. */
import { ProblemError } from '@assay/sdk'
import { goTo, readBody, setCookie, type Answer, type DemoDeps, type Visit } from './visit.ts'

export async function beginAuthorization({ service, sessions }: DemoDeps, { url, session }: Visit): Promise<Answer> {
  const connectionId = url.searchParams.get('connection_id')
  const visitor = session ?? sessions.create()
  const begun = await service.beginAuthorization(connectionId === null ? {} : { connectionId })
  sessions.remember(visitor, begun)
  return goTo(begun.url, visitor)
}

/** Connects the sample accounts as their owner would in the widget. The sandbox answers in the owner's place. */
export async function beginSampleAuthorization(
  { service, sessions, sampleUser }: DemoDeps,
  { session }: Visit,
): Promise<Answer> {
  if (sampleUser === undefined) return goTo('/')
  const visitor = session ?? sessions.create()
  const begun = await service.beginAuthorization()
  sessions.remember(visitor, begun)
  return goTo(await service.answerAs(sampleUser, begun), visitor)
}

/** Returns the same request as data, for the embedding loader on our page. The verifier stays on the server. */
export async function beginEmbeddedAuthorization(deps: DemoDeps, { session }: Visit): Promise<Answer> {
  const { service, sessions, widgetUrl, clientId } = deps
  const visitor = session ?? sessions.create()
  const begun = await service.beginAuthorization()
  sessions.remember(visitor, begun)
  const { codeChallenge, state } = begun
  const request = { widgetUrl, clientId, codeChallenge, state, redirectUri: service.redirectUri, scope: service.scope }
  return {
    status: 200,
    headers: { ...setCookie(visitor), 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
    body: JSON.stringify({ loader: `${widgetUrl}/loader.js`, request }),
  }
}

export async function complete({ service, sessions, authUrl }: DemoDeps, { url, session }: Visit): Promise<Answer> {
  const { searchParams } = url
  const authorization = session && sessions.take(session, searchParams.get('state') ?? '')
  // Without our state, this browser did not start the flow. An answer of another issuer is not for us (RFC 9207).
  if (session === undefined || authorization === undefined || searchParams.get('iss') !== authUrl) {
    return goTo('/?notice=unexpected')
  }
  const code = searchParams.get('code')
  if (code === null)
    return goTo(searchParams.get('error') === 'access_denied' ? '/?notice=declined' : '/?notice=failed')
  session.client = await service.redeem(code, authorization)
  sessions.renew(session)
  return goTo('/', session)
}

export async function disconnect(_: DemoDeps, { request, session }: Visit): Promise<Answer> {
  const connectionId = new URLSearchParams(await readBody(request)).get('connection_id')
  if (connectionId !== null) {
    await session?.client?.providers.remove({ connection_id: connectionId }).catch(ignoreMissing)
  }
  return goTo('/')
}

/** The button was pressed twice, or the account was removed elsewhere. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof ProblemError && error.code === 'not_found')) throw error
}

/** Ends Northwind's tokens, and forgets the visitor. The consent stays until the user ends it on their own page. */
export async function signOut({ sessions }: DemoDeps, { session }: Visit): Promise<Answer> {
  await session?.client?.revoke()
  if (session !== undefined) sessions.end(session)
  return goTo('/')
}

export async function receiveEvent({ webhooks }: DemoDeps, { request }: Visit): Promise<Answer> {
  const isAccepted = await webhooks.receive({ headers: request.headers, body: await readBody(request) })
  return { status: isAccepted ? 204 : 401, headers: {}, body: '' }
}
