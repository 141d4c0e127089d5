/**
 * The expected ways to fail. Two closed unions and one channel, throw:
 *
 * - Refusal: our own "no" to a caller. Its message may be shown.
 * - SourceError: a provider failure, reduced to a fault that the engine and the person can act on.
 *
 * (The third kind, OAuthError, belongs to the authorization server. Everything else is a bug and is not caught.)
 * None of them knows an HTTP status; `http/request/problem.ts` maps every code, exhaustively.
 */

/** Why one thing failed, as the wire names it (ErrorItem.cause). */
export const causes = [
  'bad_request',
  'invalid_parameter',
  'unknown_parameter',
  'unknown_provider',
  'unsupported_connection_type',
  'invalid_address',
  'invalid_credentials',
  'missing_permission',
  'excess_permission',
  'ip_not_allowed',
  'key_expired',
  'needs_reauth',
  'already_connected',
  'account_mismatch',
  'invalid_state',
  'sync_in_progress',
  'rate_limited',
  'venue_down',
  'unreadable_answer',
  'clock_skew',
  'data_hole',
  'cursor_expired',
  'grade_too_low',
  'internal',
] as const
export type Cause = (typeof causes)[number]

/** One thing that went wrong, in words a person may read (schema ErrorItem). */
export interface ErrorItem {
  cause: Cause
  message: string
  parameter?: string
  provider_id?: string
  connection_id?: string
  retry_after_seconds?: number
  /** What the person can do about it. */
  fix?: string
}

/** What the whole request failed with, as the wire names it (ErrorResponse.code). */
export const refusalCodes = [
  'invalid_request',
  'invalid_token',
  'insufficient_scope',
  'not_found',
  'method_not_allowed',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal',
  'unavailable',
] as const
export type RefusalCode = (typeof refusalCodes)[number]

export class Refusal extends Error {
  readonly code: RefusalCode
  readonly items: readonly ErrorItem[]
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: RefusalCode,
    detail: string,
    more: { items?: readonly ErrorItem[]; retryAfterSeconds?: number } = {},
  ) {
    super(detail)
    this.name = 'Refusal'
    this.code = code
    this.items = more.items ?? []
    this.retryAfterSeconds = more.retryAfterSeconds
  }
}

/** A request that is wrong in one named parameter: the commonest refusal. `rule` completes "limit …". */
export function invalidParameter(parameter: string, rule: string): Refusal {
  const items: ErrorItem[] = [{ cause: 'invalid_parameter', parameter, message: rule }]
  return new Refusal('invalid_request', `${parameter} ${rule}`, { items })
}

/** A provider failure. Each fault is also a Cause, so that it can be shown without translation. */
export const faults = [
  'invalid_credentials',
  'missing_permission',
  'excess_permission',
  'ip_not_allowed',
  'key_expired',
  'needs_reauth',
  'rate_limited',
  'venue_down',
  'unreadable_answer',
  'clock_skew',
  'data_hole',
] as const satisfies readonly Cause[]
export type Fault = (typeof faults)[number]

/** What is wrong with the credentials, where the fault alone would mislead a person. */
export type RefusalReason = 'contract_address' | 'unified_account'

export class SourceError extends Error {
  readonly fault: Fault
  readonly reason: RefusalReason | undefined
  /** How long the provider asked us to wait, if it said so. */
  readonly retryAfterMs: number | undefined
  /** Of a `rate_limited`: the provider says that it counts our address, and not the key. */
  readonly isOfAddress: boolean
  /** Parts of the account that are asked for again with the balances, by names that a person knows. */
  readonly unread: readonly string[]

  /** `detail` is for logs and must be free of secrets; what a person reads is written from the fault. */
  constructor(
    fault: Fault,
    detail: string,
    more: {
      reason?: RefusalReason
      retryAfterMs?: number
      isOfAddress?: boolean
      unread?: readonly string[]
      cause?: unknown
    } = {},
  ) {
    super(detail, { cause: more.cause })
    this.name = 'SourceError'
    this.fault = fault
    this.reason = more.reason
    this.retryAfterMs = more.retryAfterMs
    this.isOfAddress = more.isOfAddress ?? false
    this.unread = more.unread ?? []
  }
}

/**
 * The provider itself said nothing: no connection, a timeout, a server error, or a gateway's page in place of the API.
 * Only this counts as an outage that concerns all users. A provider that says that it is busy or down has answered, and
 * it may say so about one account alone.
 */
export class NoAnswer extends SourceError {
  constructor(detail: string, more: { retryAfterMs?: number } = {}) {
    super('venue_down', detail, more)
    this.name = 'NoAnswer'
  }
}
