/**
 * Identifies the caller and checks what it may do.
 * Source: https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md (request security, timing security)
 *
 * signature = hexadecimal HMAC-SHA256, keyed with the secret as text, of the query string as sent without the signature
 * and the body as sent, with nothing between. Order of the checks: format of the key, key, mandatory parameters,
 * signature, time, permission.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { acceptKey, type Account, type Accounts } from '../core/accounts.ts'
import type { Credentials } from '../core/keys.ts'
import type { WireRequest } from '../core/serving/listener.ts'
import type { World } from './history.ts'
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
  // The wallet endpoints and the spot endpoints require the same right: reading.
  if (!account.key.permissions.includes('enableReading')) throw new BinanceRefusal(-2015)
  return { account, parameters }
}

/** The two families of endpoints have different error codes for an unknown key. */
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
  // The document says that upper and lower case are the same here.
  const given = Buffer.from((parameters.get('signature') ?? '').toLowerCase())
  return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected))
}

function withoutSignature(text: string): string {
  return text
    .split('&')
    .filter((part) => !part.startsWith('signature='))
    .join('&')
}

/** The signature of a call with this payload, as it is sent. */
export function signatureOf(secret: string, payload: string): string {
  return createHmac('sha256', secret).update(payload).digest('hex')
}

function checkTime(parameters: URLSearchParams, providerMs: number): void {
  const timestamp = parameters.get('timestamp') ?? ''
  const recvWindow = parameters.get('recvWindow') ?? String(recvWindowDefaultMs)
  if (!/^\d{1,16}$/.test(timestamp)) throw new BinanceRefusal(-1100)
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(recvWindow)) throw new BinanceRefusal(-1100)
  if (Number(recvWindow) > recvWindowMaxMs) throw new BinanceRefusal(-1131)
  // Microseconds are accepted too, and have three more digits.
  const sentMs = timestamp.length > 13 ? Number(timestamp) / 1000 : Number(timestamp)
  if (sentMs >= providerMs + aheadMaxMs) {
    throw new BinanceRefusal(-1021, "Timestamp for this request was 1000ms ahead of the server's time.")
  }
  if (providerMs - sentMs > Number(recvWindow)) throw new BinanceRefusal(-1021)
}

// ------------------------------------------------------------------------------------------------------------------
// keys Keys look like Binance's: 64 letters and digits, and a secret of 64. Inside is the sandbox's own key
// (`core/keys.ts`), whose 42 bytes make 57 digits of base 62. The last seven digits are a check, so that a typing
// mistake gives a key that the exchange does not know and not the key of another account.

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const base = BigInt(alphabet.length)
const innerBytes = 42
const digits = 57
const checkDigits = 7

export function toBinanceKey({ apiKey, secret }: Credentials): Credentials {
  const number = BigInt(`0x${Buffer.from(apiKey, 'base64').toString('hex')}`)
  const text = toBase62(number, digits)
  return { apiKey: text + checkOf(text), secret: createHash('sha256').update(secret).digest('hex') }
}

/** The sandbox's own key inside, or undefined for a key that was not made here. */
export function fromBinanceKey(key: string): string | undefined {
  if (!isKeyFormat(key)) return undefined
  const text = key.slice(0, digits)
  if (checkOf(text) !== key.slice(digits)) return undefined
  let number = 0n
  for (const character of text) number = number * base + BigInt(alphabet.indexOf(character))
  const hex = number.toString(16).padStart(innerBytes * 2, '0')
  return hex.length > innerBytes * 2 ? undefined : Buffer.from(hex, 'hex').toString('base64')
}

export function isKeyFormat(key: string): boolean {
  return /^[A-Za-z0-9]{64}$/.test(key)
}

function checkOf(text: string): string {
  return toBase62(BigInt(`0x${createHash('sha256').update(`check\n${text}`).digest('hex')}`), checkDigits)
}

/** The last `length` digits. */
function toBase62(number: bigint, length: number): string {
  let rest = number
  let text = ''
  while (text.length < length) {
    text = alphabet.charAt(Number(rest % base)) + text
    rest /= base
  }
  return text
}
