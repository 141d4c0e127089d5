/**
 * Signed calls to Binance's REST API (binance-spot-api-docs, rest-api.md: "Signed request security"). ccxt is not used:
 * one HMAC is all there is to sign, and ccxt hides the headers that give the cost of a call.
 *
 * Errors come with a 4xx status and `{ code, msg }` (errors.md). The code decides, because one status stands for many.
 * Endpoints under /sapi that are built on Binance's web API also report errors with HTTP 200 (`refuseFailure`).
 */
import { createHmac } from 'node:crypto'
import { minuteMs, SourceError, type Fault } from '@assay/core'
import { z } from 'zod'
import type { ApiKeyCredentials, Io, Spent } from '../kit/connector.ts'
import { fetchAnswer, toStatusError, type HttpAnswer } from '../kit/http.ts'
import { isJsonObject, parseJson, readAnswer, withTextNumbers } from '../kit/json.ts'
import { binanceDefinition } from './definition.ts'
import { endpoints, type Endpoint } from './endpoints.ts'

export interface Answered {
  /** The text is not parsed yet: rows keep every digit, while only three members of the megabytes of pairs are read. */
  text: string
  spent: Spent[]
}

export type Call = (endpoint: Endpoint, params?: Readonly<Record<string, string>>) => Promise<Answered>

/** Requests that arrive later than this are refused. Binance recommends 5 seconds and allows 60. */
const recvWindowMs = 10_000

export function createClient(credentials: ApiKeyCredentials, io: Io): Call {
  // How far Binance's clock is ahead of ours; fetched only after Binance has refused a timestamp.
  let offsetMs = 0

  async function ask(endpoint: Endpoint, params: Readonly<Record<string, string>>): Promise<Answered> {
    const query = endpoint.isPublic === true ? new URLSearchParams(params).toString() : sign(params)
    const url = `${io.baseUrl ?? binanceDefinition.baseUrl}${endpoint.path}${query === '' ? '' : `?${query}`}`
    const headers = endpoint.isPublic === true ? {} : { 'X-MBX-APIKEY': credentials.apiKey }
    const answer = await fetchAnswer(io, url, { headers })
    if (answer.status !== 200) throw toError(endpoint, answer, io)
    return { text: answer.text, spent: listSpent(endpoint, answer.headers) }
  }

  function sign(params: Readonly<Record<string, string>>): string {
    const timestamp = String(Math.round(io.now() + offsetMs))
    const payload = new URLSearchParams({ ...params, recvWindow: String(recvWindowMs), timestamp }).toString()
    return `${payload}&signature=${createHmac('sha256', credentials.secretKey).update(payload).digest('hex')}`
  }

  async function measureOffset(): Promise<number> {
    const askedAt = io.now()
    const { text } = await ask(endpoints.time, {})
    const { serverTime } = readAnswer('time', serverClock, parseJson(text))
    return Number(serverTime) - (askedAt + io.now()) / 2
  }

  async function askInTime(endpoint: Endpoint, params: Readonly<Record<string, string>>): Promise<Answered> {
    try {
      return await ask(endpoint, params)
    } catch (error) {
      if (!(error instanceof SourceError) || error.fault !== 'clock_skew') throw error
      offsetMs = await measureOffset()
      return ask(endpoint, params)
    }
  }

  return async (endpoint, params = {}) => {
    assertUsable(credentials)
    try {
      return await askInTime(endpoint, params)
    } catch (error) {
      if (!(error instanceof RejectedKey)) throw error
      // −2015 stands for an unknown key, a wrong address and a missing right. If the key's rights can be read, it is
      // the right to this call that is missing.
      if (endpoint.path !== endpoints.apiRestrictions.path) await askInTime(endpoints.apiRestrictions, {})
      throw error
    }
  }
}

const serverClock = z.object({ serverTime: z.string().regex(/^\d{1,16}$/) })

/** −2015: "Invalid API-key, IP, or permissions for action". */
export class RejectedKey extends SourceError {}

const errorBody = z.object({ code: z.string().regex(/^-?\d{1,9}$/) })

