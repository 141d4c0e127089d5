/**
 * A user's link to a provider: sealed credentials, states, the read-only gate.
 *
 *   pending ──verified──▶ syncing ──first full read──▶ active ⇄ degraded
 *      │                     └──────────┬──────────────────┘
 *   refused: row deleted          needs_reauth ──repaired──▶ syncing         removed: row deleted, from any (removal.ts)
 *
 * A process that serves requests never talks to a provider: `add` stores the sealed credentials as pending, queues a
 * verification and waits for its verdict. Workers verify, one key at a time.
 */
import { Refusal, type ErrorItem } from '@assay/core'
import { findProvider } from '@assay/connectors/catalog'
import { z } from 'zod'
import type { Sql } from '../db/index.ts'
import type { Task } from '../jobs/index.ts'
import { addConnection, type AddDeps, type AddResult, type NewConnection, type Owner } from './add.ts'
import { createSealer } from './seal.ts'
import { createProvisional, discardLapsed, type Provisional } from './provisional.ts'
import { discard, finishRemoval, finishRemovals } from './removal.ts'
import * as store from './store.ts'
import type { ConnectionRef, ConnectionRow, HistoryFacts } from './store.ts'
import { recordBreakdown, recordFault, toRemark, type Failure, type StandingDeps } from './standing.ts'
import { checkRights, verifyConnection, type GateDeps } from './verify.ts'
import { openConnection, type Ask, type OpenDeps, type OpenedConnection } from './open.ts'
import { toSignInUrl } from './sign-in-url.ts'

export type { AddResult } from './add.ts'
export type { Ask, OpenedConnection } from './open.ts'
export { checkSeals, resealCredentials } from './reseal.ts'
export type { SealedCredentials } from './seal.ts'
export type { ConnectionRef, ConnectionRow } from './store.ts'
export { toRefusedItem } from './verify.ts'

