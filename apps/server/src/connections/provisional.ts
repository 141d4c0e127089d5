/**
 * Connections made in a connect session. They are verified and read like any other but belong to the session until its
 * code is redeemed; a session that is declined, lapses or is never redeemed takes them, their credentials and their
 * data with it. (Otherwise a link with somebody else's login would harvest a victim's keys.)
 */
import { Refusal } from '@assay/core'
import type { Database, Sql } from '../db/index.ts'
import * as sessions from './session-store.ts'
import { deleteConnection, type ConnectionRef } from './store.ts'

interface Owner {
  tenantId: string
  userId: string
}

export interface RemovalDeps {
  /**
   * The connection goes: destroy everything that was read through it. `served` is false when it was provisional: its
   * transactions were never shown to an application, so none has to hear that they are gone.
   */
  onRemoved(tx: Sql, ref: ConnectionRef, was: { served: boolean }): Promise<void>
}

export async function discard(deps: RemovalDeps, tx: Sql, ref: ConnectionRef, was: { served: boolean }): Promise<void> {
  await deps.onRemoved(tx, ref, was)
  await deleteConnection(tx, ref)
}

export async function removeInSession(
  deps: RemovalDeps & { db: Database },
  owner: Owner,
  sessionId: string,
  connectionId: string,
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const [found] = await sessions.lockInSession(tx, owner, sessionId, connectionId)
    if (found === undefined) throw new Refusal('not_found', 'No such connection in this session.')
    await discard(deps, tx, { ...owner, connectionId: found }, { served: false })
  })
}

export async function discardSession(deps: RemovalDeps, tx: Sql, owner: Owner, sessionId: string): Promise<void> {
  for (const connectionId of await sessions.lockInSession(tx, owner, sessionId)) {
    await discard(deps, tx, { ...owner, connectionId }, { served: false })
  }
}

const lapsedBatchSize = 100

/** One transaction for each session: a large history that is destroyed holds up only its own. */
export async function discardLapsed(deps: RemovalDeps & { db: Database }): Promise<void> {
  for (const { sessionId, ...owner } of await sessions.listLapsedSessions(deps.db, lapsedBatchSize)) {
    await deps.db.transaction((tx) => discardSession(deps, tx, owner, sessionId))
  }
}
