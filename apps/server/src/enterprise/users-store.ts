/** A tenant's users, their connections and positions, as far as live grants cover them. */
import type { Cause, Decimal } from '@assay/core'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import { covered, coveredRowByRow, isLive, type CoveredScope } from './grants.ts'

export interface UserRow {
  user_key: string
  user_id: string
  external_user_id: string | null
  email: string | null
  granted_at: string
  grant_expires_at: string
  scopes: string[]
  connection_count: number | null
}

export interface UserRequest {
  limit: number
  /** The last user of the page before. */
  after: string | undefined
  names?: { externalUserIds: readonly string[]; emails: readonly string[] } | undefined
}

type FoundUser = Pick<UserRow, 'user_key' | 'user_id' | 'external_user_id' | 'email'>

const found = `select user_key, id as user_id, external_user_id, email from tenant_users where tenant_key = $1::integer`

/**
 * Keeps the users whom a live grant covers, in the same order. A user has a grant for each client, and the tenant sees
 * what they cover together. `scopes` also names what older tokens of its applications can still do, as the user's own
 * page does; that opens nothing to the tenant itself. Grants, families and connections are where their users are, and
 * the directory is on every node.
 */
async function toCovered(sql: Sql, users: readonly FoundUser[]): Promise<UserRow[]> {
  if (users.length === 0) return []
  const keys = users.map((user) => user.user_key)
  const grants = await sql.rows<Pick<UserRow, 'user_key' | 'granted_at' | 'grant_expires_at'> & { scopes: string }>(
    `select user_key, min(granted_at) as granted_at, max(expires_at) as grant_expires_at,
       string_agg(array_to_string(scopes, ' '), ' ') as scopes
     from grant_terms g where user_key = any($1::bigint[]) and ${isLive('g', '$2')} group by user_key`,
    [keys, sql.now()],
  )
  const counts = await sql.rows<{ user_key: string; connections: number }>(
    `select user_key, count(*)::integer as connections from readable_connections
     where user_key = any($1::bigint[]) group by user_key`,
    [grants.map((grant) => grant.user_key)],
  )
  const families = await sql.rows<{ user_key: string; scopes: string[] }>(
    `select distinct user_key, scopes from family_terms f
     where user_key = any($1::bigint[]) and ${isLive('f', '$2')}`,
    [grants.map((grant) => grant.user_key), sql.now()],
  )
  const familiesOf = Map.groupBy(families, (family) => family.user_key)
  const countOf = new Map(counts.map((row) => [row.user_key, row.connections]))
  const grantOf = new Map(grants.map((grant) => [grant.user_key, grant]))
  return users.flatMap((user) => {
    const grant = grantOf.get(user.user_key)
    if (grant === undefined) return []
    const consented = grant.scopes.split(' ')
    const ofTokens = (familiesOf.get(user.user_key) ?? []).flatMap((family) => family.scopes)
    const scopes = [...new Set([...consented, ...ofTokens])].toSorted()
    const counted = consented.includes('providers:read') ? (countOf.get(user.user_key) ?? 0) : null
    return [{ ...user, ...grant, scopes, connection_count: counted }]
  })
}

/** Users that are looked at in one step: most of them have a live grant. */
const lookedAtMin = 100

// Ids are compared byte by byte, in the order of their index.
export async function listUsers(sql: Sql, tenantKey: number, { limit, after, names }: UserRequest): Promise<UserRow[]> {
  const listed: UserRow[] = []
  const size = Math.max(limit, lookedAtMin)
  let from = after
  for (;;) {
    const users = await sql.rows<FoundUser>(
      `${found} and ($2::text is null or id collate "C" > $2)
         and ($3::text[] is null or external_user_id = any($3) or email = any($4::text[]))
       order by id collate "C" limit $5`,
      [tenantKey, from ?? null, names?.externalUserIds ?? null, names?.emails ?? null, size],
    )
    listed.push(...(await toCovered(sql, users)))
    from = users.at(-1)?.user_id
    if (listed.length >= limit || users.length < size) return listed.slice(0, limit)
  }
}

export async function findUser(sql: Sql, tenantKey: number, userId: string): Promise<UserRow | undefined> {
  const users = await sql.rows<FoundUser>(`${found} and id = $2`, [tenantKey, userId])
  return (await toCovered(sql, users))[0]
}

const owner = `u.tenant_key as "tenantKey", u.tenant_id as "tenantId", u.user_key as "userKey", u.id as "userId"`

export async function findOwner(sql: Sql, tenantKey: number, userId: string): Promise<Owner | undefined> {
  return sql.maybeRow<Owner>(`select ${owner} from tenant_users u where u.tenant_key = $1 and u.id = $2`, [
    tenantKey,
    userId,
  ])
}

