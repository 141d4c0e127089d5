/** All SQL over grants, the end of everything that belongs to a user, and the sweep of this room's tables. */
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import type { PlatformScope } from '../tenants/index.ts'
import type { Consent } from './code-store.ts'
import { revokedFamilySeconds } from './lifetimes.ts'

export interface Grant {
  grantId: string
  clientId: string
  clientName: string
  scopes: PlatformScope[]
  grantedAt: string
  expiresAt: string
}

export interface EndedGrant extends Grant {
  endedAt: string
  /** It was ended before it expired. */
  wasRevoked: boolean
}

const grantColumns = `grants.id as "grantId", grants.client_id as "clientId", clients.name as "clientName",
  grants.expires_at as "expiresAt"`

/**
 * Those in force, at most one for each client of the tenant, with every scope that the client can use and since when it
 * could use any. An older token keeps its scopes after a narrower consent: those of the newest consent alone would hide
 * what the client can do.
 */
export async function listGrants(sql: Sql, userKey: string): Promise<Grant[]> {
  return sql.rows<Grant>(
    `select ${grantColumns}, grants.scopes || live.more_scopes as scopes,
            least(grants.granted_at, live.since) as "grantedAt"
     from grants
     join clients on clients.id = grants.client_id
     cross join lateral (
       select array_agg(distinct scope order by scope) filter (where scope <> all (grants.scopes)) as more_scopes,
              min(family.created_at) as since
       from token_families family, unnest(family.scopes) scope
       where family.user_key = $1 and family.client_id = grants.client_id
         and family.revoked_at is null and family.expires_at > $2::timestamptz) live
     where grants.user_key = $1 and grants.revoked_at is null and grants.expires_at > $2::timestamptz
     order by grants.granted_at desc, grants.id`,
    [userKey, sql.now()],
  )
}

/** The one that ended last first, at most one for each client of the tenant. */
export async function listEndedGrants(sql: Sql, userKey: string): Promise<EndedGrant[]> {
  return sql.rows<EndedGrant>(
    `select ${grantColumns}, grants.scopes, grants.granted_at as "grantedAt",
            least(grants.revoked_at, grants.expires_at) as "endedAt",
            grants.revoked_at is not null as "wasRevoked"
     from grants
     join clients on clients.id = grants.client_id
     where grants.user_key = $1 and (grants.revoked_at is not null or grants.expires_at <= $2::timestamptz)
     order by least(grants.revoked_at, grants.expires_at) desc, grants.id`,
    [userKey, sql.now()],
  )
}

/**
 * What ends grants of a user holds this lock alone; what lets a session in because of a live grant shares it. So such a
 * session has either begun, and is ended with the grant, or finds no grant. Locks of rows do not suffice: a session could
 * begin and be finished after the others were ended, and before the grant is.
 */
const endingLock = `hashtextextended('grants of user ' || $1::text, 0)`

/** Taken before anything else is ended. */
export async function lockEnding(tx: Sql, userKey: string): Promise<void> {
  await tx.execute(`select pg_advisory_xact_lock(${endingLock})`, [userKey])
}

/** What the user has agreed to with a client. Its grant then does not end before the transaction does. */
export async function holdConsent(
  tx: Sql,
  userKey: string,
  clientId: string,
): Promise<{ consent: Consent; scopes: PlatformScope[]; expiresAt: string } | undefined> {
  await tx.execute(`select pg_advisory_xact_lock_shared(${endingLock})`, [userKey])
  return tx.maybeRow(
    `select consent, scopes, expires_at as "expiresAt" from grants
     where user_key = $1 and client_id = $2 and revoked_at is null and expires_at > $3::timestamptz`,
    [userKey, clientId, tx.now()],
  )
}

