/**
 * Bitfinex's answers: JSON arrays in which the place of a value says what it is, and `["error", code, text]` with HTTP
 * 500 for a refusal. Amounts are JSON numbers, so that a tiny one is written with an exponent (1e-8). Sources:
 * https://docs.bitfinex.com/docs/abbreviations-glossary (error codes), https://docs.bitfinex.com/docs/rest-general
 */
import type { WireAnswer } from '../core/serving/listener.ts'
import { toText } from '../spot/books.ts'

const refusals = {
  10001: { status: 500, text: 'api_key: permission invalid' },
  10020: { status: 500, text: 'request: invalid' },
  10100: { status: 500, text: 'apikey: invalid' },
  10114: { status: 500, text: 'nonce: small' },
  11010: { status: 429, text: 'ratelimit: error' },
  // The documents have no code for an unknown path.
  404: { status: 404, text: 'path: invalid' },
} as const

export type BitfinexErrorCode = keyof typeof refusals

/** Thrown wherever a check fails, and answered in one place. */
export class BitfinexRefusal extends Error {
  readonly code: BitfinexErrorCode

  constructor(code: BitfinexErrorCode, message: string = refusals[code].text) {
    super(message)
    this.name = 'BitfinexRefusal'
    this.code = code
  }
}

export function success(result: readonly unknown[]): WireAnswer {
  return { status: 200, body: JSON.stringify(result) }
}

export function failure(code: BitfinexErrorCode, text: string = refusals[code].text): WireAnswer {
  return { status: refusals[code].status, body: JSON.stringify(['error', code, text]), error: String(code) }
}

/** The one answer that is an object. */
export function unavailable(): WireAnswer {
  const description = 'Sorry, the service is temporarily unavailable. See https://www.bitfinex.com/ for more info.'
  const body = { code: 503, error: 'temporarily_unavailable', error_description: description }
  return { status: 503, body: JSON.stringify(body), error: '503' }
}

/** Bitfinex writes amounts as JSON numbers. No amount of the scenarios has more digits than a binary float holds. */
export function amount(units: bigint): number {
  return Number(toText(units))
}

export interface Asked {
  start: number
  end: number
  limit: number
  /** Oldest first. */
  ascending: boolean
  category: number | undefined
}

export function parseBody(body: string, limitMax: number): Asked {
  let sent: unknown
  try {
    sent = JSON.parse(body === '' ? '{}' : body)
  } catch {
    throw new BitfinexRefusal(10020, 'body: invalid')
  }
  if (typeof sent !== 'object' || sent === null) throw new BitfinexRefusal(10020, 'body: invalid')
  const numberOf = (name: string, fallback: number): number => {
    const value: unknown = Object.hasOwn(sent, name) ? (sent as Record<string, unknown>)[name] : undefined
    if (value === undefined || value === null) return fallback
    const number = Number(value)
    if (!Number.isSafeInteger(number)) throw new BitfinexRefusal(10020, `${name}: invalid`)
    return number
  }
  const limit = numberOf('limit', 25)
  if (limit < 1 || limit > limitMax) throw new BitfinexRefusal(10020, 'limit: invalid')
  const category = numberOf('category', 0)
  return {
    start: numberOf('start', 0),
    end: numberOf('end', Number.MAX_SAFE_INTEGER - 1),
    limit,
    ascending: numberOf('sort', -1) === 1,
    category: category === 0 ? undefined : category,
  }
}
