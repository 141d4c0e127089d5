/**
 * Balances whose codes cannot be those of assets. One of them must not keep the rest of an account from being read: it
 * is left out and named, as a row of a history that cannot be parsed is (records.ts).
 */
import { isAssetCode, isZero, type Decimal } from '@assay/core'

const nameLengthMax = 40
/** A person reads the names in one sentence. */
const namesMax = 10

export interface Sorted<Held> {
  readable: Held[]
  /** Names of those that are left out, for a person; absent when there are none. */
  unreadable?: string[]
}

/** Where nothing is held, nothing is missing. */
export function leaveOutUnreadable<Held extends { code: string; amount: Decimal }>(
  providerId: string,
  held: readonly Held[],
): Sorted<Held> {
  const readable = held.filter(({ code }) => isAssetCode(providerId, code))
  if (readable.length === held.length) return { readable }
  const others = held.filter(({ code, amount }) => !isAssetCode(providerId, code) && !isZero(amount))
  const names = [...new Set(others.map(({ code }) => toName(code)))].slice(0, namesMax)
  return names.length === 0 ? { readable } : { readable, unreadable: names }
}

function toName(code: string): string {
  if (code === '') return 'an asset without a code'
  return `${code.slice(0, nameLengthMax).toWellFormed().replaceAll(/\p{C}/gu, '\ufffd')}…`
}
