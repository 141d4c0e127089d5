/**
 * All SQL that looks for the place and the cause of a difference, for one asset after another. It only reads. Strangers
 * decide how much there is of everything here, and how many assets differ.
 */
import type { Decimal } from '@assay/core'
import type { Sql } from '../db/index.ts'
import { keysOf, type ConnectionRef } from '../owner.ts'
import { observedAt, type WeighedRow } from './store.ts'

const toTime = (ms: number): string => new Date(ms).toISOString()

/** How many of the newest observations are searched for the one where a difference appeared. */
const observationsMax = 100

/**
 * The first and the last reading of every balance up to a moment, the oldest first. Each movement is looked at once, and
 * counts from the first reading after it on: strangers can send thousands to a wallet, and summing them up for each
 * reading took minutes.
 *
 * Days are summed up already. A day with readings counts with its sum from the next day on, and until then with those of
 * its movements that came before a reading.
 */
export async function listObservations(
  sql: Sql,
  ref: ConnectionRef,
  assetKey: number,
  { at, firstAt }: { at: string; firstAt: string },
): Promise<{ at: string; observed: Decimal; posted: Decimal }[]> {
  const moved = 'p.user_key = $1::bigint and p.connection_key = $2::integer and p.asset_key = $3::integer'
  const placeOf = (time: string): string => `width_bucket(${time} - interval '1 microsecond', e.ats) + 1`
  return sql.rows(
    `with points as materialized (
       select m.at, $3::integer as asset_key, row_number() over (order by m.at) as place from (
         select m.at from (
           select o.observed_at as at from observed_balances o
           where o.user_key = $1::bigint and o.connection_key = $2::integer and o.asset_key = $3::integer
           union select o.seen_until from observed_balances o
           where o.user_key = $1::bigint and o.connection_key = $2::integer and o.asset_key = $3::integer
             and o.seen_until is not null
           union select $5::timestamptz union select $4::timestamptz) m
         where m.at <= $4::timestamptz order by m.at desc limit ${observationsMax}) m
     ), edges as materialized (
       select array_agg(at order by at) as ats from points
     ), changes as (
       select ${placeOf("((d.day + 1)::timestamp at time zone 'UTC')")} as place, d.amount
       from edges e cross join daily_changes d
       where d.user_key = $1::bigint and d.connection_key = $2::integer and d.asset_key = $3::integer
         and d.day < ($4::timestamptz at time zone 'UTC')::date
       union all
       select c.place, c.amount from edges e
       cross join (
         select date_trunc('day', at, 'UTC') as begins_at, max(at) as last_at, max(place) as last_place
         from points group by 1) day
       cross join lateral (
         select p.occurred_at, p.amount from postings p
         where ${moved} and not p.spam and p.occurred_at >= day.begins_at and p.occurred_at <= day.last_at offset 0) p
       cross join lateral (
         values (${placeOf('p.occurred_at')}, p.amount), (day.last_place + 1, -p.amount)) as c (place, amount)
       union all
       select ${placeOf('p.occurred_at')}, p.amount from edges e cross join postings p
       where ${moved} and p.spam and p.occurred_at <= $4::timestamptz
     )
     select q.at, trim_scale(coalesce(${observedAt('q.at', 'o.liquid + o.staked')}, 0))::text as observed,
       trim_scale(coalesce(sum(c.amount) over (order by q.place), 0))::text as posted
     from points q left join (select place, sum(amount) as amount from changes group by place) c on c.place = q.place
     order by q.at`,
    [...keysOf(ref), assetKey, at, firstAt],
  )
}

/** Postings around a moment, the oldest first. */
export async function listNearby(
  sql: Sql,
  ref: ConnectionRef,
  assetKey: number,
  { at, withinMs }: { at: string; withinMs: number },
): Promise<{ amount: Decimal; isBefore: boolean }[]> {
  return sql.rows(
    `select trim_scale(amount)::text as amount, occurred_at <= $4::timestamptz as "isBefore" from postings
     where user_key = $1::bigint and asset_key = $3::integer and connection_key = $2::integer
       and occurred_at between $4::timestamptz - make_interval(secs => $5::double precision / 1000)
         and $4::timestamptz + make_interval(secs => $5::double precision / 1000)
     order by occurred_at, transaction_id, ordinal`,
    [...keysOf(ref), assetKey, at, withinMs],
  )
}

const circumstancesMax = 1_000

const pendingOfConnection = 't.user_key = $1::bigint and t.pending and t.connection_key = $2::integer'
/** No text in a document can look like this: JSON escapes its quotes. */
const hasLegs = `position('"asset_id":' in t.document) > 0`
const hasNoPostings = `(select p.ordinal from postings p
  where p.user_key = $1::bigint and p.transaction_id = t.id limit 1) is null`

/** Whether there is anything to look for with each asset. */
export interface Oddities {
  /** Pending transactions that move something and that the balance does not contain. */
  hasUndebited: boolean
  /** Transactions of unknown meaning that moved something. */
  hasUnknown: boolean
}

/**
 * Strangers can send a wallet any number of transactions that move nothing: of unknown meaning, and pending for a while.
 * They are looked at once here, and not with each asset.
 */
