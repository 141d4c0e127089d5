/** Which request goes where; what no page of another site may do; what a visitor reads when the service fails. */
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import { page, goTo, readBody, type Answer, type DemoDeps, type Visit } from './visit.ts'
import { begin, beginEmbedded, complete, disconnect, notices, showPortfolio, signOut } from './handlers.ts'
import { eventsPage } from './pages/events.ts'
import { welcomePage } from './pages/welcome.ts'
import { AccessEnded, ServiceFailed } from './service.ts'

const publicFiles: Readonly<Record<string, string>> = {
  '/style.css': 'text/css; charset=utf-8',
  '/page.mjs': 'text/javascript; charset=utf-8',
  '/icon.svg': 'image/svg+xml',
}

const routes: Readonly<Record<string, (deps: DemoDeps, visit: Visit) => Answer | Promise<Answer>>> = {
  'GET /': showPortfolio,
  'GET /connect': begin,
  'POST /connect/request': beginEmbedded,
  'GET /callback': complete,
  'POST /disconnect': disconnect,
  'POST /sign-out': signOut,
  'POST /webhooks': receiveEvent,
  'GET /webhooks': ({ webhooks }) => page(eventsPage(webhooks.list())),
}

export function createRoutes(deps: DemoDeps): (request: IncomingMessage) => Promise<Answer> {
  const policy = toPolicy(deps.widgetUrl)
  return async (request) => {
    const answer = await route(deps, request)
    return { ...answer, headers: { ...policy, ...answer.headers } }
  }
}

async function route(deps: DemoDeps, request: IncomingMessage): Promise<Answer> {
  const url = new URL(request.url ?? '/', deps.url)
  const type = publicFiles[url.pathname]
  if (type !== undefined) return { status: 200, headers: { 'Content-Type': type }, body: readPublic(url.pathname) }
  const handle = routes[`${request.method ?? 'GET'} ${url.pathname}`]
  if (handle === undefined) return page(welcomePage('There is no such page.'), 404)
  // A form on another site must not act with this browser's cookie. The service itself sends no Origin.
  if (request.method === 'POST' && (request.headers.origin ?? deps.url) !== deps.url) return page('Forbidden', 403)
  const session = deps.sessions.find(request.headers.cookie)
  try {
    return await handle(deps, { request, url, session })
  } catch (error) {
    if (error instanceof AccessEnded) {
      if (session !== undefined) session.access = undefined
      return goTo('/?notice=ended')
    }
    // fetch throws a TypeError when nobody answers.
    if (error instanceof ServiceFailed || error instanceof TypeError) return page(welcomePage(notices['failed']), 502)
    throw error
  }
}

async function receiveEvent({ webhooks }: DemoDeps, { request }: Visit): Promise<Answer> {
  return { status: webhooks.receive(await readBody(request)) ? 204 : 400, headers: {}, body: '' }
}

/** Scripts and frames of the widget's origin, for the embedding loader; nothing else from elsewhere. */
function toPolicy(widgetUrl: string): Record<string, string> {
  const { origin } = new URL(widgetUrl)
  const rules = [
    "default-src 'none'",
    `script-src 'self' ${origin}`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    `frame-src ${origin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'Content-Security-Policy': rules.join('; '),
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  }
}

function readPublic(name: string): Buffer {
  return readFileSync(path.join(import.meta.dirname, 'public', path.basename(name)))
}
