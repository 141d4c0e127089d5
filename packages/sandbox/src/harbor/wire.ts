/** How Harbor says no: a word in JSON and the status that belongs to it (API.md; RFC 6749 §5.2, RFC 6750 §3.1). */
import type { WireAnswer } from '../core/listener.ts'

const statuses = {
  invalid_request: 400,
  invalid_grant: 400,
  unsupported_grant_type: 400,
  invalid_client: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  not_found: 404,
  rate_limited: 429,
  unavailable: 503,
} as const
export type HarborError = keyof typeof statuses

/** Thrown by whatever finds the fault, answered in one place. */
export class HarborRefusal extends Error {
  readonly word: HarborError
  readonly retryAfterMs: number | undefined

  constructor(word: HarborError, retryAfterMs?: number) {
    super(word)
    this.name = 'HarborRefusal'
    this.word = word
    this.retryAfterMs = retryAfterMs
  }
}

// Tokens are never to be kept by anything between (RFC 6749 §5.1), nor is anybody's account.
const unkept = { 'cache-control': 'no-store' }

export function success(body: object): WireAnswer {
  return { status: 200, headers: unkept, body: JSON.stringify(body) }
}

export function failure(word: HarborError, retryAfterMs = 1_000): WireAnswer {
  const status = statuses[word]
  const headers = {
    ...unkept,
    ...(word === 'rate_limited' && { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) }),
    ...((word === 'invalid_token' || word === 'insufficient_scope') && {
      'www-authenticate': `Bearer realm="Harbor", error="${word}"`,
    }),
  }
  return { status, headers, body: JSON.stringify({ error: word }), error: word }
}

/** A parameter that is sent twice means two things: refused, as RFC 6749 §3.1 and §3.2 ask. */
export function isRepeated(fields: URLSearchParams): boolean {
  const names = [...fields.keys()]
  return new Set(names).size !== names.length
}