/** errors.md. A code that is missing here means that our request was wrong: a bug of ours or a changed API. */
const faultByCode: Readonly<Record<string, Fault>> = {
  '-1000': 'venue_down',
  '-1001': 'venue_down',
  '-1002': 'missing_permission',
  '-1003': 'rate_limited',
  '-1006': 'venue_down',
  '-1007': 'venue_down',
  '-1008': 'venue_down',
  '-1015': 'rate_limited',
  '-1016': 'venue_down',
  '-1021': 'clock_skew',
  '-1022': 'invalid_credentials',
  // "Invalid symbol": a pair that Binance has delisted, or never had.
  '-1121': 'data_hole',
  '-2008': 'invalid_credentials',
  '-2014': 'invalid_credentials',
  '-3000': 'venue_down',
}

function toError(endpoint: Endpoint, answer: HttpAnswer, io: Io): SourceError {
  const { status } = answer
  const code = findCode(answer.text)
  const detail = `${endpoint.path}: HTTP ${status}${code === undefined ? '' : `, code ${code}`}`
  if (code === '-2015') {
    const isLast = endpoint.path === endpoints.apiRestrictions.path
    return new RejectedKey(isLast ? 'invalid_credentials' : 'missing_permission', detail)
  }
  const isRefusal = status >= 400 && status < 500 && status !== 429 && status !== 418
  const fault = isRefusal && code !== undefined ? (faultByCode[code] ?? 'unreadable_answer') : undefined
  // −1003 is about the weight of an address, and −1015 about the orders of an account.
  if (fault !== undefined) return new SourceError(fault, detail, { isOfAddress: code === '-1003' })
  // 403 is the firewall in front of Binance, which blocks an address that asks too much.
  const error = toStatusError(answer, io, { 403: 'rate_limited' })
  if (error.fault !== 'rate_limited') return error
  // Retry-After was seen as 0 on every refusal (rotki, exchanges/binance.py). Weights are reset at the full minute.
  const retryAfterMs = error.retryAfterMs || minuteMs - (Math.round(io.now()) % minuteMs)
  // "The limits on the API are based on the IPs, not the API keys" (rest-api.md, "IP Limits"). What Binance counts by
  // account has buckets of the key (connector.ts).
  return new SourceError('rate_limited', detail, { retryAfterMs, isOfAddress: true })
}

function findCode(text: string): string | undefined {
  try {
    return errorBody.safeParse(parseJson(text)).data?.code
  } catch (error) {
    if (error instanceof SourceError) return undefined
    throw error
  }
}

const success = '000000'

/**
 * Throws for the answer with which Binance's web API reports an error: `{ code: "000002", message, data: null, success:
 * false }`. A list may be in it, and would pass for an empty one. Success has the code 000000, or no code at all.
 */
export function refuseFailure({ path }: Endpoint, answer: unknown): void {
  if (!isJsonObject(answer)) return
  const code = withTextNumbers(answer['code'] ?? success)
  if (code === success && answer['success'] !== false) return
  const known = typeof code === 'string' && /^-?\d{1,9}$/.test(code) ? code : 'of another form'
  throw new SourceError('unreadable_answer', `${path}: HTTP 200, code ${known}`)
}

const usedWeightHeaders = ['x-mbx-used-weight-1m', 'x-sapi-used-ip-weight-1m', 'x-sapi-used-uid-weight-1m']

function listSpent({ bucket }: Endpoint, headers: Headers): Spent[] {
  // The limit of WithdrawHistory is by the second, and over before the next call.
  if (bucket === 'withdrawals') return []
  const used = usedWeightHeaders.map((name) => headers.get(name)).find((value) => value !== null)
  return used !== undefined && used !== null && /^\d{1,9}$/.test(used) ? [{ bucket, used: Number(used) }] : []
}

/** The newest report about each bucket. */
export function joinSpent(...lists: readonly (readonly Spent[])[]): Spent[] {
  return [...new Map(lists.flat().map((spent) => [spent.bucket, spent])).values()]
}

/** A key with a line break in it would fail inside fetch, with the key in the message. */
function assertUsable({ apiKey, secretKey }: ApiKeyCredentials): void {
  if (!/^[A-Za-z0-9]{64}$/.test(apiKey)) throw new SourceError('invalid_credentials', 'API key: not a Binance key')
  if (!/^[\x21-\x7e]{1,200}$/.test(secretKey))
    throw new SourceError('invalid_credentials', 'secret key: not a Binance key')
}
