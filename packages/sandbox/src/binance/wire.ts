/**
 * Binance's answers: JSON as it is on success, `{ code, msg }` with an HTTP status on failure.
 * Source: https://github.com/binance/binance-spot-api-docs/blob/master/errors.md and rest-api.md (HTTP return codes).
 */
import type { WireAnswer } from '../core/serving/listener.ts'

interface Refusal {
  status: number
  msg: string
}

const refusals = {
  [-1003]: { status: 429, msg: 'Too many requests.' },
  [-1008]: {
    status: 503,
    msg: 'Server is currently overloaded with other requests. Please try again in a few minutes.',
  },
  [-1021]: { status: 400, msg: 'Timestamp for this request is outside of the recvWindow.' },
  [-1022]: { status: 400, msg: 'Signature for this request is not valid.' },
  [-1100]: { status: 400, msg: 'Illegal characters found in a parameter.' },
  [-1102]: { status: 400, msg: 'A mandatory parameter was not sent, was empty/null, or malformed.' },
  [-1121]: { status: 400, msg: 'Invalid symbol.' },
  [-1127]: { status: 400, msg: 'More than 24 hours between startTime and endTime.' },
  [-1128]: { status: 400, msg: 'Combination of optional parameters invalid.' },
  [-1130]: { status: 400, msg: 'Invalid data sent for a parameter.' },
  [-1131]: { status: 400, msg: 'recvWindow must be less than 60000.' },
  // Not in the list of errors, but the wallet endpoints answer it to an unknown key:
  // https://github.com/binance/binance-signature-examples/issues/17
  [-2008]: { status: 400, msg: 'Invalid Api-Key ID.' },
  [-2014]: { status: 401, msg: 'API-key format invalid.' },
  [-2015]: { status: 401, msg: 'Invalid API-key, IP, or permissions for action.' },
  [-4047]: { status: 400, msg: 'Time interval must be within 0-90 days' },
  [-5000]: { status: 404, msg: 'Path is invalid' },
  // https://github.com/rotki/rotki/issues/12416
  [-6021]: { status: 400, msg: 'Query time range too large' },
} as const satisfies Record<number, Refusal>

export type BinanceErrorCode = keyof typeof refusals

/** Thrown wherever a check fails, and answered in one place. */
export class BinanceRefusal extends Error {
  readonly code: BinanceErrorCode

  constructor(code: BinanceErrorCode, message: string = refusals[code].msg) {
    super(message)
    this.name = 'BinanceRefusal'
    this.code = code
  }
}

export function success(result: unknown, headers: Readonly<Record<string, string>> = {}): WireAnswer {
  return { status: 200, headers, body: writeJson(result) }
}

export function failure(
  code: BinanceErrorCode,
  msg: string = refusals[code].msg,
  more: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): WireAnswer {
  const { status = refusals[code].status, headers = {} } = more
  return { status, headers, body: JSON.stringify({ code, msg }), error: String(code) }
}

/** Ids of conversions have eighteen digits and are numbers on the wire: here they are bigints. */
function writeJson(value: unknown): string {
  const text = JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'bigint' ? `\u0000${member.toString()}` : member,
  )
  return text.replaceAll(/"\\u0000(\d+)"/g, '$1')
}

export function requireParameter(query: URLSearchParams, name: string): string {
  const text = query.get(name)
  if (text !== null && text !== '') return text
  throw new BinanceRefusal(-1102, `Mandatory parameter '${name}' was not sent, was empty/null, or malformed.`)
}

/** A whole number, or undefined when it was not sent. */
export function findNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^\d{1,15}$/.test(text)) {
    throw new BinanceRefusal(-1100, `Illegal characters found in parameter '${name}'; legal range is '^[0-9]{1,20}$'.`)
  }
  return Number(text)
}

export function requireNumber(query: URLSearchParams, name: string): number {
  requireParameter(query, name)
  return findNumber(query, name) ?? 0
}

/** How many rows: the default when it was not sent, the most that is allowed when it was too many. */
export function sizeOf(query: URLSearchParams, name: string, fallback: number, max: number): number {
  return Math.min(findNumber(query, name) ?? fallback, max)
}
