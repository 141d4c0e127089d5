/**
 * The routes that say how a process is doing: /healthz, /readyz and /metrics. The API serves them beside its own
 * routes. A worker serves nothing else, so it has a small server of its own for them.
 *
 * Metrics show how busy an installation is and which providers its users have, so they need a token.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { Refusal } from '@assay/core'
import { fastify, type FastifyInstance, type FastifyReply } from 'fastify'
import { checkMigrations, isDatabaseAway, type Database } from '../../db/index.ts'
import type { FleetMetrics } from '../../telemetry/index.ts'
import { sendProblem, unknownPath } from '../request/problem.ts'

/** The metrics of this process, or of all processes that share its port. */
export interface Scraped {
  contentType: string
  metrics(): Promise<string>
}

export interface StatusOptions {
  metrics: { registry: Scraped }
  fleetMetrics: Pick<FleetMetrics, 'registry' | 'read'>
  metricsAccess: MetricsAccess
  findUnready: () => Promise<string | undefined>
  build: { version: string; commit: string | undefined }
}

/** `token` is what the scraper must send. `open` is for sandbox mode; `closed` hides the routes. */
export type MetricsAccess = { token: string } | 'open' | 'closed'

export function registerHealth(app: FastifyInstance, options: StatusOptions): void {
  const { version, commit } = options.build

  app.get('/healthz', async (_, reply) => sendJson(reply, { status: 'alive', version, commit: commit ?? null }))

  app.get('/readyz', async (_, reply) => {
    const reason = await options.findUnready()
    if (reason !== undefined) throw new Refusal('unavailable', reason)
    return sendJson(reply, { status: 'ready', version, commit: commit ?? null })
  })

  app.get('/metrics', async (request, reply) => {
    checkMetricsAccess(options.metricsAccess, request.headers.authorization)
    const { registry } = options.metrics
    return sendMetrics(reply, registry.contentType, await registry.metrics())
  })

  app.get('/metrics/fleet', async (request, reply) => {
    checkMetricsAccess(options.metricsAccess, request.headers.authorization)
    const { registry, read } = options.fleetMetrics
    return sendMetrics(reply, registry.contentType, await read())
  })
}

function sendMetrics(reply: FastifyReply, contentType: string, text: string): FastifyReply {
  return reply.header('Cache-Control', 'no-store').type(contentType).send(text)
}

function sendJson(reply: FastifyReply, value: object): FastifyReply {
  return reply
    .header('Cache-Control', 'no-store')
    .type('application/json')
    .send(Buffer.from(JSON.stringify(value)))
}

export function checkMetricsAccess(access: MetricsAccess, authorization: string | undefined): void {
  if (access === 'open') return
  if (access === 'closed') throw unknownPath()
  if (!isSame(authorization ?? '', `Bearer ${access.token}`)) {
    throw new Refusal('invalid_token', 'send the metrics token as a Bearer token')
  }
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

/**
 * Why this process cannot serve; undefined when it can. A database that is ahead of this code is fine: while a new
 * version is rolled out, the processes of the old one must continue to serve.
 */
export async function findUnready(database: Database): Promise<string | undefined> {
  try {
    const { pending } = await checkMigrations(database)
    if (pending.length > 0) return `the database waits for ${pending.length} migrations; run: assay migrate`
    return undefined
  } catch (error) {
    if (isDatabaseAway(error)) return 'the database is away'
    throw error
  }
}

/** Concurrent callers share one check, because any caller may ask, as often as it likes. */
export function shareChecks<T>(check: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => (running ??= check().finally(() => (running = undefined)))
}

const answerWithinMs = 10_000

/** A database that hangs accepts connections and never answers. After `withinMs`, that is why the process is not ready. */
export function answerInTime(
  check: () => Promise<string | undefined>,
  withinMs = answerWithinMs,
): () => Promise<string | undefined> {
  return async () => {
    const ended = new AbortController()
    const late = setTimeout(withinMs, 'the database does not answer', { signal: ended.signal })
    late.catch(() => undefined)
    try {
      return await Promise.race([check(), late])
    } finally {
      ended.abort()
    }
  }
}

export interface StatusServer {
  url: string
  stop(): Promise<void>
}

/** For a request to arrive: a scraper or a probe sends it at once. Fastify's own default has no limit. */
const statusTimeoutMs = 10_000

export async function startStatusServer(
  address: { host: string; port: number },
  options: StatusOptions & { requestTimeoutMs?: number },
): Promise<StatusServer> {
  const { requestTimeoutMs = statusTimeoutMs } = options
  const app = fastify({
    logger: false,
    forceCloseConnections: true,
    requestTimeout: requestTimeoutMs,
    http: { headersTimeout: requestTimeoutMs, connectionsCheckingInterval: requestTimeoutMs / 10 },
  })
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply))
  app.setNotFoundHandler((request, reply) => sendProblem(unknownPath(), request, reply))
  registerHealth(app, options)
  const url = await app.listen(address)
  return { url, stop: () => app.close() }
}
