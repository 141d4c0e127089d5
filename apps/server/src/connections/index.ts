/**
 * A user's link to a provider: sealed credentials, states, the read-only gate.
 *
 *   pending ──verified──▶ syncing ──first full read──▶ active ⇄ degraded
 *      │                     └──────────┬──────────────────┘
 *   refused: row deleted          needs_reauth ──repaired──▶ syncing         removed: hidden, from any (removal.ts)
 *
 * A process that serves requests never talks to a provider: `add` stores the sealed credentials as pending, queues a
 * verification and waits for its verdict. Workers verify, for each user one key at a time.
 */
import type { ApiKeyCredentials, Connector, ConnectorState } from '@assay/connectors'
import { findProvider } from '@assay/connectors/catalog'
import { notFound, type ErrorItem } from '@assay/core'
import type { Sql } from '../db/index.ts'
import { providerOfLane, type Handler, type PayloadOf } from '../jobs/index.ts'
import type { Ask, Stop } from '../metering/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import {
  addConnection,
  toKeyLane,
  toSignInUrl,
  type AddDeps,
  type AddResult,
  type NewConnection,
} from './adding/add.ts'
import { deleteAbandonedPending, deleteOldChecks, listOldLanes } from './adding/pending-store.ts'
import { createProvisional, discardLapsed, type Provisional, type ProvisionalDeps } from './adding/provisional.ts'
import { checkRights, verifyConnection, type GateDeps } from './adding/verify.ts'
import { cleanCredentials, toLaneText } from './credentials/credential-types.ts'
import { createFingerprints } from './credentials/fingerprints.ts'
import { createSealer, type Sealer } from './credentials/seal.ts'
import { openToken } from './credentials/tokens.ts'
import { openConnection, type OpenDeps, type OpenedConnection } from './open.ts'
import { lockAll, lockForRemoval } from './removal-store.ts'
import { createDestroyTask, discard, requeueDestroying, type RemovedBy } from './removal.ts'
import type { Schedule } from './schedule.ts'
import { recordBreakdown, recordFault, toIssue, type Failure, type StatusDeps } from './status.ts'
import { listUnsettled, type ConnectionRow, type DueConnection } from './store.ts'
import * as store from './store.ts'

export type { AddResult, InTurn } from './adding/add.ts'
export { recordProof, recordRecords, recordTransactions, toBalancesQuery } from './counters-store.ts'
export type { CountedTransactions } from './counters-store.ts'
export type { IssueRow } from './store.ts'
export type { OpenedConnection } from './open.ts'
export { checkSeals, resealCredentials } from './credentials/reseal.ts'
export type { Schedule } from './schedule.ts'
export { isSignIn } from './credentials/credential-types.ts'
export type { GivenCredentials, NewCredentials } from './credentials/credential-types.ts'
export { checkFingerprintKeys, forgetFingerprintKeys, resealFingerprintKeys } from './credentials/fingerprints.ts'
export { toIssue } from './status.ts'
export type { ConnectionRow, DueConnection, Grade } from './store.ts'
export { toRefusedItem } from './adding/verify.ts'

/** What a key is recognised by. */
type FoundKey = Pick<ApiKeyCredentials, 'apiKey' | 'secretKey'>

/** How a run that ended well is recorded. */
export interface EndedRun {
  /** The key it was read with. */
  keyLane: string
  /** Spreads runs: a factor of the interval, around 1. */
  jitter: number
  /** Set when nothing changed: the history was read until then, and the verdict on the balances still holds. */
  provedUntilMs?: number | undefined
}

