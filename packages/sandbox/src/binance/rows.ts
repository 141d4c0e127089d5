/** What the simulated exchange keeps of each happening: the happening itself, and the balances it moved. */
import type { AccountEvent } from './story.ts'

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
