/**
 * What a user held at an earlier moment, asset by asset of each connection, in one statement for the next connections
 * of a page.
 *
 * A reading of the balances that covers the moment is the answer (`observed`). Otherwise the next reading after it
 * leads back through what was posted in between, and after the last reading what was posted since is added (`derived`).
 * An asset that no reading has ever shown was not there at the first one, which leads back in the same way. Whole days
 * in between are one row each of `daily_changes`, so the cost depends on days and assets and not on transactions.
 *
 * The price is the first one of the day or of the next, whichever is nearer; today it is the present one.
 */
import type { InTurn } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { refuseAccessToken } from '../oauth/index.ts'
import {
  noPoint,
  positionItem,
  positionsText,
  text,
  toPositionsPage,
  type PositionPoint,
  type PositionRequest,
  type PositionsPage,
  type PositionsRow,
} from './positions-store.ts'
import { readAuthorized, toWireTime, type UncheckedToken, type AuthorizedRead } from './authorized-read-store.ts'

export interface PositionsAtRequest extends PositionRequest {
  asOf: string
}

// Statements differ in their parameters, so the shared parts read the moment and the present from a CTE.
const at = '(select at from moment)'
const now = '(select now from moment)'
export const dayOf = (time: string): string => `(${time} at time zone 'UTC')::date`
export const ofConnection = (table: string, connection: string): string =>
  `${table}.user_key = $1::bigint and ${table}.connection_key = ${connection}.connection_key`

// Connections that had anything by then. The first reading counts as well as the first transaction, because a provider
// may keep no history at all.
const wantedWhere = (condition: string): string => `
  select s.* from shown s
  where s.balances_at is not null and least(s.history_from, s.balances_since) <= ${at} and ${condition}`

const nextAsset = (rest = ''): string => {
  const first = (table: string, more = ''): string =>
    `(select min(n.asset_key) from ${table} n where ${ofConnection('n', 'w')} ${rest} ${more})`
  return `least(${first('daily_changes')}, ${first('observed_balances')}, ${first('postings', 'and n.spam')}) as asset_key`
}

// Every asset that the connection `w` ever held or moved, in steps over the keys of the tables from one asset to the
// next. An asset has a row for each day on which it changed: reading all of them and dropping repeats took most of the
// whole statement (110,000 days of 300 assets).
const everHeld = (condition: string): string => `
  with recursive e as (
    select ${nextAsset()} union all select ${nextAsset('and n.asset_key > e.asset_key')} from e where e.asset_key is not null)
  select e.asset_key from e where e.asset_key is not null and ${condition}`

// What readings found until then, over the connection `w` and the observation `b` before the moment.
const foundUntil = 'coalesce(b.seen_until, w.balances_at)'

/**
 * What is believed of a moment between two readings that found the same.
 *
 * `readings`: it was the same in between. All readings are believed.
 * `history`: what left in between may have come back, so the history leads back to the moment, from a reading at
 * `read_at` of the connection or before: up to then everything was read.
 */
type Believed = 'readings' | 'history'

/** SQL over the same and `o`, an observation after the moment. */
const beliefs: Record<Believed, { coveredFrom: string; next: string; absentAt: string }> = {
  readings: { coveredFrom: at, next: 'true', absentAt: 'w.balances_since' },
  history: {
    coveredFrom: `least(${foundUntil}, w.read_at)`,
    next: 'o.observed_at <= w.read_at',
    absentAt: 'w.read_at',
  },
}

// The readings of each asset before and after the moment. One that no reading has shown was not there at `absent_at`.
const around = ({ coveredFrom, next, absentAt }: (typeof beliefs)[Believed], condition: string): string => `
  select w.connection_key, w.balances_at, w.balances_since, w.proved_since, k.asset_key, b.observed_at as before_at,
    ${foundUntil} as before_until, b.liquid as before_liquid, b.staked as before_staked,
    ${coveredFrom} as covered_from, ${absentAt} as absent_at,
    n.observed_at as next_at, n.liquid as next_liquid, n.staked as next_staked
  from wanted w
  cross join lateral (${everHeld(condition)}) k
  left join lateral (
    select o.* from observed_balances o where ${ofConnection('o', 'w')} and o.asset_key = k.asset_key
      and o.observed_at <= ${at} order by o.observed_at desc limit 1) b on true
  left join lateral (
    select o.* from observed_balances o where ${ofConnection('o', 'w')} and o.asset_key = k.asset_key
      and o.observed_at > ${at} and ${next} order by o.observed_at limit 1) n on true`

const before = `coalesce(r.before_liquid, 0) + coalesce(r.before_staked, 0) as before`
/** What each position carries with it: what is known of its connection, and the readings around. */
const aroundColumns = [
  'balances_since',
  'proved_since',
  'before_at',
  'before_until',
  'next_at',
  'next_liquid',
  'next_staked',
]
const columnsOf = (table: string): string => aroundColumns.map((name) => `${table}.${name}`).join(', ')

