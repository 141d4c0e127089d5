/** Kraken's ids: a letter and sixteen characters in three groups, LTFK7F-N2CUX-PNY4SX. */
import { decodeNumber, encodeNumber } from '../core/ids.ts'
import type { Reference } from './rows.ts'

export function ledgerId(account: string, number: number): string {
  return idOf(account, { letter: 'L', number })
}

export function idOf(account: string, reference: Reference): string {
  if (reference.literal !== undefined) return reference.literal
  const text = reference.letter + encodeNumber(account, reference.letter, reference.number)
  return `${text.slice(0, 6)}-${text.slice(6, 11)}-${text.slice(11)}`
}

/** The number behind an id of that letter, when it is one of this account's. */
export function findNumber(account: string, letter: string, id: string): number | undefined {
  const text = id.replaceAll('-', '')
  return text.startsWith(letter) ? decodeNumber(account, letter, text.slice(1)) : undefined
}