export interface Connections extends Provisional {
  add(owner: Owner, request: NewConnection): Promise<AddResult>
  /** Where a person signs in at the provider; refuses one that is not connected that way. */
  toSignInUrl(providerId: string, request: { redirectUri: string; state: string; codeChallenge: string }): string
  find(ref: ConnectionRef): Promise<ConnectionRow | undefined>
  list(
    owner: Owner,
    page: { limit: number; after: { addedAt: string; id: string } | undefined },
  ): Promise<ConnectionRow[]>
  /** The ids removed, with their keys and data destroyed; refuses when there is nothing to remove. */
  remove(owner: Owner, which: { connectionId?: string; providerId?: string }): Promise<string[]>
  /** One item for each connection whose data is stale or still being read. */
  listRemarks(owner: Owner): Promise<ErrorItem[]>
  /** The same for several users of a tenant. */
  listRemarksOf(tenantId: string, userIds: readonly string[]): Promise<ErrorItem[]>
  /** The provider's own name; undefined when the catalogue does not have it. */
  findProviderName(providerId: string): string | undefined
  /** For the worker: the credentials opened, or undefined when the connection may not be read. */
  open(ref: ConnectionRef): Promise<OpenedConnection | undefined>
  /** Throws excess_permission or missing_permission when the key's rights are no longer those it was accepted with. */
  checkRights(ref: ConnectionRef, opened: OpenedConnection, ask: Ask): Promise<void>
  /** The user allowed somebody to read again: what is overdue is read now. */
  resumeReading(tx: Sql, owner: Owner): Promise<void>
  /** True when waiting may mend it; false when the owner has to act, or has acted already. */
  recordFault(ref: ConnectionRef, failure: Failure): Promise<boolean>
  /** Something of ours failed; false when there is nothing to read any more. */
  recordBreakdown(ref: ConnectionRef, nextTryInMs: number): Promise<boolean>
  /**
   * Everything was read. `nextSyncInMs` null leaves the next run where it is planned. False, with nothing recorded, when
   * the connection is not there any more or has another key since.
   */
  recordRead(
    tx: Sql,
    ref: ConnectionRef,
    facts: HistoryFacts & { keyLane: string; nextSyncInMs: number | null },
  ): Promise<boolean>
  /** A part was read, and shows already. */
  recordPart(ref: ConnectionRef, facts: HistoryFacts): Promise<void>
  /** Whether this is still its key; it stays so until `tx` ends. */
  hasKeyLane(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<boolean>
  /** The job that verifies a pending connection. */
  task: Task
  /** Upkeep: pending rows nobody waits for any more, and what sessions left behind. */
  sweep(): Promise<void>
  /** Upkeep: removals that nobody waited for, or whose process was killed. Bounded; call it again. */
  finishRemovals(): Promise<void>
}

export interface ConnectionsDeps extends OpenDeps, GateDeps, AddDeps, StandingDeps {
  /** The connection was verified: begin to read it. */
  onVerified(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<void>
  /** How long connections are kept that nobody may read any more. */
  forsakenAfterMs: number
}

/** In one round of upkeep; the rest waits a minute. */
const forsakenBatchSize = 100

const payloadSchema = z.object({ tenant_id: z.string(), user_id: z.string(), connection_id: z.string() })

export function createConnections(deps: ConnectionsDeps): Connections {
  const { db } = deps
  const sealer = createSealer(deps.keyring)
  const open = (ref: ConnectionRef): ReturnType<typeof openConnection> => openConnection(deps, db, sealer, ref)

  return {
    add: (owner, request) => addConnection(deps, sealer, owner, request),
    toSignInUrl: (providerId, request) => toSignInUrl(deps, providerId, request),
    find: (ref) => store.findConnection(db, ref),
    list: (owner, page) => store.listConnections(db, owner, page),

    async remove(owner, which) {
      const was = { served: true }
      const { ids, unfinished } = await db.transaction(async (tx) => {
        const ids = await store.lockForRemoval(tx, owner, which)
        if (ids.length === 0) throw new Refusal('not_found', 'No such connection.')
        const unfinished: ConnectionRef[] = []
        for (const ref of ids.map((connectionId) => ({ ...owner, connectionId }))) {
          if (!(await discard(deps, tx, ref, was))) unfinished.push(ref)
        }
        return { ids, unfinished }
      })
      for (const ref of unfinished) await finishRemoval(deps, ref, was)
      return ids
    },

    async listRemarks(owner) {
      const rows = await store.listUnsettled(db, owner.tenantId, [owner.userId])
      return rows.map((row) => toRemark(row, deps.now()))
    },
    async listRemarksOf(tenantId, userIds) {
      const rows = await store.listUnsettled(db, tenantId, userIds)
      return rows.map((row) => toRemark(row, deps.now()))
    },

    ...createProvisional(deps),
    findProviderName: (providerId) => findProvider(providerId)?.name,

    async open(ref) {
      const opened = await open(ref)
      if (opened?.allowed !== true || !['syncing', 'active', 'degraded'].includes(opened.status)) return undefined
      return opened
    },

    checkRights: (ref, opened, ask) => checkRights(deps, ref, opened, ask),

    async resumeReading(tx, owner) {
      for (const { id, key_lane: lane } of await store.listOverdue(tx, owner)) {
        await deps.onVerified(tx, { ...owner, connectionId: id }, lane)
      }
    },

    recordFault: (ref, failure) => recordFault(deps, ref, failure),
    recordBreakdown: (ref, nextTryInMs) => recordBreakdown(deps, ref, nextTryInMs),
    async recordRead(tx, ref, facts) {
      const recorded = await store.recordRead(tx, ref, facts)
      if (recorded?.isNews === true) await deps.onChanged(tx, ref, 'read')
      return recorded !== undefined
    },
    recordPart: (ref, facts) => store.recordPart(db, ref, facts),
    hasKeyLane: (tx, ref, keyLane) => store.hasKeyLane(tx, ref, keyLane),
    task(payload) {
      const { tenant_id: tenantId, user_id: userId, connection_id: connectionId } = payloadSchema.parse(payload)
      return verifyConnection(deps, db, open, { tenantId, userId, connectionId })
    },

    async sweep() {
      await store.deleteAbandonedPending(db)
      await discardLapsed(deps)
      for (const ref of await store.listForsaken(db, deps.forsakenAfterMs, forsakenBatchSize)) {
        await db.transaction((tx) => discard(deps, tx, ref, { served: true }))
      }
    },
    finishRemovals: () => finishRemovals(deps),
  }
}