// Where to start from: `from_at` is the moment itself when a reading covers it, so that nothing lies in between.
const anchored = `
  select r.connection_key, r.asset_key, false as is_derived, r.before_at as read_at, r.covered_from as from_at,
    r.before_liquid as liquid, r.before_staked as staked, ${before}, ${columnsOf('r')}
  from around r where r.before_until >= ${at} and r.before_at is not null
  union all
  select r.connection_key, r.asset_key, true, r.next_at, r.next_at, r.next_liquid, r.next_staked, ${before},
    ${columnsOf('r')}
  from around r where r.next_at is not null and (r.before_at is null or r.before_until < ${at})
  union all
  select r.connection_key, r.asset_key, true, r.balances_at, r.balances_at, coalesce(r.before_liquid, 0),
    coalesce(r.before_staked, 0), ${before}, ${columnsOf('r')}
  from around r where r.next_at is null and r.balances_at < ${at}
  union all
  select r.connection_key, r.asset_key, true, r.absent_at, r.absent_at, 0, 0, ${before}, ${columnsOf('r')}
  from around r where r.next_at is null and r.before_at is null and r.absent_at > ${at}`

/** From `read_at` of the connection `s`, whatever the readings before it have found, for the position `h`. */
const anchoredLast = `
  select h.connection_key, h.asset_key, s.read_at as from_at, coalesce(l.liquid, 0) as liquid, coalesce(l.staked, 0) as staked
  from (select) one
  left join lateral (
    select o.liquid, o.staked from observed_balances o where ${ofConnection('o', 'h')} and o.asset_key = h.asset_key
      and o.observed_at <= s.read_at order by o.observed_at desc limit 1) l on true`

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

// Nothing lies between a moment and itself, so a position that a reading covers costs no look at its postings.
const ifAny = (sum: string): string => `case when f.low < f.high then ${sum} else 0 end`

const held = (anchor: string, columns: string): string => `
  select ${columns} f.liquid + f.sign * (f.moved - f.staked_moved) as liquid, f.staked + f.sign * f.staked_moved as staked
  from (
    select f.*, ${ifAny(moved)} as moved, ${ifAny(stakedMoved)} as staked_moved
    from (
      select n.*, least(n.from_at, ${at}) as low, greatest(n.from_at, ${at}) as high,
        case when n.from_at > ${at} then -1 else 1 end as sign
      from (${anchor}) n) f) f`

export const price = `
  select case when a.id = 'fiat:usd' then 1 when ${dayOf(at)} = ${dayOf(now)} then (
      select c.price_in_usd from current_prices c where c.asset_id = a.id)
    else (
      select c.price_in_usd from closing_prices c
      where c.asset_id = a.id and c.next_day between ${dayOf(at)} and ${dayOf(at)} + 1
      order by c.next_day = ${dayOf(`(${at} + interval '12 hours')`)} desc limit 1) end as price_in_usd`

const heldOf = `f.connection_key, f.asset_key, f.is_derived, f.read_at, f.before, ${columnsOf('f')},`

/**
 * CTEs that end with `held`, over `shown` with the columns below. Both moments are SQL, and so is what is wanted: of the
 * connections `s`, and of their assets `e.asset_key`.
 */
export const heldCtes = (
  moments: { at: string; now: string },
  wanted: { connections: string; assets?: string },
  believed: Believed,
): string =>
  `moment as materialized (select ${moments.at}::timestamptz as at, ${moments.now}::timestamptz as now),
   wanted as materialized (${wantedWhere(wanted.connections)}),
   around as materialized (${around(beliefs[believed], wanted.assets ?? 'true')}), held as materialized (${held(anchored, heldOf)})`
/**
 * Where the history leads back to from the last reading that is believed. A look-up for each position: PostgreSQL
 * expects a handful of rows of a CTE, and compared each with each.
 */
export const ledBack = `${held(anchoredLast, '')} offset 0`
export const heldColumns = 'c.balances_since, c.history_from, c.proved_since'

// A verdict is about the time since everything adds up, or since balances were first read where something does not. At an
// earlier moment a part of the history may be missing. An open difference is one at any moment.
const gradeThen = `case when g.grade = 'open' or coalesce(h.proved_since, h.balances_since) <= ${at} then g.grade end`

/**
 * Positions `h` with what is known of their assets; those of zero and zero are not listed, unless `also` wants them.
 * Neither is less than zero of a token that a stranger sent: its contract reported a transfer that never changed a
 * balance.
 */
export const graded = (also = 'false'): string => `
  select h.*, coalesce(present.spam, g.spam, false) as spam, coalesce(${gradeThen}, 'unprovable') as grade,
    coalesce(g.excess, 0) as excess
  from held h
  left join lateral (
    select p.spam from holdings p where ${ofConnection('p', 'h')} and p.asset_key = h.asset_key offset 0) present on true
  left join lateral (
    select g.* from asset_grades g where ${ofConnection('g', 'h')} and g.asset_key = h.asset_key offset 0) g on true
  where (h.liquid <> 0 or h.staked <> 0 or ${also})
    and not (h.is_derived and h.liquid + h.staked < 0 and coalesce(g.uninvited, false))`

