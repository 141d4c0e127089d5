/**
 * The interface of a connector. A connector knows one provider: how to sign, what its answers mean, where its pages
 * end. It makes one request (or a few) when asked and returns; the engine loops, waits, retries, meters and stores.
 * Everything outside is handed to it as `Io`: it never touches the environment, the clock, the database or the global
 * fetch.
 *
 * A provider has two halves. `ProviderDefinition` is plain data that every process reads: the catalogue, the widget,
 * the engine's planning. `Connector` is code that only workers load, on first use. Both live in the provider's own
 * folder, and one line of registry.ts names them.
 *
 * Failures are thrown as SourceError with a fault of core's closed union.
 */
import type { AssetRef, Decimal, SourceError, TransactionDraft } from '@assay/core'

/** Everything outside itself that a connector may use. */
export interface Io {
  fetch: typeof globalThis.fetch
  /** Epoch milliseconds, by the service's own clock. */
  now(): number
  /** Strictly increasing for this credential, across restarts and processes. Decimal digits. */
  nextNonce(): string
  /** Replaces the provider's own host (sandbox, region), such as `http://127.0.0.1:4201`. */
  baseUrl: string | undefined
  /** Nodes and indexes of chains that the operator has chosen, by the name of the chain, such as `evm:1`. */
  chainUrls?: Readonly<Record<string, ChainUrls>>
  /**
   * Makes a request to a part of the provider that has hosts of its own, such as the node of one network. Throws
   * without a request when that part is known to be away. Undefined where the connector is used without the service.
   */
  reach?<T>(this: void, part: string, request: () => Promise<T>): Promise<T>
  /** Replaces `requestTimeoutMs` below. */
  requestTimeoutMs?: number
}

export interface ChainUrls {
  rpc?: string
  index?: string
}

/** Connectors give up on a request after this long, unless `Io` says otherwise. */
export const requestTimeoutMs = 20_000

// ----------------------------------------------------------------------------------------------------------
// credentials

export interface ApiKeyCredentials {
  type: 'api_key'
  apiKey: string
  secretKey: string
  passphrase?: string
}

/** A sign-in at the provider. The server keeps its tokens and renews them. */
export interface BearerCredentials {
  type: 'oauth2'
  /** Returns a valid token; `refused` is one that the provider has just rejected. */
  getToken(refused?: string): Promise<string>
}

/** What a person pasted: exactly one of the three is set. */
export interface WalletCredentials {
  type: 'wallet'
  address?: string
  /** Sealed like an API secret, and never part of `ConnectorState`. */
  extendedPublicKey?: string
  descriptor?: string
  /** Networks that the person chose; undefined means all that the provider reads. */
  networks?: readonly string[]
}

export type Credentials = ApiKeyCredentials | BearerCredentials | WalletCredentials
export type ConnectionType = Credentials['type']

// --------------------------------------------------------------------------------------------------------------
// metering

/** What a call costs, by bucket name. Buckets that are not named are not charged. */
export type Cost = Readonly<Record<string, number>>

export interface BudgetTier {
  capacity: number
  refillPerSecond: number
}

/** A token bucket. The tier of an account cannot be queried: the engine begins at the first and learns. */
export interface Bucket {
  name: string
  /** Whether the provider counts each key, or everything behind our address. */
  scope: 'key' | 'address'
  /** Calls carry no key, so that a limit error can only mean our address. */
  keyless?: true
  /** The widest first. A limit error moves on to the next, and an hour without one moves back. */
  tiers: readonly [BudgetTier, ...BudgetTier[]]
}

export interface Budget {
  /** A call has to fit into every bucket that its cost names. */
  buckets: readonly [Bucket, ...Bucket[]]
  verify: Cost
  balances: Cost
  /** For `listPartitions`; empty when it makes no call. */
  partitions: Cost
}

/** How many calls of one connection may be under way at the same time. */
export interface CallsAtOnce {
  callsMax: number
  /**
   * Pure, and the same in either order. Two pages that were fetched at the same time began with the same state, and
   * each may have learned something. The result holds what both have learned.
   */
  joinStates(one: ConnectorState, other: ConnectorState): ConnectorState
}

/** What the provider reports as consumed, for example in response headers: our own count follows it. */
export interface Spent {
  bucket: string
  /** Tokens used of the bucket's present window. */
  used: number
}

// ---------------------------------------------------------------------------------------------------------------
// reading

/** Half open: start ≤ x < end, in epoch milliseconds (times are cut to milliseconds) or in block heights. */
export interface Window {
  unit: 'ms' | 'block'
  start: number
  end: number
}

