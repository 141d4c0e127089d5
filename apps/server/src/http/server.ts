/**
 * The HTTP server: what applies to every request, whatever its route. That is a request id on every answer, problem
 * documents for every refusal (also those that never reach a route), CORS and security headers, one access line, a stop
 * that loses no request. Routes come in as groups, each with its own CORS policy; a group may bring its own body
 * parsers and error handler (the token endpoint does), because groups are encapsulated.
 */
import { randomUUID } from 'node:crypto'
import dns from 'node:dns'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { Refusal } from '@assay/core'
import {
  fastify,
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { isLoopback } from '../config/config.ts'
import { toNetwork } from '../limits/index.ts'
import { acceptJsonOnly } from './request/body.ts'
import { addCorsHeaders, isPreflight, pathOf, registerPreflights } from './transport/cors.ts'
import { AccessLine, type Log } from './log.ts'
import type { FleetMetrics, Metrics } from '../telemetry/index.ts'
import type { MetricsAccess, Scraped } from './system/health.ts'
import { bodyBytesMax, sendProblem, toProblem, unknownPath } from './request/problem.ts'
import { checkFraming, isLast } from './transport/framing.ts'
import { createRouteTable, type RouteGroup, type RouteTable } from './transport/route-table.ts'
import { securityHeaders } from './transport/security-headers.ts'
import { readTarget } from './transport/target.ts'
import { limitUnread, noteCaller, unreadLimits, type UnreadLimits } from './transport/unread.ts'
import { systemRoutes } from './system/system.ts'
import type { Tracer } from '../tracing/index.ts'
import { traceRequests } from './trace-requests.ts'
import { sunsetHeaders } from './v1/index.ts'

export interface HttpOptions {
  log: Log
  groups: readonly RouteGroup[]
  metrics: Pick<Metrics, 'observeRequest'> & { registry: Scraped }
  fleetMetrics: Pick<FleetMetrics, 'registry' | 'read'>
  metricsAccess: MetricsAccess
  /** Why this process cannot serve now; undefined when it can. */
  findUnready: () => Promise<string | undefined>
  build: { version: string; commit: string | undefined }
  /** Known only after the port is bound, so these are functions. */
  baseUrl: () => string
  authUrl: () => string
  widgetUrl: () => string
  widgetOrigins: () => readonly string[]
  /** When v1 ends, where an operator has set that. */
  v1SunsetMs: number | undefined
  /** Sandbox and live mode: refuses a page elsewhere whose name was made to resolve to this machine (DNS rebinding). */
  loopbackHostsOnly: boolean
  /** Sandbox mode: /docs may send calls, with tokens of the published clients. */
  docsCanTry: boolean
  /** Proxies whose X-Forwarded-For is trusted. */
  trustedProxies: readonly string[]
  /** Set when traces are on. */
  tracer?: Tracer | undefined
  /** The time for the whole request to arrive. */
  requestTimeoutMs?: number
  /** What callers may leave unread. */
  unread?: UnreadLimits
}

export interface HttpServer {
  app: FastifyInstance
  /** Resolves to the address, such as http://127.0.0.1:4000. */
  listen: (address: { host: string; port: number }) => Promise<string>
  /** Instead of listening: serves a connection that another process has accepted. */
  take: (socket: Socket) => void
  /** Takes no new requests, lets running ones finish, and cuts off the rest after the grace period. */
  stop: (graceMs: number) => Promise<void>
}

// A request must arrive, headers and body, within this time; Node's default would let a slow sender stay for minutes.
const requestTimeoutMsDefault = 30_000
/** How much of that time may pass between two checks for late requests. */
const lookShare = 0.1
const paramLengthMax = 200
const noQuery: Record<string, never> = Object.freeze({})

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A page, which sets its own security headers. */
    isPage?: boolean
  }
}

