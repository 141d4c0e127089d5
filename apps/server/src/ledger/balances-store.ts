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

/** How long one observation an hour is kept. */
const hourlyDays = 2

// CTEs after `recorded` and `moved`: a token contract may answer every reading with another balance, so at most one
// observation an hour stays, and one a day of older times. It is the last one: what was dropped before it is a time
// between two readings, as if the balances had not been read then.
//
// The proof weighs what was observed at three readings; those stay. The newest observation has no successor and stays
// too, so this never deletes the row that `ended` updates. What this reading observes is left out by its time: Citus
// runs the parts one after another, and it would be there already. Most changes look at one hour. The first change of a
// day looks at all observations of the asset. The date_trunc that takes a time zone depends on settings by its
// declaration, and Citus refuses such functions over columns in a statement that writes.
//
// What was found once is looked up, by an index or in a table of hashes (`is true` keeps PostgreSQL from a join): it
// expects few rows of a user whom its statistics do not know, and as joins, these statements took minutes for two
// thousand tokens.
const thin = `followed as (
       select f.* from moved m
       cross join lateral (
         select case when date_trunc('day', o.observed_at at time zone 'UTC')
             = date_trunc('day', $3::timestamptz at time zone 'UTC')
           then date_trunc('hour', o.observed_at at time zone 'UTC') at time zone 'UTC'
           else '-infinity' end as thin_from
         from observed_balances o
         where o.user_key = $1::bigint and o.connection_key = $2::integer and o.asset_key = m.asset_key
           and o.observed_at < $3::timestamptz
         order by o.observed_at desc limit 1) n
       cross join lateral (
         select o.asset_key, o.observed_at, lead(o.observed_at) over (order by o.observed_at) as next_at,
           case when o.observed_at > $3::timestamptz - interval '${hourlyDays} days' then 'hour' else 'day' end as span
         from observed_balances o
         where o.user_key = $1::bigint and o.connection_key = $2::integer and o.asset_key = m.asset_key
           and o.observed_at >= n.thin_from and o.observed_at < $3::timestamptz) f
     ), thinned as (
       delete from observed_balances
       where user_key = $1::bigint and connection_key = $2::integer and asset_key = any(array(select asset_key from moved))
         and ((asset_key, observed_at) in (
           select f.asset_key, f.observed_at from followed f
           where date_trunc(f.span, f.observed_at at time zone 'UTC') = date_trunc(f.span, f.next_at at time zone 'UTC')
             and not exists (
               select from recorded r
               cross join unnest(array[r.balances_since, r.unproved_at, r.proof_balances_at]) as needed (at)
               where needed.at >= f.observed_at and needed.at < f.next_at))) is true
  )`

// CTEs after `recorded` and `given`: what changed since the reading before (`moved`), which is an observation of its
// own, ends the one before it and has to be proved again.
const observe = `former as (
       select asset_key, liquid, staked from holdings where user_key = $1::bigint and connection_key = $2::integer
     ), moved as materialized (
       select coalesce(g.asset_key, f.asset_key) as asset_key, coalesce(g.liquid, 0) as liquid,
         coalesce(g.staked, 0) as staked
       from given g full join former f on f.asset_key = g.asset_key
       where exists (select from recorded) and (g.liquid, g.staked) is distinct from (f.liquid, f.staked)
     ), ended as (
       update observed_balances set seen_until = coalesce((select former_at from recorded), $3::timestamptz)
       where user_key = $1::bigint and connection_key = $2::integer and asset_key = any(array(select asset_key from moved))
         and seen_until is null and observed_at < $3::timestamptz
     ), observed_now as (
       insert into observed_balances (user_key, connection_key, observed_at, asset_key, liquid, staked)
       select $1::bigint, $2::integer, $3::timestamptz, m.asset_key, m.liquid, m.staked from moved m
       on conflict (user_key, connection_key, asset_key, observed_at) do update
         set liquid = excluded.liquid, staked = excluded.staked
     ), to_prove as (
       insert into due_proofs as q (user_key, connection_key, since, asset_key)
       select $1::bigint, $2::integer, $3::timestamptz, m.asset_key from moved m
       on conflict (user_key, connection_key, asset_key) do update set marks = q.marks + 1
  )`

export interface BalancesReading {
  /** False when a part of them is as it was last read, or may contain borrowed coins. */
  isWhole: boolean
  /** They may still have what open contracts have lost. */
  mayHaveLost?: boolean
}

/**
 * Makes these the connection's holdings as of the time `at`, and their value the one observed on that day. Only rows that change are written:
 * most readings find the same as the one before. Nothing is written when the connection was removed.
 *
 * It is one statement, because every run sends it: it also writes when the balances were read, which locks the
 * connection against a removal, the notice that holdings changed, and what the provider said from when to when, for the
 * proof.
 */
export async function keepBalances(
  sql: Sql,
  ref: ConnectionRef,
  balances: readonly JudgedBalance[],
  assetKeys: ReadonlyMap<string, number>,
  { at, isWhole, mayHaveLost = false }: BalancesReading & { at: string },
): Promise<'removed' | 'changed' | 'unchanged'> {
  const held = balances.filter((balance) => !isZero(balance.liquid) || !isZero(balance.staked))
  const row = await sql.row<{ recorded: boolean; changed: boolean }>(
    `with recorded as (
       ${toBalancesQuery({ userKey: '$1', connectionKey: '$2', now: '$3', isWhole: '$8', mayHaveLost: '$9' })}
     ), given as materialized (
       select g.* from unnest($4::integer[], $5::numeric[], $6::numeric[], $7::boolean[])
         as g (asset_key, liquid, staked, spam), recorded
     ), ${observe}, ${thin}, gone as (
       delete from holdings
       where user_key = $1::bigint and connection_key = $2::integer
         and asset_key not in (select asset_key from given) and exists (select from recorded)
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
     select exists (select from recorded) as recorded, exists (select from moved) as changed`,
    [
      ref.userKey,
      ref.connectionKey,
      at,
      held.map(({ assetId }) => assetKeys.get(assetId)),
      held.map(({ liquid }) => liquid),
      held.map(({ staked }) => staked),
      held.map(({ spam }) => spam),
      isWhole,
      mayHaveLost,
    ],
  )
  if (!row.recorded) return 'removed'
  return row.changed ? 'changed' : 'unchanged'
}

export async function listHeldAssetIds(sql: Sql, ref: ConnectionRef): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    `select a.id from holdings h join assets a on a.asset_key = h.asset_key
     where h.user_key = $1::bigint and h.connection_key = $2::integer and not h.spam`,
    [ref.userKey, ref.connectionKey],
  )
  return rows.map(({ id }) => id)
}
