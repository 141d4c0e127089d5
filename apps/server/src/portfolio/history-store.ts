/**
 * The one statement behind values over time. PostgreSQL does the sums: its numeric is exact, and a long history does
 * not delay other requests of this process.
 *
 * The cost is one grid of the requested days and the assets that are held or have moved since then, however many
 * transactions there are: `daily_changes` has a row for each connection, asset and day. Everything after the last
 * requested day is one sum per asset, so a year long ago costs as much as the last one.
 *
 * Only assets that have a price are in the grid. The others can be tens of thousands, because any stranger can send
 * tokens, and a grid of them took half a minute. Of those it is only said on which days they were held, which changes
 * when they move.
 */
import type { Decimal } from '@assay/core'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'

export interface ValueRow {
  day: string
  value_in_usd: Decimal
  observed: boolean
  unpriced: boolean
  negative: boolean
}

/** All four are days, `YYYY-MM-DD` in UTC. */
export interface ValueRequest {
  firstDay: string
  lastDay: string
  today: string
  /** The first day that can be derived. */
  derivedFrom: string
}

// Only days on which every account of that time was seen: a sum over some of them would not be the user's total. An
// account has a past of its own, so one that was connected later belongs to each day from its first record on. Otherwise
// the days before it was connected would be worth less than both the derived days before them and those after them.
// Where the history cannot be derived there is nothing to compare with, and a day shows the accounts that were connected.
const observed = `
  select o.day, sum(o.value_in_usd) as value, sum(o.unpriced) > 0 as unpriced
  from shown s, lateral (select o.day, o.value_in_usd, o.unpriced from observed_values o
    where o.user_key = $1::bigint and o.connection_key = s.connection_key and o.day between $2::date and $3::date offset 0) o
  group by o.day
  having count(*) = (select count(*) from shown every
    where (case when o.day < $5::date then every.added_at else least(every.added_at, every.history_from) end
      at time zone 'UTC')::date <= o.day)`

/** The day of a transaction's row. */
const dayOf = (alias: string): string => `(${alias}.occurred_at at time zone 'UTC')::date`

// By how much balances changed: inputs − outputs − fees of everything that is posted. A pending transaction is posted
// only once the provider has taken its amount. A transaction posted after the balances were read is not in them, so it
// is subtracted again.
//
// A look-up for each connection: PostgreSQL expects a few rows of a user, and compared each row with each connection.
const moved = `
  select s.connection_key, s.begun_on, d.asset_key, d.day, d.amount
  from shown s, lateral (select d.asset_key, d.day, d.amount from daily_changes d
    where d.user_key = $1::bigint and d.connection_key = s.connection_key and d.day > $2::date offset 0) d
  union all
  select s.connection_key, s.begun_on, p.asset_key, ${dayOf('p')}, -p.amount
  from shown s, lateral (select distinct d.asset_key from daily_changes d
    where d.user_key = $1::bigint and d.connection_key = s.connection_key
      and d.day >= (s.balances_at at time zone 'UTC')::date) late,
  lateral (select p.asset_key, p.occurred_at, p.amount from postings p
    where p.user_key = $1::bigint and p.asset_key = late.asset_key and p.occurred_at > s.balances_at
      and p.connection_key = s.connection_key and not p.spam offset 0) p
  where ${dayOf('p')} > $2::date`

const held = `
  select s.connection_key, s.begun_on, h.asset_key, h.amount
  from shown s, lateral (select h.asset_key, h.liquid + h.staked as amount from holdings h
    where h.user_key = $1::bigint and h.connection_key = s.connection_key and not h.spam offset 0) h`

// Before its first record or reading an account contributes nothing. What its history does not explain by then came on
// that day, as one more change.
const begun = `
  select r.asset_key, r.begun_on as day, sum(r.amount) as amount
  from (${held} union all select m.connection_key, m.begun_on, m.asset_key, -m.amount from moved m) r
  where r.begun_on > $2::date
  group by r.connection_key, r.asset_key, r.begun_on`

const isPriced = `(a.id = 'fiat:usd'
  or exists (select from current_prices p where p.asset_id = a.id and p.price_in_usd is not null)
  or exists (select from closing_prices c where c.asset_id = a.id and c.price_in_usd is not null
    and c.next_day between $2::date + 1 and $3::date + 1))`

