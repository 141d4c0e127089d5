/**
 * What is known about an exchange that ccxt reads: the form of exchanges.ts, which generate.ts writes. Plain data, because
 * the catalogue of every process is made of it.
 */

export type StreamName = 'trades' | 'deposits' | 'withdrawals' | 'transfers' | 'ledger'

/** ccxt's unified methods that list something. */
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
  /** What the call cannot do without; null when one list has everything. */
  by: 'symbol' | 'code' | null
  /** Whether a start and an end reach the exchange. ccxt drops either in silence where it does not know a parameter for it. */
  since: boolean
  until: boolean
  /** The longest page; null when ccxt does not tell. */
  limit: number | null
  /** The widest range that one call may ask for. */
  spanDays: number | null
  /** How far back the exchange remembers. */
  retentionDays: number | null
  /** In ccxt's units: `intervalMs` of the exchange each. */
  cost: number
}

/** ccxt's name for something that a person has to hand in. */
export type CcxtCredential = 'apiKey' | 'secret' | 'privateKey' | 'password' | 'uid' | 'accountId' | 'walletAddress'

export interface ExchangeFacts {
  id: string
  name: string
  website: string
  credentials: readonly CcxtCredential[]
  /** Whether it trades coins themselves, and not only contracts about them. */
  spot: boolean
  /** The time that a call of cost 1 takes from the exchange's limit. */
  intervalMs: number
  balanceCost: number
  /** Every host that ccxt has an address of for this exchange. */
  hosts: readonly string[]
  lists: readonly ListFacts[]
}
