/**
 * From ccxt's error classes to our faults. The most specific class wins: PermissionDenied is a subclass of
 * AuthenticationError, and OnMaintenance of ExchangeNotAvailable, so the prototype chain is walked from the bottom.
 * Classes are recognised by name; importing ccxt here would cost every process 80 MB.
 */
import { SourceError, type Fault } from '@assay/core'

const faultByClass: Readonly<Record<string, Fault>> = {
  PermissionDenied: 'missing_permission',
  AccountSuspended: 'needs_reauth',
  AuthenticationError: 'invalid_credentials',
  DDoSProtection: 'rate_limited',
  RateLimitExceeded: 'rate_limited',
  // A nonce or timestamp the provider thinks too old. The key is fine; the clocks, or two users of one key, are not.
  InvalidNonce: 'clock_skew',
  // An answer that ccxt itself could not make sense of.
  BadResponse: 'unreadable_answer',
  OperationFailed: 'venue_down',
  // A refusal in words that ccxt does not know: new upstream, and worth trying again rather than losing a window.
  ExchangeError: 'venue_down',
}

// Wrong arguments are our own mistake. Trying again would hide it.
const bugs = new Set(['BadRequest', 'BadSymbol', 'ArgumentsRequired', 'NotSupported'])

/**
 * What to throw in place of an error that came out of ccxt. Its message is not passed on, because it may quote the
 * whole answer; `detail` is what the connector knows to be harmless.
 */
export function toSourceError(error: unknown, detail: string): Error {
  if (error instanceof SourceError) return error
  for (const name of classNames(error)) {
    if (bugs.has(name)) return new Error(`${name}: ${detail}`)
    const fault = Object.hasOwn(faultByClass, name) ? faultByClass[name] : undefined
    if (fault !== undefined) return new SourceError(fault, detail)
  }
  return error instanceof Error ? error : new Error(detail)
}

function* classNames(error: unknown): Generator<string> {
  let prototype: unknown = error instanceof Error ? Object.getPrototypeOf(error) : undefined
  while (prototype instanceof Error) {
    yield prototype.constructor.name
    prototype = Object.getPrototypeOf(prototype)
  }
}
