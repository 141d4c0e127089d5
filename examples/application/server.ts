/**
 * A whole application on Assay, with node:http and the SDK alone: connect in a window, a frame or by redirect, show
 * holdings, receive webhooks, repair a connection, and sign out. README.md explains how to run it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  createClient,
  createPkce,
  createState,
  exchangeCode,
  OAuthError,
  readCallback,
  toAuthorizationUrl,
  toTokenClient,
  verifyWebhook,
  WebhookError,
  type Client,
  type ConnectedProvider,
  type Tokens,
} from '@assay/sdk'
import { toPage, type View } from './page.ts'
import { openStore, type Session, type Store } from './store.ts'

export interface Settings {
  port: number
  /** The address of this application in the browser; `${ownUrl}/callback` is registered as its redirect URI. */
  ownUrl: string
  baseUrl: string
  authUrl: string
  widgetUrl: string
  clientId: string
  clientSecret: string
  webhookSecret: string
  directory: string
}

interface Visit {
  request: IncomingMessage
  response: ServerResponse
  url: URL
  /** Undefined before this browser has connected. */
  sessionId: string | undefined
  session: Session | undefined
}

type Handler = (visit: Visit) => Promise<void>

export async function startApplication(settings: Settings): Promise<{ url: string }> {
  const store = await openStore(settings.directory)
  const handlers = createHandlers(settings, store)
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end('Something went wrong. Please try again.')
    })
  })
  server.listen(settings.port, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', settings.ownUrl)
    const called = `${request.method ?? 'GET'} ${url.pathname}`
    // A webhook comes from a server, which has no session.
    if (called === 'POST /webhooks') return receiveWebhook(settings, store, request, response)
    const handler = Object.hasOwn(handlers, called) ? handlers[called] : undefined
    if (handler === undefined) return void response.writeHead(404).end()
    await handler({ request, response, url, ...(await findSession(store, request)) })
  }
}