// When the other assets were held: from one change of an asset to its next. Of the spans that begin on one day, the
// longest covers the others.
const unpricedSpans = `
  select n.first_day, max(n.last_day) as last_day from (
    select c.day as first_day, coalesce(lag(c.day) over newest - 1, $3::date) as last_day,
      b.amount - coalesce(sum(c.amount) over (newest rows between unbounded preceding and 1 preceding), 0) as amount
    from balances b
    join (select asset_key, day, amount from moves where day <= $3::date
      union all select asset_key, $2::date, 0 from balances) c on c.asset_key = b.asset_key
    where not b.is_priced
    window newest as (partition by b.asset_key order by c.day desc)) n
  where n.amount <> 0 group by n.first_day`

// A day is valued by what was held at its end, at the first price of the next day. Today has not ended, so the present
// price is used. A dollar is worth a dollar without a source.
const price = `case when g.asset_id = 'fiat:usd' then 1 when g.day = $4::date then p.price_in_usd else c.price_in_usd end`

/** Days that are neither observed nor derivable are left out. */
export async function listValues(
  sql: Sql,
  { userKey }: Pick<Owner, 'userKey'>,
  { firstDay, lastDay, today, derivedFrom }: ValueRequest,
): Promise<ValueRow[]> {
  return sql.rows<ValueRow>(
    `with shown as materialized (
       select c.connection_key, c.balances_at, c.added_at, c.history_from,
         (least(c.history_from, c.balances_since) at time zone 'UTC')::date as begun_on
       from readable_connections c
       where c.user_key = $1::bigint
     ), observed as materialized (${observed}), moved as materialized (${moved}),
     moves as materialized (
       select m.asset_key, m.day, sum(m.amount) as amount
       from (select asset_key, day, amount from moved union all ${begun}) m group by 1, 2
     ),
     balances as materialized (
       select b.asset_key, b.amount, a.id as asset_id, ${isPriced} as is_priced from (
         select b.asset_key, sum(b.amount) as amount from (
           select h.asset_key, h.amount from (${held}) h
           union all
           select m.asset_key, case when m.day > $3::date then -m.amount else 0 end from moves m
         ) b group by b.asset_key
       ) b join assets a on a.asset_key = b.asset_key
     ), grid as (
       select b.asset_id, d.day, b.amount - coalesce(sum(m.amount) over (partition by b.asset_key order by d.day desc
           rows between unbounded preceding and 1 preceding), 0) as amount
       from balances b
       cross join (select d::date as day from generate_series($2::date::timestamp, $3::date::timestamp, interval '1 day') d) d
       left join moves m on m.asset_key = b.asset_key and m.day = d.day
       where b.is_priced
     ), unpriced as (
       select distinct d.day::date as day from (${unpricedSpans}) s,
         generate_series(s.first_day::timestamp, s.last_day::timestamp, interval '1 day') d (day)
     ), derived as (
       select g.day, sum(g.amount * ${price}) as value, bool_or(${price} is null) as unpriced,
         -- A balance cannot be negative, so a record is missing. Without a price it takes no part in the value, and any
         -- stranger can send a token whose contract reports a transfer that never changed a balance.
         bool_or(g.amount < 0 and ${price} is not null) as negative
       from grid g
       left join current_prices p on p.asset_id = g.asset_id
       left join closing_prices c on c.asset_id = g.asset_id and c.next_day = g.day + 1
         and c.next_day between $2::date + 1 and $3::date + 1
       where g.amount <> 0 and g.day >= $5::date
       group by g.day
     )
     select d.day::date::text as day, trim_scale(coalesce(o.value, v.value, 0))::text as value_in_usd,
       o.day is not null as observed,
       coalesce(o.unpriced, coalesce(v.unpriced, false) or u.day is not null) as unpriced,
       o.day is null and coalesce(v.negative, false) as negative
     from generate_series($2::date::timestamp, $3::date::timestamp, interval '1 day') d (day)
     left join observed o on o.day = d.day::date
     left join derived v on v.day = d.day::date
     left join unpriced u on u.day = d.day::date
     where o.day is not null or d.day >= $5::date
     order by d.day`,
    [userKey, firstDay, lastDay, today, derivedFrom],
  )
}
