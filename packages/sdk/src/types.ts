/**
 * The types of the platform API, written out so that they stand alone in any project; a test compares them with the
 * schemas that the server validates with. Amounts of money and quantities are decimal text.
 */

export type TransactionType = 'input_only' | 'send' | 'receive' | 'output_only' | 'input_and_output' | 'uncategorized'

export type Category =
  | 'trade'
  | 'buy'
  | 'sell'
  | 'convert'
  | 'deposit'
  | 'withdrawal'
  | 'transfer'
  | 'staking_reward'
  | 'staking_lock'
  | 'staking_unlock'
  | 'interest'
  | 'airdrop'
  | 'mining'
  | 'fork'
  | 'gift'
  | 'payment'
  | 'fee'
  | 'other'

/** An amount of one asset that came or left; never negative. */
export interface CurrencyValue {
  asset_symbol: string
  asset_id: string
  amount: string
  price_in_usd: string | null
  value_in_usd: string | null
}

export interface FeeItem {
  kind: 'trading' | 'network' | 'withdrawal' | 'deposit' | 'conversion' | 'staking' | 'other'
  asset_symbol: string
  asset_id: string
  amount: string
  value_in_usd: string | null
}

export interface Transaction {
  id: string
  provider_id: string
  connection_id: string
  type: TransactionType
  status: 'pending' | 'confirmed' | 'failed'
  timestamp: string
  updated_at: string
  categorization: { category: Category; method: 'venue' | 'rule' | 'match' | 'user'; confidence: number }
  /** What came to the user, without fees. */
  inputs: CurrencyValue[]
  /** What left the user, without fees. */
  outputs: CurrencyValue[]
  fees: { total_in_usd: string | null; items: FeeItem[] }
  network: string | null
  hash: string | null
  from_address: string | null
  to_address: string | null
  counterpart: { transaction_id: string; confidence: number } | null
  spam: boolean
  provider_reference: string | null
  description: string | null
  /** Members the provider could not give, and what is unverified. */
  incomplete: string[]
}

/** A transaction that no longer exists. */
export interface RemovedTransaction {
  id: string
  removed_at: string
}

/** One step that brings a copy of the list of transactions up to date. */
export type TransactionChange =
  | { op: 'upsert'; transaction: Transaction }
  | { op: 'remove'; id: string; removed_at: string }

/** The wire has the first three as JSON numbers; here they are text with every digit. */
interface Quantities {
  asset_holdings: string
  staked_holdings: string
  price_in_usd: string | null
  time_fetched: string
}

/** What one connection holds of one asset. */
export interface AssetPosition extends Quantities {
  provider_id: string
  connection_id: string
  asset_id: string
  asset_symbol: string
  asset_name: string
  /** An SVG, relative to the base URL. */
  icon_url: string
  value_in_usd: string | null
  spam: boolean
  exact: { asset_holdings: string; staked_holdings: string; total_holdings: string; price_in_usd: string | null }
  /** With `as_of`: as a reading of the balances found it, or derived from one and the transactions in between. */
  method?: 'observed' | 'derived' | undefined
  /** With `as_of`: how well this asset is proved; null until there is a verdict. */
  grade?: ProofGrade | undefined
}

/** What one crypto source holds of one asset (v1). */
export interface AssetPositionV1 extends Quantities {
  crypto_source_id: string
  asset_symbol: string
}

export type Cause =
  | 'bad_request'
  | 'invalid_parameter'
  | 'unknown_parameter'
  | 'unknown_provider'
  | 'unsupported_connection_type'
  | 'invalid_address'
  | 'invalid_credentials'
  | 'missing_permission'
  | 'excess_permission'
  | 'ip_not_allowed'
  | 'key_expired'
  | 'needs_reauth'
  | 'already_connected'
  | 'account_mismatch'
  | 'invalid_state'
  | 'sync_in_progress'
  | 'rate_limited'
  | 'venue_down'
  | 'unreadable_answer'
  | 'clock_skew'
  | 'data_hole'
  | 'cursor_expired'
  | 'grade_too_low'
  | 'internal'

