/**
 * A user's own page (`{widget_url}/manage`): what is connected, who may read it and who did; revoke, remove, delete. It
 * has its own sign-in and secret, and ends when the user signs out, after a quarter of an hour without use, or after one
 * hour in total.
 */
import { randomUUID } from 'node:crypto'
import { notFound, Refusal } from '@assay/core'
import { listClaims, type MadeClaim } from '../../claims/index.ts'
import { recordAudit } from '../../audit.ts'
import { listAuditOfUser, type RepeatedEntry } from '../../audit-log/index.ts'
import type { ConnectionRow, Connections } from '../../connections/index.ts'
import type { Database } from '../../db/index.ts'
import { noteUser } from '../../notices.ts'
import type { EndedGrant, Grant, Oauth } from '../../oauth/index.ts'
import type { Owner } from '../../owner.ts'
import type { Client, Tenants } from '../../tenants/index.ts'
import { lockSessionsOf } from '../store.ts'
import * as store from './manage-store.ts'
import type { DataAccess, ManageSession } from './manage-store.ts'
import { hashBearer, hashSecret, newSecret, unknownSession } from '../secrets.ts'

export type { ManageSession } from './manage-store.ts'

export interface ManageDeps {
  db: Database
  oauth: Oauth
  tenants: Tenants
  connections: Connections
  randomBytes: (size: number) => Buffer
}

/** What an application learned under one grant. */
interface Learned {
  accesses: DataAccess[]
  claims: MadeClaim[]
}

/** Null: the grant expired. */
type Ender = 'user' | 'tenant' | null

export interface MyPage {
  email: string | null
  connections: ConnectionRow[]
  grants: (Grant & Learned)[]
  /** Those under which something was learned that is still kept. */
  endedGrants: (EndedGrant & Learned & { endedBy: Ender })[]
  /** What happened to the user's consents and connections, newest first. */
  events: (Pick<RepeatedEntry, 'actor' | 'action' | 'count' | 'lastAt'> & {
    clientName: string | null
    providerName: string | null
  })[]
  /** What the tenant read by its own access, by client. */
  tenantReads: { clientId: string; clientName: string; accesses: DataAccess[] }[]
}

const lifeSeconds = 3_600
const idleSeconds = 900
const connectionsMax = 500
/** About three months of an application that reads a few lists every hour. */
const accessesShownMax = 5_000
const claimsShownMax = 500

export async function beginManageSession(
  { db, tenants, randomBytes }: ManageDeps,
  clientId: string,
): Promise<{ secret: string; client: Client; tenantName: string }> {
  const client = await tenants.findClient(clientId)
  if (client === undefined || client.disabledAt !== null) {
    throw new Refusal('invalid_request', 'unknown client_id', {
      items: [{ cause: 'invalid_parameter', parameter: 'client_id', message: 'must be the id of a client' }],
    })
  }
  const secret = newSecret(randomBytes)
  await store.insertManageSession(db, {
    sessionId: randomUUID(),
    secretHash: hashSecret(secret),
    tenantKey: client.tenantKey,
    tenantId: client.tenantId,
    clientId,
    lifeSeconds,
  })
  const tenant = await tenants.findTenant(client.tenantId)
  return { secret, client, tenantName: tenant?.name ?? '' }
}

export async function authenticateManaging(db: Database, authorization: string | undefined): Promise<ManageSession> {
  const session = await store.touchManageSession(db, hashBearer(authorization), idleSeconds)
  if (session === undefined) throw unknownSession()
  return session
}

export async function signInToManage(
  { db, tenants }: ManageDeps,
  { sessionId, tenantKey, tenantId }: ManageSession,
  email: string,
): Promise<void> {
  const owner = await tenants.ensureUser({ tenantKey, tenantId, email })
  if (!(await store.setManageUser(db, sessionId, owner))) throw unknownSession()
}

/** Everything below needs a user. */
export function ownerOf({ owner }: ManageSession): Owner {
  if (owner === null) throw new Refusal('invalid_token', 'Sign in first.')
  return owner
}