function createHandlers(settings: Settings, store: Store): Readonly<Record<string, Handler>> {
  return {
    async 'GET /'({ response, session }) {
      // A verifier and a state for each flow, made before the click: a browser opens a window only at once. The browser
      // keeps them, in a cookie that scripts cannot read, so that visits leave nothing here.
      const { codeVerifier, codeChallenge } = await createPkce()
      const state = createState()
      setCookie(response, 'flow', `${state}.${codeVerifier}`)
      const { clientId, widgetUrl } = settings
      const request = { widgetUrl, clientId, codeChallenge, state }
      const html = toPage({
        request,
        redirectUrl: toAuthorizationUrl(request),
        manageUrl: `${widgetUrl.replace(/\/$/, '')}/manage?client_id=${encodeURIComponent(clientId)}`,
        portfolio: await readPortfolio(settings, store, session),
      })
      const widget = new URL(widgetUrl).origin
      const policy = `default-src 'none'; script-src 'self' ${widget}; frame-src ${widget}; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'cache-control': 'no-store',
      })
      response.end(html)
    },

    async 'GET /page.js'({ response }) {
      response.writeHead(200, { 'content-type': 'text/javascript' })
      response.end(await readFile(new URL('public/page.js', import.meta.url)))
    },

    // The browser arrives here after a redirect, and page.js sends it here after a window or a frame.
    async 'GET /callback'({ request, response, url, sessionId }) {
      // Without a flow that this browser began, the code in the link may be that of a stranger's account.
      const [state, codeVerifier] = readCookie(request, 'flow')?.split('.') ?? []
      if (state !== undefined && codeVerifier !== undefined) {
        const tokens = await redeem(settings, url, { state, codeVerifier })
        if (tokens !== undefined) {
          await store.tokens.save(tokens.userId, tokens)
          // The answer spends the flow.
          setCookie(response, 'flow', '')
          // A new id: the one from before may have been planted in this browser by another person, who knows it.
          if (sessionId !== undefined) await store.sessions.remove(sessionId)
          const newId = randomUUID()
          await store.sessions.save(newId, { userId: tokens.userId })
          setCookie(response, 'session', newId)
        }
      }
      response.writeHead(303, { location: '/' }).end()
    },

    async 'POST /refresh'({ response, session }) {
      const client = await openClient(settings, store, session)
      await client?.refreshAssets()
      response.writeHead(303, { location: '/' }).end()
    },

    // Ends the tokens. The consent stays, and the user ends it on the page that we link to.
    async 'POST /sign-out'({ response, sessionId, session }) {
      const client = await openClient(settings, store, session)
      await client?.revoke()
      if (session !== undefined) await store.tokens.remove(session.userId)
      if (sessionId !== undefined) await store.sessions.remove(sessionId)
      response.writeHead(303, { location: '/' }).end()
    },
  }
}

/** Undefined when the user declined, or when the answer belongs to another browser. Nothing was connected then. */
async function redeem(
  settings: Settings,
  callback: URL,
  { state, codeVerifier }: { state: string; codeVerifier: string },
): Promise<Tokens | undefined> {
  try {
    const code = readCallback(callback.href, { state, issuer: settings.authUrl })
    const redirectUri = `${settings.ownUrl}/callback`
    return await exchangeCode(toTokenClient(settings), { code, codeVerifier, redirectUri })
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return undefined
  }
}

/** The session of this browser: a random id in a cookie that scripts cannot read. */
async function findSession(store: Store, request: IncomingMessage): Promise<Pick<Visit, 'sessionId' | 'session'>> {
  const sessionId = readCookie(request, 'session')
  const session = sessionId === undefined ? undefined : await store.sessions.find(sessionId)
  return session === undefined ? { sessionId: undefined, session } : { sessionId, session }
}

function readCookie(request: IncomingMessage, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? '').split('; ').map((pair) => pair.split('=', 2))
  return pairs.find(([found]) => found === name)?.[1]
}

/** Values have letters, digits, "-", "_" and "." alone. An empty one deletes the cookie. */
function setCookie(response: ServerResponse, name: 'flow' | 'session', value: string): void {
  const end = value === '' ? '; Max-Age=0' : ''
  // Add "Secure" where the application has https.
  response.appendHeader('set-cookie', `${name}=${value}; HttpOnly; SameSite=Lax; Path=/${end}`)
}

/** A client that shares its tokens with every other process of this application. */
async function openClient(settings: Settings, store: Store, session: Session | undefined): Promise<Client | undefined> {
  if (session === undefined) return undefined
  const { userId } = session
  const tokens = await store.tokens.find(userId)
  if (tokens === undefined) return undefined
  return createClient({
    ...settings,
    tokens,
    loadTokens: async () => (await store.tokens.find(userId)) ?? tokens,
    onTokens: (next: Tokens) => store.tokens.save(userId, next),
    lock: (work) => store.withLock(userId, work),
  })
}

async function readPortfolio(
  settings: Settings,
  store: Store,
  session: Session | undefined,
): Promise<View['portfolio']> {
  const client = await openClient(settings, store, session)
  if (client === undefined || session === undefined) return undefined
  try {
    const { data: holdings, errors } = await client.assetsPage()
    const connections: ConnectedProvider[] = []
    for await (const connection of client.providers.list()) connections.push(connection)
    const news = await store.messages.find(`last ${session.userId}`)
    return { holdings, errors, connections, news: news?.text }
  } catch (error) {
    // The consent has ended: by the user on the manage page, or after a year. Only the user can give it again.
    if (!(error instanceof OAuthError) || error.code !== 'invalid_grant') throw error
    await store.tokens.remove(session.userId)
    return undefined
  }
}

const bodyBytesMax = 64 * 1024

async function receiveWebhook(
  settings: Settings,
  store: Store,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const id = String(request.headers['webhook-id'])
  // Every caller can post here, and a body is read before its signature can be checked. Messages have a few hundred
  // bytes.
  if (!(Number(request.headers['content-length']) <= bodyBytesMax)) return void response.writeHead(413).end()
  try {
    // The body as it arrived: parsed and written again it would have another signature.
    const event = await verifyWebhook({ headers: request.headers, body: await text(request) }, settings.webhookSecret)
    if ((await store.messages.find(id)) === undefined && 'user_id' in event.data) {
      const what = 'change' in event.data ? `${event.type}: ${event.data.change}` : event.type
      const message = { receivedAt: new Date().toISOString(), text: what, userId: event.data.user_id }
      await store.messages.save(id, message)
      await store.messages.save(`last ${event.data.user_id}`, message)
    }
    // Answer first and work afterwards, where the work takes longer than ten seconds.
    response.writeHead(204).end()
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    response.writeHead(401).end()
  }
}
