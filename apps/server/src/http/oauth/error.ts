/**
 * Turns a thrown error into the JSON of RFC 6749 §5.2. The OAuth endpoints answer every failure like this, including
 * those for which the rest of the API sends problem documents: OAuth clients look for `error`.
 */
import type { Refusal, RefusalCode } from '@assay/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError, type OAuthErrorCode } from '../../oauth/index.ts'
import { toRefusal } from '../request/problem.ts'
import { formBytesMax, notForm } from './form.ts'

/** RFC 6749 §5.2: 400, but 401 for a client that failed to prove itself. */
const statusOf: Readonly<Record<OAuthErrorCode, number>> = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  invalid_scope: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  access_denied: 400,
  server_error: 500,
  temporarily_unavailable: 503,
}

/**
 * The OAuth code for each refusal of the HTTP layer, with its own status where that is more precise than the code's.
 */
const oauthOf: Readonly<Record<RefusalCode, { code: OAuthErrorCode; status?: number }>> = {
  invalid_request: { code: 'invalid_request' },
  invalid_token: { code: 'invalid_request' },
  insufficient_scope: { code: 'invalid_request' },
  not_found: { code: 'invalid_request', status: 404 },
  method_not_allowed: { code: 'invalid_request', status: 405 },
  payload_too_large: { code: 'invalid_request', status: 413 },
  unsupported_media_type: { code: 'invalid_request' },
  rate_limited: { code: 'temporarily_unavailable', status: 429 },
  internal: { code: 'server_error' },
  unavailable: { code: 'temporarily_unavailable' },
}

const retryAfterSecondsDefault = 2

export interface ErrorLog {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export function sendOauthError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: ErrorLog,
): FastifyReply {
  if (error instanceof OAuthError) return send(reply, statusOf[error.code], error)
  const refusal = toRefusal(error)
  if (refusal.code === 'internal') log.error({ err: error, request_id: request.id }, 'a request failed')
  if (refusal.code === 'unavailable') log.warn({ err: error, request_id: request.id }, 'the database is away')
  const { code, status = statusOf[code] } = oauthOf[refusal.code]
  if (code === 'temporarily_unavailable') {
    void reply.header('Retry-After', String(refusal.retryAfterSeconds ?? retryAfterSecondsDefault))
  }
  return send(reply, status, toOauthError(refusal, code))
}

function toOauthError(refusal: Refusal, code: OAuthErrorCode): OAuthError {
  if (refusal.code === 'unsupported_media_type') return notForm()
  if (refusal.code === 'payload_too_large')
    return new OAuthError(code, `the form must have at most ${formBytesMax} bytes`)
  return new OAuthError(code, refusal.message)
}

function send(reply: FastifyReply, status: number, error: OAuthError): FastifyReply {
  // §5.2: a client that tried Basic must learn the scheme; others may learn it too.
  if (error.code === 'invalid_client') void reply.header('WWW-Authenticate', 'Basic realm="assay", charset="UTF-8"')
  // The metadata and the keys may be cached for minutes. The refusal of one caller must not be what others are given.
  void reply.header('Cache-Control', 'no-store')
  return reply.code(status).send({ error: error.code, error_description: toDescription(error.message) })
}

/** §5.2 allows printable ASCII without the double quote and the backslash. */
function toDescription(text: string): string {
  return text.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, ' ')
}
