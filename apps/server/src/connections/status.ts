/**
 * The status of a connection after reading it: a status with a cause, and the issue that is served beside data that is
 * not complete.
 */
import { faults, type ErrorItem, type Fault } from '@assay/core'
import { findProvider } from '@assay/connectors/catalog'
import type { Database, Sql } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'
import type { IssueRow } from './store.ts'
import * as store from './store.ts'
import { describeBreakdown, describeFault, describeWait } from './words.ts'

export interface StatusDeps {
  db: Database
  now(): number
  /** For the webhook. Removals are announced by `onRemoved`. */
  onChanged(tx: Sql, ref: ConnectionRef, change: 'read' | 'needs_reauth' | 'removed'): Promise<void>
}

export interface Failure {
  providerId: string
  /** The key that was used: a failure of an old key does not concern a connection that was repaired since. */
  keyLane: string
  fault: Fault
  /** The parts of the account that it is about, by names that a person knows. */
  parts?: readonly string[]
  /** The balances were to be read, and could not be. */
  isOfBalances: boolean
  /** When the regular reading tries again. */
  nextTryInMs?: number | undefined
  /** Epoch ms: since when the provider has not answered any connection. */
  sinceMs?: number | undefined
}

const readable = ['syncing', 'active', 'degraded'] as const

/** True when the fault may pass by itself; false when the owner has to act, or has already acted. */
export async function recordFault(deps: StatusDeps, ref: ConnectionRef, failure: Failure): Promise<boolean> {
  const { providerId, keyLane, fault, parts, isOfBalances, nextTryInMs, sinceMs } = failure
  if (needsTheOwner(fault)) {
    // Providers answer "unknown key" for an expired key; we know its end from when it was verified.
    const expired = fault === 'invalid_credentials' && (await store.hasKeyExpired(deps.db, ref))
    const cause = expired ? 'key_expired' : fault
    const { message } = describeFault(cause, providerName(providerId))
    await deps.db.transaction(async (tx) => {
      const to = { status: 'needs_reauth', from: readable, keyLane, cause, message } as const
      const changed = await store.setStatus(tx, ref, to)
      // A connection that applications do not see yet is announced when its session is redeemed (provisional.ts).
      if (changed > 0 && (await store.isConnectionShown(tx, ref))) await deps.onChanged(tx, ref, 'needs_reauth')
    })
    return false
  }
  const nextTryMs = nextTryInMs === undefined ? undefined : deps.now() + nextTryInMs
  const { message: what } = describeFault(fault, providerName(providerId), parts)
  const message = what + describeWait({ sinceMs, nextTryMs })
  return setBack(deps.db, ref, { cause: fault, message, keyLane, isOfBalances, nextSyncInMs: nextTryInMs })
}

/**
 * Records a failure of ours or of the operator, such as a lost sealing key, and not of the provider. The next run begins
 * with the balances.
 */
export async function recordBreakdown(deps: StatusDeps, ref: ConnectionRef, nextTryInMs: number): Promise<boolean> {
  const message = describeBreakdown().message + describeWait({ nextTryMs: deps.now() + nextTryInMs })
  return setBack(deps.db, ref, { cause: 'internal', message, isOfBalances: true, nextSyncInMs: nextTryInMs })
}

/** A connection that was never fully read is not degraded: it stays `syncing`, with the cause beside it. */
async function setBack(
  db: Database,
  ref: ConnectionRef,
  to: Pick<store.NextStatus, 'cause' | 'message' | 'keyLane' | 'isOfBalances' | 'nextSyncInMs'>,
): Promise<boolean> {
  const first = await store.setStatus(db, ref, { status: 'syncing', from: ['syncing'], ...to })
  const later = await store.setStatus(db, ref, { status: 'degraded', from: ['active', 'degraded'], ...to })
  return first + later > 0
}

/** Faults that do not pass by themselves. */
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
    unreadable_answer: false,
    clock_skew: false,
    data_hole: false,
  }
  return owners[fault]
}

/** Pure: the item in `errors` for a connection that is still being read, or cannot be read now. */
export function toIssue(row: IssueRow, nowMs: number): ErrorItem {
  const ids = { provider_id: row.provider_id, connection_id: row.id }
  const name = providerName(row.provider_id)
  const fault = faults.find((known) => known === row.status_cause)
  const waitMs = row.status_cause === null || row.next_sync_at === null ? 0 : Date.parse(row.next_sync_at) - nowMs
  const retry = waitMs > 0 ? { retry_after_seconds: Math.ceil(waitMs / 1000) } : {}
  if (row.status === 'syncing') {
    const message = [`The history at ${name} is still being read.`, row.status_message ?? ''].join(' ').trimEnd()
    return { cause: 'sync_in_progress', ...ids, message, ...retry }
  }
  const words = fault === undefined ? describeBreakdown() : describeFault(fault, name)
  return { cause: fault ?? 'internal', ...ids, ...words, message: row.status_message ?? words.message, ...retry }
}

function providerName(providerId: string): string {
  return findProvider(providerId)?.name ?? providerId
}
