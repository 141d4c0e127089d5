/**
 * OKX's answers: `{ code, msg, data }` with every number as text, and `code` other than "0" for a refusal.
 * Source: https://www.okx.com/docs-v5/en/#error-code, which also names the HTTP status of each code.
 */
import type { WireAnswer } from '../core/serving/listener.ts'

const refusals = {
  50011: { status: 429, msg: 'Too Many Requests' },
  50014: { status: 400, msg: 'Parameter cannot be empty.' },
  50026: { status: 500, msg: 'System error. Try again later' },
  50102: { status: 401, msg: 'Timestamp request expired' },
  50103: { status: 401, msg: 'Request header OK-ACCESS-KEY cannot be empty.' },
  50104: { status: 401, msg: 'Request header OK-ACCESS-PASSPHRASE cannot be empty.' },
  50105: { status: 401, msg: 'Request header OK-ACCESS-PASSPHRASE incorrect.' },
  50106: { status: 401, msg: 'Request header OK-ACCESS-SIGN cannot be empty.' },
  50107: { status: 401, msg: 'Request header OK-ACCESS-TIMESTAMP cannot be empty.' },
  50110: { status: 401, msg: "Your IP is not included in your API key's IP whitelist." },
  50111: { status: 401, msg: 'Invalid OK-ACCESS-KEY' },
  50112: { status: 401, msg: 'Invalid OK-ACCESS-TIMESTAMP' },
  50113: { status: 401, msg: 'Invalid Sign' },
  50115: { status: 405, msg: 'Invalid request type' },
  50119: { status: 200, msg: "API key doesn't exist" },
  50120: { status: 200, msg: "This API key doesn't have permission to use this function" },
  51000: { status: 400, msg: 'Parameter error' },
  // The documents have no code for an unknown path.
  404: { status: 404, msg: 'Not Found' },
} as const

export type OkxErrorCode = keyof typeof refusals

/** Thrown wherever a check fails, and answered in one place. */
export class OkxRefusal extends Error {
  readonly code: OkxErrorCode

  constructor(code: OkxErrorCode, message: string = refusals[code].msg) {
    super(message)
    this.name = 'OkxRefusal'
    this.code = code
  }
}

export function success(data: readonly object[]): WireAnswer {
  return { status: 200, body: JSON.stringify({ code: '0', data, msg: '' }) }
}

export function failure(code: OkxErrorCode, message: string = refusals[code].msg): WireAnswer {
  const body = JSON.stringify({ code: String(code), data: [], msg: message })
  return { status: refusals[code].status, body, error: String(code) }
}

/** A whole number, or undefined when it was not sent. */
export function findNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^\d{1,15}$/.test(text)) throw new OkxRefusal(51000, `Parameter ${name} error`)
  return Number(text)
}

/** A hundred rows are the default and the most. */
export function sizeOf(query: URLSearchParams): number {
  const size = findNumber(query, 'limit') ?? 100
  if (size < 1 || size > 100) throw new OkxRefusal(51000, 'Parameter limit error')
  return size
}
