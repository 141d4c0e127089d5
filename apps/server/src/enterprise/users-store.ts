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

// A user has a grant for each client; the tenant sees what they cover together. $1 is the tenant and $2 the present.
const granted = `select min(live.granted_at) as granted_at, max(live.expires_at) as grant_expires_at,
    array(select distinct scope from grant_terms each, unnest(each.scopes) as scope
      where each.user_key = u.user_key and ${isLive('each', '$2')} order by scope) as scopes
  from grant_terms live where live.user_key = u.user_key and ${isLive('live', '$2')} having count(*) > 0`

const users = `select u.user_key, u.id as user_id, u.external_user_id, u.email, g.granted_at, g.grant_expires_at, g.scopes,
    case when 'providers:read' = any(g.scopes) then (
      select count(*)::int from readable_connections c where c.user_key = u.user_key) end as connection_count
  from tenant_users u join lateral (${granted}) g on true where u.tenant_key = $1::integer`

// Ids are compared byte by byte, in the order of their index.
export async function listUsers(sql: Sql, tenantKey: number, { limit, after, names }: UserRequest): Promise<UserRow[]> {
  return sql.rows<UserRow>(
    `${users} and ($3::text is null or u.id collate "C" > $3)
       and ($4::text[] is null or u.external_user_id = any($4) or u.email = any($5::text[]))
     order by u.id collate "C" limit $6`,
    [tenantKey, sql.now(), after ?? null, names?.externalUserIds ?? null, names?.emails ?? null, limit],
  )
}

export async function findUser(sql: Sql, tenantKey: number, userId: string): Promise<UserRow | undefined> {
  return sql.maybeRow<UserRow>(`${users} and u.id = $3`, [tenantKey, sql.now(), userId])
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
  return sql.maybeRow<Owner>(
    `select ${owner} from tenant_users u where u.tenant_key = $1 and u.id = $2 and ${covered('u', scope, '$3')}`,
    [tenantKey, userId, sql.now()],
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

/** Returns those of these users whose live grants cover the scope. */
export async function listCovered(sql: Sql, userKeys: readonly string[], scope: CoveredScope): Promise<string[]> {
  const rows = await sql.rows<{ user_key: string }>(
    `select u.user_key from unnest($1::bigint[]) as u (user_key) where ${covered('u', scope, '$2')}`,
    [[...userKeys], sql.now()],
  )
  return rows.map(({ user_key: userKey }) => userKey)
}