export async function createHttpServer(options: HttpOptions): Promise<HttpServer> {
  const table = createRouteTable()
  const app = createApp(options, addHeaders)
  const state = { stopping: false }
  const accepted = createAccepted(app.server)
  limitUnread(app.server, options.unread ?? unreadLimits)

  app.decorateRequest('caller', undefined)
  acceptJsonOnly(app)
  // Set before the first route, including those of plugins: a route keeps the handler that it finds.
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply))
  if (options.tracer !== undefined) traceRequests(app, options.tracer)
  // These hooks take a callback: a promise for each of them costs more than what they do.
  app.addHook('onRequest', (request, reply, done) => {
    if (!openAnswer(request, reply)) done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    record(request, reply, options)
    done()
  })
  // A kept-alive connection would delay the stop until its client closes it.
  app.addHook('onSend', (_, reply, payload, done) => {
    if (state.stopping) void reply.header('Connection', 'close')
    done(null, payload)
  })
  await registerPreflights(app, table, options.widgetOrigins, (request, reply) =>
    answerUnmatched(request, reply, table),
  )

  let hasWarned = options.trustedProxies.length > 0
  /**
   * Warns once, because every request through a proxy has the header. Limits would count all people behind the proxy as
   * one.
   */
  function noticeProxy(request: FastifyRequest): void {
    if (hasWarned || request.headers['x-forwarded-for'] === undefined) return
    hasWarned = true
    const settings = 'set ASSAY_TRUSTED_PROXIES to the address of the proxy, if there is one'
    options.log.warn({ fix: settings }, 'X-Forwarded-For is not believed: no trusted proxy is configured')
  }

  const sunset = sunsetHeaders(options.v1SunsetMs)
  /** Sets what every answer carries. */
  function addHeaders(request: FastifyRequest, reply: FastifyReply): void {
    void reply.header('x-request-id', request.id)
    if (isLast(request.raw)) void reply.header('Connection', 'close')
    if (request.routeOptions.config.isPage !== true) void reply.headers(securityHeaders)
    if (isPreflight(request)) return
    addCorsHeaders(request, reply, table, options.widgetOrigins)
    // Decided by path and not by route, because a 404 or 405 below it is an answer of v1, too.
    if (sunset !== undefined && request.url.startsWith('/platform/v1/')) void reply.headers(sunset)
  }

  /** Runs the checks that refuse. True when the request was answered here. */
  function openAnswer(request: FastifyRequest, reply: FastifyReply): boolean {
    addHeaders(request, reply)
    noticeProxy(request)
    // A proxy's own address would make one caller of all people behind it.
    if (options.trustedProxies.length > 0) noteCaller(request.raw.socket, toNetwork(request.ip))
    checkFraming(request.raw)
    checkHost(request, options.loopbackHostsOnly)
    return !isPreflight(request) && answerUnmatched(request, reply, table)
  }

  const system = systemRoutes({
    ...options,
    findUnready: async () => (state.stopping ? 'this process is stopping' : options.findUnready()),
  })
  for (const group of [...system, ...options.groups]) await registerGroup(app, table, group)

  return {
    app,
    listen: (address) => listen(app, accepted, address),
    take: accepted.take,
    stop: async (graceMs) => {
      state.stopping = true
      const cut = setTimeout(() => app.server.closeAllConnections(), graceMs)
      try {
        await accepted.end()
        await app.close()
      } finally {
        clearTimeout(cut)
      }
    },
  }
}

/**
 * `localhost` has two addresses on most machines. Fastify would serve the second by a server of its own, which has none
 * of our limits and does not answer a request with an `Upgrade` header at all.
 */
async function listen(
  app: FastifyInstance,
  accepted: ReturnType<typeof createAccepted>,
  { host, port }: { host: string; port: number },
): Promise<string> {
  if (host !== 'localhost') return app.listen({ host, port })
  const found = await promisify(dns.lookup)(host, { all: true })
  const [first = host, ...others] = found.map(({ address }) => address)
  const url = await app.listen({ host: first, port })
  const { port: bound } = app.server.address() as AddressInfo
  for (const other of others) await accepted.listenAt(other, bound)
  return url
}