const item = positionItem({
  fetched: toWireTime('h.read_at'),
  more: `',"method":"' || case when h.is_derived then 'derived' else 'observed' end
    || '","grade":' || ${text('h.grade')}`,
})

/** A statement takes no further connection once those that it has hold as many assets. */
const assetsMax = 2_000
/** A connection may have held thousands of assets that it no longer has. */
const connectionsMax = 20

const isAskedFor = `($9::text[] is null or s.provider_id = any($9::text[])) and ($10::text[] is null or s.id = any($10::text[]))`

// A page has connections in the order of their ids. All of them at once took half a minute for a hundred wallets with
// thousands of tokens each, so a statement takes the next few, and the page is read on where they do not fill it.
const near = `
  select n.id from (
    select s.id, sum(n.assets) over (order by s.id) - n.assets as before
    from (select s.* from shown s where ($6::text is null or s.id >= $6::text) and ${isAskedFor}
      order by s.id limit ${connectionsMax}) s,
    lateral (select count(*) as assets from (
      select from holdings h where ${ofConnection('h', 's')} limit ${assetsMax}) h) n) n
  where n.before < ${assetsMax}`

const statement = positionsText(
  `with ${heldCtes(
    { at: '$12', now: '$3' },
    {
      connections: 's.id = any(array(select id from near))',
      assets: `($11::text[] is null or exists (
        select from assets a where a.asset_key = e.asset_key and a.symbol = any($11::text[])))`,
    },
    'readings',
  )}
   select ${item} as item, s.id as place, a.symbol, a.id as asset_id
   from (${graded()}) h
   join wanted s on s.connection_key = h.connection_key
   join assets a on a.asset_key = h.asset_key
   cross join lateral (${price}) p
   where ($6::text is null or (s.id, a.symbol, a.id) > ($6::text, $7::text, $8::text))
   order by s.id, a.symbol, a.id limit $4::bigint`,
  heldColumns,
  {
    ctes: `with near as materialized (${near})`,
    more: `, (select min(s.id) from shown s where s.id > (select max(id) from near) and ${isAskedFor}) as next_place`,
  },
)

export interface PositionsAtPage {
  page: PositionsPage
  /** Set when further connections follow, which may have rows of this page or of a next one. Each statement has its turn. */
  readFurther?: (inTurn: InTurn) => Promise<PositionsPage>
}

interface Step {
  page: PositionsPage
  count: number
  /** The connection that follows. */
  next: string | null
}

/** v2: a row for each connection and asset that was held at `asOf`. */
export async function readPositionsAt(
  sql: Sql,
  token: UncheckedToken,
  request: PositionsAtRequest,
): Promise<AuthorizedRead<PositionsAtPage> | undefined> {
  const authorized = await readStep(sql, token, request)
  if (authorized === undefined) return undefined
  const { result: first } = authorized
  if (first.page.end !== undefined || first.next === null) return { ...authorized, result: { page: first.page } }
  const readFurther = (inTurn: InTurn): Promise<PositionsPage> => readOn(sql, token, request, first, inTurn)
  return { ...authorized, result: { page: first.page, readFurther } }
}

async function readStep(
  sql: Sql,
  token: UncheckedToken,
  { limit, after, providerIds, connectionIds, assetSymbols, asOf }: PositionsAtRequest,
): Promise<AuthorizedRead<Step> | undefined> {
  const filters = [providerIds ?? null, connectionIds ?? null, assetSymbols ?? null]
  const values = [limit + 1, limit, ...(after ?? noPoint), ...filters, asOf]
  const authorized = await readAuthorized<PositionsRow & { next_place: string | null }>(sql, token, statement, values)
  if (authorized === undefined) return undefined
  const { count, next_place: next } = authorized.result
  return { ...authorized, result: { page: toPositionsPage(authorized.result, limit), count, next } }
}

async function readOn(
  sql: Sql,
  token: UncheckedToken,
  request: PositionsAtRequest,
  first: Step,
  inTurn: InTurn,
): Promise<PositionsPage> {
  const pages = [first.page.items]
  let { count, next } = first
  while (next !== null) {
    const limit = request.limit - count
    const after: PositionPoint = [next, '', '']
    // One row more than the page lacks tells whether another page follows.
    const step = await inTurn(() => readStep(sql, token, { ...request, limit: Math.max(limit, 1), after }))
    if (step === undefined) throw refuseAccessToken()
    const { page } = step.result
    // A full page, of which only this step told that it is not the last one.
    if (limit === 0 && step.result.count > 0) return { items: toItems(pages), end: [next, '', ''] }
    if (limit > 0) pages.push(page.items)
    if (page.end !== undefined) return { items: toItems(pages), end: page.end }
    count += step.result.count
    next = step.result.next
  }
  return { items: toItems(pages), end: undefined }
}

const toItems = (pages: readonly string[]): string => pages.filter((items) => items !== '').join(',\n')

export async function finishPositions({ page, readFurther }: PositionsAtPage, inTurn: InTurn): Promise<PositionsPage> {
  return readFurther === undefined ? page : readFurther(inTurn)
}
