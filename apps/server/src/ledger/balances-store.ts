/** All SQL that writes holdings and what they were worth. */
import type { Balance } from '@assay/connectors'
import { isZero } from '@assay/core'
import { toBalancesQuery } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { toNoticeQuery } from '../notices.ts'
import type { ConnectionRef } from '../owner.ts'

export interface JudgedBalance extends Balance {
  spam: boolean
}

/**
 * Makes these the connection's holdings, and their value the one observed today. Only rows that change are written: most
 * readings find what the one before found. False, with nothing written, when the connection was removed.
 *
 * One statement, because every run sends it: it also writes when the balances were read, which locks the connection
 * against a removal, and the notice that holdings changed.
 */
export async function keepBalances(
  sql: Sql,
  ref: ConnectionRef,
  balances: readonly JudgedBalance[],
  assetKeys: ReadonlyMap<string, number>,
): Promise<boolean> {
  const held = balances.filter((balance) => !isZero(balance.liquid) || !isZero(balance.staked))
  const row = await sql.row<{ recorded: boolean }>(
    `with recorded as (
       ${toBalancesQuery({ userKey: '$1', connectionKey: '$2', now: '$3' })}
     ), given as materialized (
       select g.* from unnest($4::integer[], $5::numeric[], $6::numeric[], $7::boolean[])
         as g (asset_key, liquid, staked, spam), recorded
     ), gone as (
       delete from holdings
       where user_key = $1::bigint and connection_key = $2::integer and asset_key <> all($4::integer[])
         and exists (select from recorded)
       returning asset_key
     ), kept as (
       insert into holdings as h (user_key, connection_key, changed_at, asset_key, liquid, staked, spam)
       select $1::bigint, $2::integer, $3::timestamptz, g.asset_key, g.liquid, g.staked, g.spam from given g
       on conflict (user_key, connection_key, asset_key) do update
         set liquid = excluded.liquid, staked = excluded.staked, spam = excluded.spam, changed_at = excluded.changed_at
         where (h.liquid, h.staked, h.spam) is distinct from (excluded.liquid, excluded.staked, excluded.spam)
       returning asset_key
     ), observed as (
       insert into observed_values as o (user_key, connection_key, day, value_in_usd, unpriced)
       select $1::bigint, $2::integer, ($3::timestamptz at time zone 'UTC')::date,
         coalesce(sum(p.price_in_usd * (g.liquid + g.staked)), 0), count(*) filter (where p.price_in_usd is null)
       from given g
       join assets a on a.asset_key = g.asset_key
       left join current_prices p on p.asset_id = a.id
       where not g.spam
       having exists (select from recorded)
       on conflict (user_key, connection_key, day) do update
         set value_in_usd = excluded.value_in_usd, unpriced = excluded.unpriced
         where (o.value_in_usd, o.unpriced) is distinct from (excluded.value_in_usd, excluded.unpriced)
     ), changed as (
       select user_key, tenant_key from recorded where exists (select from gone) or exists (select from kept)
     ), noted as (
       ${toNoticeQuery('changed')}
     )
     select exists (select from recorded) as recorded`,
    [
      ref.userKey,
      ref.connectionKey,
      sql.now(),
      held.map(({ assetId }) => assetKeys.get(assetId)),
      held.map(({ liquid }) => liquid),
      held.map(({ staked }) => staked),
      held.map(({ spam }) => spam),
    ],
  )
  return row.recorded
}

export async function listHeldAssetIds(sql: Sql, ref: ConnectionRef): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    `select a.id from holdings h join assets a on a.asset_key = h.asset_key
     where h.user_key = $1::bigint and h.connection_key = $2::integer and not h.spam`,
    [ref.userKey, ref.connectionKey],
  )
  return rows.map(({ id }) => id)
}
