/**
 * The shape of exchanges.ts, which generate.ts writes: what we know about an exchange that ccxt reads. It is plain
 * data, because every process builds the catalogue from it.
 */

export type StreamName = 'trades' | 'deposits' | 'withdrawals' | 'transfers' | 'ledger'

/** ccxt's unified list methods. */
export type ListCall =
  | 'fetchMyTrades'
  | 'fetchLedger'
  | 'fetchDeposits'
  | 'fetchWithdrawals'
  | 'fetchDepositsWithdrawals'
  | 'fetchTransactions'

export interface ListFacts {
  stream: StreamName
  call: ListCall
  /** The argument that the call requires; null when one list has everything. */
  by: 'symbol' | 'code' | null
  /** Whether a start and an end reach the exchange. ccxt silently drops a bound that it has no parameter for. */
  since: boolean
  until: boolean
  /** The longest page; null when ccxt does not say. */
  limit: number | null
  /** The widest range of one call. */
  spanDays: number | null
  /** How far back the history goes. */
  retentionDays: number | null
  /** In ccxt's units. One unit takes `intervalMs` of the exchange's limit. */
  cost: number
}

/** ccxt's name for a credential that the user enters. */
export type CcxtCredential = 'apiKey' | 'secret' | 'privateKey' | 'password' | 'uid' | 'accountId' | 'walletAddress'

export interface ExchangeFacts {
  id: string
  name: string
  website: string
  credentials: readonly CcxtCredential[]
  /** Whether it trades coins, and not only contracts on coins. */
  spot: boolean
  /** How much of the exchange's limit a call of cost 1 uses. */
  intervalMs: number
  balanceCost: number
  /** Every host for which ccxt has a URL of this exchange. */
  hosts: readonly string[]
  lists: readonly ListFacts[]
}