/** Connections that another process has accepted, or that came to a further address. */
function createAccepted(server: FastifyInstance['server']) {
  const taken = new Set<Socket>()
  const further = new Set<Server>()
  let isWatched = false
  /**
   * Node watches connections from the moment its server listens, and this one may never do. Without the watch a request
   * that is sent slowly never times out, and `closeAllConnections` closes nothing (lib/_http_server.js,
   * setupConnectionsTracking, in Node 24.21).
   */
  function watch(): void {
    if (!isWatched && !server.listening) server.emit('listening')
    isWatched = true
  }

  function take(socket: Socket): void {
    watch()
    taken.add(socket)
    socket.once('close', () => taken.delete(socket))
    // Node's server does this for connections that it has accepted itself.
    socket.setNoDelay(true)
    server.emit('connection', socket)
    socket.resume()
  }

  return {
    take,
    /** Not where the machine lacks the address, or the port is taken there: the first address is enough. */
    async listenAt(host: string, port: number): Promise<void> {
      const acceptor = createServer({ pauseOnConnect: true }, take).listen(port, host)
      const isListening = await once(acceptor, 'listening').then(
        () => true,
        () => false,
      )
      if (isListening) further.add(acceptor)
    },
    /** Resolves when the requests under way have ended. Fastify waits only for connections of a server that listens. */
    async end(): Promise<void> {
      for (const acceptor of further) acceptor.close()
      if (taken.size > 0) server.closeIdleConnections()
      await Promise.all([...taken].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    },
  }
}

/**
 * A random UUID, which Node makes ahead of time; a TypeID, whose order follows the time, costs twenty times as much.
 */
function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}

function createApp(
  options: HttpOptions,
  addHeaders: (request: FastifyRequest, reply: FastifyReply) => void,
): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = options.log
  const { requestTimeoutMs = requestTimeoutMsDefault } = options
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    requestIdHeader: false,
    genReqId: newRequestId,
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    rewriteUrl: readTarget,
    // Queries are read by query.ts.
    routerOptions: { maxParamLength: paramLengthMax, querystringParser: () => noQuery },
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    // Requests that arrive on a kept-alive connection during a stop are still served; then the connection closes.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    http: {
      // Without a Host header, Node would answer by itself and without a problem document; `checkHost` answers instead.
      requireHostHeader: false,
      // Node's own timeout for headers, one minute, is longer than ours for the request. Node would then swap the two,
      // and a body would have that minute (ConnectionsList::Expired in src/node_http_parser.cc, Node 24.21).
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: requestTimeoutMs * lookShare,
    },
    // No hook runs for these (a broken percent-encoding in the path, an id longer than any), so headers and access line
    // are written here.
    frameworkErrors: (error, request, reply) => {
      addHeaders(request, reply)
      record(request, sendProblem(error, request, reply), options)
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, requestTimeoutMs),
  })
  // Node forgets the address of a connection that was reset, unless it was asked for it before. Callers are counted by it.
  app.server.on('connection', (socket) => {
    if (socket.remoteAddress === undefined) socket.destroy()
  })
  // An expectation we do not know may be ignored (RFC 9110 §10.1.1); Node would answer 417 by itself.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // CONNECT asks for a tunnel and never becomes a request either; Node would silently close the connection.
  app.server.on('connect', (_, socket) => {
    socket.on('error', () => socket.destroy())
    refuseOnSocket(socket, 'CONNECT is not supported')
  })
  return app
}

/** The access line has the route's pattern and never the URL, whose query may hold private data. */
function record(request: FastifyRequest, reply: FastifyReply, { log, metrics }: HttpOptions): void {
  const { method } = request
  const { statusCode: status, elapsedTime } = reply
  const route = request.routeOptions.url ?? '(none)'
  metrics.observeRequest({ method, route, status, seconds: elapsedTime / 1_000 })
  const ms = Math.round(elapsedTime * 10) / 10
  log.info(new AccessLine({ requestId: request.id, method, route, status, ms }), 'request')
}

