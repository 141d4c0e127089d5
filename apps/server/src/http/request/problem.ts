/**
 * Turns a thrown error into a problem document (RFC 9457). Only this file knows which HTTP status and headers a refusal
 * has; domain code throws codes.
 *
 * Three things come in: a Refusal (its message may be shown), an error of Fastify's own (reduced to a refusal with our
 * words), and everything else, which is a bug or a database that is away and shows nothing of itself.
 */
import { statusOf, titleOf, type Endpoint, type ErrorResponse } from '@assay/contract'
import { notFound, Refusal, type ErrorItem, type RefusalCode } from '@assay/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isDatabaseAway } from '../../db/index.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: Endpoint
  }
}

export const bodyBytesMax = 64 * 1024

/** How long a client stays away when the refusal does not say; a restarting PostgreSQL is back in about a second. */
const retryAfterSecondsDefault = 2

interface Asked {
  requestId: string
  tokenSent: boolean
  endpoint: Endpoint | undefined
}

type Headers = Record<string, string>

const noHeaders = (): Headers => ({})
const retryAfter = (refusal: Refusal): Headers => ({
  'Retry-After': String(refusal.retryAfterSeconds ?? retryAfterSecondsDefault),
})

const headersOf: Readonly<Record<RefusalCode, (refusal: Refusal, asked: Asked) => Headers>> = {
  invalid_request: noHeaders,
  // RFC 6750 §3.1: a request without a token learns only that one is needed, not an error code.
  invalid_token: (_, asked) => ({ 'WWW-Authenticate': asked.tokenSent ? 'Bearer error="invalid_token"' : 'Bearer' }),
  insufficient_scope: (_, asked) => ({
    'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${[asked.endpoint?.scope ?? '', ...(asked.endpoint?.moreScopes ?? [])].join(' ')}"`,
  }),
  not_found: noHeaders,
  // Allow is set where the methods of the path are known.
  method_not_allowed: noHeaders,
  payload_too_large: noHeaders,
  unsupported_media_type: noHeaders,
  rate_limited: retryAfter,
  internal: noHeaders,
  unavailable: retryAfter,
}

export interface Problem {
  status: number
  headers: Headers
  body: string
}

export function toProblem(refusal: Refusal, asked: Asked): Problem {
  const { code } = refusal
  const status = statusOf[code]
  const items = asked.endpoint?.family === 'platform_v1' ? itemsOf(refusal).map(toV1Item) : itemsOf(refusal)
  const body: Omit<ErrorResponse, 'errors'> & { errors: readonly object[] } = {
    type: `urn:assay:problem:${code}`,
    title: titleOf[code],
    status,
    code,
    detail: refusal.message,
    request_id: asked.requestId,
    errors: items,
  }
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      'X-Request-Id': asked.requestId,
      ...headersOf[code](refusal, asked),
    },
    body: JSON.stringify(body),
  }
}

/**
 * Applications read the items of a 400. One that is about no parameter, such as a body that is not JSON, has one, too.
 */
function itemsOf({ code, items, message }: Refusal): readonly ErrorItem[] {
  return code === 'invalid_request' && items.length === 0 ? [{ cause: 'bad_request', message }] : items
}

/**
 * v1 calls a provider a crypto source, in errors as everywhere: also where an item of a rule that v2 shares names the
 * parameter. A caller who sent `provider_id` to v1 must read that name, not the one that v1 takes.
 */
export function toV1Item({
  provider_id: source,
  ...rest
}: ErrorItem): Omit<ErrorItem, 'provider_id'> & { crypto_source_id?: string } {
  return {
    ...rest,
    ...(rest.cause === 'unknown_provider' && rest.parameter === 'provider_id' && { parameter: 'crypto_source_id' }),
    ...(source !== undefined && { crypto_source_id: source }),
  }
}

/** Fastify's errors have a status of their own, but their messages speak of plugins and parsers. */
const frameworkRefusals = new Map<unknown, () => Refusal>([
  [
    'FST_ERR_CTP_BODY_TOO_LARGE',
    () => new Refusal('payload_too_large', `the body must have at most ${bodyBytesMax} bytes`),
  ],
  [
    'FST_ERR_CTP_INVALID_MEDIA_TYPE',
    () => new Refusal('unsupported_media_type', 'send the body as application/json, and say so in Content-Type'),
  ],
  [
    'FST_ERR_CTP_INVALID_CONTENT_LENGTH',
    () => new Refusal('invalid_request', 'the body is shorter or longer than Content-Length says'),
  ],
  ['FST_ERR_BAD_URL', () => new Refusal('invalid_request', 'the path is not percent-encoded UTF-8')],
  ['FST_ERR_MAX_PARAM_LENGTH', () => notFound('path_part')],
])

/** One text for every path that is not served, so that a closed `/metrics` looks like one that does not exist. */
export function unknownPath(): Refusal {
  return notFound('path')
}

export function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof Error && 'code' in error) {
    const refusal = frameworkRefusals.get(error.code)
    if (refusal !== undefined) return refusal()
    // Other client errors that a new version of Fastify may add are still the client's mistake.
    if (/^FST_ERR_/.test(String(error.code)) && 'statusCode' in error && Number(error.statusCode) < 500) {
      return new Refusal('invalid_request', 'the request is malformed')
    }
    // The client disconnected, or sent a wrong length, while its body was being read. That is not a fault of ours.
    if (error.code === 'ECONNRESET' && error.message === 'aborted') {
      return new Refusal('invalid_request', 'the request ended before its body did')
    }
  }
  if (isDatabaseAway(error)) return new Refusal('unavailable', 'the service is not ready; try again shortly')
  return new Refusal('internal', 'something failed on our side; the request id helps us to find it')
}

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = toRefusal(error)
  if (refusal.code === 'internal') request.log.error({ err: error }, 'a request failed')
  if (refusal.code === 'unavailable') request.log.warn({ err: error }, 'a request found the service unavailable')
  const problem = toProblem(refusal, {
    requestId: request.id,
    tokenSent: /^bearer /i.test(request.headers.authorization ?? ''),
    endpoint: request.routeOptions.config.endpoint,
  })
  // Sent as bytes: Fastify would add a charset to a string, and JSON has no such parameter (RFC 8259 §11).
  return reply.code(problem.status).headers(problem.headers).send(Buffer.from(problem.body))
}
