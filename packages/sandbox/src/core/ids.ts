/**
 * Identifiers that look random, differ from account to account, and can be read back to the number they were made from.
 * So all accounts of a scenario can share a hundred thousand ledger entries: nothing has to be stored to find the entry
 * behind an id.
 *
 * Sixteen characters of base 32: ten of a hash over (account, kind, number), and six of the number hidden under a
 * second hash. Plain numbers rather than bigints: a page of fifty rows needs a hundred of these.
 */
import { hash } from 'node:crypto'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const tagLength = 10
const numberLength = 6
const numberMax = 2 ** (5 * numberLength) - 1

/** `kind` keeps the ids of entries, trades and so on apart. */
export function encodeNumber(account: string, kind: string, number: number): string {
  if (!Number.isInteger(number) || number < 0 || number > numberMax) throw new RangeError(`no id for ${number}`)
  const tag = tagOf(account, kind, number)
  return toBase32(tag, tagLength) + toBase32(number ^ maskOf(account, kind, tag), numberLength)
}

/** The number behind an id that this account made; undefined for any other id. */
export function decodeNumber(account: string, kind: string, text: string): number | undefined {
  if (!/^[A-Z2-7]{16}$/.test(text)) return undefined
  const tag = fromBase32(text.slice(0, tagLength))
  const number = fromBase32(text.slice(tagLength)) ^ maskOf(account, kind, tag)
  return tagOf(account, kind, number) === tag ? number : undefined
}

/** Lower-case hexadecimal of any length up to 64: transaction hashes, parts of addresses. */
export function hexOf(account: string, kind: string, number: number, length: number): string {
  return hash('sha256', `${account}\n${kind}\nhex\n${number}`).slice(0, length)
}

/** 50 bits. */
function tagOf(account: string, kind: string, number: number): number {
  return Math.floor(parseInt(hash('sha256', `${account}\n${kind}\n${number}`).slice(0, 13), 16) / 4)
}

/** 30 bits. */
function maskOf(account: string, kind: string, tag: number): number {
  return parseInt(hash('sha256', `${account}\n${kind}\nmask\n${tag}`).slice(0, 8), 16) >>> 2
}

function toBase32(value: number, length: number): string {
  let rest = value
  let text = ''
  while (text.length < length) {
    text = alphabet.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}

function fromBase32(text: string): number {
  let value = 0
  for (const character of text) value = value * 32 + alphabet.indexOf(character)
  return value
}
