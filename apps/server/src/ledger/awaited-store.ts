/** All SQL over prices that transactions wait for. Written with the transactions, by whoever holds their user. */
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

interface Owner {
  tenantId: string
  userId: string
}

/** `YYYY-MM-DD`, UTC. */
type Day = string

export interface AwaitedPrice {
  /** The transaction's. */
  id: string
  assetId: string
  atMs: number
  /** A provisional price is in the text. */
  priced: boolean
}

export interface AssetDay {
  assetId: string
  day: Day
}

/** Makes these what the transactions of these ids wait for. */
export async function replaceAwaited(
  tx: Sql,
  ref: ConnectionRef,
  ids: readonly string[],
  awaited: readonly AwaitedPrice[],
): Promise<void> {
  await tx.execute('delete from awaited_prices where tenant_id = $1 and user_id = $2 and id = any($3::text[])', [
    ref.tenantId,
    ref.userId,
    [...ids],
  ])
  if (awaited.length === 0) return
  await tx.execute(
    `insert into awaited_prices (tenant_id, user_id, connection_id, id, asset_id, day, priced)
     select $1, $2, $3, * from unnest($4::text[], $5::text[], $6::date[], $7::boolean[]) on conflict do nothing`,
    [
      ref.tenantId,
      ref.userId,
      ref.connectionId,
      awaited.map(({ id }) => id),
      awaited.map(({ assetId }) => assetId),
      awaited.map(({ atMs }) => new Date(atMs).toISOString().slice(0, 10)),
      awaited.map(({ priced }) => priced),
    ],
  )
}

/** What anybody's transactions wait for, each once, in the order of asset and day; `bare`: some have no price at all. */
export async function listAwaitedDays(
  sql: Sql,
  after: AssetDay,
  limit: number,
): Promise<(AssetDay & { bare: boolean })[]> {
  return sql.rows(
    `select asset_id as "assetId", day::text as day, bool_or(not priced) as bare from awaited_prices
     where (asset_id, day) > ($1, $2::date) group by asset_id, day order by asset_id, awaited_prices.day limit $3`,
    [after.assetId, after.day, limit],
  )
}

/** Transactions that wait for one of these, all or those without any price, of one user after the other. */
export async function listAwaiting(
  sql: Sql,
  days: readonly AssetDay[],
  which: 'all' | 'bare',
  limit: number,
): Promise<(Owner & { id: string })[]> {
  return sql.rows(
    `select distinct p.tenant_id as "tenantId", p.user_id as "userId", p.id
     from unnest($1::text[], $2::date[]) as w (asset_id, day)
     join awaited_prices p on p.asset_id = w.asset_id and p.day = w.day and ($3 = 'all' or not p.priced)
     order by 1, 2, 3 limit $4`,
    [days.map(({ assetId }) => assetId), days.map(({ day }) => day), which, limit],
  )
}

/** These transactions no longer wait for these days. */
export async function endAwaiting(
  tx: Sql,
  owner: Owner,
  ids: readonly string[],
  days: readonly AssetDay[],
): Promise<void> {
  await tx.execute(
    `delete from awaited_prices p using unnest($4::text[], $5::date[]) as w (asset_id, day)
     where p.tenant_id = $1 and p.user_id = $2 and p.id = any($3::text[]) and p.asset_id = w.asset_id and p.day = w.day`,
    [owner.tenantId, owner.userId, [...ids], days.map(({ assetId }) => assetId), days.map(({ day }) => day)],
  )
}

/** These have a provisional price of these days now, and wait for the last word. */
export async function markPriced(
  tx: Sql,
  owner: Owner,
  ids: readonly string[],
  days: readonly AssetDay[],
): Promise<void> {
  await tx.execute(
    `update awaited_prices p set priced = true from unnest($4::text[], $5::date[]) as w (asset_id, day)
     where p.tenant_id = $1 and p.user_id = $2 and p.id = any($3::text[]) and p.asset_id = w.asset_id and p.day = w.day`,
    [owner.tenantId, owner.userId, [...ids], days.map(({ assetId }) => assetId), days.map(({ day }) => day)],
  )
}

/**
 * Every transaction of that day with that asset waits for its price again. Tenant by tenant, because the index of assets
 * begins with the tenant.
 */
export async function awaitAnew(tx: Sql, { assetId, day }: AssetDay, symbol: string): Promise<void> {
  await tx.execute(
    `insert into awaited_prices (tenant_id, user_id, id, connection_id, asset_id, day, priced)
     select t.tenant_id, t.user_id, t.id, t.connection_id, $1, $2, true
     from tenant_ids cross join lateral (
       select t.tenant_id, t.user_id, t.id, t.connection_id from transaction_assets a
       join transactions t on t.tenant_id = a.tenant_id and t.user_id = a.user_id and t.id = a.id
       where a.tenant_id = tenant_ids.tenant_id and a.asset_symbol = $3
         and a.occurred_at >= $2::date::timestamp at time zone 'UTC'
         and a.occurred_at < ($2::date + 1)::timestamp at time zone 'UTC'
         and position($4 in t.document) > 0
     ) t
     on conflict do nothing`,
    [assetId, day, symbol, `"asset_id":${JSON.stringify(assetId)}`],
  )
}
