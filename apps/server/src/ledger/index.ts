/**
 * Raw records → transactions, postings and documents; and holdings. The provider's own records are kept as they came;
 * everything served is derived from them and can be derived again without asking the provider. This room writes; the
 * portfolio room reads.
 */
import { withSafeText, type Balance, type Connector, type RawRecord } from '@assay/connectors'
import { isSpamAsset, withDistinctName } from '@assay/core'
import type { Sql } from '../db/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import { keepBalances, type BalancesReading } from './balances-store.ts'
import { joinGroups, link, type Linked } from './records/groups.ts'
import type { ChangeDeps } from './changes.ts'
import { createDerive, type DeriveDeps } from './deriving/derive.ts'
import { startDestroying, type DestroyDeps, type DestroyNext } from './destroy.ts'
import { ConnectionGone, holdConnection } from './locks-store.ts'
import type { Source } from './deriving/draft.ts'
import * as raw from './records/raw-store.ts'
import {
  discardFindings,
  listFindings,
  replay,
  type ReplayDeps,
  type ReplayFinding,
  type ReplayOptions,
  type ReplayReport,
} from './replay/replay.ts'
import type { Which } from './replay/replay-store.ts'
import { createReprice } from './deriving/reprice.ts'
import * as reread from './records/reread-store.ts'
import * as store from './store.ts'
import { matchOwnTransfers } from './transfers/transfers.ts'

export { countRemoved, forgetRemoved, takeChangeNumbers } from './changes-store.ts'
export { ConnectionGone } from './locks-store.ts'
export type { ReplayFinding, ReplayOptions, ReplayReport } from './replay/replay.ts'
export type { Which as ReplayedWhich } from './replay/replay-store.ts'
export type { Source } from './deriving/draft.ts'
export type { ListKey, PoisonedTime, WholePart } from './records/raw-store.ts'
export type { CompleteWindow } from './records/reread-store.ts'

/** What one or more pages of a list showed. */
export interface ShownPages extends reread.ComparedPage {
  /** Keys of stored records that the provider has withdrawn. */
  withdrawn: readonly string[]
}

/** A list whose provider no longer shows so many of its records that its answer is in doubt. */
export interface Doubt {
  stream: string
  partition: string
  missing: number
  known: number
}

export interface KeptPages {
  /** How many of the records are new; large ones count as several, and changed ones as what they have grown by. */
  added: number
  /** The same of each page. */
  addedBy: number[]
  /** Lists of which nothing was retired, because the provider's response is in doubt. */
  doubts: Doubt[]
}

export interface Ledger {
  /**
   * In the caller's transaction, with its bookmarks. Like everything that writes, it throws ConnectionGone after a
   * removal.
   */
  keepRaw(
    tx: Sql,
    ref: ConnectionRef,
    connector: Pick<Connector, 'linkKeys'>,
    pages: readonly ShownPages[],
  ): Promise<KeptPages>
  /** Whether `keepRaw` would write anything. */
  hasNews(
    sql: Sql,
    ref: ConnectionRef,
    connector: Pick<Connector, 'linkKeys'>,
    pages: readonly ShownPages[],
  ): Promise<boolean>
  /**
   * Derives the groups that are due, newest first; false when `mayContinue` ended it first. With a part it derives only
   * groups of that part: what was read must begin well before its `sinceMs`, or a group that is cut in two there looks
   * whole.
   */
  derive(ref: ConnectionRef, source: Source, mayContinue: () => boolean, part?: raw.WholePart): Promise<boolean>
  /** Judges again which of the user's transactions are two sides of one transfer, near what has changed. */
  matchTransfers(owner: Owner, mayContinue: () => boolean): Promise<boolean>
  /** Keeps what the account holds now, and its value as far as prices are known. True when the holdings have changed. */
  keepHoldings(
    ref: ConnectionRef,
    providerId: string,
    balances: readonly Balance[],
    reading?: BalancesReading,
  ): Promise<boolean>
  /** Records that could not be understood, by their stream and time. */
  listPoisonedTimes(sql: Sql, ref: ConnectionRef): Promise<raw.PoisonedTime[]>
  /** The keys of the owner's connections that have such records. */
  listPoisonedConnections(sql: Sql, owner: Owner): Promise<Set<number>>
  /**
   * Destroys everything that was read through the connection, in batches of 5,000 rows: call the returned function,
   * each time in a transaction, until it answers true. `hiddenSeq` is the number at which a connection that was shown
   * disappeared: its transactions are then remembered as removed at that number; null when it never was shown. The
   * caller makes sure that nothing writes to the connection anymore.
   */
  startDestroying(ref: ConnectionRef, was: { hiddenSeq: string | null }): DestroyNext
  /** Called outside of a transaction before each batch: a history may be destroyed right after it was read. */
  ensureStatistics(): Promise<void>

