/**
 * A user's link to a provider: sealed credentials, states, the read-only gate.
 *
 *   pending ──verified──▶ syncing ──first full read──▶ active ⇄ degraded
 *      │                     └──────────┬──────────────────┘
 *   refused: row deleted          needs_reauth ──repaired──▶ syncing         removed: row deleted, from any
 *
 * A process that serves requests never talks to a provider: `add` stores the sealed credentials as pending, queues a
 * verification and waits for its verdict. Workers verify, one key at a time.
 */
import type { ErrorItem, Fault } from '@assay/core'
import { faults, Refusal } from '@assay/core'
import { findProvider } from '@assay/connectors/catalog'
import { z } from 'zod'
import type { Sql } from '../db/index.ts'
import type { Task } from '../jobs/index.ts'
import { addConnection, type AddDeps, type AddResult, type NewConnection, type Owner } from './add.ts'
import { createSealer } from './seal.ts'
import { createProvisional, discard, discardLapsed, type Provisional } from './provisional.ts'
import * as store from './store.ts'
import type { ConnectionRef, ConnectionRow } from './store.ts'
import { describeFault, describeWait } from './words.ts'
import { checkRights, verifyConnection, type GateDeps } from './verify.ts'
import { openConnection, type Ask, type OpenDeps, type OpenedConnection } from './open.ts'
import { toSignInUrl } from './sign-in-url.ts'

export type { AddResult } from './add.ts'
export type { Ask, OpenedConnection } from './open.ts'
export { checkSeals, resealCredentials } from './reseal.ts'
export type { SealedCredentials } from './seal.ts'
export type { ConnectionRef, ConnectionRow } from './store.ts'

export interface Wait {
  /** When the regular reading tries again. */
  nextTryInMs?: number | undefined
  /** Epoch ms: since when the provider has answered nobody. */
  sinceMs?: number | undefined
}

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
  /** True when waiting may mend it; false when the owner has to act. */
  recordFault(ref: ConnectionRef, providerId: string, fault: Fault, wait?: Wait): Promise<boolean>
  recordRead(
    tx: Sql,
    ref: ConnectionRef,
    /** `nextSyncInMs` null leaves the next run where it is planned. */
    facts: { historyFrom: string | null; transactionCount: number; nextSyncInMs: number | null },
  ): Promise<void>
  /** The job that verifies a pending connection. */
  task: Task
  /** Upkeep: pending rows nobody waits for any more, and what sessions left behind. */
  sweep(): Promise<void>
}

export interface ConnectionsDeps extends OpenDeps, GateDeps, AddDeps {
  /** The connection was verified: begin to read it. */
  onVerified(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<void>
  /** For those who want to be told. Removals are told by onRemoved. */
  onChanged(tx: Sql, ref: ConnectionRef, change: 'read' | 'needs_repair' | 'removed'): Promise<void>
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

    remove(owner, which) {
      return db.transaction(async (tx) => {
        const ids = await store.lockForRemoval(tx, owner, which)
        if (ids.length === 0) throw new Refusal('not_found', 'No such connection.')
        for (const connectionId of ids) {
          await discard(deps, tx, { ...owner, connectionId }, { served: true })
        }
        return ids
      })
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

    recordFault: (ref, providerId, fault, wait = {}) => recordFault(deps, ref, { providerId, fault, ...wait }),

    async recordRead(tx, ref, facts) {
      const { isNews } = await store.recordRead(tx, ref, facts)
      if (isNews) await deps.onChanged(tx, ref, 'read')
    },
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
  }
}

async function recordFault(
  deps: ConnectionsDeps,
  ref: ConnectionRef,
  { providerId, fault, nextTryInMs, sinceMs }: { providerId: string; fault: Fault } & Wait,
): Promise<boolean> {
  if (needsTheOwner(fault)) {
    // Providers say "unknown key" of one that has run out; they said before when it would.
    const expired = fault === 'invalid_credentials' && (await store.hasKeyExpired(deps.db, ref))
    const cause = expired ? 'key_expired' : fault
    const { message } = describeFault(cause, providerName(providerId))
    const from = ['syncing', 'active', 'degraded'] as const
    await deps.db.transaction(async (tx) => {
      const changed = await store.setStatus(tx, ref, { status: 'needs_reauth', from, cause, message })
      if (changed > 0) await deps.onChanged(tx, ref, 'needs_repair')
    })
    return false
  }
  const nextTryMs = nextTryInMs === undefined ? undefined : deps.now() + nextTryInMs
  const message = describeFault(fault, providerName(providerId)).message + describeWait({ sinceMs, nextTryMs })
  const to = { cause: fault, message, nextSyncInMs: nextTryInMs }
  // During the first read there is nothing to be degraded from: it stays `syncing`, with the cause beside it.
  await store.setStatus(deps.db, ref, { status: 'syncing', from: ['syncing'], ...to })
  await store.setStatus(deps.db, ref, { status: 'degraded', from: ['active', 'degraded'], ...to })
  return true
}

/** Faults that waiting does not mend. */
function needsTheOwner(fault: Fault): boolean {
  const owners: Record<Fault, boolean> = {
    invalid_credentials: true,
    missing_permission: true,
    excess_permission: true,
    ip_not_allowed: true,
    key_expired: true,
    needs_reauth: true,
    rate_limited: false,
    venue_down: false,
    clock_skew: false,
    data_hole: false,
  }
  return owners[fault]
}

function toRemark(row: ConnectionRow, nowMs: number): ErrorItem {
  const ids = { provider_id: row.provider_id, connection_id: row.id }
  const name = providerName(row.provider_id)
  const fault = faults.find((known) => known === row.status_cause)
  const waitMs = fault === undefined || row.next_sync_at === null ? 0 : Date.parse(row.next_sync_at) - nowMs
  const retry = waitMs > 0 ? { retry_after_seconds: Math.ceil(waitMs / 1000) } : {}
  if (row.status === 'syncing') {
    const message = [`The history at ${name} is still being read.`, row.status_message ?? ''].join(' ').trimEnd()
    return { cause: 'sync_in_progress', ...ids, message, ...retry }
  }
  const words = describeFault(fault ?? 'venue_down', name)
  return { cause: fault ?? 'venue_down', ...ids, ...words, message: row.status_message ?? words.message, ...retry }
}

function providerName(providerId: string): string {
  return findProvider(providerId)?.name ?? providerId
}