/** False when the user has no live grant to this client. */
export async function revokeGrant(tx: Sql, userKey: string, clientId: string): Promise<boolean> {
  // Codes first: one that is being redeemed is waited for, and its family is then among those that end below.
  await tx.execute('delete from authorization_codes where user_key = $1 and client_id = $2', [userKey, clientId])
  const ended = await tx.execute(
    `update grants set revoked_at = $3::timestamptz
     where user_key = $1 and client_id = $2 and revoked_at is null and expires_at > $3::timestamptz`,
    [userKey, clientId, tx.now()],
  )
  if (ended === 0) return false
  await tx.execute(
    `update token_families set revoked_at = $3::timestamptz, revoked_for = 'grant_ended'
     where user_key = $1 and client_id = $2 and revoked_at is null`,
    [userKey, clientId, tx.now()],
  )
  return true
}

/** Those that ended. */
export async function revokeGrants(tx: Sql, userKey: string): Promise<Pick<Grant, 'grantId' | 'clientId'>[]> {
  const ended: Pick<Grant, 'grantId' | 'clientId'>[] = []
  await lockGrants(tx, userKey)
  for (const { grantId, clientId } of await listGrants(tx, userKey)) {
    if (await revokeGrant(tx, userKey, clientId)) ended.push({ grantId, clientId })
  }
  return ended
}

/**
 * Users with a grant that ended before then and that `markLapseSeen` has not seen. A partial index holds only those.
 */
export async function listLapsed(sql: Sql, before: string, limit: number): Promise<Owner[]> {
  return sql.rows<Owner>(
    `select distinct tenant_key as "tenantKey", tenant_id as "tenantId", user_key as "userKey", user_id as "userId"
     from (
       select tenant_key, tenant_id, user_key, user_id from grants
       where not lapse_seen and least(revoked_at, expires_at) < $1::timestamptz
       order by least(revoked_at, expires_at) limit $2) ended`,
    [before, limit],
  )
}

/** True when all of the user's grants ended before then. A new consent clears the mark. */
export async function markLapseSeen(tx: Sql, userKey: string, before: string): Promise<boolean> {
  const marked = await tx.execute(
    `update grants set lapse_seen = true
     where user_key = $1 and not lapse_seen and least(revoked_at, expires_at) < $2::timestamptz`,
    [userKey, before],
  )
  if (marked === 0) return false
  const later = await tx.maybeRow(
    'select from grants where user_key = $1 and least(revoked_at, expires_at) >= $2::timestamptz limit 1',
    [userKey, before],
  )
  return later === undefined
}

/** Everything that ends takes its locks in one order: codes, grants, families. Two ends then never wait in a circle. */
export async function lockGrants(tx: Sql, userKey: string): Promise<void> {
  for (const [table, key] of [
    ['authorization_codes', 'code_hash'],
    ['grants', 'id'],
  ] as const) {
    await tx.rows(`select from ${table} where user_key = $1 order by ${key} for update`, [userKey])
  }
}

/** Access tokens need no deleting: without its family a token is refused, and its row lives fifteen minutes. */
export async function deleteUser(tx: Sql, userKey: string): Promise<void> {
  await lockGrants(tx, userKey)
  for (const table of ['authorization_codes', 'grants', 'token_families']) {
    await tx.execute(`delete from ${table} where user_key = $1`, [userKey])
  }
}

/**
 * Rows that no answer depends on anymore, at most `batchSize` of each table. Not in one transaction, which would keep
 * the locks of one table while it waits for those of the next. A lock that skips what others hold would need one shard,
 * and these rows are on all of them.
 */
export async function deleteExpired(sql: Sql, batchSize: number): Promise<number> {
  let deleted = 0
  for (const [table, key] of [
    ['authorization_codes', 'user_key, code_hash'],
    ['access_tokens', 'user_key, token_hash'],
    ['client_tokens', 'token_hash'],
    ['token_families', 'user_key, id'],
  ] as const) {
    deleted += await sql.execute(
      `delete from ${table} where (${key}) in (
         select ${key} from ${table} where expires_at <= $2::timestamptz limit $1)`,
      [batchSize, sql.now()],
    )
  }
  const revoked = await sql.execute(
    `delete from token_families where (user_key, id) in (
       select user_key, id from token_families
       where revoked_at <= $2::timestamptz - make_interval(secs => ${revokedFamilySeconds})
       limit $1)`,
    [batchSize, sql.now()],
  )
  return deleted + revoked
}
