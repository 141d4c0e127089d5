/**
 * What happens to a wallet, in plain terms. `calls.ts` turns a step into a transaction, and the chain decides its
 * result: a step that the wallet cannot afford is a failed transaction that costs gas.
 */
import type { Role } from './chain/addresses.ts'
import type { ChainId, TokenCode } from './chain/networks.ts'

export type AssetCode = 'ETH' | TokenCode

export type Deed =
  | { kind: 'receive'; asset: AssetCode; amount: string; from?: Role }
  | { kind: 'send'; asset: AssetCode; amount: string; to: Role | 'self' }
  | { kind: 'swap'; give: AssetCode; amount: string; take: AssetCode; atLeast?: string }
  | { kind: 'wrap' | 'unwrap'; amount: string }
  | { kind: 'approve'; asset: TokenCode; amount: string }
  /** The employer pays the wallet through a contract: an internal transfer. */
  | { kind: 'payout'; amount: string }
  /** The wallet pays others, and itself, through a contract. */
  | { kind: 'split'; amount: string }
  /** The same, but the contract fails after it has paid. */
  | { kind: 'failing-split'; amount: string }
  | { kind: 'call-that-reverts'; amount: string }
  | { kind: 'deploy' }
  | { kind: 'mint-collectible'; number: number }
  | { kind: 'send-collectible'; number: number }
  | { kind: 'mint-item'; id: number; count: number }
  | { kind: 'mint-items'; ids: readonly number[]; counts: readonly number[] }
  | { kind: 'send-item'; id: number; count: number }
  | { kind: 'airdrop'; token: 'SPAM' | 'FAKE'; amount: string }
  /** A stranger writes a transfer of zero, from the wallet to an address that looks like one it uses. */
  | { kind: 'poison' }
  | { kind: 'multisend'; asset: TokenCode; first: number; count: number }
  /** By the chain itself, without a transaction. */
  | { kind: 'validator-withdrawal'; gwei: number; validator: number }

export interface Step {
  /** "2021-03-01 12:00:00", UTC. */
  at: string
  chainId: ChainId
  deed: Deed
}

export interface Story {
  steps: readonly Step[]
  /**
   * How many wallets of this story are in the chain from its beginning, with the times of the story. Further ones are
   * added to the newest blocks when they are first asked for: nothing can be added to a chain's past.
   */
  prepared: number
}
