/** Contract §2, "CORS": who may read which answers from a browser. The short-term flow runs in browsers, so most may. */
import cors from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { CorsPolicy, RouteTable } from './route-table.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    corsPolicy?: CorsPolicy
  }
}

const allowedHeaders = ['Authorization', 'Content-Type']
const exposedHeaders = ['Link', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'WWW-Authenticate', 'X-Request-Id']

/** How long a browser may remember a preflight. */
const maxAge = 600

export async function registerCors(
  app: FastifyInstance,
  table: RouteTable,
  widgetOrigins: () => readonly string[],
): Promise<void> {
  await app.register(cors, {
    delegator: (request, done) => {
      const known = findPolicy(request, table)
      if (known === undefined || known.cors === 'nobody') return done(null, { origin: false })
      done(null, {
        origin: known.cors === 'anyone' ? '*' : [...widgetOrigins()],
        methods: [...known.methods],
        allowedHeaders,
        exposedHeaders,
        maxAge,
        // A plain OPTIONS is answered like any other, with Allow; the plugin would refuse it as a broken preflight.
        preflight: isPreflight(request),
      })
    },
  })
}

function findPolicy(
  request: FastifyRequest,
  table: RouteTable,
): { cors: CorsPolicy; methods: Iterable<string> } | undefined {
  const { corsPolicy } = request.routeOptions.config
  if (corsPolicy !== undefined) return { cors: corsPolicy, methods: [] }
  return table.findCors(pathOf(request))
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? ''
}
