/**
 * The read side of the ledger: pages of transactions, changes, positions, and values over time. It writes nothing.
 *
 * Functions that begin with `read` receive a bearer token that has not been checked yet, and their first statement
 * checks it (authorized-read-store.ts). They take one round trip, and return undefined when the token is not valid. A
 * page with filters, or of an earlier moment, may have to be read further (`finishPage`, `finishPositions`). The other
 * functions are for a caller who is known already.
 */
import type { InTurn } from '../connections/index.ts'
import type { Database, Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import * as changes from './changes-store.ts'
import * as knownAt from './known-at-store.ts'
import { listDailyValues, type DailyValues, type HistoryRequest } from './history.ts'
import { listOwned, type Owned, type OwnedRequest } from './owned-store.ts'
import type { TransactionItem } from './page-steps-store.ts'
import * as pages from './pages-store.ts'
import type { UserPageRequest } from './pages-query-store.ts'
import * as positionsAt from './positions-at-store.ts'
import * as positions from './positions-store.ts'
import type { UncheckedToken, AuthorizedRead } from './authorized-read-store.ts'

export { listUserChanges, type FeedPoint, type UserChange } from './changes-store.ts'
export {
  firstSeqAt,
  type Filter,
  type Lead,
  type UserPageRequest,
  type TransactionPoint,
  type TransactionFilters,
} from './pages-query-store.ts'
export type { Owned, OwnedAccount, OwnedRequest } from './owned-store.ts'
export type { TransactionItem } from './page-steps-store.ts'
export { finishPage } from './pages-store.ts'
export { finishPositions } from './positions-at-store.ts'
export type { PositionPoint } from './positions-store.ts'
export type { UncheckedToken } from './authorized-read-store.ts'

type Answer<Result> = Promise<AuthorizedRead<Result> | undefined>

export interface Portfolio {
  readTransactions(token: UncheckedToken, request: pages.TransactionsRequest): Answer<pages.TransactionsResult>
  /** Only removed transactions, when the list beside them has ended. */
  readRemoved(
    token: UncheckedToken,
    request: { after: changes.FeedPoint; limit: number },
  ): Answer<pages.TransactionsResult>
  readTransaction(token: UncheckedToken, id: string): Answer<{ item: string | null }>
  /** What was known at an earlier moment. */
  readKnownAt(token: UncheckedToken, request: knownAt.KnownAtRequest): Answer<pages.TransactionsResult>
  readOneKnownAt(token: UncheckedToken, request: { id: string; knownAt: string }): Answer<{ item: string | null }>
  readChanges(token: UncheckedToken, request: changes.ChangesRequest): Answer<changes.ChangesPage>
  readPositions(token: UncheckedToken, request: positions.PositionRequest): Answer<positions.PositionsPage>
  /** What was held at an earlier moment. */
  readPositionsAt(token: UncheckedToken, request: positionsAt.PositionsAtRequest): Answer<positionsAt.PositionsAtPage>
  readSourcePositions(token: UncheckedToken, request: positions.SourcePositionRequest): Answer<positions.PositionsPage>

  /**
   * What each of the user's own accounts held at one moment, read in the caller's transaction. Wallets that were only
   * given as an address are not among them.
   */
  listOwned(sql: Sql, owner: Owner, request: OwnedRequest): Promise<Owned>
  /** Each statement has its turn. */
  listTransactions(owner: Owner, request: UserPageRequest, inTurn: InTurn): Promise<TransactionItem[]>
  /** Oldest first; days that are neither observed nor derivable are left out. */
  listDailyValues(owner: Owner, request: HistoryRequest): Promise<DailyValues>
}

export function createPortfolio({ db }: { db: Database }): Portfolio {
  return {
    readTransactions: (token, request) => pages.readTransactions(db, token, request),
    readRemoved: (token, request) => pages.readRemoved(db, token, request),
    readTransaction: (token, id) => pages.readTransaction(db, token, id),
    readKnownAt: (token, request) => knownAt.readKnownAt(db, token, request),
    readOneKnownAt: (token, request) => knownAt.readOneKnownAt(db, token, request),
    readChanges: (token, request) => changes.readChanges(db, token, request),
    readPositions: (token, request) => positions.readPositions(db, token, request),
    readPositionsAt: (token, request) => positionsAt.readPositionsAt(db, token, request),
    readSourcePositions: (token, request) => positions.readSourcePositions(db, token, request),
    listOwned,
    listTransactions: (owner, request, inTurn) => pages.listTransactions(db, owner, request, inTurn),
    listDailyValues: (owner, request) => listDailyValues(db, owner, request),
  }
}