  /** Derives everything again from the stored records, or only keeps and reports what that would change. */
  replay(options: ReplayOptions): Promise<ReplayReport>
  /** What earlier replays that were not applied would change. */
  listFindings(which: Which): AsyncIterable<ReplayFinding>
  /** Deletes those findings; returns how many there were. */
  discardFindings(which: Which): Promise<number>
  /** Upkeep: writes prices into transactions that were waiting for them. Bounded; call it again. */
  reprice(): Promise<void>
  /**
   * Upkeep: deletes removals that clients have had long enough to read, and versions that can no longer be asked for.
   */
  sweep(kept: { removalsKeptMs: number; versionsKeptMs: number }): Promise<void>
}

export type LedgerDeps = DeriveDeps & ReplayDeps & DestroyDeps & ChangeDeps

export function createLedger(deps: LedgerDeps): Ledger {
  const { db } = deps
  const derive = createDerive(deps)
  return {
    async keepRaw(tx, ref, connector, pages) {
      await holdConnection(tx, ref)
      const kept: KeptPages = { added: 0, addedBy: [], doubts: [] }
      for (const page of pages) {
        const { added, doubt } = await keepPage(tx, ref, connector, page)
        kept.added += added
        kept.addedBy.push(added)
        if (doubt !== undefined) kept.doubts.push({ stream: page.stream, partition: page.partition, ...doubt })
      }
      return kept
    },

    async hasNews(sql, ref, connector, pages) {
      if (pages.some(({ withdrawn }) => withdrawn.length > 0)) return true
      const compared = pages.map((page) => ({
        ...page,
        records: linkPage(connector, page).map(({ record }) => record),
      }))
      return reread.hasNews(sql, ref, compared)
    },

    async derive(ref, source, mayContinue, part) {
      if (!(await derive(ref, source, mayContinue, part))) return false
      return matchOwnTransfers(deps, ref, mayContinue)
    },

    matchTransfers: (owner, mayContinue) => matchOwnTransfers(deps, owner, mayContinue),

    async keepHoldings(ref, providerId, given, reading = { isWhole: true }) {
      // Prices may take longer than the ten seconds in which a record may or may not be in a reading.
      const at = db.now()
      const balances = withSafeText(given)
      await deps.prices.ensureCurrent(balances.map(({ assetId }) => assetId))
      const held = deps.isWallet(providerId)
        ? balances.map((balance) => ({ ...withDistinctName(balance), spam: isSpamAsset(balance) }))
        : balances.map((balance) => ({ ...balance, spam: false }))
      const keys = await deps.assets.ensureKeys(db, held)
      const kept = await keepBalances(db, ref, held, keys, { ...reading, at })
      if (kept === 'removed') throw new ConnectionGone(ref.connectionId)
      return kept === 'changed'
    },
    listPoisonedTimes: raw.listPoisonedTimes,
    listPoisonedConnections: raw.listPoisonedConnections,
    startDestroying: (ref, was) => startDestroying(deps, ref, was),
    ensureStatistics: () => store.ensureStatistics(db),

    replay: (options) => replay(deps, options),
    listFindings: (which) => listFindings(deps, which),
    discardFindings: (which) => discardFindings(deps, which),
    reprice: createReprice(deps),
    async sweep({ removalsKeptMs, versionsKeptMs }) {
      await store.deleteOldRemovals(db, removalsKeptMs)
      await store.deleteOldVersions(db, versionsKeptMs)
    },
  }
}

function linkPage(connector: Pick<Connector, 'linkKeys'>, page: ShownPages): Linked<RawRecord>[] {
  return withSafeText(page.records).map((record) => link(connector, record, page))
}

async function keepPage(
  tx: Sql,
  ref: ConnectionRef,
  connector: Pick<Connector, 'linkKeys'>,
  page: ShownPages,
): Promise<{ added: number; doubt: { missing: number; known: number } | undefined }> {
  const linked = linkPage(connector, page)
  await joinGroups(tx, ref, linked)
  const added = await raw.upsertRaw(
    tx,
    ref,
    page,
    linked.map(({ record, linkKeys: [linkKey] }) => ({ record, linkKey })),
  )
  if (page.withdrawn.length > 0) await reread.retireWithdrawn(tx, ref, page, page.withdrawn)
  const doubt = page.complete && (await reread.judgeMissing(tx, ref, page, page.complete))
  return { added, doubt }
}
