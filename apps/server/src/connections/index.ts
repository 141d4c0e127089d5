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
import { faults, invalidParameter, newId, Refusal } from '@assay/core'
import { findProvider } from '@assay/connectors/catalog'
import type { ProviderMetadata } from '@assay/connectors'
import { createHmac } from 'node:crypto'
import { z } from 'zod'
import type { Database, Sql } from '../db/index.ts'
import { addJob, type Task } from '../jobs/index.ts'
import type { Keyring } from '../keys.ts'
import { createSealer, type SealedCredentials } from './seal.ts'
import { discard, discardLapsed, discardSession, removeInSession } from './provisional.ts'
import * as sessions from './session-store.ts'
import * as store from './store.ts'
import type { ConnectionRef, ConnectionRow } from './store.ts'
import { describeFault } from './words.ts'
import { checkRights, verifyConnection, verifyTimeoutMs, type GateDeps } from './verify.ts'
import { openConnection, type OpenDeps, type OpenedConnection } from './open.ts'

export type { OpenedConnection } from './open.ts'
export { checkSeals, resealCredentials } from './reseal.ts'
export type { SealedCredentials } from './seal.ts'
export type { ConnectionRef, ConnectionRow } from './store.ts'

export interface Owner {
  tenantId: string
  userId: string
}

export interface NewConnection {
  providerId: string
  displayLabel: string | null
  credentials: SealedCredentials
  /** Made inside a connect session: provisional until its code is redeemed. */
  sessionId: string | null
  /** The settled connection of this user whose credentials these are to replace. */
  repairOf?: string
}

export interface AddResult {
  added: boolean
  connectionId: string | null
  providerId: string
  displayLabel: string | null
  status: 'syncing' | 'active' | 'degraded' | 'needs_reauth' | null
  errors: ErrorItem[]
}

