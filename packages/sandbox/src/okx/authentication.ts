/**
 * Identifies the caller and checks what it may do.
 * Sources: https://www.okx.com/docs-v5/en/#overview-rest-authentication, …/#overview-api-key-creation
 *
 * signature = base64 of HMAC-SHA256, keyed with the secret as text, of timestamp, method, path with its query, and
 * body, with nothing between. The timestamp is ISO 8601 with milliseconds, at most thirty seconds away from the
 * server's time.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { acceptKey } from '../core/accounts.ts'
import type { WireRequest } from '../core/serving/listener.ts'
import type { SpotAccount } from '../spot/exchange.ts'
import type { KeyShape } from '../spot/keys.ts'
import { OkxRefusal } from './wire.ts'

const awayMaxMs = 30_000
const keyFormat = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** OKX's keys look like a UUID. */
export const keyShape: KeyShape = {
  bytes: 16,
  write: (bytes) => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  read: (text) => (keyFormat.test(text) ? Buffer.from(text.replaceAll('-', ''), 'hex') : undefined),
}

/** Thirty-two hexadecimal digits in upper case, and a passphrase that a person chose. */
export function secretsOf(account: SpotAccount): { secret: string; passphrase: string } {
  const derive = (purpose: string): string =>
    createHmac('sha256', account.credentials.secret).update(purpose).digest('hex')
  return { secret: derive('okx').slice(0, 32).toUpperCase(), passphrase: `Pass-${derive('passphrase').slice(0, 12)}!` }
}

export function headerOf(request: WireRequest, name: string): string {
  const value = request.headers[`ok-access-${name}`]
  return typeof value === 'string' ? value : ''
}

const required = { key: 50103, passphrase: 50104, sign: 50106, timestamp: 50107 } as const

export function checkCall(
  caller: SpotAccount | undefined,
  request: WireRequest,
  clock: { nowMs: number; providerMs: number },
): SpotAccount {
  for (const [name, code] of Object.entries(required)) {
    if (headerOf(request, name) === '') throw new OkxRefusal(code)
  }
  checkTime(headerOf(request, 'timestamp'), clock.providerMs)
  if (!keyFormat.test(headerOf(request, 'key'))) throw new OkxRefusal(50111)
  if (caller === undefined || !acceptKey(caller, clock.nowMs)) throw new OkxRefusal(50119)
  const { secret, passphrase } = secretsOf(caller)
  if (!isSame(headerOf(request, 'passphrase'), passphrase)) throw new OkxRefusal(50105)
  const path = request.rawQuery === '' ? request.path : `${request.path}?${request.rawQuery}`
  const payload = headerOf(request, 'timestamp') + request.method + path + request.body
  if (!isSame(headerOf(request, 'sign'), signatureOf(secret, payload))) throw new OkxRefusal(50113)
  const { boundTo } = caller.world().story
  if (boundTo !== undefined && !boundTo.includes(request.address)) {
    throw new OkxRefusal(50110, `Your IP ${request.address} is not included in your API key's IP whitelist.`)
  }
  if (!caller.key.permissions.includes('read_only')) throw new OkxRefusal(50120)
  return caller
}

/** The payload is timestamp, method, path with query, and body, joined without a separator. */
export function signatureOf(secret: string, payload: string): string {
  return createHmac('sha256', secret).update(payload).digest('base64')
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

function checkTime(timestamp: string, providerMs: number): void {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(timestamp)) throw new OkxRefusal(50112)
  const sentMs = Date.parse(timestamp)
  if (Number.isNaN(sentMs)) throw new OkxRefusal(50112)
  if (Math.abs(providerMs - sentMs) > awayMaxMs) throw new OkxRefusal(50102)
}
