/** SQL over what holdings were worth: observed day by day, and the changes that lead from today back to any day. */
import type { Decimal } from '@assay/core'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

/** `YYYY-MM-DD`, UTC. */
export type Day = string

interface Owner {
  tenantId: string
  userId: string
}

const ownerOf = ({ tenantId, userId }: Owner): [string, string] => [tenantId, userId]

/** After the holdings were written, in their transaction. */
export async function keepObserved(tx: Sql, ref: ConnectionRef): Promise<void> {
  await tx.execute(
    `insert into observed_values (tenant_id, user_id, connection_id, day, value_in_usd, unpriced)
     select $1, $2, $3, (assay_now() at time zone 'UTC')::date,
       coalesce(sum(p.price_in_usd * (h.liquid + h.staked)), 0), count(*) filter (where p.price_in_usd is null)
     from holdings h left join current_prices p on p.asset_id = h.asset_id
     where h.tenant_id = $1 and h.user_id = $2 and h.connection_id = $3 and not h.spam
     on conflict (tenant_id, user_id, connection_id, day) do update
       set value_in_usd = excluded.value_in_usd, unpriced = excluded.unpriced`,
    [...ownerOf(ref), ref.connectionId],
  )
}

export async function findToday(sql: Sql): Promise<Day> {
  return (await sql.row<{ today: Day }>(`select (assay_now() at time zone 'UTC')::date::text as today`)).today
}

export interface ObservedDay {
  day: Day
  value_in_usd: Decimal
  unpriced: number
}

/** Days on which every connection that the user had by then was seen: a sum over some of them would be another number. */
export async function listObserved(sql: Sql, owner: Owner, firstDay: Day, lastDay: Day): Promise<ObservedDay[]> {
  return sql.rows<ObservedDay>(
    `select o.day::text as day, trim_scale(sum(o.value_in_usd))::text as value_in_usd, sum(o.unpriced)::int as unpriced
     from observed_values o
     join readable_connections c on c.tenant_id = o.tenant_id and c.user_id = o.user_id and c.id = o.connection_id
     where o.tenant_id = $1 and o.user_id = $2 and o.day between $3::date and $4::date
     group by o.day
     having count(*) = (select count(*) from readable_connections every
       where every.tenant_id = $1 and every.user_id = $2
         and (every.added_at at time zone 'UTC')::date <= o.day)`,
    [...ownerOf(owner), firstDay, lastDay],
  )
}

export interface HeldAsset {
  asset_id: string
  amount: Decimal
  price_in_usd: Decimal | null
}

export async function listHeld(sql: Sql, owner: Owner): Promise<HeldAsset[]> {
  return sql.rows<HeldAsset>(
    `select h.asset_id, trim_scale(sum(h.liquid + h.staked))::text as amount,
       trim_scale(p.price_in_usd)::text as price_in_usd
     from settled_holdings h left join current_prices p on p.asset_id = h.asset_id
     where h.tenant_id = $1 and h.user_id = $2 and not h.spam
     group by h.asset_id, p.price_in_usd`,
    ownerOf(owner),
  )
}

export async function listHeldAssetIds(sql: Sql, ref: ConnectionRef): Promise<string[]> {
  const rows = await sql.rows<{ asset_id: string }>(
    'select asset_id from holdings where tenant_id = $1 and user_id = $2 and connection_id = $3 and not spam',
    [...ownerOf(ref), ref.connectionId],
  )
  return rows.map((row) => row.asset_id)
}

export interface AssetChange {
  asset_id: string
  change: Decimal
}

export interface DayChange extends AssetChange {
  day: Day
}

// inputs − outputs − fees, which is the law of a transaction, of what the balances have in them: not a deposit that is
// still on its way (what leaves is gone from the moment it is asked for), and nothing later than they were read. The
// documents are read by PostgreSQL, whose numeric is exact, so that a long history does not hold up other requests.
const legs = `settled_transactions t
  left join (select h.connection_id, min(h.fetched_at) as fetched_at from settled_holdings h
    where h.tenant_id = $1 and h.user_id = $2 group by h.connection_id) held on held.connection_id = t.connection_id
  cross join lateral (select ('{' || t.document)::jsonb as body offset 0) d
  cross join lateral (
    select x ->> 'asset_id' as asset_id, (x ->> 'amount')::numeric as change from jsonb_array_elements(d.body -> 'inputs') x
    union all
    select x ->> 'asset_id', -(x ->> 'amount')::numeric from jsonb_array_elements(d.body -> 'outputs') x
    union all
    select x ->> 'asset_id', -(x ->> 'amount')::numeric from jsonb_array_elements(d.body -> 'fees' -> 'items') x
  ) leg
  where t.tenant_id = $1 and t.user_id = $2 and t.occurred_at <= coalesce(held.fetched_at, 'infinity')
    and not (d.body ->> 'spam')::boolean and not (t.type = 'receive' and d.body ->> 'status' = 'pending')`

const startOf = (day: string): string => `(${day})::timestamp at time zone 'UTC'`

/** What each of these days changed, asset by asset. */
export async function listChanges(sql: Sql, owner: Owner, firstDay: Day, lastDay: Day): Promise<DayChange[]> {
  return sql.rows<DayChange>(
    `select (t.occurred_at at time zone 'UTC')::date::text as day, leg.asset_id, trim_scale(sum(leg.change))::text as change
     from ${legs} and t.occurred_at >= ${startOf('$3::date')} and t.occurred_at < ${startOf('$4::date + 1')}
     group by 1, 2 having sum(leg.change) <> 0`,
    [...ownerOf(owner), firstDay, lastDay],
  )
}

/** What all the days after this one changed together. */
export async function listChangesSince(sql: Sql, owner: Owner, day: Day): Promise<AssetChange[]> {
  return sql.rows<AssetChange>(
    `select leg.asset_id, trim_scale(sum(leg.change))::text as change
     from ${legs} and t.occurred_at >= ${startOf('$3::date + 1')}
     group by 1 having sum(leg.change) <> 0`,
    [...ownerOf(owner), day],
  )
}
