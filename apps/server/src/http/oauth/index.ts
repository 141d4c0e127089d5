/**
 * The authorization server on the wire: /oauth/token (RFC 6749 §3.2), /oauth/revoke (RFC 7009), /oauth/introspect
 * (RFC 7662), its metadata (RFC 8414) and the keys of its claims (RFC 7517). These routes are a separate group, because
 * they have other bodies, other errors and, since the short-term flow runs in browsers, CORS for each path.
 */
import { Refusal } from '@assay/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Claims } from '../../claims/index.ts'
import type { AskedLimits, Slots } from '../../limits/index.ts'
import type { Oauth } from '../../oauth/index.ts'
import { sendOauthError, type ErrorLog } from './error.ts'
import { enforceLimit } from '../request/admission.ts'
import type { Turns } from '../request/turns.ts'
import { acceptFormsOnly } from './form.ts'
import { limited } from './limited.ts'

export interface OauthRoutesDeps {
  oauth: Pick<Oauth, 'token' | 'revoke' | 'introspect' | 'metadata'>
  claims: Pick<Claims, 'jwks'>
  limits: AskedLimits
  slots: Slots
  turns: Turns
  log: ErrorLog
}

interface OauthRoute {
  url: string
  method: 'GET' | 'POST'
  /** Whether pages of any origin may read the answer. */
  anyOrigin: boolean
  headers: Readonly<Record<string, string>>
  handle: (request: FastifyRequest, reply: FastifyReply) => unknown
}

/** RFC 6749 §5.1. */
const notStored = { 'Cache-Control': 'no-store', Pragma: 'no-cache' }
const exposedHeaders = 'Link, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id'
const preflightSeconds = 600

export async function registerOauthRoutes(app: FastifyInstance, deps: OauthRoutesDeps): Promise<void> {
  const { oauth, claims, limits, log } = deps
  await app.register(async (scope) => {
    acceptFormsOnly(scope)
    // These paths answer preflights themselves, because the server's policy applies to a whole group.
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, corsPolicy: 'none' }
    })
    scope.setErrorHandler((error, request, reply) => sendOauthError(error, request, reply, log))
    const form = { method: 'POST', headers: notStored } as const
    addRoute(scope, {
      ...form,
      url: '/oauth/token',
      anyOrigin: true,
      handle: limited(deps, (request) => oauth.token(request)),
    })
    addRoute(scope, {
      ...form,
      url: '/oauth/revoke',
      anyOrigin: true,
      // RFC 7009 §2.2: the status says it all.
      handle: limited(deps, async (request) => {
        await oauth.revoke(request)
        return {}
      }),
    })
    addRoute(scope, {
      ...form,
      url: '/oauth/introspect',
      // It requires the client's secret, which a page in a browser does not have.
      anyOrigin: false,
      handle: limited(deps, (request) => oauth.introspect(request)),
    })
    addRoute(scope, {
      url: '/.well-known/oauth-authorization-server',
      method: 'GET',
      anyOrigin: true,
      headers: { 'Cache-Control': 'public, max-age=300' },
      handle: () => oauth.metadata(),
    })
    addRoute(scope, {
      url: '/.well-known/jwks.json',
      method: 'GET',
      anyOrigin: true,
      headers: { 'Cache-Control': 'public, max-age=300' },
      handle: async (request, reply) => {
        await enforceLimit(reply, limits.countAddress(request.ip))
        return claims.jwks()
      },
    })
  })
}

function addRoute(scope: FastifyInstance, { url, method, anyOrigin, headers, handle }: OauthRoute): void {
  const methods = method === 'GET' ? ['GET', 'HEAD'] : [method]
  const allow = [...methods, 'OPTIONS'].join(', ')
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    void reply.headers(headers)
    if (anyOrigin) {
      void reply.headers({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': exposedHeaders })
    }
    if (methods.includes(request.method)) return undefined
    void reply.header('Allow', allow)
    // Checked here and not in a handler, so that the body of another method is not parsed.
    if (request.method !== 'OPTIONS') throw new Refusal('method_not_allowed', `this path takes ${allow}`)
    if (anyOrigin) void reply.headers(toPreflight(methods))
    return reply.code(204).send()
  }
  scope.route({
    method: scope.supportedMethods,
    url,
    onRequest,
    handler: async (request, reply) => handle(request, reply),
  })
}

function toPreflight(methods: readonly string[]): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': 'Authorization, Content-Type',
    'Access-Control-Max-Age': String(preflightSeconds),
  }
}
