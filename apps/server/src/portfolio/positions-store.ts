/**
 * What a user holds, written by the statement that reads it: PostgreSQL's numeric is exact and never has an exponent,
 * so its text is a JSON number with every digit. A position's time is when its connection's balances were last read.
 */
import type { Sql } from '../db/index.ts'
import {
  cutItems,
  itemEnd,
  readAuthorized,
  authorizedReadText,
  toWireTime,
  type UncheckedToken,
  type ItemsRow,
  type AuthorizedRead,
} from './authorized-read-store.ts'

const scope = 'assets:read'
/** The bound for a list without `limit`. */
const positionsMax = 1_000_000

/** The last row of a page, as the order compares it. */
export type PositionPoint = readonly [group: string, symbol: string, assetId: string]

export interface PositionsPage {
  /** Ready JSON, separated by commas. */
  items: string
  /** Where the next page continues; undefined after the last row. */
  end: PositionPoint | undefined
}

export interface PositionsRow extends ItemsRow {
  last_group: string | null
  last_symbol: string | null
  last_asset_id: string | null
}

export interface PositionRequest {
  limit: number
  after: PositionPoint | undefined
  providerIds?: readonly string[] | undefined
  connectionIds?: readonly string[] | undefined
  assetSymbols?: readonly string[] | undefined
}

export interface SourcePositionRequest {
  /** All of them when undefined. */
  limit: number | undefined
  after: PositionPoint | undefined
  sourceIds?: readonly string[] | undefined
  assetSymbols?: readonly string[] | undefined
  /** On the time of the row: start included, end excluded. */
  startTime?: string | undefined
  endTime?: string | undefined
}

export const text = (value: string): string => `coalesce(to_json(${value})::text, 'null')`
const number = (value: string): string => `coalesce(trim_scale(${value})::text, 'null')`
const decimalText = (value: string): string => `coalesce('"' || trim_scale(${value})::text || '"', 'null')`

/**
 * Relative to the base URL. Characters that would end a segment of a path are encoded, as in http/system/icons.ts; to
 * browsers, a backslash is a slash.
 */
const iconUrl = `'/icons/assets/' || ${['?', '#', '/', '\\'].reduce(
  (sql, character) => `replace(${sql}, '${character}', '${encodeURIComponent(character)}')`,
  `replace(a.id, '%', '%25')`,
)} || '.svg'`

/**
 * A row of v2 over the connection `s`, the position `h`, its asset `a` and its price `p`; further members are SQL text.
 */
export const positionItem = ({ fetched, more = `''` }: { fetched: string; more?: string }): string =>
  `'{"provider_id":' || ${text('s.provider_id')} || ',"connection_id":' || ${text('s.id')}
  || ',"asset_id":' || ${text('a.id')} || ',"asset_symbol":' || ${text('a.symbol')} || ',"asset_name":' || ${text('a.name')}
  || ',"icon_url":' || ${text(iconUrl)} || ',"asset_holdings":' || ${number('h.liquid')} || ',"staked_holdings":' || ${number('h.staked')}
  || ',"price_in_usd":' || ${number('p.price_in_usd')} || ',"time_fetched":"' || ${fetched}
  || '","value_in_usd":' || ${decimalText('p.price_in_usd * (h.liquid + h.staked)')} || ',"spam":' || h.spam::text
  || ',"exact":{"asset_holdings":' || ${decimalText('h.liquid')} || ',"staked_holdings":' || ${decimalText('h.staked')}
  || ',"total_holdings":' || ${decimalText('h.liquid + h.staked')} || ',"price_in_usd":' || ${decimalText('p.price_in_usd')}
  || '}' || ${more} || '}'`

const sourcePositionItem = `'{"crypto_source_id":' || ${text('g.provider_id')} || ',"asset_symbol":' || ${text('g.symbol')}
  || ',"asset_holdings":' || ${number('g.liquid')} || ',"staked_holdings":' || ${number('g.staked')}
  || ',"price_in_usd":' || ${number('p.price_in_usd')} || ',"time_fetched":"' || ${toWireTime('g.fetched_at')} || '"}'`

/**
 * Columns of the inner query: item, place (group), symbol, asset_id. The aggregate keeps its order, because nothing
 * else stands above it.
 */