/** One list that is read, or one kind of list that an account has many of (partitions). Plain data. */
export interface Stream {
  name: string
  unit: Window['unit']
  /** Whether `listPartitions` names the lists of this stream. Otherwise there is one, whose partition is ''. */
  partitioned: boolean
  /** The widest window one walk may ask for, in the stream's unit; null when the provider sets none. */
  windowMax: number | null
  /** How far back the provider remembers, in milliseconds; null when it keeps everything. */
  retentionMs: number | null
  /** How far behind the covered end the next window starts, in the stream's unit: rows that came late or changed. */
  overlap: number
  /**
   * Set when the pages of a window come newest first. What has been read of a long window is then complete from some
   * moment on, and is shown while the rest is being read.
   */
  newestFirst?: true
  /**
   * Set when a walk reads the list to its end by ids, whatever its window: the last weeks cannot be read before the
   * rest.
   */
  walkedWhole?: true
  /** Set when any stranger can add records to it for next to nothing, including records that cannot be understood. */
  openToStrangers?: true
  /** What one page costs. */
  cost: Cost
  /** A history without this stream is incomplete. The others only add detail. */
  required: boolean
  /** What the provider itself leaves out of this list, in words for a person; null when nothing is known. */
  providerLimit: string | null
  /** What the person can do about that; null when there is no remedy. */
  remedy: string | null
}

export interface Partition {
  stream: string
  /** Unique within the stream, stable over time: a symbol, a wallet's id, an address, a network. */
  partition: string
}

/** A list that was named before. */
export interface KnownPartition extends Partition {
  /** Its lasting mark, as the last committed page gave it. */
  lastingMark: string | null
}

export interface RawRecord {
  /** The provider's own id, unique within stream and partition. A record with a known key replaces the one before. */
  key: string
  occurredAtMs: number
  /** The record as the provider wrote it, digits untouched. */
  body: string
  /**
   * Set when the record may still change (a withdrawal on hold, an unconfirmed transaction): the next read of its
   * stream starts at the oldest such record.
   */
  pending?: boolean
  /** Set when the record could not be parsed: it is kept and reported, and never fails its page. */
  unreadable?: string
  /** How many moves the record lists, where a list of thousands fits into one. It counts as that many records. */
  moves?: number
}

export interface StoredRecord extends Omit<RawRecord, 'moves'> {
  stream: string
  partition: string
}

/**
 * JSON that the engine keeps for the connector, committed together with a page. Never contains a secret. At most 1 MiB.
 */
export type ConnectorState = Readonly<Record<string, unknown>>

export interface PageRequest {
  stream: string
  /** '' for a stream without partitions. */
  partition: string
  window: Window
  /** Where the page begins inside its window: null for the first, afterwards the `next` of the page before. */
  pageMark: string | null
  /**
   * Where the list goes on in a later window (an id, a block height), as the last committed page gave it; null before
   * the first.
   */
  lastingMark: string | null
  state: ConnectorState
}

export interface Page {
  records: RawRecord[]
  /**
   * The page mark of the next page inside the same window, opaque to the engine. Null ends the window: the provider
   * names no next page, or an offset page was empty. A window never ends because of a total that the provider reports.
   * A mark that the walk has asked for before ends it with `unreadable_answer`, unless a page since then has a state or a
   * lasting mark.
   */
  next: string | null
  /** The new lasting mark of the list, kept after the window closes. */
  lastingMark?: string
  /**
   * Set on the last page of a walk that showed everything in this window: stored records in it that the walk did not
   * show are missing. Twice missing, at least ten minutes apart, retires them.
   */
  complete?: Window
  /** Keys of stored records of this partition that the provider has withdrawn (a replaced block): retired at once. */
  withdrawn?: readonly string[]
  /**
   * Set when the provider does not know the list, or no longer (a pair that it has delisted). What the list has gained
   * since it was last read cannot be read: coverage reports it by its name, and nothing else waits for it.
   */
  isGone?: true
  /**
   * Set when what the connector had learned before was wrong, so that windows which are covered may lack records: all of
   * this list is read again.
   */
  isCorrected?: true
  spent?: readonly Spent[]
  /** Replaces the state; committed together with the page. */
  state?: ConnectorState
  /** For a window in blocks: the times of its edges, so that coverage can show it. */
  times?: { startMs: number; endMs: number }
}

export interface Balance extends AssetRef {
  name: string
  /** Free, on hold for an order, or earning but available at once. */
  liquid: Decimal
  staked: Decimal
}

export interface Balances {
  balances: Balance[]
  /**
   * Names of what is held and left out, because its code cannot be that of an asset. Everything else was read: the
   * connection reports these names.
   */
  unreadable?: readonly string[]
  /**
   * The account owes something, and it is not known whether `balances` contain it. The reading is shown and never judged,
   * so that no amount of it counts as proved. `unreadable` names what is owed.
   */
  isInDoubt?: true
  /**
   * Contracts may be open, and `balances` still have what they have lost, because losses are booked when a contract is
   * closed. The sums are right, so the reading is judged, but no claim counts it.
   */
  mayHaveLost?: true
  spent?: readonly Spent[]
  /** Replaces the state, as a page's does. */
  state?: ConnectorState
  /**
   * Set when an account has more parts than one call may ask for (the addresses of a wallet): `state` says how far it
   * came, nothing else is kept, and the engine asks again, within the budget. A failure then loses one call and not all
   * of them.
   */
  isPartial?: true
  /**
   * Networks (`ProviderDefinition.networks`) whose balances could not be read. Those of the others are new, and theirs
   * are as they were last read; `isPartial` is set as well when none is new. The engine does not ask again in this run.
   */
  failed?: readonly FailedNetwork[]
}