export interface Connections extends Provisional {
  add(owner: Owner, request: NewConnection): Promise<AddResult>
  /** Where a person signs in at the provider; refuses one that is not connected that way. */
  toSignInUrl(providerId: string, request: { redirectUri: string; state: string; codeChallenge: string }): string
  /**
   * A caller inside a transaction passes it as `sql`, here and below: one that takes a second connection while it holds
   * the first may wait for others that do the same.
   */
  find(owner: Owner, connectionId: string, sql?: Sql): Promise<ConnectionRow | undefined>
  list(
    owner: Owner,
    page: { limit: number; after: { addedAt: string; id: string } | undefined },
    sql?: Sql,
  ): Promise<ConnectionRow[]>
  /**
   * Once this commits, their keys are gone and their data is hidden. `dataDestroyed` is false when a job has to delete
   * the rest of it. Refuses when there is nothing to remove.
   */
  remove(
    owner: Owner,
    which: { connectionId?: string; providerId?: string; by?: RemovedBy },
  ): Promise<{ connectionIds: string[]; dataDestroyed: boolean }>
  /**
   * Sandbox mode: whether a simulator's key is the one that a connection is read with. Undefined without an API key.
   */
  findKey(connectionId: string): Promise<{ providerId: string; isKey(key: FoundKey): boolean } | undefined>
  /**
   * Sandbox mode: a token of the sign-in that a connection is read with, or its code before it was redeemed. Undefined
   * without a sign-in, and in a process that cannot open credentials.
   */
  openSignIn(connectionId: string): Promise<{ providerId: string; token: string } | undefined>
  /** One item for each connection whose data is stale or still being read. */
  listIssues(owner: Owner): Promise<ErrorItem[]>
  /** The same for several users of a tenant. */
  listIssuesOf(userKeys: readonly string[]): Promise<ErrorItem[]>
  /** The provider's own name; undefined when the catalogue does not have it. */
  findProviderName(providerId: string): string | undefined
  /** For the worker: the credentials opened, or undefined when the connection may not be read. */
  open(ref: ConnectionRef): Promise<OpenedConnection | undefined>
  /**
   * Reads the key's rights if that was not done for a while. Undefined when reading may continue; the fault is
   * excess_permission or missing_permission when they are no longer those that it was accepted with.
   */
  checkRights(ref: ConnectionRef, opened: OpenedConnection, ask: Ask): Promise<Stop | undefined>
  /**
   * An application reads the data of users who were idle: their connections are now read as often as those of active
   * users.
   */
  onUserAccesses(owners: readonly Pick<Owner, 'userKey'>[]): Promise<void>
  /** True when the fault may pass by itself; false when the owner has to act, or has already acted. */
  recordFault(ref: ConnectionRef, failure: Failure): Promise<boolean>
  /** Our own code failed. False when the connection is no longer read. */
  recordBreakdown(ref: ConnectionRef, nextTryInMs: number): Promise<boolean>
  /**
   * A run has read the history to its end: when the next one is due, by the schedule. Undefined, with nothing recorded,
   * when the connection is gone or has another key since. A report that the balances could not be read stays until they
   * are read.
   */
  recordRun(tx: Sql, ref: ConnectionRef, run: EndedRun): Promise<{ nextSyncInMs: number } | undefined>
  /** How long it would wait for its next run, in milliseconds, if this one had ended well. */
  findInterval(ref: ConnectionRef, jitter: number): Promise<number>
  /**
   * The same for a run that found nothing, and queues the next run, in one statement. Returns false and does nothing
   * when the run changes the connection after all: then call `recordRun`.
   */
  recordIdleRun(ref: ConnectionRef, run: EndedRun, nextRun: PayloadOf<'sync'>): Promise<boolean>
  /** The same for a refresh. The next run stays as planned. */
  recordRefresh(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<void>
  /** The run continues after `inMs`. False when the connection has another key by now. */
  planNext(tx: Sql, ref: ConnectionRef, keyLane: string, inMs: number): Promise<boolean>
  /** Upkeep: connections whose run is long overdue and has no job. */
  listStalled(limit: number): Promise<DueConnection[]>
  /** The job that verifies a pending connection. */
  verifyTask: Handler<'verify'>
  /** The job that destroys what is left of a removed connection. */
  destroyTask: Handler<'destroy'>
  /**
   * Upkeep: deletes pending rows whose caller is gone, what sessions left behind and what is kept of keys that are not
   * used, and requeues lost removals.
   */
  sweep(): Promise<void>
  /** The user's last grant ended long ago: removes everything, as if the user had done it. */
  removeAbandoned(tx: Sql, owner: Owner): Promise<void>
}

export interface ConnectionsDeps
  extends
    OpenDeps,
    Omit<GateDeps, 'toFingerprint'>,
    AddDeps,
    StatusDeps,
    Pick<ProvisionalDeps, 'onShown' | 'forgetRemoved'> {
  /** The connection was verified or is overdue, and has to be read now. */
  onReadable(tx: Sql, ref: ConnectionRef, keyLane: string, state?: ConnectorState): Promise<void>
  /** Deletes what is kept of a key that is not used. */
  forgetKey(sql: Sql, key: { connector: Connector; keyLane: string }): Promise<void>
  /** The next run is due earlier than it was. */
  onPlanned(tx: Sql, due: DueConnection, inMs: number): Promise<void>
  schedule: Schedule
}

const stalledAfterMs = 10 * 60_000

export function createConnections(deps: ConnectionsDeps): Connections {
  const { db, schedule } = deps
  const sealer = createSealer(deps.keyring)
  const gate = { ...deps, toFingerprint: createFingerprints(db, deps.keyring) }
  const open = (ref: ConnectionRef): ReturnType<typeof openConnection> => openConnection(deps, db, sealer, ref)
  const listIssuesOf = async (userKeys: readonly string[]): Promise<ErrorItem[]> =>
    (await listUnsettled(db, userKeys)).map((row) => toIssue(row, deps.now()))

  return {
    add: (owner, request) => addConnection(deps, sealer, owner, request),
    async findKey(connectionId) {
      const found = await store.findKeyLane(db, connectionId)
      if (found === undefined) return undefined
      const { providerId, keyLane } = found
      const toLane = (key: FoundKey): string =>
        // Cleaned as it was when it was added: a PEM block has its lines rebuilt.
        toKeyLane(deps.keyring, providerId, toLaneText(cleanCredentials({ type: 'api_key', ...key }), connectionId))
      return { providerId, isKey: (key) => toLane(key) === keyLane }
    },
    openSignIn: (connectionId) => openSignIn(deps, sealer, connectionId),
    toSignInUrl: (providerId, request) => toSignInUrl(deps, providerId, request),
    find: (owner, connectionId, sql = db) => store.findConnection(sql, owner, connectionId),
    list: (owner, page, sql = db) => store.listConnections(sql, owner, page),
    remove: (owner, which) => db.transaction((tx) => remove(deps, tx, owner, which)),
    listIssues: ({ userKey }) => listIssuesOf([userKey]),
    listIssuesOf,

    ...createProvisional(deps),
    findProviderName: (providerId) => findProvider(providerId)?.name,

    async open(ref) {
      const opened = await open(ref)
      if (opened === undefined || !['syncing', 'active', 'degraded'].includes(opened.status)) return undefined
      if (opened.allowed) return opened
      await store.pause(db, ref)
      return undefined
    },

    checkRights: (ref, opened, ask) => checkRights(gate, ref, opened, ask),

    async onUserAccesses(owners) {
      for (const { userKey } of owners) {
        await db.transaction(async (tx) => {
          const sooner = await store.planSooner(tx, userKey, schedule.activeEveryMs)
          for (const { inMs, ...due } of sooner) await deps.onPlanned(tx, due, inMs)
        })
      }
    },

    recordFault: (ref, failure) => recordFault(deps, ref, failure),
    recordBreakdown: (ref, nextTryInMs) => recordBreakdown(deps, ref, nextTryInMs),
    async recordRun(tx, ref, { keyLane, jitter }) {
      const recorded = await store.recordConnectionRead(tx, ref, { keyLane, plan: { schedule, jitter } })
      if (recorded?.isNews === true) await deps.onChanged(tx, ref, 'read')
      return recorded
    },
    findInterval: (ref, jitter) => store.findInterval(db, ref, schedule, jitter),
    recordIdleRun: (ref, run, nextRun) => store.recordIdleRead(db, ref, { ...run, schedule }, nextRun),
    async recordRefresh(tx, ref, keyLane) {
      const recorded = await store.recordConnectionRead(tx, ref, { keyLane, plan: null })
      if (recorded?.isNews === true) await deps.onChanged(tx, ref, 'read')
    },
    planNext: (tx, ref, keyLane, inMs) => store.planNext(tx, ref, keyLane, inMs),
    listStalled: (limit) => store.listStalled(db, { overdueMs: stalledAfterMs, limit }),

    verifyTask: (job) => verifyConnection(gate, db, open, job),
    destroyTask: createDestroyTask(deps),

    async sweep() {
      await deleteAbandonedPending(db)
      await discardLapsed(deps)
      await requeueDestroying(db)
      await forgetChecked(deps)
    },
    async removeAbandoned(tx, owner) {
      for (const { isShown, ...ref } of await lockAll(tx, owner)) await discard(deps, tx, ref, { isShown })
    },
  }
}

async function remove(
  deps: ConnectionsDeps,
  tx: Sql,
  owner: Owner,
  which: { connectionId?: string; providerId?: string; by?: RemovedBy },
): Promise<{ connectionIds: string[]; dataDestroyed: boolean }> {
  const found = await lockForRemoval(tx, owner, which)
  if (found.length === 0) throw notFound(which.connectionId === undefined ? 'connection_to_provider' : 'connection')
  let dataDestroyed = true
  for (const { isShown, ...ref } of found) {
    if (!(await discard(deps, tx, ref, { isShown, ...(which.by && { by: which.by }) }))) dataDestroyed = false
  }
  return { connectionIds: found.map(({ connectionId }) => connectionId), dataDestroyed }
}

/**
 * What is kept of a key that was checked goes with the check, and not when the key is refused: one that its provider
 * has limited would be tried again at once.
 */
async function forgetChecked({ db, loadConnector, forgetKey }: ConnectionsDeps): Promise<void> {
  const now = db.now()
  for (const keyLane of await listOldLanes(db, now)) {
    await forgetKey(db, { connector: await loadConnector(providerOfLane(keyLane)), keyLane })
  }
  await deleteOldChecks(db, now)
}

async function openSignIn(
  { db, keyring }: Pick<ConnectionsDeps, 'db' | 'keyring'>,
  sealer: Sealer,
  connectionId: string,
): ReturnType<Connections['openSignIn']> {
  const found = keyring.opens && (await store.findSealedSignIn(db, connectionId))
  if (found === undefined) return undefined
  const token = await openToken(sealer, found.repairOf ?? connectionId, found.sealed)
  return { providerId: found.providerId, token }
}