/** One thing that went wrong. `message` and `fix` may be shown to a person. */
export interface ErrorItem {
  cause: Cause
  message: string
  parameter?: string | undefined
  provider_id?: string | undefined
  connection_id?: string | undefined
  retry_after_seconds?: number | undefined
  fix?: string | undefined
}

export type ConnectionStatus = 'pending' | 'syncing' | 'active' | 'degraded' | 'needs_reauth' | 'removed'
export type ConnectionType = 'api_key' | 'wallet' | 'oauth2'

export interface ConnectedProvider {
  connection_id: string
  provider_id: string
  name: string
  display_label: string | null
  connection_type: ConnectionType
  status: ConnectionStatus
  status_cause: Cause | null
  status_message: string | null
  added_at: string
  last_synced_at: string | null
  next_sync_at: string | null
  history_from: string | null
  transaction_count: number
  /** The provider's own records read so far. It grows during the first read, before `transaction_count` does. */
  record_count: number
  /** Null until the balances were first judged. */
  proof: { grade: ProofGrade; checked_at: string; proved_since: string | null } | null
}

export interface CredentialField {
  name: 'api_key' | 'secret_key' | 'passphrase' | 'address' | 'extended_public_key' | 'descriptor'
  label: string
  secret: boolean
  required: boolean
  hint: string
  shape: { pattern: string; alphabet: string; length_min: number; length_max: number } | null
}

export interface Provider {
  provider_id: string
  name: string
  aliases: string[]
  kind: 'exchange' | 'wallet'
  connection_types: ConnectionType[]
  permission_check: 'full' | 'partial' | 'none'
  credential_fields: CredentialField[]
  required_permissions: string[]
  guide: { page: string; menu: string[]; leave_empty: string[]; shown_once: string | null } | null
  /** For wallets: the apps that people use, and where each shows what to paste. */
  wallet_apps: { name: string; menu: string[]; shows: 'address' | 'extended_public_key' }[]
  /** What `networks` of a connection may name, by name or by alias. Empty where there is no choice. */
  networks: { name: string; aliases: string[] }[]
  features: { holdings: boolean; staking: boolean; transactions: boolean }
  known_limits: string[]
  status: 'available' | 'beta' | 'degraded' | 'unavailable' | 'not_in_sandbox'
  website: string
  /** An SVG, relative to the base URL. */
  icon_url: string
  brand: { color: string; short_name: string }
  popularity_rank: number | null
}

export type Connection =
  | { type: 'api_key'; api_key: string; secret_key: string; passphrase?: string }
  | { type: 'wallet'; address: string; networks?: string[] }
  | { type: 'wallet'; extended_public_key: string; networks?: string[] }
  | { type: 'wallet'; descriptor: string; networks?: string[] }
  | { type: 'oauth2'; redirect_uri?: string }

export interface NewProvider {
  provider_id: string
  display_label?: string
  connection: Connection
}

/** A refused source is not an error: `added` is false and `errors` says why. */
export interface AddedProvider {
  added: boolean
  redirect_url: string | null
  connection_id: string | null
  provider_id: string
  display_label: string | null
  status: ConnectionStatus | null
  errors: ErrorItem[]
}

export interface RemovedProviders {
  removed: true
  connection_ids: string[]
  data_destroyed: boolean
}

export interface StreamCoverage {
  stream: string
  /** What was read in every list of the stream. */
  windows: { start_time: string; end_time: string }[]
  holes: { start_time: string; end_time: string; cause: Cause; message: string }[]
  provider_limit: string | null
  remedy: string | null
  /** How many lists of this kind the account has, and how many of them were not read to their end. */
  partitions: { count: number; incomplete: number }
}

/** What a transaction was made of. */
export interface TransactionExplanation {
  id: string
  rule: string
  connector: { provider_id: string; version: number }
  /** The provider's own records, with email addresses masked. */
  records: {
    stream: string
    partition: string
    key: string
    occurred_at: string
    fetched_at: string
    body: string
  }[]
  prices: { asset_id: string; price_in_usd: string; method: string; source: string; at: string }[]
  match: { transaction_id: string; confidence: number; evidence: string[] } | null
  /** Oldest first; the last is the present one. */
  versions: { known_from: string; known_to: string | null; reason: string }[]
}

/** How well a balance is proved. */
export type ProofGrade = 'proved' | 'explained' | 'unprovable' | 'open'

