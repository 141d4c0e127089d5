/**
 * Reading: plan, claim, read a page, commit it, back off. A run reads a connection by the schedule (run-job.ts); a
 * refresh reads it because an application asked (refreshes/).
 */
import type { ConnectorState } from '@assay/connectors'
import type { DueConnection } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { dropWaiting, type Handler } from '../jobs/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import { toStored } from './commit.ts'
import {
  findCompleteness,
  findCoverage,
  type Completeness,
  type CoverageDeps,
  type StreamCoverage,
} from './coverage.ts'
import type { ReadingDeps } from './reading.ts'
import { createRefreshTask } from './refreshes/refresh-job.ts'
import { deleteOldRefreshes } from './refreshes/refresh-store.ts'
import { findRefresh, requestRefresh, type Refresh, type RefreshKind } from './refreshes/refreshes.ts'
import { createRunTask, queueRun } from './run-job.ts'
import * as store from './store.ts'

export type { Completeness, StreamCoverage } from './coverage.ts'
export type { ReadingWatch } from './reading.ts'
export type { Refresh, RefreshKind } from './refreshes/refreshes.ts'

export interface Sync {
  /** Begins a run as soon as a worker is free. `state` is what the connector keeps of the account from now on. */
  beginReading(tx: Sql, ref: ConnectionRef, keyLane: string, state?: ConnectorState): Promise<void>
  /** Queues the next run. */
  plan(tx: Sql, due: DueConnection, inMs: number): Promise<void>
  /** The job of a run. */
  runTask: Handler<'sync'>
  /** The job behind a refresh. */
  refreshTask: Handler<'refresh'>
  forget(tx: Sql, ref: ConnectionRef): Promise<void>
  /** Undefined when the owner has no such connection. With `partition`, reports on that list alone. */
  findCoverage(owner: Owner, connectionId: string, partition?: string): Promise<StreamCoverage[] | undefined>
  /** The time from which nothing is missing in the histories of all the owner's connections. */
  findCompleteness(owner: Owner): Promise<Completeness>
  /** Reads again, all connections or those named; refuses when every one of them was read again a moment ago. */
  requestRefresh(owner: Owner, kind: RefreshKind, connectionIds: readonly string[] | undefined): Promise<Refresh>
  findRefresh(owner: Owner, refreshId: string): Promise<Refresh | undefined>
  /** Upkeep: deletes refreshes older than a week, and queues runs that were lost. */
  sweep(): Promise<void>
}

export type SyncDeps = ReadingDeps & CoverageDeps

/** How many connections one round of upkeep takes; the rest waits a minute. */
const stalledBatchSize = 100

export function createSync(deps: SyncDeps): Sync {
  return {
    async beginReading(tx, ref, keyLane, state) {
      if (state !== undefined) await store.beginState(tx, ref, toStored(state))
      await queueRun(tx, ref, keyLane, { delayMs: 0, interactive: true })
    },
    plan: (tx, { keyLane, ...ref }, inMs) => queueRun(tx, ref, keyLane, { delayMs: inMs }),
    runTask: createRunTask(deps),
    refreshTask: createRefreshTask(deps),
    async forget(tx, ref) {
      await store.forgetConnection(tx, ref)
      // Those of a deleted user would otherwise name the user until they are due.
      const kinds: readonly RefreshKind[] = ['assets', 'transactions']
      await dropWaiting(tx, 'sync', [ref.connectionId])
      await dropWaiting(
        tx,
        'refresh',
        kinds.map((kind) => `${kind}:${ref.connectionId}`),
      )
    },
    findCoverage: (owner, connectionId, partition) => findCoverage(deps, owner, connectionId, partition),
    findCompleteness: (owner) => findCompleteness(deps, owner),
    requestRefresh: (owner, kind, connectionIds) => requestRefresh(deps, owner, kind, connectionIds),
    findRefresh: (owner, refreshId) => findRefresh(deps.db, owner, refreshId),
    async sweep() {
      await deleteOldRefreshes(deps.db)
      for (const { keyLane, ...ref } of await deps.connections.listStalled(stalledBatchSize)) {
        deps.log.warn({ connection: ref.connectionId }, 'rescheduling stalled connection')
        await queueRun(deps.db, ref, keyLane, { delayMs: 0 })
      }
    },
  }
}