export interface Connections {
  add(owner: Owner, request: NewConnection): Promise<AddResult>
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
  /** Verified in this session and visible only there. */
  listInSession(owner: Owner, sessionId: string): Promise<ConnectionRow[]>
  removeInSession(owner: Owner, sessionId: string, connectionId: string): Promise<void>
  /** The session ends without a code: its connections, keys and data are destroyed. */
  discardSession(tx: Sql, owner: Owner, sessionId: string): Promise<void>
  /** Another session of the same user takes them over. */
  moveSession(tx: Sql, owner: Owner, from: string, to: string): Promise<void>
  /** The user goes, with every connection. */
  removeAll(tx: Sql, owner: Owner): Promise<void>
  /** The provider's own name; undefined when the catalogue does not have it. */
  findProviderName(providerId: string): string | undefined
  /** The session's code was redeemed: its connections become the user's. */
  settleSession(tx: Sql, owner: Owner, sessionId: string): Promise<void>
  /** For the worker: the credentials opened, or undefined when the connection may not be read. */
  open(ref: ConnectionRef): Promise<OpenedConnection | undefined>
  /** Throws excess_permission or missing_permission when the key's rights are no longer those it was accepted with. */
  checkRights(opened: OpenedConnection): Promise<void>
  /** The user allowed somebody to read again: what is overdue is read now. */
  resumeReading(tx: Sql, owner: Owner): Promise<void>
  /** True when waiting may mend it; false when the owner has to act. */
  recordFault(ref: ConnectionRef, providerId: string, fault: Fault): Promise<boolean>
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

export interface ConnectionsDeps extends OpenDeps, GateDeps {
  db: Database
  keyring: Keyring
  /** The connection was verified: begin to read it. */
  onVerified(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<void>
  /** For those who want to be told. Removals are told by onRemoved. */
  onChanged(tx: Sql, ref: ConnectionRef, change: 'read' | 'needs_repair'): Promise<void>
  /** How long connections are kept that nobody may read any more. */
  forsakenAfterMs: number
  /** How long `add` waits for a worker; half a minute unless told. */
  verdictTimeoutMs?: number
}

/** In one round of upkeep; the rest waits a minute. */
const forsakenBatchSize = 100

const payloadSchema = z.object({ tenant_id: z.string(), user_id: z.string(), connection_id: z.string() })

export function createConnections(deps: ConnectionsDeps): Connections {
  const { db } = deps
  const sealer = createSealer(deps.keyring)
  const open = (ref: ConnectionRef): ReturnType<typeof openConnection> => openConnection(deps, db, sealer, ref)

  return {
    add: (owner, request) => add(deps, sealer, owner, request),
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
      return rows.map(toRemark)
    },
    async listRemarksOf(tenantId, userIds) {
      const rows = await store.listUnsettled(db, tenantId, userIds)
      return rows.map(toRemark)
    },

    listInSession: (owner, sessionId) => sessions.listInSession(db, owner, sessionId),
    removeInSession: (owner, sessionId, connectionId) => removeInSession(deps, owner, sessionId, connectionId),
    discardSession: (tx, owner, sessionId) => discardSession(deps, tx, owner, sessionId),
    async moveSession(tx, owner, from, to) {
      await sessions.moveSession(tx, owner, from, to)
    },
    async removeAll(tx, owner) {
      for (const connectionId of await sessions.lockAll(tx, owner)) {
        await discard(deps, tx, { ...owner, connectionId }, { served: false })
      }
    },
    findProviderName: (providerId) => findProvider(providerId)?.name,
    async settleSession(tx, owner, sessionId) {
      // Read while it was provisional, which nobody was told.
      for (const connectionId of await store.settleSession(tx, owner, sessionId)) {
        await deps.onChanged(tx, { ...owner, connectionId }, 'read')
      }
    },

    async open(ref) {
      const opened = await open(ref)
      if (opened?.allowed !== true || !['syncing', 'active', 'degraded'].includes(opened.status)) return undefined
      return opened
    },

    checkRights: (opened) => checkRights(deps, opened),

    async resumeReading(tx, owner) {
      for (const { id, key_lane: lane } of await store.listOverdue(tx, owner)) {
        await deps.onVerified(tx, { ...owner, connectionId: id }, lane)
      }
    },

    async recordFault(ref, providerId, fault) {
      const message = describeFault(fault, providerName(providerId)).message
      if (needsTheOwner(fault)) {
        const from = ['syncing', 'active', 'degraded'] as const
        await db.transaction(async (tx) => {
          const changed = await store.setStatus(tx, ref, { status: 'needs_reauth', from, cause: fault, message })
          if (changed > 0) await deps.onChanged(tx, ref, 'needs_repair')
        })
        return false
      }
      // During the first read there is nothing to be degraded from: it stays `syncing`, with the cause beside it.
      await store.setStatus(db, ref, { status: 'syncing', from: ['syncing'], cause: fault, message })
      await store.setStatus(db, ref, { status: 'degraded', from: ['active', 'degraded'], cause: fault, message })
      return true
    },

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

async function add(
  deps: ConnectionsDeps,
  sealer: ReturnType<typeof createSealer>,
  owner: Owner,
  request: NewConnection,
): Promise<AddResult> {
  const provider = getProvider(request.providerId)
  const type = request.credentials.type
  if (!provider.connection_types.includes(type)) {
    throw new Refusal('invalid_request', `${provider.name} cannot be connected by ${type}.`, {
      items: [
        {
          cause: 'unsupported_connection_type',
          parameter: 'connection.type',
          provider_id: provider.provider_id,
          message: `must be ${provider.connection_types.join(' or ')} for ${provider.name}, got ${type}`,
        },
      ],
    })
  }
  checkFields(provider, request.credentials)
  const { repairOf } = request
  if (repairOf !== undefined) await checkRepair(deps.db, { ...owner, connectionId: repairOf }, provider)

  const ref: ConnectionRef = { ...owner, connectionId: newId('con') }
  const keyLane = toKeyLane(deps.keyring, provider.provider_id, request.credentials)
  const sealedCredentials = await sealer.seal(repairOf ?? ref.connectionId, request.credentials)
  await deps.db.transaction(async (tx) => {
    const { displayLabel, sessionId } = request
    const row = {
      providerId: provider.provider_id,
      connectionType: type,
      displayLabel,
      sealedCredentials,
      keyLane,
      sessionId,
      repairOf: repairOf ?? null,
    }
    await store.insertPending(tx, ref, row)
    const payload = { tenant_id: ref.tenantId, user_id: ref.userId, connection_id: ref.connectionId }
    await addJob(tx, { task: 'verify', payload, key: `verify:${ref.connectionId}`, lane: keyLane, interactive: true })
  })

  await waitForVerdict(deps, ref)
  const verdict = await store.takeVerdict(deps.db, ref)
  const errors = verdict?.errors ?? [toUnheard(provider)]
  const common = { providerId: provider.provider_id, displayLabel: request.displayLabel, errors }
  if (verdict === undefined || verdict.connection_id === null)
    return { ...common, added: false, connectionId: null, status: null }
  const { added, connection_id: connectionId } = verdict
  const current =
    added && repairOf === undefined ? undefined : await store.findConnection(deps.db, { ...owner, connectionId })
  const status = current?.status
  return {
    ...common,
    added,
    connectionId,
    status: status === undefined || status === 'pending' || status === 'removed' ? 'syncing' : status,
  }
}

const verdictPollMs = 25

/** Short polling: it needs no connection of its own and works through every pooler. */
async function waitForVerdict(
  { db, verdictTimeoutMs = verifyTimeoutMs }: ConnectionsDeps,
  ref: ConnectionRef,
): Promise<void> {
  const deadline = performance.now() + verdictTimeoutMs
  while (performance.now() < deadline && !(await store.hasVerdict(db, ref))) {
    await new Promise((resolve) => setTimeout(resolve, verdictPollMs))
  }
}

/** No worker came to it: our failing, and nothing is known of the provider or the key. */
function toUnheard(provider: ProviderMetadata): ErrorItem {
  const message = `The key could not be checked in time. Nothing was stored.`
  return { cause: 'internal', provider_id: provider.provider_id, message, fix: 'Try again in a few minutes.' }
}

async function checkRepair(db: Database, ref: ConnectionRef, provider: ProviderMetadata): Promise<void> {
  const target = await store.findConnection(db, ref)
  if (target === undefined) throw new Refusal('not_found', 'No such connection.')
  if (target.provider_id !== provider.provider_id) {
    throw invalidParameter('provider_id', 'must be the provider of the connection that is repaired')
  }
}

function getProvider(providerId: string): ProviderMetadata {
  const provider = findProvider(providerId)
  if (provider === undefined) {
    throw new Refusal('invalid_request', `There is no provider ${JSON.stringify(providerId)}.`, {
      items: [
        { cause: 'unknown_provider', parameter: 'provider_id', message: 'must be an id of the provider catalogue' },
      ],
    })
  }
  return provider
}

function checkFields(provider: ProviderMetadata, credentials: SealedCredentials): void {
  const given: Record<string, string | undefined> = {
    api_key: credentials.apiKey,
    secret_key: credentials.secretKey,
    passphrase: credentials.passphrase,
  }
  for (const field of provider.credential_fields) {
    if (field.required && (given[field.name] ?? '') === '') {
      throw invalidParameter(`connection.${field.name}`, `is required for ${provider.name}`)
    }
  }
}

/** A lane outlives a rotation of the ring only for connections that exist; two lanes of one key then meet again at repair. */
function toKeyLane(keyring: Keyring, providerId: string, credentials: SealedCredentials): string {
  const [key] = keyring.derive('lane')
  if (key === undefined) throw new Error('the keyring is empty')
  return createHmac('sha256', key).update(`${providerId}\n${credentials.apiKey}`).digest('hex').slice(0, 32)
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

function toRemark(row: ConnectionRow): ErrorItem {
  const ids = { provider_id: row.provider_id, connection_id: row.id }
  if (row.status === 'syncing') {
    return {
      cause: 'sync_in_progress',
      ...ids,
      message: `The history at ${providerName(row.provider_id)} is still being read.`,
    }
  }
  const fault = faults.find((known) => known === row.status_cause) ?? 'venue_down'
  return { cause: fault, ...ids, ...describeFault(fault, providerName(row.provider_id)) }
}

function providerName(providerId: string): string {
  return findProvider(providerId)?.name ?? providerId
}