export async function findOddities(sql: Sql, ref: ConnectionRef): Promise<Oddities> {
  return sql.row<Oddities>(
    `select exists (select from transactions t where ${pendingOfConnection} and ${hasLegs} and ${hasNoPostings})
         as "hasUndebited",
       exists (
         select from (
           select t.id from transactions t
           where t.user_key = $1::bigint and t.connection_key = $2::integer and t.type = 'uncategorized' offset 0) t
         where not ${hasNoPostings}) as "hasUnknown"`,
    [...keysOf(ref)],
  )
}

/**
 * The amounts that pending transactions will move of the asset, one number for each. Those that the balance contains
 * have postings, and what they move of other assets is not looked at: strangers can send thousands to a wallet within
 * minutes, with hundreds of tokens each. Only of the others are the documents read, where there are any.
 */
export async function listPending(
  sql: Sql,
  ref: ConnectionRef,
  { asset_key: assetKey, asset_id: assetId }: Pick<WeighedRow, 'asset_key' | 'asset_id'>,
  { at, hasUndebited }: { at: string } & Pick<Oddities, 'hasUndebited'>,
): Promise<{ amount: Decimal; at: string }[]> {
  const pending = `transactions t where ${pendingOfConnection} and t.occurred_at <= $4::timestamptz`
  return sql.rows(
    `select trim_scale(sum(moved.amount))::text as amount, moved.occurred_at as at
     from (
       select t.id, t.occurred_at, p.amount
       from postings p
       cross join lateral (
         select t.id, t.occurred_at from transactions t
         where t.user_key = $1::bigint and t.id = p.transaction_id and t.pending offset 0) t
       where p.user_key = $1::bigint and p.asset_key = $5::integer and p.connection_key = $2::integer
         and p.occurred_at between (select min(t.occurred_at) from ${pending}) and $4::timestamptz
       union all
       select t.id, t.occurred_at, leg.amount
       from (
         select t.id, t.occurred_at, t.document from ${pending}
           and $6::boolean and ${hasLegs} and ${hasNoPostings} offset 0) t
       cross join lateral (select ('{' || t.document)::jsonb as body offset 0) d
       cross join lateral (
         select x ->> 'asset_id' as asset_id, (x ->> 'amount')::numeric as amount
         from jsonb_array_elements(d.body -> 'inputs') x
         union all
         select x ->> 'asset_id', -(x ->> 'amount')::numeric
         from jsonb_array_elements((d.body -> 'outputs') || (d.body -> 'fees' -> 'items')) x) leg
       where leg.asset_id = $3) moved
     group by moved.id, moved.occurred_at having sum(moved.amount) <> 0
     order by moved.occurred_at desc limit ${circumstancesMax}`,
    [...keysOf(ref), assetId, at, assetKey, hasUndebited],
  )
}

/** What transactions of unknown meaning moved of the asset. */
export async function listUnknown(
  sql: Sql,
  ref: ConnectionRef,
  assetKey: number,
  at: string,
): Promise<{ amount: Decimal; at: string }[]> {
  return sql.rows(
    `select trim_scale(sum(p.amount))::text as amount, t.occurred_at as at
     from transactions t
     join postings p on p.user_key = t.user_key and p.transaction_id = t.id
     where t.user_key = $1::bigint and t.connection_key = $2::integer and t.type = 'uncategorized'
       and p.asset_key = $3::integer and t.occurred_at <= $4::timestamptz
     group by t.id, t.occurred_at order by t.occurred_at desc limit ${circumstancesMax}`,
    [...keysOf(ref), assetKey, at],
  )
}

/** Whether interest or a reward in the asset was booked in the time up to a moment. */
export async function hasEarned(
  sql: Sql,
  ref: ConnectionRef,
  assetKey: number,
  { at, withinMs }: { at: string; withinMs: number },
): Promise<boolean> {
  const row = await sql.maybeRow(
    `select from transactions t
     join postings p on p.user_key = t.user_key and p.transaction_id = t.id
     where t.user_key = $1::bigint and t.connection_key = $2::integer and t.category in ('interest', 'staking_reward')
       and p.asset_key = $3::integer and t.occurred_at <= $4::timestamptz
       and t.occurred_at > $4::timestamptz - make_interval(secs => $5::double precision / 1000) limit 1`,
    [...keysOf(ref), assetKey, at, withinMs],
  )
  return row !== undefined
}

/** When records happened that the provider withdrew, or did not show when it was last asked. */
export async function listCorrected(
  sql: Sql,
  ref: ConnectionRef,
  { startMs, endMs }: { startMs: number; endMs: number },
): Promise<number[]> {
  const rows = await sql.rows<{ occurred_at: string }>(
    `select occurred_at from raw_records
     where user_key = $1::bigint and connection_key = $2::integer and occurred_at >= $3::timestamptz
       and occurred_at < $4::timestamptz and (retired_at is not null or missing_since is not null)
     order by occurred_at limit ${circumstancesMax}`,
    [...keysOf(ref), toTime(startMs), toTime(endMs)],
  )
  return rows.map((row) => Date.parse(row.occurred_at))
}
