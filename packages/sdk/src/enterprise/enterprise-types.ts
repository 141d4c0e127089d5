/** The types of the enterprise API; a test compares them with the server's schemas, like those of types.ts. */
import type { ConnectedProvider, Transaction, TransactionFilters } from '../types.ts'

export interface EnterpriseTransaction extends Transaction {
  user_id: string
}

/** A connection of one of the tenant's users. */
export interface EnterpriseAccount extends Omit<ConnectedProvider, 'record_count' | 'proof'> {
  user_id: string
}

/** A user with a consent in force. */
export interface EnterpriseUser {
  user_id: string
  /** The tenant's own id of the user. */
  external_user_id: string | null
  email: string | null
  granted_at: string
  grant_expires_at: string
  scopes: string[]
  /** Null when no consent covers providers:read. */
  connection_count: number | null
}

export interface EnterpriseTransactionFilters extends TransactionFilters {
  user_ids?: readonly string[]
}

export interface UserSearch {
  external_user_ids?: readonly string[]
  emails?: readonly string[]
}

/** Sums over all users, and when they were made. */
export interface Stats<Data> {
  data: Data
  as_of: string
}

export interface UserStats {
  users: number
  users_with_accounts: number
}

export interface ProviderStats {
  provider_id: string
  name: string
  accounts: number
  users: number
}

export interface BalanceStats {
  value_in_usd: string
  users: number
  positions: number
  positions_without_price: number
}

export interface AssetStats {
  asset_id: string
  asset_symbol: string
  total_holdings: string
  price_in_usd: string | null
  value_in_usd: string | null
  users: number
}

/** One step that brings a copy of all users' transactions up to date. */
export type EnterpriseChange =
  | { op: 'upsert'; user_id: string; transaction: EnterpriseTransaction }
  | { op: 'remove'; user_id: string; id: string; removed_at: string }
  /** The last consent that covers the user's transactions has ended, or the user was deleted. */
  | { op: 'remove_user'; user_id: string }
