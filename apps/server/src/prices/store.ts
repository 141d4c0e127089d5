/** All SQL over the price ledger. */
import type { Decimal } from '@assay/core'
import type { Sql } from '../db/index.ts'

/** `YYYY-MM-DD`, UTC. */
export type Day = string

/** Both included. */
export interface Days {
  firstDay: Day
  lastDay: Day
}

export async function listDailyReads(
  sql: Sql,
  assetIds: readonly string[],
): Promise<{ asset_id: string; first_day: Day; last_day: Day }[]> {
  return sql.rows(
    `select asset_id, first_day::text, last_day::text from daily_price_reads where asset_id = any($1::text[])`,
    [[...assetIds]],
  )
}

export async function keepDailyPrices(
  sql: Sql,
  assetId: string,
  source: string,
  read: Days,
  prices: readonly { day: Day; price: Decimal }[],
): Promise<void> {
  // The first price of a day stays: transactions were rendered with it, and deriving again must give the same bytes.
  await sql.execute(
    `insert into daily_prices (asset_id, source, day, price_in_usd)
     select $1, $2, * from unnest($3::date[], $4::numeric[])
     on conflict (asset_id, day) do nothing`,
    [assetId, source, prices.map(({ day }) => day), prices.map(({ price }) => price)],
  )
  await sql.execute(
    `insert into daily_price_reads as r (asset_id, first_day, last_day, read_at) values ($1, $2, $3, assay_now())
     on conflict (asset_id) do update set first_day = least(r.first_day, excluded.first_day),
       last_day = greatest(r.last_day, excluded.last_day), read_at = excluded.read_at`,
    [assetId, read.firstDay, read.lastDay],
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

export async function listStale(sql: Sql, assetIds: readonly string[], staleAfterMs: number): Promise<string[]> {
  const rows = await sql.rows<{ asset_id: string }>(
    `select w.asset_id from unnest($1::text[]) as w (asset_id)
     where not exists (select from current_prices p where p.asset_id = w.asset_id
       and p.fetched_at > assay_now() - make_interval(secs => $2::double precision / 1000))`,
    [[...assetIds], staleAfterMs],
  )
  return rows.map((row) => row.asset_id)
}

export async function keepCurrentPrices(
  sql: Sql,
  source: string,
  prices: readonly { assetId: string; price: Decimal }[],
): Promise<void> {
  await sql.execute(
    `insert into current_prices (asset_id, price_in_usd, source, fetched_at)
     select asset_id, price, $3, (select assay_now()) from unnest($1::text[], $2::numeric[]) as w (asset_id, price)
     on conflict (asset_id) do update
       set price_in_usd = excluded.price_in_usd, source = excluded.source, fetched_at = excluded.fetched_at`,
    [prices.map(({ assetId }) => assetId), prices.map(({ price }) => price), source],
  )
}
