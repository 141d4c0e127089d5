/**
 * What the simulated exchange stores for each event. Texts are as they go over the wire; ids are made when served.
 */
import type { Row } from '../core/timeline.ts'
import type { Pair } from './api/pairs.ts'
import type { Funding } from './story.ts'
import { decodeNumber, encodeNumber } from '../core/ids.ts'

/** Which alphabet letter begins a reference, and the number it is made from. */
export interface Reference {
  letter: string
  number: number
  /** Written literally instead: Kraken answers "Unknown" where it has lost the reference of an Earn entry. */
  literal?: string
}

export interface LedgerRow extends Row {
  reference: Reference
  type: string
  subtype: string
  code: string
  amount: string
  fee: string
  balance: string
  /** amount − fee in units: the change of the balance. */
  change: bigint
}

export interface TradeRow extends Row {
  pair: Pair
  side: 'buy' | 'sell'
  price: string
  cost: string
  fee: string
  volume: string
  maker: boolean
}

export interface FundingRow extends Row {
  reference: Reference
  event: Funding
  /** How a review of this withdrawal ended; undefined while it is on hold, and where there was none. */
  holdEnded?: HoldEnd
}

export type HoldEnd = 'Success' | 'return'

/** Kraken's ids: a letter and sixteen characters in three groups, such as LTFK7F-N2CUX-PNY4SX. */
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
