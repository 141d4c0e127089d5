/** Routes requests, refuses cross-site forms, and answers when the service fails. */
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import { ConnectionError, OAuthError, ProblemError } from '@assay/sdk'
import {
  beginAuthorization,
  beginEmbeddedAuthorization,
  beginSampleAuthorization,
  complete,
  disconnect,
  receiveEvent,
  signOut,
} from './handlers.ts'
import { failedPage, missingPage } from './pages/layout.ts'
import { showCoverage, showEvents, showMore, showPortfolio } from './show.ts'
import { BodyBroken, BodyTooLarge, goTo, page, type Answer, type DemoDeps, type Visit } from './visit.ts'

// These are maps and not objects, because a request chooses the key: every object has a `constructor`.
const publicFiles: ReadonlyMap<string, string> = new Map([
  ['/style.css', 'text/css; charset=utf-8'],
  ['/lists.css', 'text/css; charset=utf-8'],
  ['/transactions.css', 'text/css; charset=utf-8'],
  ['/charts.css', 'text/css; charset=utf-8'],
  ['/page.mjs', 'text/javascript; charset=utf-8'],
  ['/icon.svg', 'image/svg+xml'],
])

type Handler = (deps: DemoDeps, visit: Visit) => Answer | Promise<Answer>

const routes: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['GET /', showPortfolio],
  ['GET /transactions', showMore],
  ['GET /coverage', showCoverage],
  ['GET /connect', beginAuthorization],
  ['POST /connect/request', beginEmbeddedAuthorization],
  ['POST /sample', beginSampleAuthorization],
  ['GET /callback', complete],
  ['POST /disconnect', disconnect],
  ['POST /sign-out', signOut],
  ['POST /webhooks', receiveEvent],
  ['GET /webhooks', showEvents],
])

export function createRoutes(deps: DemoDeps): (request: IncomingMessage) => Promise<Answer> {
  const policy = toPolicy(deps)
  return async (request) => {
    const answer = await route(deps, request)
    return { ...answer, headers: { ...policy, ...answer.headers } }
  }
}

/**
 * Any other name was made to resolve to this machine (DNS rebinding) by a page that wants to read what is shown here.
 */
const ownHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i

async function route(deps: DemoDeps, request: IncomingMessage): Promise<Answer> {
  if (!ownHost.test(request.headers.host ?? '')) return page('Northwind answers at 127.0.0.1 only.', 421)
  const url = URL.parse(request.url ?? '/', deps.url)
  if (url === null) return page('Bad request', 400)
  const type = publicFiles.get(url.pathname)
  if (type !== undefined) return { status: 200, headers: { 'Content-Type': type }, body: readPublic(url.pathname) }
  const handle = routes.get(`${request.method ?? 'GET'} ${url.pathname}`)
  if (handle === undefined) return page(missingPage(), 404)
  // A form on another site must not act with this browser's cookie. The service itself sends no Origin.
  if (request.method === 'POST' && (request.headers.origin ?? deps.url) !== deps.url) return page('Forbidden', 403)
  const session = deps.sessions.find(request.headers.cookie)
  try {
    return await handle(deps, { request, url, session })
  } catch (error) {
    if (hasEnded(error)) {
      if (session !== undefined) session.client = undefined
      return goTo('/?notice=ended')
    }
    if (error instanceof BodyTooLarge) return page('Too large', 413)
    if (error instanceof BodyBroken) return page('Bad request', 400)
    if (isServiceFailing(error)) return page(failedPage(), 502)
    throw error
  }
}

/** The service no longer accepts our tokens, or never accepted the code: the user has to connect again. */
function hasEnded(error: unknown): boolean {
  if (error instanceof ProblemError) return error.code === 'invalid_token'
  return error instanceof OAuthError && error.code === 'invalid_grant'
}

function isServiceFailing(error: unknown): boolean {
  return error instanceof ConnectionError || error instanceof OAuthError || error instanceof ProblemError
}

/**
 * Scripts and frames of the widget's origin, for the embedding loader, and the service's icons; nothing else from
 * elsewhere.
 */
function toPolicy({ widgetUrl, baseUrl }: DemoDeps): Record<string, string> {
  const { origin } = new URL(widgetUrl)
  const rules = [
    "default-src 'none'",
    `script-src 'self' ${origin}`,
    "style-src 'self'",
    `img-src 'self' ${new URL(baseUrl).origin}`,
    "connect-src 'self'",
    `frame-src ${origin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'Content-Security-Policy': rules.join('; '),
    // Not no-referrer: with it a browser sends `Origin: null` even from our own forms, and the check above refuses
    // them.
    'Referrer-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
  }
}

function readPublic(name: string): Buffer {
  return readFileSync(path.join(import.meta.dirname, 'public', path.basename(name)))
}
