/**
 * The successes and errors of Coinbase. Sources:
 * https://docs.cdp.coinbase.com/coinbase-app/api-architecture/error-messages, …/status-codes, …/rate-limiting.
 *
 * Three forms of an error: v2 has a list of `id` and `message`; v3 has `error`, `error_details` and `message` (as the
 * check for "Missing required scopes" in github.com/coinbase/coinbase-advanced-py shows); and a JWT that is not
 * accepted gets the bare word "Unauthorized" from the gateway in front of both (github.com/ccxt/ccxt/issues/23987).
 */
import type { WireAnswer } from '../core/serving/listener.ts'
import { toShortText } from '../core/units.ts'
import { getCurrency, unitDecimals, type Currency } from './assets.ts'
import { valueIn } from './story.ts'

const errors = {
  invalid_request: [400, 'The request is invalid'],
  authentication_error: [401, 'Invalid credentials'],
  invalid_token: [401, 'The access token is invalid'],
  revoked_token: [401, 'The access token was revoked'],
  expired_token: [401, 'The access token expired'],
  invalid_scope: [403, 'Invalid scope'],
  not_found: [404, 'Not found'],
  rate_limit_exceeded: [429, 'Too many requests'],
  internal_server_error: [503, 'Service unavailable'],
} as const
export type V2Error = keyof typeof errors

const v3Errors = {
  INVALID_ARGUMENT: [400, 'Invalid argument'],
  PERMISSION_DENIED: [403, 'Missing required scopes'],
  NOT_FOUND: [404, 'Not found'],
} as const
type V3Error = keyof typeof v3Errors

/** Thrown wherever a check fails, and answered in one place. `note` is for the journal alone. */
export class CoinbaseRefusal extends Error {
  readonly word: V2Error | V3Error | 'unauthorized'
  readonly note: string

  constructor(word: V2Error | V3Error | 'unauthorized', note: string = word) {
    super(word)
    this.name = 'CoinbaseRefusal'
    this.word = word
    this.note = note
  }
}

// Go's encoder, which answers at Coinbase, writes the ampersand of a URI so. JSON readers see no difference.
const ampersand = /&/g

export function success(body: object): WireAnswer {
  return {
    status: 200,
    headers: { 'cache-control': 'no-store' },
    body: JSON.stringify(body).replace(ampersand, String.raw`\u0026`),
  }
}

export function failure(word: CoinbaseRefusal['word'], note: string = word): WireAnswer {
  if (word === 'unauthorized') {
    return { status: 401, headers: { 'content-type': 'text/plain' }, body: 'Unauthorized\n', error: note }
  }
  if (isV3Error(word)) {
    const [status, message] = v3Errors[word]
    return { status, body: JSON.stringify({ error: word, error_details: message, message }), error: note }
  }
  const [status, message] = errors[word]
  return { status, body: JSON.stringify({ errors: [{ id: word, message }] }), error: note }
}

function isV3Error(word: V2Error | V3Error): word is V3Error {
  return Object.hasOwn(v3Errors, word)
}

/** An amount as Coinbase prints it: text with at least as many decimals as the currency's exponent says. */
export interface Money {
  amount: string
  currency: string
}

export function toMoney(units: bigint, { code, exponent }: Currency): Money {
  return { amount: toPaddedText(units, exponent), currency: code }
}

/** Converts to the person's own currency at that day's price, to the cent. Without a price the amount is 0. */
export function toNativeMoney(units: bigint, { code }: Currency, native: string, atMs: number): Money {
  const { exponent } = getCurrency(native)
  const value = valueIn(units, code, native, atMs) ?? 0n
  return { amount: toPaddedText(value - (value % 10n ** BigInt(unitDecimals - exponent)), exponent), currency: native }
}

function toPaddedText(units: bigint, decimals: number): string {
  const [whole = '', fraction = ''] = toShortText(units, unitDecimals).split('.')
  const digits = fraction.padEnd(decimals, '0')
  return digits === '' ? whole : `${whole}.${digits}`
}
