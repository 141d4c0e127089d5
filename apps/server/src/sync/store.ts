/** All SQL over bookmarks, covered windows and failures: the places that reading a connection has come to. */
import type { Window } from '@assay/connectors'
import type { Sql } from '../db/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'

export interface Bookmark {
  window: Window
  position: string | null
}

const refOf = (ref: ConnectionRef): [string, number] => [ref.userKey, ref.connectionKey]
const toTime = (ms: number): string => new Date(ms).toISOString()

/** Everything that is needed to go on reading a connection. */
export interface Places {
  bookmarks: Map<string, Bookmark>
  /** By stream, oldest first. */
  covered: Map<string, Window[]>
  hasFailures: boolean
}

/** Of all streams, in one statement: a run that finds nothing new needs nothing more. */
export async function loadPlaces(sql: Sql, ref: ConnectionRef): Promise<Places> {
  const rows = await sql.rows<{
    kind: 'bookmark' | 'covered' | 'failures'
    stream: string
    window_start: string
    window_end: string
    position: string | null
  }>(
    `select 'bookmark' as kind, stream, window_start, window_end, position from stream_bookmarks
     where user_key = $1::bigint and connection_key = $2
     union all
     select 'covered', stream, window_start, window_end, null from covered_windows
     where user_key = $1::bigint and connection_key = $2
     union all
     select 'failures', '', $3::timestamptz, $3::timestamptz, null from sync_failures
     where user_key = $1::bigint and connection_key = $2
     order by window_start`,
    [...refOf(ref), sql.now()],
  )
  const places: Places = { bookmarks: new Map(), covered: new Map(), hasFailures: false }
  for (const row of rows) {
    if (row.kind === 'failures') places.hasFailures = true
    else if (row.kind === 'bookmark') {
      places.bookmarks.set(row.stream, { window: toWindow(row), position: row.position })
    } else places.covered.set(row.stream, [...(places.covered.get(row.stream) ?? []), toWindow(row)])
  }
  return places
}

/**
 * Moves from one place to the next, or says that another worker did. That happens when a worker that was presumed dead
 * comes back: its page is refused as a whole instead of moving the bookmark backwards. The caller throws, which undoes
 * what it wrote.
 */
export async function moveBookmark(
  sql: Sql,
  ref: ConnectionRef,
  stream: string,
  from: Bookmark | undefined,
  to: Bookmark,
): Promise<boolean> {
  const values = [...refOf(ref), stream, toTime(to.window.startMs), toTime(to.window.endMs), to.position]
  if (from === undefined) {
    const inserted = await sql.execute(
      `insert into stream_bookmarks (user_key, connection_key, stream, window_start, window_end, position)
       values ($1::bigint, $2, $3, $4, $5, $6) on conflict do nothing`,
      values,
    )
    return inserted === 1
  }
  const moved = await sql.execute(
    `update stream_bookmarks set window_start = $4, window_end = $5, position = $6
     where user_key = $1::bigint and connection_key = $2 and stream = $3
       and window_start = $7 and window_end = $8 and position is not distinct from $9`,
    [...values, toTime(from.window.startMs), toTime(from.window.endMs), from.position],
  )
  return moved === 1
}

/** The window cannot be read now and is left for later. Refused like a move when another worker was there first. */
export async function dropBookmark(sql: Sql, ref: ConnectionRef, stream: string, from: Bookmark): Promise<boolean> {
  const dropped = await sql.execute(
    `delete from stream_bookmarks
     where user_key = $1::bigint and connection_key = $2 and stream = $3
       and window_start = $4 and window_end = $5 and position is not distinct from $6`,
    [...refOf(ref), stream, toTime(from.window.startMs), toTime(from.window.endMs), from.position],
  )
  return dropped === 1
}

export async function dropBookmarks(sql: Sql, ref: ConnectionRef): Promise<void> {
  await sql.execute('delete from stream_bookmarks where user_key = $1::bigint and connection_key = $2', refOf(ref))
}

/** What is covered since then counts as not read. */
export async function distrustSince(sql: Sql, ref: ConnectionRef, stream: string, sinceMs: number): Promise<void> {
  await sql.execute(
    `with later as (
       delete from covered_windows
       where user_key = $1::bigint and connection_key = $2 and stream = $3 and window_start >= $4::timestamptz)
     update covered_windows set window_end = $4::timestamptz
     where user_key = $1::bigint and connection_key = $2 and stream = $3
       and window_start < $4::timestamptz and window_end > $4::timestamptz`,
    [...refOf(ref), stream, toTime(sinceMs)],
  )
}

/** A window that was read to its end. */
export interface Closing {
  stream: string
  /** Where its reader was; undefined when one page was the whole window. */
  from: Bookmark | undefined
  window: Window
}