/** The user, if a live grant covers this. */
export async function findCovered(
  sql: Sql,
  tenantKey: number,
  userId: string,
  scope: CoveredScope,
): Promise<Owner | undefined> {
  const user = await findOwner(sql, tenantKey, userId)
  if (user === undefined) return undefined
  return (await listCovered(sql, [user.userKey], scope)).length === 1 ? user : undefined
}

/** Users by their ids or, without any, by connections of theirs. */
export interface NamedUsers {
  userIds?: readonly string[] | undefined
  connectionIds?: readonly string[] | undefined
}

/** Those of the named users whose live grants cover the scope. */
export async function listCoveredByName(
  sql: Sql,
  tenantKey: number,
  { userIds, connectionIds }: NamedUsers,
  scope: CoveredScope,
): Promise<string[]> {
  const [source, ids] =
    userIds === undefined ? ['readable_connections', connectionIds ?? []] : ['tenant_users', userIds]
  if (ids.length === 0) return []
  const named = await sql.rows<{ user_key: string }>(
    `select user_key from ${source} where tenant_key = $1 and id = any($2::text[])`,
    [tenantKey, [...ids]],
  )
  return listCovered(
    sql,
    named.map(({ user_key: userKey }) => userKey),
    scope,
  )
}

export interface AccountRow {
  user_key: string
  user_id: string
  connection_key: number
  id: string
  provider_id: string
  connection_type: 'api_key' | 'wallet' | 'oauth2'
  display_label: string | null
  status: 'syncing' | 'active' | 'degraded' | 'needs_reauth'
  status_cause: Cause | null
  status_message: string | null
  added_at: string
  last_synced_at: string | null
  next_sync_at: string | null
  history_from: string | null
  transaction_count: string
}

export async function listAccounts(
  sql: Sql,
  tenantKey: number,
  page: { limit: number; after: { addedAt: string; id: string } | undefined },
): Promise<AccountRow[]> {
  return sql.rows<AccountRow>(
    `select c.user_key, c.user_id, c.connection_key, c.id, c.provider_id, c.connection_type, c.display_label, c.status, c.status_cause,
       c.status_message, c.added_at, c.last_synced_at, c.next_sync_at, c.history_from, c.transaction_count
     from readable_connections c
     where c.tenant_key = $1 and ($2::timestamptz is null or (c.added_at, c.id) > ($2::timestamptz, $3::text))
       and ${coveredRowByRow('c', 'providers:read', '$4')}
     order by c.added_at, c.id limit $5`,
    [tenantKey, page.after?.addedAt ?? null, page.after?.id ?? null, sql.now(), page.limit],
  )
}

export interface PositionRow {
  user_key: string
  connection_id: string
  provider_id: string
  asset_id: string
  asset_symbol: string
  asset_name: string
  liquid: Decimal
  staked: Decimal
  total: Decimal
  price_in_usd: Decimal | null
  value_in_usd: Decimal | null
  spam: boolean
  fetched_at: string
}

export async function listPositions(
  sql: Sql,
  userKey: string,
  page: { limit: number; after: { connectionId: string; symbol: string; assetId: string } | undefined },
): Promise<PositionRow[]> {
  return sql.rows<PositionRow>(
    `select c.user_key, c.id as connection_id, c.provider_id, a.id as asset_id, a.symbol as asset_symbol,
       a.name as asset_name, trim_scale(h.liquid)::text as liquid, trim_scale(h.staked)::text as staked,
       trim_scale(h.liquid + h.staked)::text as total, trim_scale(p.price_in_usd)::text as price_in_usd,
       trim_scale(p.price_in_usd * (h.liquid + h.staked))::text as value_in_usd, h.spam, c.balances_at as fetched_at
     from readable_connections c
     join holdings h on h.user_key = c.user_key and h.connection_key = c.connection_key
     join assets a on a.asset_key = h.asset_key
     left join current_prices p on p.asset_id = a.id
     where c.user_key = $1::bigint and ${covered('c', 'assets:read', '$2')}
       and ($3::text is null or (c.id, a.symbol, a.id) > ($3, $4::text, $5::text))
     order by c.id, a.symbol, a.id limit $6`,
    [
      userKey,
      sql.now(),
      page.after?.connectionId ?? null,
      page.after?.symbol ?? null,
      page.after?.assetId ?? null,
      page.limit,
    ],
  )
}

/** Keeps the users whose live grants cover the scope. */
export async function listCovered(
  sql: Sql,
  userKeys: readonly string[],
  scope: CoveredScope,
  at: string = sql.now(),
): Promise<string[]> {
  const rows = await sql.rows<{ user_key: string }>(
    `select distinct g.user_key from grant_terms g
     where g.user_key = any($1::bigint[]) and ${isLive('g', '$2')} and '${scope}' = any(g.scopes)`,
    [[...userKeys], at],
  )
  return rows.map(({ user_key: userKey }) => userKey)
}