function checkHost(request: FastifyRequest, loopbackHostsOnly: boolean): void {
  const { host } = request.headers
  if (host === undefined) {
    if (request.raw.httpVersion === '1.0') return
    throw new Refusal('invalid_request', 'the Host header is missing')
  }
  if (hasTwoHosts(request.raw.rawHeaders))
    throw new Refusal('invalid_request', 'the Host header is sent more than once')
  if (loopbackHostsOnly && !isLoopback(host.replace(/:\d*$/, '').toLowerCase())) {
    throw new Refusal('invalid_request', 'the Host header must be a loopback name in this mode, such as 127.0.0.1')
  }
}

/** RFC 9112 §3.2. Node takes the first; a proxy in front may have decided by the second. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts > 1
}

async function registerGroup(app: FastifyInstance, table: RouteTable, group: RouteGroup): Promise<void> {
  await app.register(async (child) => {
    child.addHook('onRoute', (route) => {
      // A path that exists under one host name is not found under the others.
      if (route.constraints === undefined) table.add(route.url, route.method, group.cors)
      route.config = { ...route.config, corsPolicy: group.cors, isPage: route.helmet !== undefined }
    })
    await group.register(child)
  })
  for (const prefix of group.prefixes ?? []) table.addPrefix(prefix, group.cors)
}

/**
 * No route took the request: the path is unknown, or it is known with another method. Fastify's own handler for this
 * reads the body first, and would complain about a body that does not matter, so the check is here. True when it was
 * answered.
 */
function answerUnmatched(request: FastifyRequest, reply: FastifyReply, table: RouteTable): boolean {
  const { url = '' } = request.routeOptions
  // The CORS plugin has a route for OPTIONS on every path. The router takes `refresh` for an id when the path of that
  // name has another method; a table that knows the path itself knows better.
  const isTaken = !request.is404 && url !== '*' && !(url.includes(':') && table.isExact(pathOf(request)))
  if (isTaken) return false
  const known = table.find(pathOf(request))
  if (known === undefined && pathOf(request) === '/' && ['GET', 'HEAD'].includes(request.method)) {
    // A person who opens the bare address wants to read the documents. The address is relative, for a proxy that puts a
    // path in front. The widget may own this path, so it is not a route.
    void reply.redirect('docs', 302)
    return true
  }
  if (known === undefined) throw unknownPath()
  const allow = [...known.methods].toSorted().join(', ')
  void reply.header('Allow', allow)
  if (request.method !== 'OPTIONS') throw new Refusal('method_not_allowed', `this path takes ${allow}`)
  void reply.code(204).send()
  return true
}

/** What Node's parser refuses never becomes a request; it gets its problem document on the bare socket. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket, requestTimeoutMs: number): void {
  // The caller has hung up, or half of a response is already written. `bytesWritten` does not tell: on a connection
  // that was used before it counts answers that have ended. Node itself decides by this member (socketOnError in
  // lib/_http_server.js, Node 24.21), which is the response under way.
  const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: ServerResponse | null }
  if (error.code === 'ECONNRESET' || !socket.writable || underWay?.headersSent === true) return void socket.destroy()
  refuseOnSocket(socket, brokenRequestDetail(error.code, requestTimeoutMs))
}

function refuseOnSocket(socket: Duplex, detail: string): void {
  const { status, headers, body } = toProblem(new Refusal('invalid_request', detail), {
    requestId: newRequestId(),
    tokenSent: false,
    endpoint: undefined,
  })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = Buffer.byteLength(body)
  socket.end(
    `HTTP/1.1 ${status} Bad Request\r\n${lines.join('')}Content-Length: ${length}\r\nConnection: close\r\n\r\n${body}`,
  )
}

function brokenRequestDetail(code: string | undefined, requestTimeoutMs: number): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'the request line and headers must have at most 16 KiB together'
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return `the request did not arrive within ${requestTimeoutMs / 1_000} seconds`
  return 'this is not a well-formed HTTP request'
}