/**
 * These windows are covered, one for each stream: windows that touch become one. Returns how many were closed; the others
 * were refused like a move, because another worker has moved the bookmark since or the connection was removed.
 *
 * One statement, so that it needs no transaction where nothing else is written. The window that was covered before is
 * made longer in place: most runs do only that.
 */
export async function closeWindows(sql: Sql, ref: ConnectionRef, closings: readonly Closing[]): Promise<number> {
  const { closed } = await sql.row<{ closed: number }>(
    `with given as materialized (
       select * from unnest($3::text[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[],
         $8::text[]) as g (stream, window_start, window_end, from_start, from_end, position)
     ), held as materialized (
       select from existing_connections where user_key = $1::bigint and connection_key = $2 for key share
     ), fitting as materialized (
       select g.* from given g
       left join stream_bookmarks b on b.user_key = $1::bigint and b.connection_key = $2 and b.stream = g.stream
       where exists (select from held)
         and (b.window_start, b.window_end, b.position) is not distinct from (g.from_start, g.from_end, g.position)
     ), passed as (
       delete from stream_bookmarks b using fitting f
       where b.user_key = $1::bigint and b.connection_key = $2 and b.stream = f.stream
     ), merged as materialized (
       select f.stream, least(f.window_start, min(c.window_start)) as window_start,
         greatest(f.window_end, max(c.window_end)) as window_end
       from fitting f
       left join covered_windows c on c.user_key = $1::bigint and c.connection_key = $2 and c.stream = f.stream
         and c.window_start <= f.window_end and c.window_end >= f.window_start
       group by f.stream, f.window_start, f.window_end
     ), swallowed as (
       delete from covered_windows c using merged m
       where c.user_key = $1::bigint and c.connection_key = $2 and c.stream = m.stream
         and c.window_start > m.window_start and c.window_start <= m.window_end
     ), kept as (
       insert into covered_windows as c (user_key, connection_key, stream, window_start, window_end)
       select $1::bigint, $2::integer, m.stream, m.window_start, m.window_end from merged m
       on conflict (user_key, connection_key, stream, window_start) do update
         set window_end = greatest(c.window_end, excluded.window_end)
     )
     select count(*)::int as closed from fitting`,
    [
      ...refOf(ref),
      closings.map(({ stream }) => stream),
      closings.map(({ window }) => toTime(window.startMs)),
      closings.map(({ window }) => toTime(window.endMs)),
      closings.map(({ from }) => (from === undefined ? null : toTime(from.window.startMs))),
      closings.map(({ from }) => (from === undefined ? null : toTime(from.window.endMs))),
      closings.map(({ from }) => from?.position ?? null),
    ],
  )
  return closed
}

/** Of every stream, oldest first. */
export async function listAllCovered(sql: Sql, ref: ConnectionRef): Promise<(Window & { stream: string })[]> {
  const rows = await sql.rows<{ stream: string; window_start: string; window_end: string }>(
    `select stream, window_start, window_end from covered_windows
     where user_key = $1::bigint and connection_key = $2 order by window_start`,
    refOf(ref),
  )
  return rows.map((row) => ({ stream: row.stream, ...toWindow(row) }))
}

/** The owner's settled connections. */
export async function listReadable(sql: Sql, owner: Owner): Promise<{ id: string; provider_id: string }[]> {
  return sql.rows('select id, provider_id from readable_connections where user_key = $1::bigint order by id', [
    owner.userKey,
  ])
}

/** Of one that was removed meanwhile nothing is kept. */
export async function countFailure(sql: Sql, ref: ConnectionRef, { anew }: { anew: boolean }): Promise<number> {
  const row = await sql.maybeRow<{ failures: number }>(
    `insert into sync_failures as f (user_key, connection_key, failures)
     select user_key, connection_key, 1 from existing_connections
     where user_key = $1::bigint and connection_key = $2 for key share
     on conflict (user_key, connection_key) do update
       set failures = case when $3::boolean then 1 else f.failures + 1 end
     returning failures`,
    [...refOf(ref), anew],
  )
  return row?.failures ?? 1
}

export async function clearFailures(sql: Sql, ref: ConnectionRef): Promise<void> {
  await sql.execute('delete from sync_failures where user_key = $1::bigint and connection_key = $2', refOf(ref))
}

export async function forgetConnection(sql: Sql, ref: ConnectionRef): Promise<void> {
  const tables = ['stream_bookmarks', 'covered_windows', 'sync_failures', 'refresh_connections', 'refresh_cool_downs']
  for (const table of tables) {
    await sql.execute(`delete from ${table} where user_key = $1::bigint and connection_key = $2`, refOf(ref))
  }
}

function toWindow(row: { window_start: string; window_end: string }): Window {
  return { startMs: Date.parse(row.window_start), endMs: Date.parse(row.window_end) }
}
