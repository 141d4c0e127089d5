/**
 * What happens to a wallet, in plain terms. `deeds.ts` turns a step into a transaction, and the chain decides its
 * result: a payment that the wallet cannot afford is a failed transaction that costs its fee.
 */
import type { Address } from '@solana/kit'
import type { Role } from './chain/addresses.ts'
import type { TokenCode } from './chain/tokens.ts'

export type AssetCode = 'SOL' | TokenCode

export type Deed =
  | { kind: 'receive'; asset: AssetCode; amount: string; from?: Role; memo?: string }
  | { kind: 'send'; asset: AssetCode; amount: string; to: Role; memo?: string; priority?: number }
  /** All of a token, from an account that the same transaction closes. */
  | { kind: 'send-all'; asset: TokenCode; amount: string; to: Role }
  /** To any address, which may be that of another wallet of this sandbox. */
  | { kind: 'pay'; asset: AssetCode; amount: string; address: Address; memo?: string }
  /** The wallet and a market maker sign one transaction that moves both sides, through a lookup table. */
  | { kind: 'swap'; give: AssetCode; amount: string; take: AssetCode; taken: string }
  | { kind: 'wrap'; amount: string }
  /** Closes the account of wrapped SOL: all of it, and the rent, come back. */
  | { kind: 'unwrap' }
  /** A second account of the same token, at an address derived from the wallet's. */
  | { kind: 'open-second'; asset: TokenCode }
  | { kind: 'move-to-second' | 'move-from-second'; asset: TokenCode; amount: string }
  | { kind: 'close'; asset: TokenCode; second?: true }
  /** A mistake: tokens go to the token account of the wallet's own token account, which cannot sign. */
  | { kind: 'nest'; asset: TokenCode; amount: string }
  /** The associated token program brings them back: it is the one that calls the token program. */
  | { kind: 'recover-nested'; asset: TokenCode }
  | { kind: 'burn'; asset: TokenCode; amount: string }
  | { kind: 'approve'; asset: TokenCode; amount: string }
  /** A stranger opens a token account for the wallet, pays its rent and fills it. */
  | { kind: 'airdrop'; asset: TokenCode; amount: string }
  /** SOL goes to the wallet's account of a token, in a transaction that does not name the token program. */
  | { kind: 'pay-account'; asset: TokenCode; amount: string; by?: Role }
  /** Makes tokens of the SOL that was paid to the account of wrapped SOL. */
  | { kind: 'sync-wrapped' }
  /**
   * Opens a token account with SOL in it, keeps the right to close it, and makes the wallet its owner, who does not
   * sign. `take-bait` closes it.
   */
  | { kind: 'bait'; asset: TokenCode; amount: string; by: Role }
  | { kind: 'take-bait'; asset: TokenCode; by: Role }
  /** Makes a mint that its maker can close, and opens an empty account of it for the wallet. */
  | { kind: 'bring-mint'; by: Role }
  | { kind: 'close-mint'; by: Role }
  /** The wallet closes its account of that mint. */
  | { kind: 'close-of-mint'; by: Role }
  /**
   * Seed: names the stake account, which has an address derived from that of `by`, who made it: the wallet, unless
   * another is named.
   */
  | { kind: 'stake'; seed: string; amount: string; by?: Role }
  | { kind: 'unstake'; seed: string; by?: Role }
  /** Makes the account `into` of a part of this one, with the same owner. */
  | { kind: 'split-stake'; seed: string; into: string; amount: string; by?: Role }
  /**
   * All of it, or this amount, once it is no longer active. A forged one names the wallet where nodes expect the owner;
   * the stake program does not look there.
   */
  | { kind: 'withdraw-stake'; seed: string; amount?: string; by?: Role }
  | { kind: 'withdraw-stake'; seed: string; amount?: string; by: Role; isForged: true }
  /** The account of `by` gets another owner, who does not sign: the wallet, or `to` when the wallet made it. */
  | { kind: 'hand-over-stake'; seed: string; by: Role }
  | { kind: 'hand-over-stake'; seed: string; to: Role }

export interface Step {
  /** "2024-03-01 12:00:00", UTC. */
  at: string
  deed: Deed
}

export interface Story {
  /** In order of time. */
  steps: readonly Step[]
}
