/**
 * What a user held at an earlier moment, asset by asset of each connection, in one statement.
 *
 * A reading of the balances that covers the moment is the answer (`observed`). Otherwise the next reading after it
 * leads back through what was posted in between, and after the last reading what was posted since is added (`derived`).
 * An asset that no reading has ever shown was not there at the first one, which leads back in the same way. Whole days
 * in between are one row each of `daily_changes`, so the cost depends on days and assets and not on transactions.
 *
 * The price is the first one of the day or of the next, whichever is nearer; today it is the present one.
 */
import type { Decimal } from '@assay/core'
import type { Grade } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import {
  noPoint,
  positionItem,
  positionsText,
  readPositionsPage,
  text,
  type PositionRequest,
  type PositionsPage,
} from './positions-store.ts'
import { knownUserText, toWireTime, type UncheckedToken, type AuthorizedRead } from './authorized-read-store.ts'

export interface PositionsAtRequest extends PositionRequest {
  asOf: string
}

// Statements differ in their parameters, so the shared parts read the moment and the present from a CTE.
const at = '(select at from moment)'
const now = '(select now from moment)'
const dayOf = (time: string): string => `(${time} at time zone 'UTC')::date`
const ofConnection = (table: string, connection: string): string =>
  `${table}.user_key = $1::bigint and ${table}.connection_key = ${connection}.connection_key`

// Connections that had anything by then. The first reading counts as well as the first transaction, because a provider
// may keep no history at all.
const wantedWhere = (condition: string): string => `
  select s.* from shown s
  where s.balances_at is not null and least(s.history_from, s.balances_since) <= ${at} and ${condition}`

// Steps over the key of daily_changes from one asset to the next. Reading all days and dropping repeats took two thirds
// of the whole statement (72,790 days of 40 assets).
const movedAssets = `
  select w.connection_key, (select min(d.asset_key) from daily_changes d where ${ofConnection('d', 'w')}) as asset_key
  from wanted w
  union all
  select m.connection_key, (
    select min(d.asset_key) from daily_changes d where ${ofConnection('d', 'm')} and d.asset_key > m.asset_key)
  from moved_assets m where m.asset_key is not null`

// Every asset that was ever held, with the readings before and after the moment.
const around = `
  select w.connection_key, w.balances_at, w.balances_since, k.asset_key, b.observed_at as before_at,
    coalesce(b.seen_until, w.balances_at) as before_until, b.liquid as before_liquid, b.staked as before_staked,
    n.observed_at as next_at, n.liquid as next_liquid, n.staked as next_staked
  from wanted w
  cross join lateral (
    select o.asset_key from observed_balances o where ${ofConnection('o', 'w')}
    union select m.asset_key from moved_assets m where m.connection_key = w.connection_key and m.asset_key is not null
    union select p.asset_key from postings p where ${ofConnection('p', 'w')} and p.spam) k
  left join lateral (
    select o.* from observed_balances o where ${ofConnection('o', 'w')} and o.asset_key = k.asset_key
      and o.observed_at <= ${at} order by o.observed_at desc limit 1) b on true
  left join lateral (
    select o.* from observed_balances o where ${ofConnection('o', 'w')} and o.asset_key = k.asset_key
      and o.observed_at > ${at} order by o.observed_at limit 1) n on true`

// Where to start from: `from_at` is the moment itself when a reading covers it, so that nothing lies in between.
const anchored = `
  select r.connection_key, r.asset_key, false as is_derived, r.before_at as read_at, ${at} as from_at,
    r.before_liquid as liquid, r.before_staked as staked
  from around r where r.before_until >= ${at} and r.before_at is not null
  union all
  select r.connection_key, r.asset_key, true, r.next_at, r.next_at, r.next_liquid, r.next_staked
  from around r where r.next_at is not null and (r.before_at is null or r.before_until < ${at})
  union all
  select r.connection_key, r.asset_key, true, r.balances_at, r.balances_at, coalesce(r.before_liquid, 0),
    coalesce(r.before_staked, 0)
  from around r where r.next_at is null and r.balances_at < ${at}
  union all
  select r.connection_key, r.asset_key, true, r.balances_since, r.balances_since, 0, 0
  from around r where r.next_at is null and r.before_at is null and r.balances_since > ${at}`

const sumOf = (from: string): string => `coalesce((select sum(m.amount) from ${from}), 0)`
const postingsOf = `postings m where m.user_key = $1::bigint and m.asset_key = f.asset_key
  and m.connection_key = f.connection_key`
const dayUpTo = (end: string): string =>
  sumOf(
    `${postingsOf} and not m.spam and m.occurred_at >= date_trunc('day', ${end}, 'UTC') and m.occurred_at <= ${end}`,
  )
const between = (time: string): string => `${time} > f.low and ${time} <= f.high`

// What was posted after `low` and up to `high`: whole days, minus the beginning of the first day, plus the beginning of
// the last.
const moved = `
  ${sumOf(`daily_changes m where ${ofConnection('m', 'f')} and m.asset_key = f.asset_key
    and m.day >= ${dayOf('f.low')} and m.day < ${dayOf('f.high')}`)}
  - ${dayUpTo('f.low')} + ${dayUpTo('f.high')}
  + ${sumOf(`${postingsOf} and m.spam and ${between('m.occurred_at')}`)}`

const stakedMoved = sumOf(`${postingsOf} and m.staked and ${between('m.occurred_at')}`)

