/** All SQL over the price ledger. The caller passes the time of the request, because it is a fact about the price. */
import type { Decimal, Day } from '@assay/core'
import type { Sql } from '../db/index.ts'
import { settleMs, type Days, type DaysRead } from './days.ts'

/** How a price was obtained. */
export type Method = 'market_chart' | 'simple_price' | 'cross_rate' | 'definition' | 'correction'

/** The wanted days of an asset, and those that were read. */
export interface Wanted {
  assetId: string
  wanted: Days
  read: DaysRead | undefined
  /** Epoch ms; undefined when the last reading did not fail. */
  retryAtMs: number | undefined
  /** Epoch ms: older days were refused, and are asked for again then. */
  olderRetryAtMs: number | undefined
}

interface WantedRow {
  asset_id: string
  wanted_from: Day
  wanted_to: Day
  first_day: Day | null
  last_day: Day | null
  read_at: string | null
  retry_at: string | null
  older_retry_at: string | null
}

const wantedColumns = `asset_id, wanted_from::text, wanted_to::text, first_day::text, last_day::text, read_at, retry_at, older_retry_at`
const toTime = (ms: number): string => new Date(ms).toISOString()

export async function wantDays(sql: Sql, assetIds: readonly string[], days: Days): Promise<void> {
  await sql.execute(
    `insert into daily_price_reads as r (asset_id, wanted_from, wanted_to)
     select distinct asset_id, $2::date, $3::date from unnest($1::text[]) as w (asset_id) order by asset_id
     on conflict (asset_id) do update
       set wanted_from = least(r.wanted_from, excluded.wanted_from), wanted_to = greatest(r.wanted_to, excluded.wanted_to),
         -- Older days do not wait because newer ones have no price.
         retry_at = case when r.wanted_from > excluded.wanted_from and r.none_since is not null then null
           else r.retry_at end
       where r.wanted_from > excluded.wanted_from or r.wanted_to < excluded.wanted_to`,
    [[...assetIds], days.firstDay, days.lastDay],
  )
}

export async function listWanted(sql: Sql, assetIds: readonly string[]): Promise<Wanted[]> {
  const rows = await sql.rows<WantedRow>(
    `select ${wantedColumns} from daily_price_reads where asset_id = any($1::text[])`,
    [[...assetIds]],
  )
  return rows.map(toWanted)
}

/** Assets with wanted days that are not final and may be asked for now; those that have waited longest come first. */
export async function listDue(sql: Sql, nowMs: number, limit: number): Promise<Wanted[]> {
  const rows = await sql.rows<WantedRow>(
    `select ${wantedColumns} from daily_price_reads
     where coalesce(retry_at, $1) <= $1 and (read_at is null or wanted_to > last_day
       or (wanted_from < first_day and coalesce(older_retry_at, $1) <= $1)
       or (read_at < ${settledAt('last_day')} and $1 >= ${settledAt('last_day')}))
     order by retry_at nulls first, read_at nulls first, asset_id limit $2`,
    [toTime(nowMs), limit],
  )
  return rows.map(toWanted)
}

export interface KeptDays {
  assetId: string
  source: string
  method: Method
  askedAtMs: number
  /** The days that the source answered. */
  read: Days
  olderRetryAtMs: number | undefined
  prices: readonly { day: Day; price: Decimal }[]
}

/**
 * The first price of a day stays: transactions were rendered with it, and deriving again must give the same bytes. A
 * provisional one is replaced once, by the first answer after the day has settled; `isPricePending` named it when it
 * was used.
 */
export async function keepDaily(sql: Sql, answer: KeptDays): Promise<void> {
  const { assetId, prices } = answer
  const askedAt = toTime(answer.askedAtMs)
  const days = prices.map(({ day }) => day)
  const amounts = prices.map(({ price }) => price)
  await sql.execute(
    `insert into daily_prices as p (asset_id, day, price_in_usd, source, method, known_at)
     select $1::text, g.day, g.price, $5::text, $6::text, $2::timestamptz
     from unnest($3::date[], $4::numeric[]) as g (day, price)
     on conflict (asset_id, day) do update
       set price_in_usd = excluded.price_in_usd, source = excluded.source, method = excluded.method,
         known_at = excluded.known_at
       where p.known_at < ${settledAt('p.day')} and excluded.known_at >= ${settledAt('p.day')}`,
    [assetId, askedAt, days, amounts, answer.source, answer.method],
  )
  await sql.execute(
    `update daily_price_reads
     set first_day = least(first_day, $2::date), last_day = greatest(last_day, $3::date),
       read_at = greatest(read_at, $4::timestamptz), failures = 0, retry_at = null,
       older_retry_at = case when wanted_from < least(first_day, $2::date) then coalesce($5::timestamptz, older_retry_at) end,
       none_since = case when $6::boolean then none_since end
     where asset_id = $1`,
    [
      assetId,
      answer.read.firstDay,
      answer.read.lastDay,
      askedAt,
      answer.olderRetryAtMs === undefined ? null : toTime(answer.olderRetryAtMs),
      prices.length === 0,
    ],
  )
}

/** The source answered without any price. Returns since when it does. */
export async function noteNone(sql: Sql, assetId: string, askedAtMs: number): Promise<number> {
  const { none_since: since } = await sql.row<{ none_since: string }>(
    `update daily_price_reads set none_since = coalesce(none_since, $2::timestamptz) where asset_id = $1
     returning none_since`,
    [assetId, toTime(askedAtMs)],
  )
  return Date.parse(since)
}

