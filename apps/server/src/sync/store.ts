/** All SQL over how far a connection has been read: lists, bookmarks, covered windows, state and failures. */
import type { ConnectorState } from '@assay/connectors'
import type { Sql } from '../db/index.ts'
import type { ListKey } from '../ledger/index.ts'
import { keysOf, type ConnectionRef, type Owner } from '../owner.ts'
import { standingOf, type CoveredSpan, type Standings } from './standings.ts'
import type { Bookmark } from './plan.ts'

const toTime = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString())

interface StandingRow {
  kind: 'bookmark' | 'covered' | 'list' | 'pending' | 'state' | 'failures' | 'proof'
  connection_key: number
  stream: string
  partition: string
  window_start: string | null
  window_end: string | null
  text: string | null
  start_at: string | null
  end_at: string | null
  shown_again: number | null
}

/** How far each list was read, in the connections that `of` chooses. */
const listsText = (of: string): string =>
  `select 'bookmark' as kind, connection_key, stream, partition, window_start, window_end, position as text,
     null::timestamptz as start_at, null::timestamptz as end_at, shown_again
   from stream_bookmarks ${of}
   union all
   select 'covered', connection_key, stream, partition, window_start, window_end, null, start_at, end_at, null
   from covered_windows ${of}
   union all
   select 'list', connection_key, stream, partition, record_count, null, cursor, listed_at, gone_at, null
   from partition_cursors ${of}
   union all
   select 'pending', connection_key, stream, partition, null, null, null, min(occurred_at), null, null
   from pending_records ${of} group by connection_key, stream, partition`

const ofOne = 'where user_key = $1::bigint and connection_key = $2::integer'
const ofMany = 'where user_key = $1::bigint and connection_key = any($2::integer[])'

/** Everything that is needed to continue reading, in one statement. A run that finds nothing new needs no other. */
export async function loadStandings(sql: Sql, ref: ConnectionRef): Promise<Standings> {
  const rows = await sql.rows<StandingRow>(
    `${listsText(ofOne)}
     union all
     select 'state', connection_key, '', '', version, null, state, null, null, null from connector_states ${ofOne}
     union all
     select 'failures', connection_key, '', '', null, null, null, null, null, null from sync_failures ${ofOne}
     union all
     select 'proof', connection_key, '', '', null, null, null, null, null, null from undecided_proofs ${ofOne}
     order by window_start`,
    keysOf(ref),
  )
  return toStandings(rows)
}

/** How far each list of several connections of one owner was read, by their keys; of each that has a list. */
export async function loadListsOf(
  sql: Sql,
  { userKey }: Pick<Owner, 'userKey'>,
  connectionKeys: readonly number[],
): Promise<Map<number, Standings['lists']>> {
  const rows = await sql.rows<StandingRow>(`${listsText(ofMany)} order by window_start`, [userKey, connectionKeys])
  const byConnection = Map.groupBy(rows, (row) => row.connection_key)
  return new Map([...byConnection].map(([key, own]) => [key, toStandings(own).lists]))
}

function toStandings(rows: readonly StandingRow[]): Standings {
  const standings: Standings = {
    lists: new Map(),
    state: {},
    stateVersion: null,
    hasFailures: false,
    isProofDue: false,
  }
  for (const row of rows) addRow(standings, row)
  return standings
}

function addRow(standings: Standings, row: StandingRow): void {
  const standing = (): ReturnType<typeof standingOf> => standingOf(standings, row.stream, row.partition)
  const span = { start: Number(row.window_start), end: Number(row.window_end) }
  switch (row.kind) {
    case 'bookmark':
      standing().open.push({ ...span, pageMark: row.text ?? '', shownAgain: row.shown_again ?? 0 })
      return
    case 'covered':
      standing().covered.push(toCovered(span, row))
      return
    case 'list':
      standing().lastingMark = row.text
      standing().records = Number(row.window_start)
      standing().isListed = row.start_at !== null
      standing().goneSinceMs = row.end_at === null ? undefined : Date.parse(row.end_at)
      return
    case 'pending':
      standing().pendingSinceMs = Date.parse(row.start_at ?? '')
      return
    case 'state':
      standings.state = JSON.parse(row.text ?? '{}') as ConnectorState
      standings.stateVersion = row.window_start
      return
    case 'failures':
      standings.hasFailures = true
      return
    case 'proof':
      standings.isProofDue = true
  }
}

