/**
 * Keys that look like Binance's: 64 letters and digits, and a secret of 64. Inside is the sandbox's own key (see
 * `core/keys.ts`), whose 42 bytes make 57 digits of base 62; the last seven are a check, so that a typing mistake is a key
 * that the exchange does not know rather than one of another account.
 */
import { createHash } from 'node:crypto'
import type { Credentials } from '../core/keys.ts'

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
