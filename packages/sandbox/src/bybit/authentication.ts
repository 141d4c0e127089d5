/**
 * Identifies the caller and checks what it may do.
 * Sources: https://bybit-exchange.github.io/docs/v5/guide (authentication), …/docs/v5/error
 *
 * signature = lower-case hexadecimal HMAC-SHA256, keyed with the secret as text, of timestamp, key, receive window and
 * the query as it was sent, with nothing between. Order of the checks: key, time, signature, address, permission.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { acceptKey } from '../core/accounts.ts'
import type { WireRequest } from '../core/serving/listener.ts'
import type { SpotAccount } from '../spot/exchange.ts'
import { toBase62 } from '../spot/keys.ts'
import { BybitRefusal } from './wire.ts'

const recvWindowDefaultMs = 5_000
const aheadMaxMs = 1_000
const secretLength = 36

/**
 * Which permissions of a key open an endpoint; one of them is enough. The documents group the permissions and say of
 * only a few endpoints which group they belong to, so that this is the plain reading of the groups' names.
 */
export const rights = {
  trading: ['SpotTrade', 'DerivativesTrade', 'OptionsTrade', 'Order', 'Position'],
  wallet: ['AccountTransfer', 'SubMemberTransfer', 'Withdraw'],
  exchange: ['ExchangeHistory'],
} as const
export type Right = keyof typeof rights

export function secretOf(account: SpotAccount): string {
  return toBase62(createHmac('sha256', account.credentials.secret).update('bybit').digest(), secretLength)
}

export function headerOf(request: WireRequest, name: string): string {
  const value = request.headers[name]
  return typeof value === 'string' ? value : ''
}

export function checkCall(
  caller: SpotAccount | undefined,
  request: WireRequest,
  right: Right | undefined,
  clock: { nowMs: number; providerMs: number },
): SpotAccount {
  if (caller === undefined) throw new BybitRefusal(10003)
  if (!acceptKey(caller, clock.nowMs)) throw new BybitRefusal(caller.key.expired ? 33004 : 10003)
  checkTime(request, clock.providerMs)
  if (!isSignedBy(caller, request)) throw new BybitRefusal(10004)
  const { boundTo } = caller.world().story
  if (boundTo !== undefined && !boundTo.includes(request.address)) throw new BybitRefusal(10010)
  const { permissions } = caller.key
  if (right !== undefined && !rights[right].some((one) => permissions.includes(one))) throw new BybitRefusal(10005)
  return caller
}

function isSignedBy(account: SpotAccount, request: WireRequest): boolean {
  const [timestamp, key, recvWindow] = ['timestamp', 'api-key', 'recv-window'].map((name) =>
    headerOf(request, `x-bapi-${name}`),
  )
  const payload = `${timestamp}${key}${recvWindow}${request.rawQuery}${request.body}`
  const expected = signatureOf(secretOf(account), payload)
  const given = Buffer.from(headerOf(request, 'x-bapi-sign'))
  return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected))
}

/** The payload is timestamp, key, receive window and query, joined without a separator. */
export function signatureOf(secret: string, payload: string): string {
  return createHmac('sha256', secret).update(payload).digest('hex')
}

/** server_time - recv_window <= timestamp < server_time + 1000 */
function checkTime(request: WireRequest, providerMs: number): void {
  const timestamp = headerOf(request, 'x-bapi-timestamp')
  const window = headerOf(request, 'x-bapi-recv-window') || String(recvWindowDefaultMs)
  const now = Math.floor(providerMs)
  const told = `req_timestamp[${timestamp}],server_timestamp[${now}],recv_window[${window}]`
  const message = `invalid request, please check your server timestamp or recv_window param. ${told}`
  if (!/^\d{1,15}$/.test(timestamp) || !/^\d{1,9}$/.test(window)) throw new BybitRefusal(10002, message)
  if (Number(timestamp) < now - Number(window) || Number(timestamp) >= now + aheadMaxMs) {
    throw new BybitRefusal(10002, message)
  }
}