/** Whether the source has a current price of the asset, or had a final one for a day after this one. */
export async function hasOtherPrice(sql: Sql, assetId: string, day: Day, currentSinceMs: number): Promise<boolean> {
  const { found } = await sql.row<{ found: boolean }>(
    `select exists (select from current_prices
         where asset_id = $1 and price_in_usd is not null and fetched_at >= $3::timestamptz)
       or exists (select from daily_prices p
         where p.asset_id = $1 and p.day > $2::date and p.source <> 'operator' and p.known_at >= ${settledAt('p.day')})
       as found`,
    [assetId, day, toTime(currentSinceMs)],
  )
  return found
}

export async function countFailure(
  sql: Sql,
  assetIds: readonly string[],
  retry: { nowMs: number; firstMs: number; maxMs: number },
): Promise<void> {
  await sql.execute(
    `update daily_price_reads set failures = failures + 1, retry_at = $2::timestamptz
       + make_interval(secs => least($3::double precision * power(2, least(failures, 30)), $4) / 1000)
     where asset_id = any($1::text[])`,
    [[...assetIds], toTime(retry.nowMs), retry.firstMs, retry.maxMs],
  )
}

export async function listDailyPrices(
  sql: Sql,
  wanted: { assetIds: readonly string[]; days: readonly Day[] },
): Promise<{ asset_id: string; day: Day; price: Decimal }[]> {
  return sql.rows(
    `select p.asset_id, p.day::text as day, trim_scale(p.price_in_usd)::text as price
     from (select distinct * from unnest($1::text[], $2::date[])) as w (asset_id, day)
     join daily_prices p on p.asset_id = w.asset_id and p.day = w.day`,
    [[...wanted.assetIds], [...wanted.days]],
  )
}

export async function correctDaily(sql: Sql, assetId: string, day: Day, price: Decimal, atMs: number): Promise<void> {
  await sql.execute(
    `insert into daily_prices (asset_id, day, price_in_usd, source, method, known_at)
     values ($1, $2, $3, 'operator', 'correction', $4)
     on conflict (asset_id, day) do update set price_in_usd = excluded.price_in_usd, source = excluded.source,
       method = excluded.method, known_at = excluded.known_at`,
    [assetId, day, price, toTime(atMs)],
  )
  await sql.execute('insert into price_corrections (asset_id, day) values ($1, $2) on conflict do nothing', [
    assetId,
    day,
  ])
}

/** Deleted in the caller's transaction, so they come back when it fails. */
export async function takeCorrections(sql: Sql, limit: number): Promise<{ asset_id: string; day: Day }[]> {
  return sql.rows(
    `delete from price_corrections c using (
       select asset_id, day from price_corrections order by asset_id, day limit $1 for update skip locked
     ) t where c.asset_id = t.asset_id and c.day = t.day
     returning c.asset_id, c.day::text as day`,
    [limit],
  )
}

/** Returns the stale ones among these. If there are any, it adds all assets that become stale soon. */
export async function listStale(
  sql: Sql,
  assetIds: readonly string[],
  ages: { staleMs: number; oldMs: number; limit: number },
): Promise<string[]> {
  const since = (parameter: number): string =>
    `$5::timestamptz - make_interval(secs => $${parameter}::double precision / 1000)`
  const rows = await sql.rows<{ asset_id: string }>(
    `with stale as (
       select w.asset_id from unnest($1::text[]) as w (asset_id)
       where not exists (select from current_prices p where p.asset_id = w.asset_id and p.fetched_at > ${since(2)})
     )
     select asset_id from stale union
     (select asset_id from current_prices where fetched_at <= ${since(3)} and exists (select from stale)
      order by fetched_at limit $4)`,
    [[...assetIds], ages.staleMs, ages.oldMs, ages.limit, sql.now()],
  )
  return rows.map((row) => row.asset_id)
}

export async function keepCurrent(
  sql: Sql,
  source: string,
  prices: readonly { assetId: string; price: Decimal | undefined; method: Method }[],
): Promise<void> {
  const sorted = prices.toSorted((a, b) => (a.assetId < b.assetId ? -1 : 1))
  await sql.execute(
    `insert into current_prices (asset_id, price_in_usd, method, source, fetched_at)
     select w.*, $4, $5::timestamptz from unnest($1::text[], $2::numeric[], $3::text[]) as w
     on conflict (asset_id) do update set price_in_usd = excluded.price_in_usd, method = excluded.method,
       source = excluded.source, fetched_at = excluded.fetched_at`,
    [
      sorted.map(({ assetId }) => assetId),
      sorted.map(({ price }) => price ?? null),
      sorted.map(({ method }) => method),
      source,
      sql.now(),
    ],
  )
}

/**
 * The time from which the source's price of a day is final. In a condition of ON CONFLICT, Citus wants it to be
 * immutable (so the time is added before the time zone) and without a parameter.
 */
function settledAt(day: string): string {
  return `(((${day} + 1)::timestamp + interval '${settleMs / 1000} seconds') at time zone 'UTC')`
}

function toWanted(row: WantedRow): Wanted {
  const { first_day: firstDay, last_day: lastDay, read_at: readAt } = row
  return {
    assetId: row.asset_id,
    wanted: { firstDay: row.wanted_from, lastDay: row.wanted_to },
    read:
      firstDay === null || lastDay === null || readAt === null
        ? undefined
        : { firstDay, lastDay, readAtMs: Date.parse(readAt) },
    retryAtMs: row.retry_at === null ? undefined : Date.parse(row.retry_at),
    olderRetryAtMs: row.older_retry_at === null ? undefined : Date.parse(row.older_retry_at),
  }
}
