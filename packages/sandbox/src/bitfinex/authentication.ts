/**
 * Identifies the caller and checks what it may do.
 * Sources: https://docs.bitfinex.com/docs/rest-auth, https://docs.bitfinex.com/reference/key-permissions
 *
 * signature = hexadecimal HMAC-SHA384, keyed with the secret as text, of "/api" with the path, the nonce and the body,
 * with nothing between. The nonce of a key must rise with every call; one that does not is "nonce: small", and a key
 * that was once used with a high nonce cannot go back.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { acceptKey } from '../core/accounts.ts'
import type { WireRequest } from '../core/serving/listener.ts'
import type { SpotAccount } from '../spot/exchange.ts'
import { toBase62 } from '../spot/keys.ts'
import { BitfinexRefusal } from './wire.ts'

export const keyLength = 43
const nonceMax = BigInt(Number.MAX_SAFE_INTEGER)

export function secretOf(account: SpotAccount): string {
  return toBase62(createHmac('sha512', account.credentials.secret).update('bitfinex').digest(), keyLength)
}

export function headerOf(request: WireRequest, name: string): string {
  const value = request.headers[`bfx-${name}`]
  return typeof value === 'string' ? value : ''
}

/** `right`: the scope that must be readable, such as "history"; undefined for an endpoint that every key may call. */
export function checkCall(
  caller: SpotAccount | undefined,
  request: WireRequest,
  right: string | undefined,
  nowMs: number,
): SpotAccount {
  if (caller === undefined || !acceptKey(caller, nowMs)) throw new BitfinexRefusal(10100)
  const nonce = headerOf(request, 'nonce')
  const expected = Buffer.from(signatureOf(secretOf(caller), request.path, nonce, request.body))
  const given = Buffer.from(headerOf(request, 'signature'))
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new BitfinexRefusal(10100, 'apikey: digest invalid')
  }
  if (!/^\d{1,16}$/.test(nonce) || BigInt(nonce) > nonceMax) throw new BitfinexRefusal(10114, 'nonce: invalid')
  if (BigInt(nonce) <= caller.key.nonce) throw new BitfinexRefusal(10114)
  caller.key.nonce = BigInt(nonce)
  if (right !== undefined && !caller.key.permissions.includes(`${right}:read`)) throw new BitfinexRefusal(10001)
  return caller
}

export function signatureOf(secret: string, path: string, nonce: string, body: string): string {
  return createHmac('sha384', secret).update(`/api${path}${nonce}${body}`).digest('hex')
}
