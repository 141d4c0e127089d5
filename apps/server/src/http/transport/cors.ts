/**
 * CORS: who may read which answers from a browser. The short-term flow runs in browsers, so most may. The headers of
 * answers are constants, set here; preflights are answered by @fastify/cors.
 */
import cors from '@fastify/cors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CorsPolicy, RouteTable } from './route-table.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    corsPolicy?: CorsPolicy
  }
}

const allowedHeaders = ['Authorization', 'Content-Type']
const exposedHeaders = 'Link, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id'

/** How long a browser may remember a preflight. */
const maxAge = 600

/** In a context of its own, so that other requests do not pass through the plugin. */
export async function registerPreflights(
  app: FastifyInstance,
  table: RouteTable,
  widgetOrigins: () => readonly string[],
  answerOthers: (request: FastifyRequest, reply: FastifyReply) => void,
): Promise<void> {
  await app.register(async (child) => {
    await child.register(cors, {
      delegator: (request, done) => {
        const known = table.findCors(pathOf(request))
        if (known === undefined || known.cors === 'none') return done(null, { origin: false })
        done(null, {
          origin: known.cors === 'any' ? '*' : [...widgetOrigins()],
          methods: [...known.methods],
          allowedHeaders,
          exposedHeaders,
          maxAge,
          // A plain OPTIONS is answered like any other, with Allow; the plugin would refuse it as a broken preflight.
          preflight: isPreflight(request),
        })
      },
    })
    child.addHook('onRequest', async (request, reply) => answerOthers(request, reply))
  })
}

const anyOrigin = { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposedHeaders }

export function addCorsHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  table: RouteTable,
  widgetOrigins: () => readonly string[],
): void {
  const policy = request.routeOptions.config.corsPolicy ?? table.findCors(pathOf(request))?.cors
  if (policy === 'any') void reply.headers(anyOrigin)
  if (policy !== 'widget') return
  const { origin } = request.headers
  void reply.header('Vary', 'Origin').header('Access-Control-Expose-Headers', exposedHeaders)
  if (origin !== undefined && widgetOrigins().includes(origin)) {
    void reply.header('Access-Control-Allow-Origin', origin)
  }
}

export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? ''
}
