/**
 * Bybit's answers: `{ retCode, retMsg, result, retExtInfo, time }`, with HTTP 200 also for most refusals.
 * Sources: https://bybit-exchange.github.io/docs/v5/guide (common response parameters), …/docs/v5/error
 */
import type { WireAnswer } from '../core/serving/listener.ts'

const refusals = {
  10001: 'Request parameter error',
  // Seen in https://github.com/JKorf/Bybit.Net/issues/273, where the three times follow in brackets.
  10002: 'invalid request, please check your server timestamp or recv_window param.',
  10003: 'API key is invalid.',
  10004: 'Error sign, please check your signature generation algorithm.',
  10005: 'Permission denied, please check your API key permissions.',
  10006: 'Too many visits. Exceeded the API Rate Limit.',
  10010: "Unmatched IP, please check your API key's bound IP addresses.",
  10016: 'Server error.',
  10017: 'Route not found.',
  33004: 'Your api key has expired.',
  // https://github.com/ccxt/ccxt/pull/16735
  131002: 'The interval between the startTime and endTime is incorrect',
} as const

export type BybitErrorCode = keyof typeof refusals

/** Thrown wherever a check fails, and answered in one place. */
export class BybitRefusal extends Error {
  readonly code: BybitErrorCode

  constructor(code: BybitErrorCode, message: string = refusals[code]) {
    super(message)
    this.name = 'BybitRefusal'
    this.code = code
  }
}

/** What an endpoint answers; Bybit's words for success differ between the families of endpoints. */
export interface Answer {
  retMsg: 'OK' | 'success' | 'ok' | ''
  result: object
}

type Headers = Readonly<Record<string, string>>

export function success({ retMsg, result }: Answer, nowMs: number, headers: Headers = {}): WireAnswer {
  return { status: 200, headers, body: JSON.stringify({ retCode: 0, retMsg, result, retExtInfo: {}, time: nowMs }) }
}

export function failure(
  code: BybitErrorCode,
  nowMs: number,
  more: { message?: string; headers?: Headers } = {},
): WireAnswer {
  const { message = refusals[code], headers = {} } = more
  const body = JSON.stringify({ retCode: code, retMsg: message, result: {}, retExtInfo: {}, time: nowMs })
  return { status: code === 10017 ? 404 : 200, headers, body, error: String(code) }
}

/** A whole number, or undefined when it was not sent. */
export function findNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^\d{1,15}$/.test(text)) throw new BybitRefusal(10001, `params error: ${name} invalid`)
  return Number(text)
}

/** How many rows: the default when it was not sent, and never more than is allowed. */
export function sizeOf(query: URLSearchParams, fallback: number, max: number): number {
  return Math.min(Math.max(1, findNumber(query, 'limit') ?? fallback), max)
}
