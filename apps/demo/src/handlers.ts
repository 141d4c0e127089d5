/** What Northwind does: send a person to the widget, take the answer, show the portfolio, let go again. */
import { portfolioPage } from './pages/portfolio.ts'
import { welcomePage } from './pages/welcome.ts'
import { goTo, page, readBody, setCookie, type Answer, type DemoDeps, type Visit } from './visit.ts'

export const notices: Readonly<Record<string, string>> = {
  declined: 'Nothing was shared. You can connect whenever you like.',
  ended: 'Northwind may no longer read your accounts. Connect again to go on.',
  failed: 'Your accounts cannot be read at the moment. Try again in a minute.',
  unexpected: 'That answer did not belong to this browser. Start again from here.',
}

export async function showPortfolio({ service, sessions }: DemoDeps, { url, session }: Visit): Promise<Answer> {
  const notice = notices[url.searchParams.get('notice') ?? '']
  if (session?.access === undefined) return page(welcomePage(notice))
  const access = await sessions.access(session)
  const [connections, assets, transactions] = await Promise.all([
    service.listConnections(access),
    service.listAssets(access),
    service.listTransactions(access, url.searchParams.get('cursor') ?? undefined),
  ])
  return page(portfolioPage({ connections, assets, transactions, notice }))
}

export function begin({ service, sessions }: DemoDeps, { url, session }: Visit): Answer {
  const connectionId = url.searchParams.get('connection_id')
  const visitor = session ?? sessions.create()
  const begun = service.begin(connectionId === null ? {} : { connection_id: connectionId })
  sessions.remember(visitor, begun.authorization)
  return goTo(begun.url, visitor)
}

/** The same request as data, for the embedding loader on our page. The verifier stays here. */
export function beginEmbedded({ service, sessions, widgetUrl, clientId }: DemoDeps, { session }: Visit): Answer {
  const visitor = session ?? sessions.create()
  const { url, authorization } = service.begin()
  sessions.remember(visitor, authorization)
  const { searchParams } = new URL(url)
  const request = {
    widgetUrl,
    clientId,
    codeChallenge: searchParams.get('code_challenge'),
    state: authorization.state,
    redirectUri: searchParams.get('redirect_uri'),
  }
  return {
    status: 200,
    headers: { ...setCookie(visitor), 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
    body: JSON.stringify({ loader: `${widgetUrl}/loader.js`, request }),
  }
}

export async function complete({ service, sessions, authUrl }: DemoDeps, { url, session }: Visit): Promise<Answer> {
  const { searchParams } = url
  const authorization = session && sessions.take(session, searchParams.get('state') ?? '')
  // Without our own state this answer was not asked for by this browser; with another issuer, not by us (RFC 9207).
  if (session === undefined || authorization === undefined || searchParams.get('iss') !== authUrl) {
    return goTo('/?notice=unexpected')
  }
  const code = searchParams.get('code')
  if (code === null)
    return goTo(searchParams.get('error') === 'access_denied' ? '/?notice=declined' : '/?notice=failed')
  session.access = await service.redeem(code, authorization)
  return goTo('/')
}

export async function disconnect({ service, sessions }: DemoDeps, { request, session }: Visit): Promise<Answer> {
  if (session === undefined) return goTo('/')
  const connectionId = new URLSearchParams(await readBody(request)).get('connection_id')
  if (connectionId !== null) await service.removeConnection(await sessions.access(session), connectionId)
  return goTo('/')
}

export async function signOut({ service, sessions }: DemoDeps, { session }: Visit): Promise<Answer> {
  if (session?.access !== undefined) await service.revoke(session.access)
  if (session !== undefined) sessions.end(session)
  return goTo('/')
}
