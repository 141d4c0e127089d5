/**
 * Raw records → transactions → documents, and holdings. The provider's own records are kept as they came; everything
 * served is derived from them and can be derived again without asking the provider.
 */
import { withSafeText, type Balance, type Connector, type RawRecord } from '@assay/connectors'
import { isSpamAsset } from '@assay/core'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { endGroups } from './compose.ts'
import { deriveDue, type DeriveDeps } from './derive.ts'
import { startDestroying, type DestroyDeps, type DestroyNext } from './destroy.ts'
import { keepObserved } from './history-store.ts'
import { listDailyValues, type DailyValue, type HistoryRequest } from './history.ts'
import { holdConnection } from './hold-connection.ts'
import * as holdings from './holdings-store.ts'
import type { PageRequest } from './pages-query-store.ts'
import * as pages from './pages-store.ts'
import * as raw from './raw-store.ts'
import { replay, type ReplayDeps, type ReplayOptions, type ReplayReport } from './replay.ts'
import { createReprice } from './reprice.ts'
import * as store from './store.ts'
import { matchOwnTransfers } from './transfers.ts'

export type { PageRequest, TransactionFilters } from './pages-query-store.ts'
export { listPage, type TransactionRow } from './pages-store.ts'
export { ConnectionGone } from './hold-connection.ts'
export type { ReplayOptions, ReplayReport } from './replay.ts'
export type { Position } from './holdings-store.ts'
export type { PoisonedTime } from './raw-store.ts'

export interface Ledger {
  /** In the caller's transaction, with its bookmark. Like all that writes, throws ConnectionGone after a removal. */
  keepRaw(tx: Sql, ref: ConnectionRef, stream: string, records: readonly RawRecord[]): Promise<void>
  /**
   * Derives what is not derived yet; false when `mayGoOn` ended it first. With `sinceMs` only groups none of whose
   * records is older: what was read must begin well before it, or a group that is cut in two there looks whole.
   */
  derive(ref: ConnectionRef, connector: Connector, mayGoOn: () => boolean, sinceMs?: number): Promise<boolean>
  /** Judges again which of the user's transactions are two sides of one transfer, near what has changed. */
  matchTransfers(owner: Owner, mayGoOn: () => boolean): Promise<boolean>
  /** What the account holds now, priced as far as prices are known. */
  keepHoldings(ref: ConnectionRef, providerId: string, balances: readonly Balance[]): Promise<void>
  /** Records that could not be understood, by their stream and time. */
  listPoisonedTimes(ref: ConnectionRef): Promise<raw.PoisonedTime[]>
  summarize(tx: Sql, ref: ConnectionRef): Promise<{ historyFrom: string | null; transactionCount: number }>
  /**
   * Everything read through the connection goes, batch by batch: what is returned is called until it says true. If it
   * was served, its transactions' ids are remembered as removed. Whoever calls it has made sure that nobody writes.
   */
  startDestroying(ref: ConnectionRef, was: { served: boolean }): DestroyNext

  /** Derives everything again from the stored records, or says what that would change. */
  replay(options: ReplayOptions): Promise<ReplayReport>
  /** Upkeep: writes prices into transactions that were waiting for them. Bounded; call it again. */
  reprice(): Promise<void>
  /** Upkeep: tombstones that everybody has had the time to read. */
  sweep(): Promise<void>

  listTransactions(owner: Owner, request: PageRequest): Promise<pages.TransactionRow[]>
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

export type LedgerDeps = DeriveDeps & ReplayDeps & DestroyDeps

export function createLedger(deps: LedgerDeps): Ledger {
  const { db } = deps
  return {
    async keepRaw(tx, ref, stream, records) {
      await holdConnection(tx, ref)
      await endGroups(tx, ref, await raw.upsertRaw(tx, ref, stream, withSafeText(records)))
    },

    async derive(ref, connector, mayGoOn, sinceMs) {
      if (!(await deriveDue(deps, ref, connector, mayGoOn, sinceMs))) return false
      return matchOwnTransfers(db, ref, mayGoOn)
    },

    matchTransfers: (owner, mayGoOn) => matchOwnTransfers(db, owner, mayGoOn),

    async keepHoldings(ref, providerId, given) {
      const balances = withSafeText(given)
      await deps.prices.ensureCurrent(balances.map(({ assetId }) => assetId))
      await db.transaction(async (tx) => {
        await holdConnection(tx, ref)
        const mayBeSpam = deps.isWallet(providerId)
        const held = balances.map((balance) => ({ ...balance, spam: mayBeSpam && isSpamAsset(balance) }))
        await holdings.replaceHoldings(tx, ref, providerId, held)
        await keepObserved(tx, ref)
      })
    },
    listPoisonedTimes: (ref) => raw.listPoisonedTimes(db, ref),
    summarize: (tx, ref) => store.summarize(tx, ref),
    startDestroying: (ref, was) => startDestroying(deps, ref, was),

    replay: (options) => replay(deps, options),
    reprice: createReprice(deps),
    sweep: () => store.deleteOldRemovals(db),

    listTransactions: (owner, request) => pages.listTransactions(db, owner, request),
    findTransaction: (owner, id) => pages.findTransaction(db, owner, id),
    listRemoved: (owner, since) => pages.listRemoved(db, owner, since),
    listPositions: (owner, request) => holdings.listPositions(db, owner, request),
    listSourcePositions: (owner, request) => holdings.listSourcePositions(db, owner, request),
    listDailyValues: (owner, request) => listDailyValues(deps, owner, request),
  }
}