const held = `
  select f.connection_key, f.asset_key, f.is_derived, f.read_at,
    f.liquid + f.sign * (f.moved - f.staked_moved) as liquid, f.staked + f.sign * f.staked_moved as staked
  from (
    select f.*, ${moved} as moved, ${stakedMoved} as staked_moved
    from (
      select n.*, least(n.from_at, ${at}) as low, greatest(n.from_at, ${at}) as high,
        case when n.from_at > ${at} then -1 else 1 end as sign
      from (${anchored}) n) f) f`

const price = `
  select case when a.id = 'fiat:usd' then 1 when ${dayOf(at)} = ${dayOf(now)} then (
      select c.price_in_usd from current_prices c where c.asset_id = a.id)
    else (
      select c.price_in_usd from closing_prices c
      where c.asset_id = a.id and c.next_day between ${dayOf(at)} and ${dayOf(at)} + 1
      order by c.next_day = ${dayOf(`(${at} + interval '12 hours')`)} desc limit 1) end as price_in_usd`

/** CTEs that end with `held`, over `shown` with the columns below. Both moments are parameters. */
const heldCtes = (moments: { at: string; now: string }, condition: string): string =>
  `moment as materialized (select ${moments.at}::timestamptz as at, ${moments.now}::timestamptz as now),
   wanted as materialized (${wantedWhere(condition)}), moved_assets as (${movedAssets}),
   around as materialized (${around}), held as materialized (${held})`
const columns = 'c.balances_since, c.history_from, c.connection_type, c.proof_grade'

/**
 * Positions `h` with what is known of their assets; those of zero and zero are not listed. Neither is less than zero of a
 * token that a stranger sent: its contract reported a transfer that never changed a balance.
 */
const graded = `
  select h.*, coalesce(present.spam, g.spam, false) as spam, g.grade
  from held h
  left join holdings present on ${ofConnection('present', 'h')} and present.asset_key = h.asset_key
  left join asset_grades g on ${ofConnection('g', 'h')} and g.asset_key = h.asset_key
  where (h.liquid <> 0 or h.staked <> 0)
    and not (h.is_derived and h.liquid + h.staked < 0 and coalesce(g.uninvited, false))`

const item = positionItem({
  fetched: toWireTime('h.read_at'),
  more: `',"method":"' || case when h.is_derived then 'derived' else 'observed' end
    || '","grade":' || ${text('h.grade')}`,
})

const statement = positionsText(
  `with recursive ${heldCtes(
    { at: '$12', now: '$3' },
    `($9::text[] is null or s.provider_id = any($9::text[])) and ($10::text[] is null or s.id = any($10::text[]))`,
  )}
   select ${item} as item, s.id as place, a.symbol, a.id as asset_id
   from (${graded}) h
   join wanted s on s.connection_key = h.connection_key
   join assets a on a.asset_key = h.asset_key
   cross join lateral (${price}) p
   where ($6::text is null or (s.id, a.symbol, a.id) > ($6::text, $7::text, $8::text))
     and ($11::text[] is null or a.symbol = any($11::text[]))
   order by s.id, a.symbol, a.id limit $4::bigint`,
  columns,
)

/** v2: a row for each connection and asset that was held at `asOf`. */
export async function readPositionsAt(
  sql: Sql,
  token: UncheckedToken,
  { limit, after, providerIds, connectionIds, assetSymbols, asOf }: PositionsAtRequest,
): Promise<AuthorizedRead<PositionsPage> | undefined> {
  const filters = [providerIds ?? null, connectionIds ?? null, assetSymbols ?? null]
  return readPositionsPage(sql, token, statement, limit, [...(after ?? noPoint), ...filters, asOf])
}

export interface OwnedTotal {
  /** The value of everything that has a price, without spam. */
  value_in_usd: Decimal
  /** The quantity of the requested asset; 0 without one. */
  amount: Decimal
  /** The worst of the accounts that count. */
  grade: Grade
}

// A pasted address proves nothing about its owner, so only accounts with a key or a sign-in count. An account that has
// not been judged yet may hold anything.
const isOwned = `s.connection_type in ('api_key', 'oauth2')`
const worst = `(array['open', 'unprovable', 'explained', 'proved'])[min(array_position(
  array['open', 'unprovable', 'explained', 'proved'], coalesce(a.grade, s.proof_grade, 'unprovable')))]`

const ownedText = knownUserText({
  columns,
  result: `select * from (
    with recursive ${heldCtes({ at: '$2', now: '$3' }, isOwned)}
    select trim_scale(coalesce(sum(p.price_in_usd * (h.liquid + h.staked)) filter (where not h.spam), 0))::text
        as value_in_usd,
      trim_scale(coalesce(sum(h.liquid + h.staked) filter (where a.id = $4::text), 0))::text as amount,
      coalesce((
        select ${worst} from shown s left join lateral (
          select g.grade from asset_grades g join assets asked on asked.asset_key = g.asset_key
          where ${ofConnection('g', 's')} and asked.id = $4::text) a on true
        where ${isOwned}), 'unprovable') as grade
    from (${graded}) h
    join assets a on a.asset_key = h.asset_key
    cross join lateral (${price}) p) total`,
})

/** The totals of the user's own accounts at a moment. */
export async function findOwnedTotal(
  sql: Sql,
  { userKey }: Pick<Owner, 'userKey'>,
  { asOf, assetId }: { asOf: string; assetId: string | null },
): Promise<OwnedTotal> {
  return sql.row<OwnedTotal>(ownedText, [userKey, asOf, sql.now(), assetId])
}