export interface FailedNetwork {
  partition: string
  error: SourceError
}

/** What `verify` found out about the credentials and the account behind them. */
export interface Account {
  /** The same for every key of one account at the provider, hashed. */
  fingerprint: string
  /**
   * `key` where the provider does not say which account it is: the same key is recognised, but another key of the account
   * has another fingerprint, and the account could be counted twice.
   */
  fingerprintOf: 'account' | 'key'
  /** Rights to take away before the key is accepted, in the provider's own words. Empty for a read-only key. */
  excess: string[]
  /** Rights to add, in the provider's own words. */
  missing: string[]
  keyExpiresAtMs: number | null
  spent?: readonly Spent[]
  /** The first state of a new connection. */
  state?: ConnectorState
}

/** How far the provider has read its chain. */
export interface Height {
  height: number
  /** When it was asked. */
  atMs: number
  /** Its newest block is minutes old. A provider that was further before may be right: it has several servers. */
  isLate?: boolean
  /**
   * Set when the provider is so far behind its chain that people should know, with the details for the log: the list is
   * read up to `height`, and the rest is reported as a `data_hole`.
   */
  behind?: string
}

/** Reads the account that one credential opens. Holds no network connection and needs no closing. */
export interface AccountReader {
  verify(): Promise<Account>
  fetchBalances(state: ConnectorState): Promise<Balances>
  /**
   * The lists of this account for every partitioned stream: symbols, wallets, addresses, networks. Called at the start
   * of each run, and again after a page changed the state. A list that is no longer named keeps what was read of it.
   * `known` are the lists that were named before.
   */
  listPartitions?(state: ConnectorState, known?: readonly KnownPartition[]): Promise<Partition[]>
  /**
   * Up to which block the lists can be read, for streams in blocks. A `data_hole` leaves out this list, and the others
   * are read.
   */
  fetchHeight?(stream: string, partition: string, state: ConnectorState): Promise<Height>
  fetchPage(request: PageRequest): Promise<Page>
}

// --------------------------------------------------------------------------------------------------------------
// deriving

/** What the account is known to own. Read from the connector's state, so deriving stays pure. */
export interface AccountFacts {
  /** Addresses of the user's own, by which change outputs and own moves are recognised. */
  addresses: ReadonlySet<string>
  /** What the connector itself keeps: wallets, a base currency. */
  state: ConnectorState
}

/** The balance of a wallet after a record, according to that record. */
export interface RunningBalance {
  /** The provider's own name of the wallet: balances run within it. */
  wallet: string
  assetId: string
  /** Signed. */
  change: Decimal
  /** The balance after the change; undefined when this record does not have it. */
  balance: Decimal | undefined
  /**
   * Within the wallet, records are in this order; equal ones may be in any order. It is as precise as the provider's
   * times.
   */
  order: string
}

export interface Connector {
  providerId: string
  /** Increment when the meaning of stored records changes; replay then reports differences. */
  version: number
  budget: Budget
  /**
   * For providers that answer several calls of one key at once: the engine then reads several lists at the same time.
   * Undefined where calls have to come one after another, such as with nonces that have to grow.
   */
  atOnce?: CallsAtOnce
  /** Throws a TypeError for a connection type that the definition does not name. */
  open(credentials: Credentials, io: Io): AccountReader
  /**
   * Pure. Records that share a link key form one group; a gap longer than the definition's `storySpanMs` between two
   * neighbouring records begins another story. The ledger evaluates it when it groups records, and replay groups them
   * again. Throws for a record that cannot be read.
   */
  linkKeys(record: StoredRecord): readonly [string, ...string[]]
  /** Pure. Own addresses as the state knows them; none by default. */
  ownAddresses?(state: ConnectorState): Iterable<string>
  /**
   * Pure. All records of one story, in any order, become transactions; deriving again gives the same. Throws for a
   * record that cannot be read: the caller confines that failure to its group of records.
   */
  toTransactions(records: readonly StoredRecord[], facts: AccountFacts): TransactionDraft[]
  /**
   * Pure, for providers whose records carry a running balance; undefined for a record that moves nothing. Each record
   * is then checked against the one before, which finds the place where one is missing. `order` compares as text.
   */
  runningBalance?(record: StoredRecord): RunningBalance | undefined
}
