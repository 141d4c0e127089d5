/**
 * What the contract suite needs from a simulator. A simulator is an HTTP server that speaks a provider's own protocol
 * and is written from the provider's documents alone: it shares no code with the connector that it tests.
 */
import type { NewCredentials } from '../../apps/server/src/connections/index.ts'

/** One change of a balance: what a record did to one of the provider's codes, the fee included. Decimal text. */
interface Change {
  code: string
  amount: string
}

export interface HeldRecord {
  stream: string
  /** '' for a stream that has one list. */
  partition: string
  /** The provider's own id of the record. */
  key: string
  /** Empty for records that only add detail, such as the hash of a deposit that the ledger also has. */
  changes: readonly Change[]
}

/** Everything the provider holds for an account, read from the simulator's own books and not from its API. */
export interface Held {
  records: readonly HeldRecord[]
  balances: readonly Change[]
}

/** One event to book. All its entries share the provider's reference, if it has references. */
export interface Booking {
  /** ISO 8601; the simulator's present time when left out. */
  time?: string
  entries: readonly { type: string; subtype?: string; code: string; amount: string; fee?: string }[]
}

/** The simulator's own name for what goes wrong, and which calls it hits. */
export interface ArmedFault {
  kind: string
  /** How many calls pass before the first hit (0), and how many are hit (all). */
  after?: number
  times?: number
  /** Only calls whose path ends in this. */
  endpoint?: string
  [member: string]: unknown
}

export interface SimulatedAccount {
  /**
   * What a person would hand in, ready to be added. For OAuth2 the simulator signs in on its own page at `toSignInUrl`
   * and allows.
   */
  authorize(toSignInUrl: SignInUrl): Promise<NewCredentials>
  hold(): Promise<Held>
  /** The keys of the new records. */
  book(booking: Booking): Promise<string[]>
  /** The provider withdraws these records: they disappear from every list and balance. */
  withdraw(keys: readonly string[]): Promise<void>
  /** Gives the account's key or tokens too many rights, or too few, or what they need and no more. */
  setRights(rights: 'read_only' | 'excess' | 'missing'): Promise<void>
  arm(fault: ArmedFault): Promise<void>
  /** How many calls reached the provider with this account's key, and how often two of them overlapped. */
  countCalls(): Promise<{ calls: number; overlaps: number }>
}

export type SignInUrl = (request: { redirectUri: string; state: string; codeChallenge: string }) => string

export interface SimulatorUnderTest {
  /** For `Io.baseUrl`. */
  url: string
  /** How the operator is registered there; for providers with OAuth2. */
  client?: { clientId: string; clientSecret: string }
  /**
   * `default`: a history of several pages in every required stream. `empty`: an account that never held anything.
   * Further names are the simulator's own scenarios, where it has any.
   */
  newAccount(kind: string): Promise<SimulatedAccount>
  clearFaults(): Promise<void>
  setClock(offsetMs: number): Promise<void>
  close(): Promise<void>
}
