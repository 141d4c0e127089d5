/**
 * What a connector is. A connector knows one provider: how to sign, what its answers mean, where its pages end. It
 * does one request (or a few) when asked and returns; the engine loops, waits, retries, meters and stores. Everything
 * outside is handed to it as `Io`: no environment, no clock, no database, no global fetch.
 *
 * Failures are thrown as SourceError with a fault of core's closed union.
 */
import type { AssetRef, Decimal, TransactionDraft } from '@assay/core'

/** Everything of the outside that a connector may touch. */
export interface Io {
  fetch: typeof globalThis.fetch
  /** Epoch milliseconds, by the service's own clock. */
  now(): number
  /** Strictly increasing for this credential, across restarts and processes. Decimal digits. */
  nextNonce(): string
  /** Another host than the provider's own (sandbox, region), such as `http://127.0.0.1:4201`. */
  baseUrl: string | undefined
  /** Another patience than `requestTimeoutMs` below. */
  requestTimeoutMs?: number
}

/** A request that does not end is worse than one that fails: connectors give up after this long, unless told. */
export const requestTimeoutMs = 20_000

export interface ApiKeyCredentials {
  type: 'api_key'
  apiKey: string
  secretKey: string
  passphrase?: string
}

/** A sign-in at the provider. Whoever opened it keeps its tokens and renews them. */
export interface BearerCredentials {
  type: 'oauth2'
  /** A token that is good; `refused` is one the provider did not take. */
  getToken(refused?: string): Promise<string>
}

export type Credentials = ApiKeyCredentials | BearerCredentials

/** Where people sign in (OAuth2). Plain data: the pages are opened by processes that never load a connector. */
export interface SignIn {
  /** Of the provider's own pages. Another base address (sandbox, region) takes its place. */
  origin: string
  authorizationPath: string
  tokenPath: string
  /** What is asked for: to read, and nothing else. */
  scope: string
}

/** How one list of the provider is walked. */
export interface Pager {
  kind: 'offset' | 'time' | 'id' | 'cursor'
  pageSizeMax: number
  order: 'newest_first' | 'oldest_first'
  /** The widest window one walk may ask for; null when the provider sets none. */
  windowMaxMs: number | null
  /** How far back the provider remembers; null when forever. */
  retentionMs: number | null
  /** How far behind the covered end the next window starts: rows that came late or changed since. */
  overlapMs: number
}

export interface Stream {
  name: string
  pager: Pager
  /** Tokens of the budget that one page takes. */
  cost: number
  /** A history without this stream is not complete. The others only add detail. */
  required: boolean
  /** What the provider itself does not give in this list, in words for a person; null when nothing is known. */
  providerLimit: string | null
  /** What the person can do about that; null when nothing. */
  remedy: string | null
}

/** Half open: startMs ≤ t < endMs, of times cut to milliseconds. */
export interface Window {
  startMs: number
  endMs: number
}

export interface RawRecord {
  /** The provider's own id, unique within the stream. A record with a known key replaces the one before. */
  key: string
  /** Records of all streams with one group are given to `toTransactions` together. */
  group: string
  occurredAtMs: number
  /** The record as the provider wrote it, digits untouched. */
  body: string
}

export interface StoredRecord extends RawRecord {
  stream: string
}

export interface Page {
  records: RawRecord[]
  /** Opaque place of the next page inside the same window; null when the window is done. */
  next: string | null
}

export interface Balance extends AssetRef {
  name: string
  /** Free, on hold for an order, or earning but available at once. */
  liquid: Decimal
  staked: Decimal
}

/** What `verify` found out about the key and the account behind it. */
export interface Account {
  /** The same for every key of one account at the provider, hashed; see each connector for how sure it is. */
  fingerprint: string
  /** Rights to take away before the key is accepted, in the provider's own words. Empty for a read-only key. */
  excess: string[]
  /** Rights to add, in the provider's own words. */
  missing: string[]
  keyExpiresAtMs: number | null
}

/** One credential, opened. Holds no connection and needs no closing. */
export interface Session {
  verify(): Promise<Account>
  fetchBalances(): Promise<Balance[]>
  /** `position` is null for the first page of a window, afterwards the `next` of the page before. */
  fetchPage(stream: string, window: Window, position: string | null): Promise<Page>
}

export interface BudgetTier {
  capacity: number
  refillPerSecond: number
}

/** A token bucket. The tier of an account cannot be asked for: the engine begins at the first, and learns. */
export interface Budget {
  /** The widest first; a limit error moves on to the next. */
  tiers: readonly [BudgetTier, ...BudgetTier[]]
  verifyCost: number
  balancesCost: number
  /** Whom the provider counts: each key, or everybody behind our address. */
  scope: 'key' | 'address'
}

export interface Connector {
  providerId: string
  streams: readonly Stream[]
  budget: Budget
  /** Of providers that people sign in at. */
  signIn?: SignIn
  /** Throws a TypeError for a kind of credentials that the catalogue does not name for this provider. */
  open(credentials: Credentials, io: Io): Session
  /**
   * Pure. All raw records of one group, of any stream and in any order, become transactions; deriving again gives the
   * same. Throws for a record that cannot be read: the caller keeps that to the group it happened in.
   */
  toTransactions(records: readonly StoredRecord[]): TransactionDraft[]
}