function toCovered(
  span: { start: number; end: number },
  { start_at, end_at }: { start_at: string | null; end_at: string | null },
): CoveredSpan {
  return {
    ...span,
    ...(start_at === null ? {} : { startMs: Date.parse(start_at) }),
    ...(end_at === null ? {} : { endMs: Date.parse(end_at) }),
  }
}

/**
 * Moves from one place in a window to the next, or says that another worker did. That happens when a worker that was
 * presumed dead comes back: its page is refused as a whole instead of moving the bookmark backwards.
 */
export async function moveBookmark(
  tx: Sql,
  ref: ConnectionRef,
  list: ListKey,
  from: Bookmark | undefined,
  to: Bookmark,
): Promise<boolean> {
  const values = [...keysOf(ref), list.stream, list.partition, to.start, to.end, to.pageMark, to.shownAgain]
  if (from === undefined) {
    const inserted = await tx.execute(
      `insert into stream_bookmarks
         (user_key, connection_key, stream, partition, window_start, window_end, position, shown_again)
       values ($1::bigint, $2, $3, $4, $5::bigint, $6::bigint, $7, $8) on conflict do nothing`,
      values,
    )
    return inserted === 1
  }
  const moved = await tx.execute(
    `update stream_bookmarks set position = $7, shown_again = $8
     where user_key = $1::bigint and connection_key = $2 and stream = $3 and partition = $4
       and window_start = $5::bigint and window_end = $6::bigint and position = $9`,
    [...values, from.pageMark],
  )
  return moved === 1
}

/** The window cannot be read now and is left for later. Refused like a move when another worker was there first. */
export async function dropBookmark(sql: Sql, ref: ConnectionRef, list: ListKey, from: Bookmark): Promise<boolean> {
  const dropped = await sql.execute(
    `delete from stream_bookmarks
     where user_key = $1::bigint and connection_key = $2 and stream = $3 and partition = $4
       and window_start = $5::bigint and window_end = $6::bigint and position = $7`,
    [...keysOf(ref), list.stream, list.partition, from.start, from.end, from.pageMark],
  )
  return dropped === 1
}

export async function dropBookmarks(sql: Sql, ref: ConnectionRef): Promise<void> {
  await sql.execute('delete from stream_bookmarks where user_key = $1::bigint and connection_key = $2', keysOf(ref))
}

/** Windows that are covered since then no longer count as read. */
export async function distrustSince(sql: Sql, ref: ConnectionRef, list: ListKey, since: number): Promise<void> {
  const of = `user_key = $1::bigint and connection_key = $2::integer and stream = $3::text and partition = $4::text`
  await sql.execute(
    `with later as (delete from covered_windows where ${of} and window_start >= $5::bigint)
     update covered_windows set window_end = $5::bigint
     where ${of} and window_start < $5::bigint and window_end > $5::bigint`,
    [...keysOf(ref), list.stream, list.partition, Math.floor(since)],
  )
}

/** A window that was read to its end. */
export interface Closing extends ListKey {
  /** Where its reader was; undefined when the window was read in one go. */
  from: Bookmark | undefined
  window: CoveredSpan
}

/**
 * These windows are covered, at most one for each list: windows that touch become one. Returns how many were closed;
 * the others were refused like a move, because another worker has moved the bookmark since or the connection was
 * removed.
 *
 * One statement, so that it needs no transaction where nothing else is written. The window that was covered before is
 * made longer in place: most runs do only that.
 */
