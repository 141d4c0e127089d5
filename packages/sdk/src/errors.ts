/** The ways a call can fail. Aborting rejects with the signal's own reason, as fetch does. */
import type { ErrorItem, Problem, ProblemCode } from './types.ts'

/** The service refused, and said why in a problem document. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly status: number
  readonly code: ProblemCode
  /** One for each thing that was wrong; the messages may be shown to a person. */
  readonly errors: readonly ErrorItem[]
  /** Name it when you ask for help. */
  readonly requestId: string
  readonly retryAfterSeconds: number | undefined

  constructor(problem: Problem, retryAfterSeconds: number | undefined) {
    super(problem.detail)
    this.status = problem.status
    this.code = problem.code
    this.errors = problem.errors
    this.requestId = problem.request_id
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * The authorization server refused (RFC 6749 §5.2, or `error` in the redirect). `invalid_grant`: ask the user again.
 */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: string
  readonly retryAfterSeconds: number | undefined

  constructor(code: string, description: string, retryAfterSeconds?: number) {
    super(description === '' ? code : `${code}: ${description}`)
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** No response from the service: no connection, or a response from something in between. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  /** Undefined when the server did not answer. */
  readonly status: number | undefined

  constructor(message: string, status: number | undefined, cause?: unknown) {
    super(message, { cause })
    this.status = status
  }
}

/** A claim that must not be trusted. */
export class ClaimError extends Error {
  override readonly name = 'ClaimError'
}

/** A webhook that must not be trusted. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
}
