/**
 * Reading again on request. Balances and histories are refreshed separately, each at most once in 60 seconds for a
 * connection; the first read of a new connection does not count.
 *
 * A refresh has its own job, in the lane of the regular run, and does not change that run's schedule: an application
 * that refreshes balances every minute must not keep the history from being read.
 */
import { newId, notFound, Refusal, type Cause, type ErrorItem } from '@assay/core'
import type { Database, Sql } from '../../db/index.ts'
import { addJob, type PayloadOf } from '../../jobs/index.ts'
import type { Metering } from '../../metering/index.ts'
import type { Owner } from '../../owner.ts'
import * as store from './refresh-store.ts'
import type { RefreshableRow, RefreshedConnection, RefreshKind } from './refresh-store.ts'

export type { RefreshedConnection, RefreshKind } from './refresh-store.ts'

export interface Refresh {
  refreshId: string
  status: 'queued' | 'running' | 'succeeded' | 'partial' | 'failed'
  requestedAt: string
  connections: RefreshedConnection[]
}

export async function queueRefresh(sql: Sql, payload: PayloadOf<'refresh'>, delayMs: number): Promise<void> {
  await addJob(sql, 'refresh', payload, { delayMs })
}

/**
 * A person waits for so many of a user's refreshes in a minute; the others run in the background. A user may have
 * hundreds of connections, and jobs for which a person waits go before everything else: without this limit one user
 * would keep keys from being checked and all other connections from being read.
 */
const promptMax = 20

/**
 * Connections that the refreshes of a user may name in a minute: 500 for both kinds, twice. Each is kept for a week, and
 * a refresh that reads nothing begins no cool-down: without this limit an application would fill the disk with them.
 */
const namedMax = 2_000

interface RefreshDeps {
  db: Database
  metering: Pick<Metering, 'findCircuitOpen'>
}

/**
 * Refuses with not_found for an id that is not the owner's, and with rate_limited when every connection is cooling
 * down.
 */
export async function requestRefresh(
  { db, metering }: RefreshDeps,
  owner: Owner,
  kind: RefreshKind,
  connectionIds: readonly string[] | undefined,
): Promise<Refresh> {
  return db.transaction(async (tx) => {
    const rows = await store.listRefreshable(tx, owner, connectionIds)
    const known = new Set(rows.map(({ id }) => id))
    if (connectionIds?.some((id) => !known.has(id)) === true) throw notFound('connection')
    if ((await store.countNamed(tx, owner, namedMax)) >= namedMax) throw restlessRefusal()

    const connections: RefreshedConnection[] = []
    const cooling: ErrorItem[] = []
    let accepted = await store.countAccepted(tx, owner)
    for (const row of rows) {
      const inBackground = accepted >= promptMax
      const { outcome, waitSeconds } = await admit(metering, tx, owner, kind, { ...row, inBackground })
      connections.push(outcome)
      if (outcome.status === 'queued') accepted += 1
      if (waitSeconds > 0) cooling.push(toCoolingItem(outcome, waitSeconds))
    }
    // Thrown inside the transaction: a refusal leaves no trace.
    if (cooling.length > 0 && connections.every(({ status }) => status !== 'queued')) throw coolDownRefusal(cooling)
    const refreshId = newId('rfr')
    const keys = rows.map(({ connection_key }) => connection_key)
    const requestedAt = await store.insertRefresh(tx, owner, { id: refreshId, kind, keys, connections })
    return { refreshId, status: statusOf(connections), requestedAt, connections }
  })
}

async function admit(
  metering: RefreshDeps['metering'],
  tx: Sql,
  owner: Owner,
  kind: RefreshKind,
  row: RefreshableRow & { inBackground: boolean },
): Promise<{ outcome: RefreshedConnection; waitSeconds: number }> {
  const ids = { connection_id: row.id, provider_id: row.provider_id }
  if (row.status === 'needs_reauth') {
    const cause: Cause = row.status_cause ?? 'needs_reauth'
    return { outcome: { ...ids, status: 'failed', cause }, waitSeconds: 0 }
  }
  // The provider is known to be away, so the refresh fails at once and begins no cool-down.
  if ((await metering.findCircuitOpen(tx, row.provider_id)) !== undefined)
    return { outcome: { ...ids, status: 'failed', cause: 'venue_down' }, waitSeconds: 0 }
  const ref = { ...owner, connectionKey: row.connection_key, connectionId: row.id }
  const waitSeconds = await store.claimCoolDown(tx, ref, kind)
  if (waitSeconds > 0) return { outcome: { ...ids, status: 'cooling_down', cause: 'rate_limited' }, waitSeconds }
  const more = row.inBackground ? { inBackground: true } : {}
  await queueRefresh(tx, { ref, lane: row.key_lane, kind, attempt: 1, ...more }, 0)
  return { outcome: { ...ids, status: 'queued', cause: null }, waitSeconds: 0 }
}

export async function findRefresh(db: Database, owner: Owner, refreshId: string): Promise<Refresh | undefined> {
  const found = await store.findRefresh(db, owner, refreshId)
  return found && { refreshId, status: statusOf(found.connections), ...found }
}

/** The status of the whole refresh. Without a connection to read, it has succeeded. */
export function statusOf(connections: readonly Pick<RefreshedConnection, 'status'>[]): Refresh['status'] {
  const has = (...wanted: RefreshedConnection['status'][]): boolean =>
    connections.some(({ status }) => wanted.includes(status))
  if (has('running') || (has('queued') && has('succeeded'))) return 'running'
  if (has('queued')) return 'queued'
  if (!has('failed', 'cooling_down')) return 'succeeded'
  return has('succeeded') ? 'partial' : 'failed'
}

function toCoolingItem(ids: Pick<RefreshedConnection, 'connection_id' | 'provider_id'>, seconds: number): ErrorItem {
  const { connection_id, provider_id } = ids
  const message = `This connection was refreshed a moment ago and can be again in ${seconds} seconds.`
  return { cause: 'rate_limited', connection_id, provider_id, message, retry_after_seconds: seconds }
}

function restlessRefusal(): Refusal {
  const retryAfterSeconds = 60
  const message = `The refreshes of a user can name at most ${namedMax} connections in a minute.`
  const item: ErrorItem = { cause: 'rate_limited', message, retry_after_seconds: retryAfterSeconds }
  return new Refusal('rate_limited', message, { items: [item], retryAfterSeconds })
}

function coolDownRefusal(items: readonly ErrorItem[]): Refusal {
  const retryAfterSeconds = Math.min(...items.map((item) => item.retry_after_seconds ?? 1))
  return new Refusal('rate_limited', 'Every connection asked for was refreshed less than 60 seconds ago.', {
    items,
    retryAfterSeconds,
  })
}
