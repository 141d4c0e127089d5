/** The route groups, each with who may read its answers from a browser (transport/cors.ts). */
import { pipeline, Readable } from 'node:stream'
import { constants, createGzip, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { registerConnect } from './connect/index.ts'
import { registerEnterprise } from './enterprise/index.ts'
import type { FrontDoors } from './front-doors.ts'
import { registerOauthRoutes } from './oauth/index.ts'
import { registerSandboxRoutes, type SandboxRoutesDeps } from './sandbox/index.ts'
import type { RouteGroup } from './transport/route-table.ts'
import { registerV1 } from './v1/index.ts'
import { registerV2 } from './v2/index.ts'

export function oauthRoutes(deps: Parameters<typeof registerOauthRoutes>[1]): RouteGroup {
  return { cors: 'any', register: (app) => registerOauthRoutes(app, deps) }
}

export function resourceRoutes(deps: FrontDoors): RouteGroup {
  return {
    cors: 'any',
    prefixes: ['/platform/v1/', '/accounts/v2/', '/enterprise/v2/'],
    register(app) {
      compressAnswers(app)
      registerV1(app, deps)
      registerV2(app, deps)
      registerEnterprise(app, deps)
    },
  }
}

export function connectRoutes(deps: Parameters<typeof registerConnect>[1]): RouteGroup {
  return { cors: 'widget', register: (app) => registerConnect(app, deps) }
}

export function sandboxRoutes(deps: SandboxRoutesDeps): RouteGroup {
  return { cors: 'none', register: (app) => registerSandboxRoutes(app, deps) }
}

// gzip for clients that ask for it: pages of transactions shrink to a seventh. Only for the resource API. Its answers
// repeat filters of the request beside private data, but a token is never in a cookie: only its holder can make a
// browser send requests whose lengths would tell something (BREACH).

/** Below this the saving is smaller than a packet. */
const bytesMin = 1_400
/**
 * Measured for a page of 100 rows: the default level (6) gives 8.8 kB in 1.0 ms, level 4 9.7 kB in 0.9 ms, level 1 10.3
 * kB in 0.4 ms.
 */
const options = { level: 1 }

function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const isStream = payload instanceof Readable
    const isLong = (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= bytesMin
    if (!isStream && !isLong) return done(null, payload)
    // Also on the plain answer: what a cache keeps depends on what was asked for.
    addVary(reply)
    if (!accepts(request.headers['accept-encoding'])) return done(null, payload)
    void reply.header('Content-Encoding', 'gzip')
    if (!isStream) return gzip(payload, options, done)
    // Each page is flushed as it comes. An error on either side ends both; the cut connection tells the client.
    const packed = createGzip({ ...options, flush: constants.Z_SYNC_FLUSH })
    pipeline(payload, packed, () => undefined)
    done(null, packed)
  })
}

function addVary(reply: FastifyReply): void {
  const before = reply.getHeader('vary')
  void reply.header('Vary', before === undefined ? 'Accept-Encoding' : `${String(before)}, Accept-Encoding`)
}

/** RFC 9110 §12.5.3: a list with weights; a weight of zero means no. */
export function accepts(header: string | string[] | undefined): boolean {
  if (header === undefined) return false
  return String(header)
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .some((part) => /^(x-)?gzip(\s*;.*)?$/.test(part) && !/;\s*q=0(\.0*)?\s*$/.test(part))
}
