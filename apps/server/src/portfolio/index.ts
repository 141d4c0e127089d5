/**
 * The read side of the ledger: pages of transactions, changes, positions, and values over time. It writes nothing.
 *
 * Functions that begin with `read` take one round trip: they receive a bearer token that has not been checked yet, and
 * their statement checks it (reading-store.ts). They return undefined when the token is not valid. The other functions
 * are for a caller who is known already.
 */
import type { Database, Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import * as changes from './changes-store.ts'
import * as knownAt from './known-at-store.ts'
import { listDailyValues, type DailyValue, type HistoryRequest } from './history.ts'
import * as pages from './pages-store.ts'
import type { UserPageRequest } from './pages-query-store.ts'
import * as positionsAt from './positions-at-store.ts'
import * as positions from './positions-store.ts'
import type { Access, Reading } from './reading-store.ts'

export { listUserChanges, type FeedPlace, type UserChange } from './changes-store.ts'
export {
  firstSeqAt,
  type Filter,
  type Lead,
  type UserPageRequest,
  type Place,
  type TransactionFilters,
} from './pages-query-store.ts'
export type { TransactionItem } from './pages-store.ts'
export type { OwnedTotal } from './positions-at-store.ts'
export type { PositionPlace } from './positions-store.ts'
export type { Access } from './reading-store.ts'

type Answer<Result> = Promise<Reading<Result> | undefined>

export interface Portfolio {
  readTransactions(access: Access, request: pages.TransactionsRequest): Answer<pages.TransactionsResult>
  /** Only removed transactions, when the list beside them has ended. */
  readRemoved(access: Access, request: { after: changes.FeedPlace; limit: number }): Answer<pages.TransactionsResult>
  readTransaction(access: Access, id: string): Answer<{ item: string | null }>
  /** What was known at an earlier moment. */
  readKnownAt(access: Access, request: knownAt.KnownAtRequest): Answer<pages.TransactionsResult>
  readOneKnownAt(access: Access, request: { id: string; knownAt: string }): Answer<{ item: string | null }>
  readChanges(access: Access, request: changes.ChangesRequest): Answer<changes.ChangesPage>
  readPositions(access: Access, request: positions.PositionRequest): Answer<positions.PositionsPage>
  /** What was held at an earlier moment. */
  readPositionsAt(access: Access, request: positionsAt.PositionsAtRequest): Answer<positions.PositionsPage>
  readSourcePositions(access: Access, request: positions.SourcePositionRequest): Answer<positions.PositionsPage>

  /**
   * The total of the user's own accounts at a moment, read in the caller's transaction. Wallets that were only given as
   * an address do not count.
   */
  findOwnedTotal(
    sql: Sql,
    owner: Owner,
    asked: { asOf: string; assetId: string | null },
  ): Promise<positionsAt.OwnedTotal>
  listTransactions(owner: Owner, request: UserPageRequest): Promise<pages.TransactionItem[]>
  /** Oldest first; days that are neither observed nor derivable are left out. */
  listDailyValues(owner: Owner, request: HistoryRequest): Promise<DailyValue[]>
}

export function createPortfolio({ db }: { db: Database }): Portfolio {
  return {
    readTransactions: (access, request) => pages.readTransactions(db, access, request),
    readRemoved: (access, request) => pages.readRemoved(db, access, request),
    readTransaction: (access, id) => pages.readTransaction(db, access, id),
    readKnownAt: (access, request) => knownAt.readKnownAt(db, access, request),
    readOneKnownAt: (access, request) => knownAt.readOneKnownAt(db, access, request),
    readChanges: (access, request) => changes.readChanges(db, access, request),
    readPositions: (access, request) => positions.readPositions(db, access, request),
    readPositionsAt: (access, request) => positionsAt.readPositionsAt(db, access, request),
    readSourcePositions: (access, request) => positions.readSourcePositions(db, access, request),
    findOwnedTotal: positionsAt.findOwnedTotal,
    listTransactions: (owner, request) => pages.listTransactions(db, owner, request),
    listDailyValues: (owner, request) => listDailyValues(db, owner, request),
  }
}