export async function closeWindows(sql: Sql, ref: ConnectionRef, closings: readonly Closing[]): Promise<number> {
  const { closed } = await sql.row<{ closed: number }>(
    `with given as materialized (
       select * from unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[],
         $9::timestamptz[], $10::timestamptz[])
         as g (stream, partition, window_start, window_end, from_end, position, start_at, end_at)
     ), held as materialized (
       select connection_key from existing_connections
       where user_key = $1::bigint and connection_key = $2::integer for key share
     ), fitting as materialized (
       select g.* from given g
       left join stream_bookmarks b on b.user_key = $1::bigint and b.connection_key = $2::integer
         and b.stream = g.stream and b.partition = g.partition and b.window_start = g.window_start
       where exists (select from held) and (b.window_end, b.position) is not distinct from (g.from_end, g.position)
     ), passed as (
       delete from stream_bookmarks b using fitting f
       where b.user_key = $1::bigint and b.connection_key = $2::integer
         and b.stream = f.stream and b.partition = f.partition and b.window_start = f.window_start
     ), merged as materialized (
       select f.stream, f.partition, least(f.window_start, min(c.window_start)) as window_start,
         greatest(f.window_end, max(c.window_end)) as window_end,
         least(f.start_at, min(c.start_at)) as start_at, greatest(f.end_at, max(c.end_at)) as end_at
       from fitting f
       left join covered_windows c on c.user_key = $1::bigint and c.connection_key = $2::integer
         and c.stream = f.stream and c.partition = f.partition
         and c.window_start <= f.window_end and c.window_end >= f.window_start
       group by f.stream, f.partition, f.window_start, f.window_end, f.start_at, f.end_at
     ), swallowed as (
       delete from covered_windows c using merged m
       where c.user_key = $1::bigint and c.connection_key = $2::integer and c.stream = m.stream
         and c.partition = m.partition and c.window_start > m.window_start and c.window_start <= m.window_end
     ), kept as (
       insert into covered_windows as c
         (user_key, connection_key, stream, partition, window_start, window_end, start_at, end_at)
       select $1::bigint, $2::integer, m.* from merged m
       on conflict (user_key, connection_key, stream, partition, window_start) do update
         set window_end = greatest(c.window_end, excluded.window_end), start_at = excluded.start_at, end_at = excluded.end_at
     )
     select count(*)::int as closed from fitting`,
    [
      ...keysOf(ref),
      closings.map(({ stream }) => stream),
      closings.map(({ partition }) => partition),
      closings.map(({ window }) => window.start),
      closings.map(({ window }) => window.end),
      closings.map(({ from }) => from?.end ?? null),
      closings.map(({ from }) => from?.pageMark ?? null),
      closings.map(({ window }) => toTime(window.startMs)),
      closings.map(({ window }) => toTime(window.endMs)),
    ],
  )
  return closed
}

/** Lasting positions, in the transaction that keeps the pages they came with. */
export async function keepLastingMarks(
  tx: Sql,
  ref: ConnectionRef,
  marks: readonly (ListKey & { lastingMark: string })[],
): Promise<void> {
  if (marks.length === 0) return
  await tx.execute(
    `insert into partition_cursors (user_key, connection_key, stream, partition, cursor)
     select $1::bigint, $2::integer, g.* from unnest($3::text[], $4::text[], $5::text[]) as g
     on conflict (user_key, connection_key, stream, partition) do update set cursor = excluded.cursor`,
    [
      ...keysOf(ref),
      marks.map(({ stream }) => stream),
      marks.map(({ partition }) => partition),
      marks.map(({ lastingMark }) => lastingMark),
    ],
  )
}

/** New records, in the transaction that keeps them. */
export async function countRecords(
  tx: Sql,
  ref: ConnectionRef,
  added: readonly (ListKey & { records: number })[],
): Promise<void> {
  if (added.length === 0) return
  await tx.execute(
    `insert into partition_cursors as p (user_key, connection_key, stream, partition, record_count)
     select $1::bigint, $2::integer, g.* from unnest($3::text[], $4::text[], $5::bigint[]) as g
     on conflict (user_key, connection_key, stream, partition) do update
       set record_count = p.record_count + excluded.record_count`,
    [
      ...keysOf(ref),
      added.map(({ stream }) => stream),
      added.map(({ partition }) => partition),
      added.map(({ records }) => records),
    ],
  )
}

/** The lists that the connector began to name, and those that it no longer does. */
export async function keepPartitions(
  sql: Sql,
  ref: ConnectionRef,
  { named, dropped }: { named: readonly ListKey[]; dropped: readonly ListKey[] },
): Promise<void> {
  const all = [...named, ...dropped]
  if (all.length === 0) return
  await sql.execute(
    `with held as materialized (
       select user_key, connection_key from existing_connections
       where user_key = $1::bigint and connection_key = $2::integer for key share)
, kept as (
     insert into partition_cursors (user_key, connection_key, stream, partition, listed_at)
     select held.user_key, held.connection_key, g.* from held,
       unnest($3::text[], $4::text[], $5::timestamptz[]) as g (stream, partition, listed_at)
     on conflict (user_key, connection_key, stream, partition) do update set listed_at = excluded.listed_at
     returning partition)
     select partition from kept`,
    [
      ...keysOf(ref),
      all.map(({ stream }) => stream),
      all.map(({ partition }) => partition),
      [...named.map(() => sql.now()), ...dropped.map(() => null)],
    ],
  )
}

