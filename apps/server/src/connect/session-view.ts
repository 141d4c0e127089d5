/** A session as its browser sees it: where it stands, what exists already, and how reading goes. */
import type { ConnectionRow, Connections } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import type { Client, Tenants } from '../tenants/index.ts'
import { listProgress, type ConnectProgress } from './progress-store.ts'
import { connectionsMax, sharesEmail, stepOf, toGrantEnd, type SessionStep } from './sessions.ts'
import type { ConnectSession } from './store.ts'
import * as store from './store.ts'

export interface SessionView {
  session: ConnectSession
  step: SessionStep
  client: Client
  tenantName: string
  grantExpiresAt: string
  /** The tenant will see the user's email address. */
  sharesEmail: boolean
  /** The connection to repair; null if it does not belong to this user. */
  connectionId: string | null
  /** A repair was requested, but not by the user who signed in. */
  isRepairRefused: boolean
  user: { email: string | null } | null
  existing: ConnectionRow[]
  unfinished: { sessionId: string; startedAt: string; connectionCount: number } | null
  connections: (ConnectionRow & { progress: ConnectProgress })[]
}

export interface ViewDeps {
  db: Sql
  tenants: Tenants
  connections: Connections
}

/** One statement after another: a caller’s turns bound how many connections it has only where each takes one. */
export async function describeSession(deps: ViewDeps, session: ConnectSession): Promise<SessionView> {
  const { tenants } = deps
  const { owner } = session
  const client = await tenants.getClient(session.clientId)
  const tenant = await tenants.findTenant(session.tenantId)
  const own = owner === null ? undefined : await describeUser(deps, session, owner)
  const repairable = own === undefined || own.existing.some(({ id }) => id === session.connectionId)
  return {
    session,
    step: stepOf(session),
    client,
    tenantName: tenant?.name ?? '',
    grantExpiresAt: toGrantEnd(session),
    sharesEmail: sharesEmail(session),
    connectionId: repairable ? session.connectionId : null,
    isRepairRefused: session.connectionId !== null && !repairable,
    ...(own ?? { user: null, existing: [], unfinished: null, connections: [] }),
  }
}

type UserView = Pick<SessionView, 'user' | 'existing' | 'unfinished' | 'connections'>

async function describeUser(deps: ViewDeps, session: ConnectSession, owner: Owner): Promise<UserView> {
  const email = await deps.tenants.findEmail(owner)
  const existing = await deps.connections.list(owner, { limit: connectionsMax, after: undefined })
  const unfinished = await findUnfinished(deps, session, owner)
  // After the session has ended they belong to the user or are deleted.
  const rows = session.outcome === null ? await deps.connections.listInSession(owner, session.sessionId) : []
  const progress = await listProgress(deps.db, owner, rows)
  return { user: { email }, existing, unfinished, connections: progress }
}

async function findUnfinished(
  { db, connections }: ViewDeps,
  session: ConnectSession,
  owner: Owner,
): Promise<SessionView['unfinished']> {
  if (session.outcome !== null || session.signedInBy !== 'email_code') return null
  const found = await store.findUnfinished(db, session, owner)
  if (found === undefined) return null
  const { length } = await connections.listInSession(owner, found.sessionId)
  return length === 0 ? null : { ...found, connectionCount: length }
}
