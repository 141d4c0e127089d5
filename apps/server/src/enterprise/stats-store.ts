/**
 * Sums over a tenant's users. None of them looks at transactions, so they do not grow with histories. Money is summed
 * by PostgreSQL's numeric, which is exact, and leaves as decimal text.
 */
import type { Decimal } from '@assay/core'
import type { Sql } from '../db/index.ts'
import { covered } from './grants.ts'

export interface AsOf {
  as_of: string
}

export async function countUsers(
  sql: Sql,
  tenantId: string,
): Promise<AsOf & { users: number; users_with_accounts: number }> {
  return sql.row(
    `with granted as (select distinct tenant_id, user_id from live_grants where tenant_id = $1)
     select assay_now() as as_of, count(*)::int as users,
       (count(*) filter (where exists (select from readable_connections c
         where c.tenant_id = u.tenant_id and c.user_id = u.user_id)
         and ${covered('u', 'providers:read')}))::int as users_with_accounts
     from granted u`,
    [tenantId],
  )
}

export async function countAccounts(
  sql: Sql,
  tenantId: string,
): Promise<{ provider_id: string; accounts: number; users: number }[]> {
  return sql.rows(
    `select c.provider_id, count(*)::int as accounts, count(distinct c.user_id)::int as users
     from readable_connections c
     where c.tenant_id = $1 and ${covered('c', 'providers:read')}
     group by c.provider_id order by accounts desc, c.provider_id`,
    [tenantId],
  )
}

const positions = `settled_holdings h left join current_prices p on p.asset_id = h.asset_id
  where h.tenant_id = $1 and not h.spam and ${covered('h', 'assets:read')}`

export async function sumBalances(
  sql: Sql,
  tenantId: string,
): Promise<AsOf & { value_in_usd: Decimal; users: number; positions: number; positions_without_price: number }> {
  return sql.row(
    `select assay_now() as as_of, trim_scale(coalesce(sum(p.price_in_usd * (h.liquid + h.staked)), 0))::text as value_in_usd,
       count(distinct h.user_id)::int as users, count(*)::int as positions,
       (count(*) filter (where p.price_in_usd is null))::int as positions_without_price
     from ${positions}`,
    [tenantId],
  )
}

const topAssetsMax = 30

export interface AssetSum {
  asset_id: string
  asset_symbol: string
  total_holdings: Decimal
  price_in_usd: Decimal | null
  value_in_usd: Decimal | null
  users: number
}

export async function listTopAssets(sql: Sql, tenantId: string): Promise<AssetSum[]> {
  return sql.rows<AssetSum>(
    `select h.asset_id, min(h.asset_symbol) as asset_symbol, trim_scale(sum(h.liquid + h.staked))::text as total_holdings,
       trim_scale(p.price_in_usd)::text as price_in_usd,
       trim_scale(p.price_in_usd * sum(h.liquid + h.staked))::text as value_in_usd,
       count(distinct h.user_id)::int as users
     from ${positions}
     group by h.asset_id, p.price_in_usd
     order by p.price_in_usd * sum(h.liquid + h.staked) desc nulls last, h.asset_id limit $2`,
    [tenantId, topAssetsMax],
  )
}

export async function findNow(sql: Sql): Promise<string> {
  return (await sql.row<{ now: string }>('select assay_now() as now')).now
}