/** One statement after another: a caller’s turns bound how many connections it has only where each takes one. */
export async function describeMe({ db, oauth, tenants, connections }: ManageDeps, owner: Owner): Promise<MyPage> {
  const email = await tenants.findEmail(owner)
  const rows = await connections.list(owner, { limit: connectionsMax, after: undefined })
  const grants = await oauth.listGrants(owner)
  const accesses = await store.listAccesses(db, owner, accessesShownMax)
  const claims = await listClaims(db, owner, claimsShownMax)
  // In this order, a grant that ends while the page is read is in one of the lists, and its end is among the entries.
  const endedGrants = await oauth.listEndedGrants(owner)
  const entries = await listAuditOfUser(db, owner)
  const byGrant = Map.groupBy(accesses, ({ grantId }) => grantId)
  const readers = [...byGrant.keys()].filter((id) => id.startsWith('cli_'))
  const nameOf = await findNames(tenants, [...entries.map(({ clientId }) => clientId), ...readers])
  const claimsByGrant = Map.groupBy(claims, ({ grantId }) => grantId)
  const addLearned = <T extends Grant>(grant: T): T & Learned => ({
    ...grant,
    accesses: byGrant.get(grant.grantId) ?? [],
    claims: claimsByGrant.get(grant.grantId) ?? [],
  })
  return {
    email,
    connections: rows,
    grants: grants.map(addLearned),
    // An organisation that reads must not be able to remove the traces from this page by ending the consent.
    endedGrants: endedGrants
      .map((grant) => ({ ...addLearned(grant), endedBy: findEnder(grant, entries) }))
      .filter((grant) => grant.accesses.length > 0 || grant.claims.length > 0),
    events: entries.map(({ actor, action, clientId, providerId, count, lastAt }) => ({
      ...{ actor, action, count, lastAt },
      clientName: clientId === null ? null : nameOf(clientId),
      providerName: providerId === null ? null : (connections.findProviderName(providerId) ?? providerId),
    })),
    tenantReads: readers.map((clientId) => ({
      clientId,
      clientName: nameOf(clientId),
      accesses: byGrant.get(clientId) ?? [],
    })),
  }
}

/** Every end of a grant before its time is in the audit log, whose newest entries come first. */
function findEnder({ clientId, wasRevoked }: EndedGrant, entries: readonly RepeatedEntry[]): Ender {
  if (!wasRevoked) return null
  const ends = entries.filter((entry) => entry.clientId === clientId)
  const newest = ends.find(({ action }) => action === 'grant.revoked' || action === 'grant.ended')
  return newest?.action === 'grant.revoked' ? 'user' : 'tenant'
}

/** Names of clients, each with one query. */
async function findNames(
  tenants: Tenants,
  clientIds: readonly (string | null)[],
): Promise<(clientId: string) => string> {
  const names = new Map<string, string>()
  for (const clientId of new Set(clientIds)) {
    const client = clientId === null ? undefined : await tenants.findClient(clientId)
    if (client !== undefined) names.set(client.clientId, client.name)
  }
  return (clientId) => names.get(clientId) ?? clientId
}

export async function revokeMyGrant({ oauth }: ManageDeps, owner: Owner, grantId: string): Promise<void> {
  if (!(await oauth.revokeGrant(owner, grantId))) throw notFound('consent')
}

/** One transaction: half a deletion would leave a person's data without a person who could ask for the rest. */
export async function deleteMe({ db, oauth, tenants, connections }: ManageDeps, owner: Owner): Promise<void> {
  await db.transaction(async (tx) => {
    // A session that finishes at this moment would otherwise leave a code behind, and with it a grant of no user.
    await lockSessionsOf(tx, owner)
    await oauth.lockUser(tx, owner)
    // Before the grants: they say whether the tenant could see a connection, and so whether it hears of the removal.
    await connections.removeAll(tx, owner)
    await oauth.deleteUser(tx, owner)
    await store.deleteAccesses(tx, owner)
    const { tenantId, userId } = owner
    await recordAudit(tx, { tenantId, userId, actor: 'user', action: 'user.deleted', subject: userId })
    // If the user has no connections, this notice is the only sign that the grants have ended.
    await noteUser(tx, owner)
    // Sessions go with the user, by reference. A second press of the button that waited for the first undoes itself,
    // so that the audit log has one deletion.
    if (!(await tenants.deleteUser(tx, owner))) throw unknownSession()
  })
}
