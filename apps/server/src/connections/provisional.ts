/**
 * Connections made in a connect session. They are verified and read like any other but belong to the session until its
 * code is redeemed; a session that is declined, lapses or is never redeemed takes them, their credentials and their
 * data with it. (Otherwise a link with somebody else's login would harvest a victim's keys.)
 */
import { Refusal } from '@assay/core'
import type { Database, Sql } from '../db/index.ts'
import { discard, type RemovalDeps } from './removal.ts'
import * as sessions from './session-store.ts'
import { settleSession, type ConnectionRef, type ConnectionRow } from './store.ts'

interface Owner {
  tenantId: string
  userId: string
}

export interface ProvisionalDeps extends RemovalDeps {
  db: Database
  /** For those who want to be told. */
  onChanged(tx: Sql, ref: ConnectionRef, change: 'read' | 'removed'): Promise<void>
}

export interface Provisional {
  /** Verified in this session and visible only there. */
  listInSession(owner: Owner, sessionId: string): Promise<ConnectionRow[]>
  removeInSession(owner: Owner, sessionId: string, connectionId: string): Promise<void>
  /** The session ends without a code: its connections, keys and data are destroyed. */
  discardSession(tx: Sql, owner: Owner, sessionId: string): Promise<void>
  /** Another session of the same user takes them over. */
  moveSession(tx: Sql, owner: Owner, from: string, to: string): Promise<void>
  /** The session's code was redeemed: its connections become the user's. */
  settleSession(tx: Sql, owner: Owner, sessionId: string): Promise<void>
  /** The user goes, with every connection, settled or not. */
  removeAll(tx: Sql, owner: Owner): Promise<void>
}

export function createProvisional(deps: ProvisionalDeps): Provisional {
  const { db } = deps
  return {
    listInSession: (owner, sessionId) => sessions.listInSession(db, owner, sessionId),

    removeInSession(owner, sessionId, connectionId) {
      return db.transaction(async (tx) => {
        const [found] = await sessions.lockInSession(tx, owner, sessionId, connectionId)
        if (found === undefined) throw new Refusal('not_found', 'No such connection in this session.')
        await discard(deps, tx, { ...owner, connectionId: found }, { served: false })
      })
    },

    discardSession: (tx, owner, sessionId) => discardSession(deps, tx, owner, sessionId),
    moveSession: (tx, owner, from, to) => sessions.moveSession(tx, owner, from, to),

    async settleSession(tx, owner, sessionId) {
      // Read while it was provisional, which nobody was told.
      for (const connectionId of await settleSession(tx, owner, sessionId)) {
        await deps.onChanged(tx, { ...owner, connectionId }, 'read')
      }
    },

    async removeAll(tx, owner) {
      for (const { id: connectionId, settled } of await sessions.lockAll(tx, owner)) {
        const ref = { ...owner, connectionId }
        // Not as served: the ids of what is gone would be kept under the name of a user who wants to be forgotten.
        await discard(deps, tx, ref, { served: false })
        if (settled) await deps.onChanged(tx, ref, 'removed')
      }
    },
  }
}

async function discardSession(deps: RemovalDeps, tx: Sql, owner: Owner, sessionId: string): Promise<void> {
  for (const connectionId of await sessions.lockInSession(tx, owner, sessionId)) {
    await discard(deps, tx, { ...owner, connectionId }, { served: false })
  }
}

const lapsedBatchSize = 100

/** One transaction for each session. */
export async function discardLapsed(deps: RemovalDeps & { db: Database }): Promise<void> {
  for (const { sessionId, ...owner } of await sessions.listLapsedSessions(deps.db, lapsedBatchSize)) {
    await deps.db.transaction((tx) => discardSession(deps, tx, owner, sessionId))
  }
}
