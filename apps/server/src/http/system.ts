/** The routes that belong to no version: health, metrics, icons, the OpenAPI documents and the pages that show them. */
import { toOpenApi, type OpenApi, type Version } from '@assay/contract'
import { Refusal } from '@assay/core'
import plugin from '@fastify/helmet'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { sendDocument, toDocument } from './request/conditional.ts'
import { docsScript, docsStyle, renderDocs } from './docs/page.ts'
import { registerIcons } from './icons.ts'
import type { FleetMetrics } from '../telemetry/index.ts'
import { checkMetricsAccess, type MetricsAccess } from './metrics.ts'
import type { RouteGroup } from './transport/route-table.ts'
import { helmetOptions } from './transport/security-headers.ts'

/** Of this process, or of all that share its port. */
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

export interface SystemOptions extends StatusOptions {
  baseUrl: () => string
  authUrl: () => string
  widgetUrl: () => string
  /** Sandbox mode: the pages may send calls, with tokens of the published clients. */
  loopbackHostsOnly: boolean
}

export function systemRoutes(options: SystemOptions): RouteGroup[] {
  return [
    { cors: 'nobody', register: (app) => registerHealth(app, options) },
    { cors: 'nobody', register: (app) => registerDocs(app, options) },
    { cors: 'anyone', register: (app) => registerOpenApi(app, options) },
    { cors: 'anyone', register: registerIcons },
  ]
}

/** Also all that a worker answers (status-server.ts). */
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

const versions = ['v1', 'v2', 'connect'] as const

type Hosts = Pick<SystemOptions, 'baseUrl' | 'authUrl' | 'widgetUrl'>
type DocsOptions = Hosts & Pick<SystemOptions, 'loopbackHostsOnly'>

function describe(version: Version, { baseUrl, authUrl, widgetUrl }: Hosts): OpenApi {
  return toOpenApi(version, { baseUrl: baseUrl(), authUrl: authUrl(), widgetUrl: widgetUrl() })
}

function registerOpenApi(app: FastifyInstance, hosts: Hosts): void {
  for (const version of versions) {
    const document = once(() => toDocument(JSON.stringify(describe(version, hosts))))
    app.get(`/openapi/${version}.json`, async (_, reply) => sendDocument(reply, document(), 'application/json'))
  }
}

async function registerDocs(app: FastifyInstance, options: DocsOptions): Promise<void> {
  await app.register(plugin, helmetOptions)
  const canTry = options.loopbackHostsOnly
  // One style sheet and one script, both ours. The page may call the service in sandbox mode only, where tokens are worth
  // nothing.
  const helmet = {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        scriptSrc: ["'self'"],
        ...(canTry ? { connectSrc: ["'self'"] } : {}),
        frameAncestors: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
      },
    },
  }
  for (const version of versions) {
    const document = once(() =>
      toDocument(renderDocs(version, describe(version, options), { authUrl: options.authUrl(), canTry })),
    )
    app.get(version === 'v2' ? '/docs' : `/docs/${version}`, { helmet }, async (_, reply) =>
      sendDocument(reply, document(), 'text/html; charset=utf-8'),
    )
  }
  const style = toDocument(docsStyle)
  app.get('/docs/style.css', async (_, reply) => sendDocument(reply, style, 'text/css; charset=utf-8'))
  const script = toDocument(docsScript)
  app.get('/docs/page.js', async (_, reply) => sendDocument(reply, script, 'text/javascript; charset=utf-8'))
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}
