/** A tenant's users, their connections and positions, as far as consents in force cover them. */
import type { Cause, Decimal } from '@assay/core'
import type { Sql } from '../db/index.ts'
import { covered, coveredRowByRow, type CoveredScope } from './grants.ts'

export interface UserRow {
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

// A user has a grant for each client; what the tenant may see is what they cover together.
const granted = `select min(live.granted_at) as granted_at, max(live.expires_at) as grant_expires_at,
    array(select distinct scope from live_grants each, unnest(each.scopes) as scope
      where each.tenant_id = u.tenant_id and each.user_id = u.id order by scope) as scopes
  from live_grants live where live.tenant_id = u.tenant_id and live.user_id = u.id having count(*) > 0`

const users = `select u.id as user_id, u.external_user_id, u.email, g.granted_at, g.grant_expires_at, g.scopes,
    case when 'providers:read' = any(g.scopes) then (select count(*)::int from readable_connections c
      where c.tenant_id = u.tenant_id and c.user_id = u.id) end as connection_count
  from tenant_users u join lateral (${granted}) g on true`

export async function listUsers(sql: Sql, tenantId: string, { limit, after, names }: UserRequest): Promise<UserRow[]> {
  return sql.rows<UserRow>(
    `${users}
     where u.tenant_id = $1 and ($2::text is null or u.id > $2)
       and ($3::text[] is null or u.external_user_id = any($3) or u.email = any($4::text[]))
     order by u.id limit $5`,
    [tenantId, after ?? null, names?.externalUserIds ?? null, names?.emails ?? null, limit],
  )
}

export async function findUser(sql: Sql, tenantId: string, userId: string): Promise<UserRow | undefined> {
  return sql.maybeRow<UserRow>(`${users} where u.tenant_id = $1 and u.id = $2`, [tenantId, userId])
}

export async function covers(sql: Sql, tenantId: string, userId: string, scope: CoveredScope): Promise<boolean> {
  const found = await sql.maybeRow(
    `select from (values ($1::text, $2::text)) as u (tenant_id, user_id) where ${covered('u', scope)}`,
    [tenantId, userId],
  )
  return found !== undefined
}

export interface AccountRow {
  user_id: string
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
  tenantId: string,
  page: { limit: number; after: { addedAt: string; id: string } | undefined },
): Promise<AccountRow[]> {
  return sql.rows<AccountRow>(
    `select c.user_id, c.id, c.provider_id, c.connection_type, c.display_label, c.status, c.status_cause,
       c.status_message, c.added_at, c.last_synced_at, c.next_sync_at, c.history_from, c.transaction_count
     from readable_connections c
     where c.tenant_id = $1 and ($2::timestamptz is null or (c.added_at, c.id) > ($2::timestamptz, $3))
       and ${coveredRowByRow('c', 'providers:read')}
     order by c.added_at, c.id limit $4`,
    [tenantId, page.after?.addedAt ?? null, page.after?.id ?? null, page.limit],
  )
}

export interface PositionRow {
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
  tenantId: string,
  userId: string,
  page: { limit: number; after: { connectionId: string; symbol: string; assetId: string } | undefined },
): Promise<PositionRow[]> {
  return sql.rows<PositionRow>(
    `select h.connection_id, h.provider_id, h.asset_id, h.asset_symbol, h.asset_name,
       trim_scale(h.liquid)::text as liquid, trim_scale(h.staked)::text as staked,
       trim_scale(h.liquid + h.staked)::text as total, trim_scale(p.price_in_usd)::text as price_in_usd,
       trim_scale(p.price_in_usd * (h.liquid + h.staked))::text as value_in_usd, h.spam, h.fetched_at
     from settled_holdings h left join current_prices p on p.asset_id = h.asset_id
     where h.tenant_id = $1 and h.user_id = $2 and ${covered('h', 'assets:read')}
       and ($3::text is null or (h.connection_id, h.asset_symbol, h.asset_id) > ($3, $4, $5))
     order by h.connection_id, h.asset_symbol, h.asset_id limit $6`,
    [
      tenantId,
      userId,
      page.after?.connectionId ?? null,
      page.after?.symbol ?? null,
      page.after?.assetId ?? null,
      page.limit,
    ],
  )
}