/** How many lists the connector names now. */
export async function countLists(sql: Sql, ref: ConnectionRef): Promise<number> {
  const { lists } = await sql.row<{ lists: number }>(
    `select count(*)::integer as lists from partition_cursors
     where user_key = $1::bigint and connection_key = $2::integer and listed_at is not null`,
    keysOf(ref),
  )
  return lists
}

/** Whether the provider still knows a list that it was asked for. */
export async function keepGone(sql: Sql, ref: ConnectionRef, list: ListKey, isGone: boolean): Promise<void> {
  await sql.execute(
    `update partition_cursors set gone_at = $5::timestamptz
     where user_key = $1::bigint and connection_key = $2::integer and stream = $3::text and partition = $4::text`,
    [...keysOf(ref), list.stream, list.partition, isGone ? sql.now() : null],
  )
}

/** Replaces the state if it is still the one of this version; undefined when another worker has replaced it. */
export async function replaceState(
  sql: Sql,
  ref: ConnectionRef,
  state: string,
  version: string | null,
): Promise<string | undefined> {
  const row = await sql.maybeRow<{ version: string }>(
    `with held as materialized (
       select user_key, connection_key from existing_connections
       where user_key = $1::bigint and connection_key = $2::integer for key share)
, kept as (
     insert into connector_states as s (user_key, connection_key, state, version)
     select held.user_key, held.connection_key, $3::text, coalesce($4::bigint, 0) + 1 from held
     on conflict (user_key, connection_key) do update set state = excluded.state, version = excluded.version
       where s.version = $4::bigint
     returning version)
     select version from kept`,
    [...keysOf(ref), state, version],
  )
  return row?.version
}

/** The first state, which the verification found. A connection that is repaired keeps what it has learned since. */
export async function beginState(tx: Sql, ref: ConnectionRef, state: string): Promise<void> {
  await tx.execute(
    `insert into connector_states (user_key, connection_key, state, version)
     values ($1::bigint, $2::integer, $3::text, 1) on conflict do nothing`,
    [...keysOf(ref), state],
  )
}

/** The owner's settled connections. */
export async function listReadable(sql: Sql, owner: Owner): Promise<ReadableConnection[]> {
  return sql.rows<ReadableConnection>(
    `select id, connection_key as "connectionKey", provider_id as "providerId", last_synced_at as "lastSyncedAt",
       complete_since as "completeSince"
     from readable_connections where user_key = $1::bigint order by id`,
    [owner.userKey],
  )
}

export interface ReadableConnection {
  id: string
  connectionKey: number
  providerId: string
  lastSyncedAt: string | null
  /** Since when no record is missing, by the proof; null when one may be. */
  completeSince: string | null
}

/** A connection that was removed meanwhile keeps no count. */
export async function countFailure(sql: Sql, ref: ConnectionRef, { restart }: { restart: boolean }): Promise<number> {
  const row = await sql.maybeRow<{ failures: number }>(
    `insert into sync_failures as f (user_key, connection_key, failures)
     select user_key, connection_key, 1 from existing_connections
     where user_key = $1::bigint and connection_key = $2 for key share
     on conflict (user_key, connection_key) do update
       set failures = case when $3::boolean then 1 else f.failures + 1 end
     returning failures`,
    [...keysOf(ref), restart],
  )
  return row?.failures ?? 1
}

export async function clearFailures(sql: Sql, ref: ConnectionRef): Promise<void> {
  await sql.execute('delete from sync_failures where user_key = $1::bigint and connection_key = $2', keysOf(ref))
}

const tables = [
  'stream_bookmarks',
  'covered_windows',
  'partition_cursors',
  'connector_states',
  'sync_failures',
  'refresh_connections',
  'refresh_cool_downs',
]

export async function forgetConnection(sql: Sql, ref: ConnectionRef): Promise<void> {
  for (const table of tables) {
    await sql.execute(`delete from ${table} where user_key = $1::bigint and connection_key = $2`, keysOf(ref))
  }
}