export interface ProofSummary {
  /** The worst of the connection's assets, without spam; null until there is a verdict. */
  grade: ProofGrade
  checked_at: string | null
  proved_since: string | null
  assets_by_grade: Record<ProofGrade, number>
}

/** Whether an asset adds up: observed = opening + posted, or the difference and why. Amounts are decimal text. */
export interface AssetProof {
  asset_id: string
  asset_symbol: string
  grade: ProofGrade
  opening: string
  posted: string
  computed: string
  observed: string | null
  observed_at: string | null
  difference: string | null
  causes: {
    cause:
      | 'coverage_hole'
      | 'pending'
      | 'unreadable_record'
      | 'unknown_type'
      | 'rounding'
      | 'accrual'
      | 'provider_correction'
      | 'unlisted_credit'
      | 'unexplained'
    amount: string
    start_time: string
    end_time: string
    message: string
  }[]
  /** The interval in which the first fault lies. */
  first_bad: { start_time: string; end_time: string } | null
}

interface ClaimTerms {
  /** By default the newest moment up to which all accounts were read. */
  as_of?: string
  /** By default proved and explained. */
  grades?: ProofGrade[]
  /** The intended recipient of the statement; by default the client. */
  audience?: string
}

export type ClaimRequest = ClaimTerms &
  ({ claim: 'value_at_least'; amount_in_usd: string } | { claim: 'holds_at_least'; asset_id: string; amount: string })

export interface Claim {
  /** Null when the data is too weak to say: `errors` has `grade_too_low`. */
  holds: boolean | null
  grade: ProofGrade
  as_of: string
  /** A compact JWS for `verifyClaim`. */
  statement: string | null
  errors: ErrorItem[]
}

/** What holdings were worth at the end of a day, or now for today. */
export interface AssetHistoryPoint {
  date: string
  value_in_usd: string
  method: 'observed' | 'derived'
  /** price: a held asset has no price that day. coverage: transactions do not explain it. */
  incomplete: ('price' | 'coverage')[]
}

export interface Refresh {
  refresh_id: string
  status: 'queued' | 'running' | 'succeeded' | 'partial' | 'failed'
  requested_at: string
  connections: {
    connection_id: string
    provider_id: string
    status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cooling_down'
    cause: Cause | null
  }[]
}

export type ProblemCode =
  | 'invalid_request'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'not_found'
  | 'method_not_allowed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'internal'
  | 'unavailable'

/** The body of a refusal (RFC 9457). */
export interface Problem {
  type: string
  title: string
  status: number
  code: ProblemCode
  detail: string
  request_id: string
  errors: ErrorItem[]
}

export interface PageOptions {
  /** 1 to 100; default 30. */
  limit?: number
  /** `next` of the page before, as it is. */
  cursor?: string
}

export interface Page<Item> {
  data: Item[]
  /** Undefined on the last page. */
  next: string | undefined
  /** One for each connection whose data is stale or still being read. */
  errors: ErrorItem[]
}

export type AssetsPage = Page<AssetPosition>

export interface TransactionsPage extends Page<Transaction> {
  /** With `updated_since`: transactions removed since then, page by page like the others. */
  removed: RemovedTransaction[]
}

/** Times as ISO 8601 text or a Date. */
export interface TransactionFilters {
  start_time?: string | Date
  end_time?: string | Date
  provider_ids?: readonly string[]
  connection_ids?: readonly string[]
  asset_symbols?: readonly string[]
  types?: readonly TransactionType[]
  categories?: readonly Category[]
  updated_since?: string | Date
}

export interface TransactionListFilters extends TransactionFilters {
  /** The list as it was known then; beside it only start_time, end_time and connection_ids are taken. */
  known_at?: string | Date
}

export interface AssetFilters {
  provider_ids?: readonly string[]
  connection_ids?: readonly string[]
  asset_symbols?: readonly string[]
  /** What was held at this moment; rows then have `method` and `grade`. */
  as_of?: string | Date
}

export interface AssetFiltersV1 {
  asset_symbols?: readonly string[]
  crypto_sources?: readonly string[]
  start_time?: string | Date
  end_time?: string | Date
}
