/**
 * Connections made in a connect session. They are verified and read like any other but belong to the session until its
 * code is redeemed; a session that is declined, lapses or is never redeemed takes them, their credentials and their
 * data with it. (Otherwise an attacker could send a victim a link that carries the attacker's login, and harvest keys.)
 */
import { notFound } from '@assay/core'
import type { Database, Sql } from '../../db/index.ts'
import { noteUser } from '../../notices.ts'
import type { ConnectionRef, Owner } from '../../owner.ts'
import { deleteLedger, forgetHidden, lockAll, lockLedger } from '../removal-store.ts'
import { discard, type RemovalDeps } from '../removal.ts'
import { disownChecks } from './pending-store.ts'
import * as sessions from './session-store.ts'
import { resumeOverdue, type ConnectionRow } from '../store.ts'

export interface ProvisionalDeps extends RemovalDeps {
  db: Database
  /** For the webhook. */
  onChanged(tx: Sql, ref: ConnectionRef, change: 'read' | 'needs_reauth' | 'removed'): Promise<void>
  /** The connection has to be read now. */
  onReadable(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<void>
  /** The user is deleted: forgets the ids of transactions that are gone (ledger). */
  forgetRemoved(tx: Sql, userKey: string): Promise<void>
  /** Applications see it from now on. */
  onShown(tx: Sql, ref: ConnectionRef): Promise<void>
}

export interface Provisional {
  /** Verified in this session and visible only there. */
  listInSession(owner: Owner, connectSessionId: string): Promise<ConnectionRow[]>
  removeInSession(owner: Owner, connectSessionId: string, connectionId: string): Promise<void>
  /** The session ends without a code: its connections, keys and data are destroyed. */
  discardSession(tx: Sql, owner: Owner, connectSessionId: string): Promise<void>
  /** Another session of the same user takes them over. */
  moveSession(tx: Sql, owner: Owner, from: string, to: string): Promise<void>
  /**
   * The session's code was redeemed: its connections become the user's, and those of the user that are overdue, or were
   * paused for lack of a grant, are read now. True when the session had connections.
   */
  settleSession(tx: Sql, owner: Owner, connectSessionId: string): Promise<boolean>
  /** The user is deleted: removes every connection, settled or not. */
  removeAll(tx: Sql, owner: Owner): Promise<void>
}

export function createProvisional(deps: ProvisionalDeps): Provisional {
  const { db } = deps
  return {
    listInSession: (owner, connectSessionId) => sessions.listInSession(db, owner, connectSessionId),

    removeInSession(owner, connectSessionId, connectionId) {
      return db.transaction(async (tx) => {
        const [found] = await sessions.lockInSession(tx, owner, connectSessionId, connectionId)
        if (found === undefined) throw notFound('connection_of_session')
        await discard(deps, tx, found, { isShown: false, by: { actor: 'user' } })
      })
    },

    discardSession: (tx, owner, connectSessionId) => discardSession(deps, tx, owner, connectSessionId),
    moveSession: (tx, owner, from, to) => sessions.moveSession(tx, owner, from, to),
    settleSession: (tx, owner, connectSessionId) => settleSession(deps, tx, owner, connectSessionId),

    async removeAll(tx, owner) {
      await removeEach(deps, tx, owner)
      // Waits for an account that is being added at this moment, and is then among those that go. This must come after
      // the others, because their writers lock the connection first and then the ledger.
      await lockLedger(tx, owner)
      await removeEach(deps, tx, owner)
      await forgetHidden(tx, owner)
      await deps.forgetRemoved(tx, owner.userKey)
      await deleteLedger(tx, owner)
      await disownChecks(tx, owner)
    },
  }
}

async function removeEach(deps: ProvisionalDeps, tx: Sql, owner: Owner): Promise<void> {
  for (const { isShown, ...ref } of await lockAll(tx, owner)) {
    // Removed as if it had never been shown: otherwise the ids of its transactions would be kept under the key of a
    // user who wants to be forgotten.
    await discard(deps, tx, ref, { isShown: false, by: { actor: 'user' } })
    if (isShown) await deps.onChanged(tx, ref, 'removed')
  }
}

/**
 * Showing a connection takes one number in the user's feed of changes, however long its history is. Rows are locked
 * before the number is taken, as every writer of transactions does (ledger/locks-store.ts).
 */
async function settleSession(deps: ProvisionalDeps, tx: Sql, owner: Owner, connectSessionId: string): Promise<boolean> {
  for (const { keyLane, ...ref } of await resumeOverdue(tx, owner)) await deps.onReadable(tx, ref, keyLane)
  const found = await sessions.lockInSession(tx, owner, connectSessionId)
  const verified = found.filter(({ status }) => status !== 'pending')
  const numbers = verified.length === 0 ? undefined : await deps.takeChangeNumbers(tx, owner.userKey, verified.length)
  for (const ref of found) {
    const place = verified.indexOf(ref)
    const isShown = numbers !== undefined && place >= 0
    const seq = isShown ? String(BigInt(numbers.first) + BigInt(place)) : ''
    await sessions.settle(tx, ref, isShown ? { seq, at: numbers.updatedAt } : null)
    if (isShown) await deps.onShown(tx, ref)
    // It was read, or its key was refused, while it was provisional: no webhook has reported that yet.
    if (ref.status === 'active') await deps.onChanged(tx, ref, 'read')
    if (ref.status === 'needs_reauth') await deps.onChanged(tx, ref, 'needs_reauth')
  }
  if (verified.length > 0) await noteUser(tx, owner)
  return found.length > 0
}

async function discardSession(deps: RemovalDeps, tx: Sql, owner: Owner, connectSessionId: string): Promise<void> {
  for (const ref of await sessions.lockInSession(tx, owner, connectSessionId)) {
    await discard(deps, tx, ref, { isShown: false })
  }
}

const lapsedBatchSize = 100

/** All of them, in one transaction for each session: their keys are to be gone within a minute, however many lapse. */
export async function discardLapsed(deps: RemovalDeps & { db: Database }): Promise<void> {
  for (;;) {
    const lapsed = await sessions.listLapsedSessions(deps.db, lapsedBatchSize)
    for (const { connectSessionId, ...owner } of lapsed) {
      await deps.db.transaction((tx) => discardSession(deps, tx, owner, connectSessionId))
    }
    if (lapsed.length < lapsedBatchSize) return
  }
}
