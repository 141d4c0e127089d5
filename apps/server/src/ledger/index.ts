/**
 * Raw records → transactions, postings and documents; and holdings. The provider's own records are kept as they came;
 * everything served is derived from them and can be derived again without asking the provider. This room writes; the
 * portfolio room reads.
 */
import { withSafeText, type Balance, type Connector, type RawRecord } from '@assay/connectors'
import { isSpamAsset } from '@assay/core'
import type { Sql } from '../db/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import { keepBalances } from './balances-store.ts'
import type { ChangeDeps } from './changes.ts'
import { createDerive, type DeriveDeps } from './derive.ts'
import { startDestroying, type DestroyDeps, type DestroyNext } from './destroy.ts'
import { hasNews } from './known-store.ts'
import { ConnectionGone, holdConnection } from './locks-store.ts'
import * as raw from './raw-store.ts'
import { replay, type ReplayDeps, type ReplayOptions, type ReplayReport } from './replay.ts'
import { createReprice } from './reprice.ts'
import * as store from './store.ts'
import { matchOwnTransfers } from './transfers.ts'

export { takeChangeNumbers } from './changes-store.ts'
export { ConnectionGone } from './locks-store.ts'
export type { ReplayOptions, ReplayReport } from './replay.ts'
export type { PoisonedTime } from './raw-store.ts'

export interface Ledger {
  /**
   * In the caller's transaction, with its bookmark. Returns how many of the records are new. Like everything that writes,
   * it throws ConnectionGone after a removal.
   */
  keepRaw(tx: Sql, ref: ConnectionRef, stream: string, records: readonly RawRecord[]): Promise<number>
  /** Whether `keepRaw` would write anything. */
  hasNews(
    sql: Sql,
    ref: ConnectionRef,
    pages: readonly { stream: string; records: readonly RawRecord[] }[],
  ): Promise<boolean>
  /**
   * Derives the groups that are due, newest first; false when `mayContinue` ended it first. With `sinceMs` it derives
   * only groups that have no older record: what was read must begin well before it, or a group that is cut in two there
   * looks whole.
   */
  derive(ref: ConnectionRef, connector: Connector, mayContinue: () => boolean, sinceMs?: number): Promise<boolean>
  /** Judges again which of the user's transactions are two sides of one transfer, near what has changed. */
  matchTransfers(owner: Owner, mayContinue: () => boolean): Promise<boolean>
  /** Keeps what the account holds now, and what that is worth as far as prices are known. */
  keepHoldings(ref: ConnectionRef, providerId: string, balances: readonly Balance[]): Promise<void>
  /** Records that could not be understood, by their stream and time. */
  listPoisonedTimes(ref: ConnectionRef): Promise<raw.PoisonedTime[]>
  /**
   * Destroys everything that was read through the connection, in batches of 5,000 rows: call the returned function, each
   * time in a transaction, until it answers true. `hiddenSeq` is the number at which a connection that was shown disappeared: its
   * transactions are then remembered as removed at that number; null when it never was shown. The caller makes sure that
   * nothing writes to the connection any more.
   */
  startDestroying(ref: ConnectionRef, was: { hiddenSeq: string | null }): DestroyNext

  /** Derives everything again from the stored records, or reports what that would change. */
  replay(options: ReplayOptions): Promise<ReplayReport>
  /** Upkeep: writes prices into transactions that were waiting for them. Bounded; call it again. */
  reprice(): Promise<void>
  /** Upkeep: deletes removals that clients have had 90 days to read. */
  sweep(removalsKeptMs: number): Promise<void>
}

export type LedgerDeps = DeriveDeps & ReplayDeps & DestroyDeps & ChangeDeps

export function createLedger(deps: LedgerDeps): Ledger {
  const { db } = deps
  const derive = createDerive(deps)
  return {
    async keepRaw(tx, ref, stream, records) {
      await holdConnection(tx, ref)
      return raw.upsertRaw(tx, ref, stream, withSafeText(records))
    },

    hasNews: (sql, ref, pages) =>
      hasNews(
        sql,
        ref,
        pages.map(({ stream, records }) => ({ stream, records: withSafeText(records) })),
      ),

    async derive(ref, connector, mayContinue, sinceMs) {
      if (!(await derive(ref, connector, mayContinue, sinceMs))) return false
      return matchOwnTransfers(deps, ref, mayContinue)
    },

    matchTransfers: (owner, mayContinue) => matchOwnTransfers(deps, owner, mayContinue),

    async keepHoldings(ref, providerId, given) {
      const balances = withSafeText(given)
      await deps.prices.ensureCurrent(balances.map(({ assetId }) => assetId))
      const keys = await deps.assets.ensureKeys(db, balances)
      const mayBeSpam = deps.isWallet(providerId)
      const held = balances.map((balance) => ({ ...balance, spam: mayBeSpam && isSpamAsset(balance) }))
      if (!(await keepBalances(db, ref, held, keys))) throw new ConnectionGone(ref.connectionId)
    },
    listPoisonedTimes: (ref) => raw.listPoisonedTimes(db, ref),
    startDestroying: (ref, was) => startDestroying(deps, ref, was),

    replay: (options) => replay(deps, options),
    reprice: createReprice(deps),
    sweep: (removalsKeptMs) => store.deleteOldRemovals(db, removalsKeptMs),
  }
}