export function positionsText(
  rows: string,
  columns = `${toWireTime('c.balances_at')} as fetched_text`,
  { ctes = '', more = '' } = {},
): string {
  const last = '$5::integer'
  const result = `${ctes} select string_agg(t.item, ${itemEnd}) as items, count(*)::integer as count,
      (array_agg(t.place))[${last}] as last_group, (array_agg(t.symbol))[${last}] as last_symbol,
      (array_agg(t.asset_id))[${last}] as last_asset_id${more}
    from (${rows}) t`
  return authorizedReadText({ scope, columns, result })
}

// A look-up for each connection: PostgreSQL expects a few rows of a user, and compared each holding with each connection.
const holdingsOf = `select h.asset_key, h.liquid, h.staked, h.spam from holdings h
  where h.user_key = $1::bigint and h.connection_key = s.connection_key offset 0`
// A page ends with one of the first connections, and what the others hold is not looked up.
const shownInOrder = `(select s.* from shown s where ($6::text is null or s.id >= $6::text) order by s.id)`

const positions = positionsText(
  `select ${positionItem({ fetched: 's.fetched_text' })} as item, s.id as place, a.symbol, a.id as asset_id
   from ${shownInOrder} s
   cross join lateral (${holdingsOf}) h
   join assets a on a.asset_key = h.asset_key
   left join current_prices p on p.asset_id = a.id
   where ($6::text is null or (s.id, a.symbol, a.id) > ($6::text, $7::text, $8::text))
     and ($9::text[] is null or s.provider_id = any($9::text[])) and ($10::text[] is null or s.id = any($10::text[]))
     and ($11::text[] is null or a.symbol = any($11::text[]))
   order by s.id, a.symbol, a.id limit $4::bigint`,
)

/** v2: a row for each connection and asset. */
export async function readPositions(
  sql: Sql,
  token: UncheckedToken,
  { limit, after, providerIds, connectionIds, assetSymbols }: PositionRequest,
): Promise<AuthorizedRead<PositionsPage> | undefined> {
  const filters = [providerIds ?? null, connectionIds ?? null, assetSymbols ?? null]
  return readPositionsPage(sql, token, positions, limit, [...(after ?? noPoint), ...filters])
}

const sourcePositions = positionsText(
  `select ${sourcePositionItem} as item, g.provider_id as place, g.symbol, g.asset_id
   from (
     select s.provider_id, a.symbol, a.id as asset_id, sum(h.liquid) as liquid, sum(h.staked) as staked,
       min(s.balances_at) as fetched_at
     from shown s
     cross join lateral (${holdingsOf}) h
     join assets a on a.asset_key = h.asset_key
     where not h.spam and ($9::text[] is null or s.provider_id = any($9::text[]))
       and ($10::text[] is null or a.symbol = any($10::text[]))
     group by s.provider_id, a.symbol, a.id
   ) g left join current_prices p on p.asset_id = g.asset_id
   where ($6::text is null or (g.provider_id, g.symbol, g.asset_id) > ($6::text, $7::text, $8::text))
     and ($11::timestamptz is null or g.fetched_at >= $11::timestamptz)
     and ($12::timestamptz is null or g.fetched_at < $12::timestamptz)
   order by g.provider_id, g.symbol, g.asset_id limit $4::bigint`,
)

/** v1: a row for each source and asset. Connections of one source are summed; their oldest time is shown. */
export async function readSourcePositions(
  sql: Sql,
  token: UncheckedToken,
  { limit, after, sourceIds, assetSymbols, startTime, endTime }: SourcePositionRequest,
): Promise<AuthorizedRead<PositionsPage> | undefined> {
  const filters = [sourceIds ?? null, assetSymbols ?? null, startTime ?? null, endTime ?? null]
  return readPositionsPage(sql, token, sourcePositions, limit ?? positionsMax, [...(after ?? noPoint), ...filters])
}

export const noPoint = [null, null, null] as const

export async function readPositionsPage(
  sql: Sql,
  token: UncheckedToken,
  statement: string,
  limit: number,
  values: readonly unknown[],
): Promise<AuthorizedRead<PositionsPage> | undefined> {
  const authorized = await readAuthorized<PositionsRow>(sql, token, statement, [limit + 1, limit, ...values])
  return authorized && { ...authorized, result: toPositionsPage(authorized.result, limit) }
}

export function toPositionsPage(row: PositionsRow, limit: number): PositionsPage {
  const { items, isLast } = cutItems(row, limit)
  const { last_group: place, last_symbol: symbol, last_asset_id: assetId } = row
  const isEnd = isLast || place === null || symbol === null || assetId === null
  return { items, end: isEnd ? undefined : [place, symbol, assetId] }
}
