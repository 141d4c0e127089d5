/**
 * Identifies the caller and checks what it may do.
 * Source: https://docs.kraken.com/exchange/guides/rest/authentication
 *
 * API-Sign = base64 HMAC-SHA512, keyed with the decoded secret, of the path and SHA-256(nonce + body as sent). The
 * nonce of a key only ever rises (nonce window 0). Order of the checks: key, signature, nonce, then the call counter,
 * then the permission: a wrong signature must not use up a nonce, and a refused call still counts.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { acceptKey, type Account, type Accounts } from '../core/accounts.ts'
import type { WireRequest } from '../core/serving/listener.ts'
import type { World } from './history.ts'
import type { Story } from './story.ts'
import { KrakenRefusal } from './wire.ts'

export type KrakenAccount = Account<Story, World>
export type KrakenAccounts = Accounts<Story, World>

const nonceMax = 2n ** 64n - 1n

export interface Signed {
  account: KrakenAccount
  parameters: URLSearchParams
}

export function authenticate(accounts: KrakenAccounts, request: WireRequest, nowMs: number): Signed {
  const account = accounts.findByKey(headerOf(request, 'api-key'))
  if (account === undefined || !acceptKey(account, nowMs)) throw new KrakenRefusal('EAPI:Invalid key')
  const parameters = parametersOf(request)
  const nonce = parameters.get('nonce') ?? ''
  if (!isSignedBy(account, request, nonce)) throw new KrakenRefusal('EAPI:Invalid signature')
  spendNonce(account, nonce)
  return { account, parameters }
}

/** Counts the call. Metering looks at the clock of the sandbox, so a test can move it instead of waiting. */
export function meterCall(account: KrakenAccount, cost: number, nowMs: number): void {
  const taken = account.meter?.take(cost, nowMs)
  if (taken?.accepted === false) throw new KrakenRefusal('EAPI:Rate limit exceeded')
}

/** Any one of them is enough; none needed when the list is empty. */
export function requirePermission(account: KrakenAccount, anyOf: readonly string[]): void {
  if (anyOf.length === 0 || anyOf.some((one) => account.key.permissions.includes(one))) return
  throw new KrakenRefusal('EGeneral:Permission denied')
}

function headerOf(request: WireRequest, name: string): string {
  const value = request.headers[name]
  return typeof value === 'string' ? value : ''
}

/** Form fields, or the members of a JSON object: Kraken takes both. */
function parametersOf(request: WireRequest): URLSearchParams {
  if (!headerOf(request, 'content-type').startsWith('application/json')) return new URLSearchParams(request.body)
  try {
    const members = Object.entries(JSON.parse(request.body) as Record<string, unknown>)
    return new URLSearchParams(Object.fromEntries(members.map(([name, value]) => [name, String(value)])))
  } catch {
    throw new KrakenRefusal('EGeneral:Invalid arguments')
  }
}

function isSignedBy(account: KrakenAccount, request: WireRequest, nonce: string): boolean {
  const expected = signatureOf(account.credentials.secret, request.path, nonce, request.body)
  const given = Buffer.from(headerOf(request, 'api-sign'), 'base64')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** The signature of a call with this body, as it is sent. */
export function signatureOf(secret: string, path: string, nonce: string, body: string): Buffer {
  const digest = createHash('sha256')
    .update(nonce + body)
    .digest()
  return createHmac('sha512', Buffer.from(secret, 'base64')).update(path).update(digest).digest()
}

function spendNonce(account: KrakenAccount, text: string): void {
  const nonce = /^\d{1,20}$/.test(text) ? BigInt(text) : -1n
  if (nonce <= account.key.nonce || nonce > nonceMax) throw new KrakenRefusal('EAPI:Invalid nonce')
  account.key.nonce = nonce
}
