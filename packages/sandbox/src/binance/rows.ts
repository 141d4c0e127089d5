/** What the simulated exchange stores for each event: the event itself, and the balances it changed. */
import type { AccountEvent } from './story.ts'
import { hexOf } from '../core/ids.ts'

/** The spot wallet, the flexible products, or one locked position. */
export type Wallet = 'spot' | 'flexible' | `locked ${number}`

export interface Move {
  wallet: Wallet
  asset: string
  change: bigint
}

export interface Row<Event extends AccountEvent = AccountEvent> {
  /** Stable within the account; ids are made from it. Rises with time, except for rows that were added late. */
  number: number
  atMs: number
  event: Event
  moves: readonly Move[]
}

export type RowOf<Kind extends AccountEvent['kind']> = Row<Extract<AccountEvent, { kind: Kind }>>

// Binance's ids: increasing numbers for trades, texts and hashes elsewhere. Two accounts never share an id.

/** The account's own number, the same for every key of it: `uid` of /api/v3/account. Nine digits. */
export function uidOf(accountId: string): number {
  return 100_000_000 + (parseInt(hexOf(accountId, 'uid', 0, 8), 16) % 900_000_000)
}

export function tradeIdOf(accountId: string, { number }: Row): number {
  return (uidOf(accountId) % 1_000) * 1_000_000 + number * 3 + 1
}

export function orderIdOf(accountId: string, { number }: Row): number {
  return uidOf(accountId) * 10 + number * 7
}

/** Eighteen digits: more than a binary float holds. */
export function convertIdOf(accountId: string, { number }: Row): bigint {
  return 940_000_000_000_000_000n + BigInt(uidOf(accountId)) * 10_000_000n + BigInt(number) * 13n + 7n
}

export function depositIdOf(accountId: string, { number }: Row): string {
  return `76${uidOf(accountId)}${String(number).padStart(7, '0')}`
}

/** The id of a withdrawal, a quote or a payment: 32 hexadecimal digits. */
export function textIdOf(accountId: string, { number, event }: Row): string {
  return hexOf(accountId, event.kind, number, 32)
}

/** The id of a subscription, a redemption, a dividend or a dust conversion. */
export function numericIdOf(accountId: string, { number }: Row): number {
  return (uidOf(accountId) % 10_000) * 1_000_000 + number
}
