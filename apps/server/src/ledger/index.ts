/**
 * Raw records → transactions → documents, and holdings. The provider's own records are kept as they came; everything
 * served is derived from them and can be derived again without asking the provider.
 */
import type { Balance, Connector, RawRecord } from '@assay/connectors'
import type { Logger } from 'pino'
import type { ConnectionRef } from '../connections/index.ts'
import type { Database, Sql } from '../db/index.ts'
import type { Prices } from '../prices/index.ts'
import { beginDeriving } from './derive.ts'
import { deleteObserved, keepObserved } from './history-store.ts'
import { listDailyValues, type DailyValue, type HistoryRequest } from './history.ts'
import { holdConnection } from './hold-connection.ts'
import * as holdings from './holdings-store.ts'
import * as pages from './pages-store.ts'
import * as store from './store.ts'

export type { TransactionFilters, TransactionRow } from './pages-store.ts'
export { ConnectionGone } from './hold-connection.ts'
export type { Position } from './holdings-store.ts'
export type { PoisonedTime } from './store.ts'

export interface Ledger {
  /** In the caller's transaction, with its bookmark. Like all that writes, throws ConnectionGone after a removal. */
  keepRaw(tx: Sql, ref: ConnectionRef, stream: string, records: readonly RawRecord[]): Promise<void>
  /** Derives what is not derived yet; false when `mayGoOn` ended it first. */
  derive(ref: ConnectionRef, connector: Connector, mayGoOn: () => boolean): Promise<boolean>
  /** What the account holds now, priced as far as prices are known. */
  keepHoldings(ref: ConnectionRef, providerId: string, balances: readonly Balance[]): Promise<void>
  /** Records that could not be understood, by their stream and time. */
  listPoisonedTimes(ref: ConnectionRef): Promise<store.PoisonedTime[]>
  summarize(tx: Sql, ref: ConnectionRef): Promise<{ historyFrom: string | null; transactionCount: number }>
  /** Everything read through the connection goes; if it was served, its transactions' ids are remembered as removed. */
  destroy(tx: Sql, ref: ConnectionRef, was: { served: boolean }): Promise<void>

  /** Upkeep: tombstones that everybody has had the time to read. */
  sweep(): Promise<void>

  listTransactions(owner: Owner, request: pages.PageRequest): Promise<pages.TransactionRow[]>
  findTransaction(owner: Owner, id: string): Promise<pages.TransactionRow | undefined>
  listRemoved(owner: Owner, since: string): Promise<{ id: string; removed_at: string }[]>
  listPositions(owner: Owner, request: holdings.PositionRequest): Promise<holdings.Position[]>
  listSourcePositions(owner: Owner, request: holdings.SourcePositionRequest): Promise<holdings.SourcePosition[]>
  /** Oldest first; days that are neither observed nor derivable are left out. */
  listDailyValues(owner: Owner, request: HistoryRequest): Promise<DailyValue[]>
}

interface Owner {
  tenantId: string
  userId: string
}

export interface LedgerDeps {
  db: Database
  prices: Prices
  log: Logger
}

/** Groups for each transaction: few enough that memory stays flat, many enough that commits do not dominate. */
const groupsPerBatch = 500

export function createLedger(deps: LedgerDeps): Ledger {
  const { db } = deps
  return {
    async keepRaw(tx, ref, stream, records) {
      await holdConnection(tx, ref)
      await store.upsertRaw(tx, ref, stream, records)
    },

    async derive(ref, connector, mayGoOn) {
      const batch = await beginDeriving(deps, ref, connector)
      for (let after = ''; ;) {
        const groups = await store.listUnderivedGroups(db, ref, after, groupsPerBatch)
        const last = groups.at(-1)
        if (last === undefined) return true
        await batch.derive(groups)
        if (groups.length === groupsPerBatch) await store.ensureStatistics(db)
        if (!mayGoOn()) return groups.length < groupsPerBatch
        after = last
      }
    },

    async keepHoldings(ref, providerId, balances) {
      await deps.prices.ensureCurrent(balances.map(({ assetId }) => assetId))
      await db.transaction(async (tx) => {
        await holdConnection(tx, ref)
        await holdings.replaceHoldings(tx, ref, providerId, balances)
        await keepObserved(tx, ref)
      })
    },
    listPoisonedTimes: (ref) => store.listPoisonedTimes(db, ref),
    summarize: (tx, ref) => store.summarize(tx, ref),

    async destroy(tx, ref, was) {
      await store.destroyConnection(tx, ref, was)
      await holdings.deleteHoldings(tx, ref)
      await deleteObserved(tx, ref)
    },

    sweep: () => store.deleteOldRemovals(db),

    listTransactions: (owner, request) => pages.listTransactions(db, owner, request),
    findTransaction: (owner, id) => pages.findTransaction(db, owner, id),
    listRemoved: (owner, since) => pages.listRemoved(db, owner, since),
    listPositions: (owner, request) => holdings.listPositions(db, owner, request),
    listSourcePositions: (owner, request) => holdings.listSourcePositions(db, owner, request),
    listDailyValues: (owner, request) => listDailyValues(deps, owner, request),
  }
}
