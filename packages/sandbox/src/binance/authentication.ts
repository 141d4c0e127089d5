/**
 * Identifies the caller and checks what it may do.
 * Source: https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md (request security, timing security)
 *
 * signature = hexadecimal HMAC-SHA256, keyed with the secret as text, of the query string as sent without the signature
 * and the body as sent, with nothing between. Order of the checks: format of the key, key, mandatory parameters,
 * signature, time, permission.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { acceptKey, type Account, type Accounts } from '../core/accounts.ts'
import type { WireRequest } from '../core/serving/listener.ts'
import type { World } from './history.ts'
import { fromBinanceKey, isKeyFormat, toBinanceKey } from './keys.ts'
import type { Story } from './story.ts'
import { BinanceRefusal, requireParameter } from './wire.ts'

export type BinanceAccount = Account<Story, World>
export type BinanceAccounts = Accounts<Story, World>

const recvWindowDefaultMs = 5_000
const recvWindowMaxMs = 60_000
const aheadMaxMs = 1_000

/** Finds the account of the key, before anything else is checked. */
export function findCaller(accounts: BinanceAccounts, request: WireRequest): BinanceAccount | undefined {
  const inner = fromBinanceKey(keyOf(request))
  return inner === undefined ? undefined : accounts.findByKey(inner)
}

export interface Signed {
  account: BinanceAccount
  parameters: URLSearchParams
}

export function authenticate(
  accounts: BinanceAccounts,
  request: WireRequest,
  clock: { nowMs: number; providerMs: number },
): Signed {
  if (!isKeyFormat(keyOf(request))) throw new BinanceRefusal(-2014)
  const account = findCaller(accounts, request)
  if (account === undefined || !acceptKey(account, clock.nowMs)) throw unknownKey(request)
  const parameters = new URLSearchParams([...request.query, ...new URLSearchParams(request.body)])
  requireParameter(parameters, 'timestamp')
  requireParameter(parameters, 'signature')
  if (!isSignedBy(account, request, parameters)) throw new BinanceRefusal(-1022)
  checkTime(parameters, clock.providerMs)
  // The wallet endpoints and the spot endpoints ask for the same right here: reading.
  if (!account.key.permissions.includes('enableReading')) throw new BinanceRefusal(-2015)
  return { account, parameters }
}

/** The two families of endpoints have different words for a key that they do not know. */
export function unknownKey(request: WireRequest): BinanceRefusal {
  return new BinanceRefusal(request.path.startsWith('/sapi/') ? -2008 : -2015)
}

function keyOf(request: WireRequest): string {
  const key = request.headers['x-mbx-apikey']
  return typeof key === 'string' ? key : ''
}

function isSignedBy(account: BinanceAccount, request: WireRequest, parameters: URLSearchParams): boolean {
  const { secret } = toBinanceKey(account.credentials)
  const expected = signatureOf(secret, withoutSignature(request.rawQuery) + withoutSignature(request.body))
  // Upper and lower case are the same here, says the document.
  const given = Buffer.from((parameters.get('signature') ?? '').toLowerCase())
  return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected))
}

function withoutSignature(text: string): string {
  return text
    .split('&')
    .filter((part) => !part.startsWith('signature='))
    .join('&')
}

/** Of a call with this payload, as it is sent. */
export function signatureOf(secret: string, payload: string): string {
  return createHmac('sha256', secret).update(payload).digest('hex')
}

function checkTime(parameters: URLSearchParams, providerMs: number): void {
  const timestamp = parameters.get('timestamp') ?? ''
  const recvWindow = parameters.get('recvWindow') ?? String(recvWindowDefaultMs)
  if (!/^\d{1,16}$/.test(timestamp)) throw new BinanceRefusal(-1100)
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(recvWindow)) throw new BinanceRefusal(-1100)
  if (Number(recvWindow) > recvWindowMaxMs) throw new BinanceRefusal(-1131)
  // Microseconds are welcome too, and have three digits more.
  const sentMs = timestamp.length > 13 ? Number(timestamp) / 1000 : Number(timestamp)
  if (sentMs >= providerMs + aheadMaxMs) {
    throw new BinanceRefusal(-1021, "Timestamp for this request was 1000ms ahead of the server's time.")
  }
  if (providerMs - sentMs > Number(recvWindow)) throw new BinanceRefusal(-1021)
}
