/**
 * Identifiers in the shape of a UUID that differ from account to account and can be read back to the number they were
 * made from, as those of `core/ids.ts` can: so a hundred thousand transactions are shared by all accounts of a
 * scenario.
 *
 * A UUID has 122 free bits. 120 of them are used: 88 of a hash over (account, kind, number) and 32 of the number,
 * hidden under a second hash.
 */
import { hash } from 'node:crypto'

const tagDigits = 22
const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** `kind` keeps the ids of wallets, transactions, orders and so on apart. */
export function encodeUuid(account: string, kind: string, number: number): string {
  const tag = tagOf(account, kind, number)
  const hidden = (number ^ maskOf(account, kind, tag)) >>> 0
  return toUuid(tag + hidden.toString(16).padStart(8, '0'), '5')
}

/** The number, when this account did make such an id. */
export function decodeUuid(account: string, kind: string, text: string): number | undefined {
  const digits = fromUuid(text)
  if (digits === undefined) return undefined
  const tag = digits.slice(0, tagDigits)
  const number = (parseInt(digits.slice(tagDigits), 16) ^ maskOf(account, kind, tag)) >>> 0
  return encodeUuid(account, kind, number) === text ? number : undefined
}

/** Puts 30 hexadecimal digits around the version and the variant of a UUID. */
export function toUuid(digits: string, version: '4' | '5'): string {
  const variant = '89ab'.charAt(parseInt(digits.slice(-1), 16) % 4)
  const parts = [digits.slice(0, 8), digits.slice(8, 12), version + digits.slice(12, 15)]
  return [...parts, variant + digits.slice(15, 18), digits.slice(18, 30)].join('-')
}

/** The 30 digits again. */
export function fromUuid(text: string): string | undefined {
  if (!shape.test(text)) return undefined
  const plain = text.replaceAll('-', '')
  return plain.slice(0, 12) + plain.slice(13, 16) + plain.slice(17)
}

function tagOf(account: string, kind: string, number: number): string {
  return hash('sha256', `${account}\n${kind}\n${number}`).slice(0, tagDigits)
}

function maskOf(account: string, kind: string, tag: string): number {
  return parseInt(hash('sha256', `${account}\n${kind}\nmask\n${tag}`).slice(0, 8), 16)
}
