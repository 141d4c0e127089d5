/** All SQL over prices that transactions wait for. They are written with the transactions, while their user is held. */
import type { Day } from '@assay/core'
import type { Sql } from '../../db/index.ts'
import type { ConnectionRef, Owner } from '../../owner.ts'

export interface AwaitedPrice {
  /** The id of the transaction. */
  id: string
  assetKey: number
  day: Day
  /** True when the text has a provisional price. */
  priced: boolean
}

export interface AssetDay {
  assetKey: number
  assetId: string
  day: Day
}

/** Replaces the prices that the transactions of these ids wait for; `formerIds` are those that existed before. */
export async function replaceAwaited(
  tx: Sql,
  ref: ConnectionRef,
  formerIds: readonly string[],
  awaited: readonly AwaitedPrice[],
): Promise<void> {
  if (formerIds.length > 0) {
    await tx.execute('delete from awaited_prices where user_key = $1::bigint and transaction_id = any($2::uuid[])', [
      ref.userKey,
      [...formerIds],
    ])
  }
  if (awaited.length === 0) return
  await tx.execute(
    `insert into awaited_prices (user_key, connection_key, transaction_id, asset_key, day, priced)
     select $1::bigint, $2::integer, g.* from unnest($3::uuid[], $4::integer[], $5::date[], $6::boolean[]) as g
     on conflict do nothing`,
    [
      ref.userKey,
      ref.connectionKey,
      awaited.map(({ id }) => id),
      awaited.map(({ assetKey }) => assetKey),
      awaited.map(({ day }) => day),
      awaited.map(({ priced }) => priced),
    ],
  )
}

/**
 * The days that transactions of any user wait for, each once, in the order of asset and day. `bare`: some of those
 * transactions have no price at all.
 */
export async function listAwaitedDays(
  sql: Sql,
  after: Pick<AssetDay, 'assetKey' | 'day'>,
  limit: number,
): Promise<(AssetDay & { bare: boolean })[]> {
  return sql.rows(
    `select w.asset_key as "assetKey", a.id as "assetId", w.day::text as day, w.bare
     from (
       select asset_key, day, bool_or(not priced) as bare from awaited_prices
       where (asset_key, day) > ($1::integer, $2::date) group by asset_key, day order by asset_key, day limit $3::bigint
     ) w join assets a on a.asset_key = w.asset_key
     order by w.asset_key, w.day`,
    [after.assetKey, after.day, limit],
  )
}

/** The two parameters of `unnest($n::integer[], $m::date[]) as w (asset_key, day)`. */
const toColumns = (days: readonly AssetDay[]): [number[], string[]] => [
  days.map(({ assetKey }) => assetKey),
  days.map(({ day }) => day),
]

/** Transactions that wait for one of these, all of them or those without any price, one user after the other. */
export async function listAwaiting(
  sql: Sql,
  days: readonly AssetDay[],
  which: 'all' | 'bare',
  limit: number,
): Promise<{ userKey: string; id: string }[]> {
  return sql.rows(
    `select distinct p.user_key as "userKey", p.transaction_id as id
     from unnest($1::integer[], $2::date[]) as w (asset_key, day)
     join awaited_prices p on p.asset_key = w.asset_key and p.day = w.day and ($3::text = 'all' or not p.priced)
     order by 1, 2 limit $4::bigint`,
    [...toColumns(days), which, limit],
  )
}

const isOfDays = `p.user_key = $1::bigint and p.transaction_id = any($2::uuid[])
  and p.asset_key = w.asset_key and p.day = w.day`

type Waiting = Pick<Owner, 'userKey'>

/** These transactions no longer wait for these days. */
export async function endAwaiting(
  tx: Sql,
  { userKey }: Waiting,
  ids: readonly string[],
  days: readonly AssetDay[],
): Promise<void> {
  await tx.execute(
    `delete from awaited_prices p using unnest($3::integer[], $4::date[]) as w (asset_key, day) where ${isOfDays}`,
    [userKey, [...ids], ...toColumns(days)],
  )
}

/** These have a provisional price of these days now, and wait for the final one. */
export async function markPriced(
  tx: Sql,
  { userKey }: Waiting,
  ids: readonly string[],
  days: readonly AssetDay[],
): Promise<void> {
  await tx.execute(
    `update awaited_prices p set priced = true
     from unnest($3::integer[], $4::date[]) as w (asset_key, day) where ${isOfDays}`,
    [userKey, [...ids], ...toColumns(days)],
  )
}

/**
 * Makes every transaction of that day that names the asset wait for its price again. User by user, because every index
 * begins with the user: some microseconds each, for a correction that an operator makes by hand. Pending transactions
 * have no postings, so they are found by their text.
 */
export async function requeueForPricing(tx: Sql, { assetKey, assetId, day }: AssetDay): Promise<void> {
  for (let after: string | undefined = firstKey; after !== undefined;) {
    const page: { last: string | null } = await tx.row(
      `with page as materialized (
         select user_key from user_ledgers where user_key > $5::bigint order by user_key limit $4::bigint
       ), found as (
         insert into awaited_prices (user_key, transaction_id, connection_key, asset_key, day, priced)
         select page.user_key, t.id, t.connection_key, $1::integer, $2::date, true
         from page cross join lateral (
           select p.transaction_id as id, p.connection_key from postings p
           where p.user_key = page.user_key and p.asset_key = $1::integer
             and p.occurred_at >= $2::date::timestamp at time zone 'UTC'
             and p.occurred_at < ($2::date + 1)::timestamp at time zone 'UTC'
           union
           select t.id, t.connection_key from transactions t
           where t.user_key = page.user_key and t.pending
             and t.occurred_at >= $2::date::timestamp at time zone 'UTC'
             and t.occurred_at < ($2::date + 1)::timestamp at time zone 'UTC'
             and position($3::text in t.document) > 0
         ) t
         on conflict do nothing
       )
       select max(user_key) as last from page where (select count(*) from page) = $4::bigint`,
      [assetKey, day, `"asset_id":${JSON.stringify(assetId)}`, usersPerPage, after],
    )
    after = page.last ?? undefined
  }
}

/** Less than every random key, so it belongs to none of the users. */
const firstKey = '-9223372036854775808'
const usersPerPage = 20_000
