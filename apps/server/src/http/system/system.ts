/** The routes that belong to no version: health, metrics, icons, the OpenAPI documents and the pages that show them. */
import { toOpenApi, type OpenApi, type Version } from '@assay/contract'
import plugin from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import { sendTaggedBody, toTaggedBody } from '../request/conditional.ts'
import { docsScript, docsStyle, renderDocs } from '../docs/page.ts'
import { registerHealth, type StatusOptions } from './health.ts'
import { registerIcons } from './icons.ts'
import type { RouteGroup } from '../transport/route-table.ts'
import { helmetOptions } from '../transport/security-headers.ts'

export interface SystemOptions extends StatusOptions {
  baseUrl: () => string
  authUrl: () => string
  widgetUrl: () => string
  /** Sandbox mode: the pages may send calls, with tokens of the published clients. */
  docsCanTry: boolean
}

export function systemRoutes(options: SystemOptions): RouteGroup[] {
  return [
    { cors: 'none', register: (app) => registerHealth(app, options) },
    { cors: 'none', register: (app) => registerDocs(app, options) },
    { cors: 'any', register: (app) => registerOpenApi(app, options) },
    { cors: 'any', register: registerIcons },
  ]
}

const versions = ['v1', 'v2', 'connect'] as const

type DocsOptions = Pick<SystemOptions, 'baseUrl' | 'authUrl' | 'widgetUrl' | 'docsCanTry'>

function describe(version: Version, { baseUrl, authUrl, widgetUrl, docsCanTry: isSandbox }: DocsOptions): OpenApi {
  return toOpenApi(version, { baseUrl: baseUrl(), authUrl: authUrl(), widgetUrl: widgetUrl() }, { isSandbox })
}

function registerOpenApi(app: FastifyInstance, options: DocsOptions): void {
  for (const version of versions) {
    const document = once(() => toTaggedBody(JSON.stringify(describe(version, options))))
    app.get(`/openapi/${version}.json`, async (_, reply) => sendTaggedBody(reply, document(), 'application/json'))
  }
}

async function registerDocs(app: FastifyInstance, options: DocsOptions): Promise<void> {
  await app.register(plugin, helmetOptions)
  const { docsCanTry: canTry } = options
  // The page has one style sheet and one script, both ours. The page may call the service in sandbox mode only, where
  // tokens are worth nothing.
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
      toTaggedBody(renderDocs(version, describe(version, options), { authUrl: options.authUrl(), canTry })),
    )
    app.get(version === 'v2' ? '/docs' : `/docs/${version}`, { helmet }, async (_, reply) =>
      sendTaggedBody(reply, document(), 'text/html; charset=utf-8'),
    )
  }
  const style = toTaggedBody(docsStyle)
  app.get('/docs/style.css', async (_, reply) => sendTaggedBody(reply, style, 'text/css; charset=utf-8'))
  const script = toTaggedBody(docsScript)
  app.get('/docs/page.js', async (_, reply) => sendTaggedBody(reply, script, 'text/javascript; charset=utf-8'))
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}
