/**
 * Keeps and lists raw records as the provider wrote them, their groups that are due, and groups that failed. What is
 * read again is compared in reread-store.ts; group-store.ts moves records between groups.
 */
import type { RawRecord, StoredRecord } from '@assay/connectors'
import { randomBytes } from 'node:crypto'
import type { Sql } from '../../db/index.ts'
import { keysOf, type ConnectionRef, type Owner } from '../../owner.ts'

const toTime = (ms: number): string => new Date(ms).toISOString()

/** One of the provider's lists. */
export interface ListKey {
  stream: string
  /** '' for a stream that has only one. */
  partition: string
}

/** A random number that identifies one change of a group. */
export function newMark(): string {
  return String(randomBytes(8).readBigInt64BE())
}

/** A record, and the link key that leads to its group. */
export interface LinkedRecord {
  record: RawRecord
  linkKey: string
}

const given = `unnest($7::text[], $8::text[], $9::timestamptz[], $10::text[], $11::boolean[], $12::text[])
  as g (source_key, link_key, occurred_at, body, pending, unreadable)`

/** The group that a link key leads to. Nearly all keys lead to the group of their own name (groups.ts). */
const groupOfLink = `coalesce((select a.group_key from group_aliases a
  where a.user_key = $1::bigint and a.connection_key = $2::integer and a.link_key = g.link_key), g.link_key)`

function valuesOf(
  sql: Sql,
  ref: ConnectionRef,
  { stream, partition }: ListKey,
  linked: readonly LinkedRecord[],
): unknown[] {
  const lists = linked.filter(({ record }) => record.moves !== undefined)
  return [
    ...keysOf(ref),
    stream,
    partition,
    sql.now(),
    newMark(),
    linked.map(({ record }) => record.key),
    linked.map(({ linkKey }) => linkKey),
    linked.map(({ record }) => toTime(record.occurredAtMs)),
    linked.map(({ record }) => record.body),
    linked.map(({ record }) => record.pending === true),
    linked.map(({ record }) => record.unreadable ?? null),
    JSON.stringify(Object.fromEntries(lists.map(({ record }) => [record.key, record.moves]))),
  ]
}

/** A record of more than this many bytes counts as several: the limit of a user's records is one of storage. */
const countedBytes = 16_384

/**
 * For how many more a record counts than for one. What a short one lists takes as much as records of their own. The
 * numbers are looked up in an object: PostgreSQL would search a list of them from its start for each record.
 */
const further = `greatest(octet_length(r.body) / ${countedBytes}, ($13::jsonb ->> r.source_key)::integer - 1)`

/**
 * Makes the groups of these rows due, in the transaction that has changed their records. The parameters are given by
 * their names; $1 and $2 are the connection.
 */
export const makeDue = (from: string, { stream, partition, mark }: Record<keyof ListKey | 'mark', string>): string =>
  `insert into due_groups as d
     (user_key, connection_key, group_key, stream, partition, occurred_at, oldest_at, mark)
   select $1::bigint, $2::integer, group_key, ${stream}::text, ${partition}::text, max(occurred_at), min(occurred_at),
     ${mark}::bigint
   from ${from} group by group_key
   on conflict (user_key, connection_key, group_key) do update set mark = excluded.mark,
     occurred_at = greatest(d.occurred_at, excluded.occurred_at), oldest_at = least(d.oldest_at, excluded.oldest_at)`

/**
 * Inserts the records; `change` says what becomes of one that is stored already. Then makes the groups of `kept` due.
 */
const keepRecords = (change: string): string => `with kept as (
    insert into raw_records as r (user_key, connection_key, stream, partition, fetched_at, source_key, group_key,
      occurred_at, body, pending, unreadable)
    select $1::bigint, $2::integer, $3::text, $4::text, $5::timestamptz, g.source_key, ${groupOfLink}, g.occurred_at,
      g.body, g.pending, g.unreadable
    from ${given}
    on conflict (user_key, connection_key, stream, partition, source_key) do update set ${change}
    returning source_key, group_key, occurred_at, xmax = 0 as added, ${further} as further
  ), due as (
    ${makeDue('kept', { stream: '$3', partition: '$4', mark: '$6' })}
  )`

const isChanged = `r.body <> excluded.body or r.pending <> excluded.pending
  or r.unreadable is distinct from excluded.unreadable or r.missing_since is not null or r.retired_at is not null`

/** A record that can no longer be read stays in its group, so that what the group had become stays too. */
const allColumns = `group_key = case when excluded.unreadable is null then excluded.group_key else r.group_key end,
  occurred_at = excluded.occurred_at, body = excluded.body, fetched_at = excluded.fetched_at, pending = excluded.pending,
  unreadable = excluded.unreadable`

/**
 * A record that is known and unchanged is left alone; a new or changed one makes its group due. One that moves to
 * another group (it could not be read before, or the provider corrected its reference) also makes the group due that it
 * leaves. A record that was missing or retired is there again. Returns how many records are new; a large one counts as
 * several, and one that changes as what it has grown by, which may be below zero.
 *
 * Known records are found by the conflict and never by a query of their own: a query that was planned while the table
 * was small, or was never analysed, read all records of the connection for every page.
 */
export async function upsertRaw(
  sql: Sql,
  ref: ConnectionRef,
  list: ListKey,
  linked: readonly LinkedRecord[],
): Promise<number> {
  if (linked.length === 0) return 0
  // A provider may repeat a row within one page; one statement must not touch a row twice.
  const unique = [...new Map(linked.map((one) => [one.record.key, one])).values()]
  // A changed record is written as it was, so that the group it is in is returned. `xmax = 0` marks a new row.
  const { added, before, changed } = await sql.row<{ added: number; before: number; changed: string[] }>(
    `${keepRecords(`fetched_at = r.fetched_at where ${isChanged}`)}
     select coalesce(sum(1 + further) filter (where added), 0)::integer as added,
       coalesce(sum(further) filter (where not added), 0)::integer as before,
       coalesce(array_agg(source_key) filter (where not added), '{}') as changed
     from kept`,
    valuesOf(sql, ref, list, unique),
  )
  if (changed.length === 0) return added
  const keys = new Set(changed)
  const again = unique.filter(({ record }) => keys.has(record.key))
  const { further } = await sql.row<{ further: number }>(
    `${keepRecords(`${allColumns}, missing_since = null, retired_at = null`)}
     select coalesce(sum(further), 0)::integer as further from kept`,
    valuesOf(sql, ref, list, again),
  )
  return added + further - before
}

export interface DueGroup {
  key: string
  mark: string
}

export interface DuePage {
  groups: DueGroup[]
  /** Where the next page begins. */
  last: DuePoint
}

export interface DuePoint {
  occurredAt: string
  groupKey: string
}

export const newestPoint: DuePoint = { occurredAt: 'infinity', groupKey: '' }

/** A part of a history that is being read: what it holds has been read whole. */
export interface WholePart {
  /** Groups of which nothing older is new; Infinity when there are none. */
  sinceMs: number
  /** Lists that were read to their end, and are understood without the others. */
  lists: readonly ListKey[]
}

// Both are stored with the group. Looking for its records took a second for each batch while a history was read:
// PostgreSQL expects few records of a connection, and searched all of them for every group.
const isWholeByTime = 'd.occurred_at >= $6::timestamptz and d.oldest_at >= $6::timestamptz'
const isWholeByList = '(d.stream, d.partition) in (select * from unnest($7::text[], $8::text[]))'

/**
 * Newest first, from a point on: rows of the batches before it were deleted, but stay in the index until a vacuum, and
 * each batch would step over all of them.
 */
export async function listDueGroups(
  sql: Sql,
  ref: ConnectionRef,
  { from, limit, part }: { from: DuePoint; limit: number; part: WholePart | undefined },
): Promise<DuePage> {
  const isWhole = part?.lists.length === 0 ? isWholeByTime : `(${isWholeByTime} or ${isWholeByList})`
  const rows = await sql.rows<{ group_key: string; occurred_at: string; mark: string }>(
    `select d.group_key, d.occurred_at, d.mark from due_groups d
     where d.user_key = $1::bigint and d.connection_key = $2::integer
       and (d.occurred_at, d.group_key) < ($3::timestamptz, $4::text) ${part === undefined ? '' : `and ${isWhole}`}
     order by d.occurred_at desc, d.group_key desc limit $5::bigint`,
    [...keysOf(ref), from.occurredAt, from.groupKey, limit, ...(part === undefined ? [] : valuesOfPart(part))],
  )
  const last = rows.at(-1)
  return {
    groups: rows.map((row) => ({ key: row.group_key, mark: row.mark })),
    last: last === undefined ? from : { occurredAt: last.occurred_at, groupKey: last.group_key },
  }
}

function valuesOfPart({ sinceMs, lists }: WholePart): unknown[] {
  const since = sinceMs === Infinity ? 'infinity' : toTime(sinceMs)
  if (lists.length === 0) return [since]
  return [since, lists.map(({ stream }) => stream), lists.map(({ partition }) => partition)]
}

/** Makes groups due that may not have changed, and returns them as `listDueGroups` would. */
export async function markDue(tx: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<DueGroup[]> {
  const mark = newMark()
  // One search for all groups: one for each may be planned to read all records of the connection every time.
  await tx.execute(
    `with found as materialized (
       select group_key, max(stream) as stream, max(partition) as partition, max(occurred_at) as occurred_at,
         min(occurred_at) as oldest_at
       from raw_records
       where user_key = $1::bigint and connection_key = $2::integer and group_key = any($5::text[])
       group by group_key)
     insert into due_groups as d
       (user_key, connection_key, group_key, stream, partition, occurred_at, oldest_at, mark)
     select $1::bigint, $2::integer, g.group_key, coalesce(f.stream, ''), coalesce(f.partition, ''),
       coalesce(f.occurred_at, $3::timestamptz), coalesce(f.oldest_at, $3::timestamptz), $4::bigint
     from unnest($5::text[]) as g (group_key) left join found f using (group_key)
     on conflict (user_key, connection_key, group_key) do update set mark = excluded.mark`,
    [...keysOf(ref), tx.now(), mark, [...groups]],
  )
  return groups.map((key) => ({ key, mark }))
}

/**
 * Marks these groups as done, except those that changed since they were listed, and returns the keys of the groups that
 * it marked. A group whose row another transaction holds is changing now. A page that changes one of them later waits
 * for the end of this transaction, and makes it due again.
 */
export async function takeDue(tx: Sql, ref: ConnectionRef, groups: readonly DueGroup[]): Promise<string[]> {
  const keys = groups.map(({ key }) => key)
  const rows = await tx.rows<{ group_key: string; mark: string }>(
    `select group_key, mark from due_groups
     where user_key = $1::bigint and connection_key = $2::integer and group_key = any($3::text[])
     for update skip locked`,
    [...keysOf(ref), keys],
  )
  const marks = new Map(rows.map((row) => [row.group_key, row.mark]))
  const unchanged = groups.filter(({ key, mark }) => marks.get(key) === mark).map(({ key }) => key)
  await tx.execute(
    `delete from due_groups
     where user_key = $1::bigint and connection_key = $2::integer and group_key = any($3::text[])`,
    [...keysOf(ref), unchanged],
  )
  return unchanged
}

interface RawRow {
  stream: string
  partition: string
  source_key: string
  group_key: string
  occurred_at: string
  body: string
  pending: boolean
  unreadable: string | null
}

/** A record, and the group that it is in. */
export interface GroupedRecord extends StoredRecord {
  group: string
}

/** What a record takes beside its body. */
const recordBytes = 500

/**
 * The records of these groups, without retired ones, in no particular order. A stranger decides how large a record of a
 * wallet is, and how many of them a group has: the result is undefined when they take more memory than `bytesMax`.
 * Their sizes are known without reading them, so that those beyond the limit stay where they are.
 */
export async function listRaw(
  sql: Sql,
  ref: ConnectionRef,
  groups: readonly string[],
  bytesMax: number,
): Promise<GroupedRecord[] | undefined> {
  const rows = await sql.rows<RawRow & { bytes: string }>(
    `select * from (
       select stream, partition, source_key, group_key, occurred_at, body, pending, unreadable,
         sum(octet_length(body) + ${recordBytes}) over (rows unbounded preceding) as bytes
       from raw_records
       where user_key = $1::bigint and connection_key = $2::integer and group_key = any($3::text[])
         and retired_at is null) sized
     where bytes - octet_length(body) - ${recordBytes} <= $4::bigint`,
    [...keysOf(ref), [...groups], bytesMax],
  )
  if (Number(rows.at(-1)?.bytes ?? 0) > bytesMax) return undefined
  return rows.map((row) => ({
    stream: row.stream,
    partition: row.partition,
    key: row.source_key,
    group: row.group_key,
    occurredAtMs: Date.parse(row.occurred_at),
    body: row.body,
    pending: row.pending,
    ...(row.unreadable === null ? {} : { unreadable: row.unreadable }),
  }))
}

/** The groups among these that have records and are not due: their transactions are up to date. */
export async function listDerivedGroups(sql: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<string[]> {
  const rows = await sql.rows<{ group_key: string }>(
    `select g.group_key from unnest($3::text[]) as g (group_key)
     where exists (select from raw_records r
         where r.user_key = $1::bigint and r.connection_key = $2::integer and r.group_key = g.group_key
           and r.retired_at is null)
       and not exists (select from due_groups d
         where d.user_key = $1 and d.connection_key = $2 and d.group_key = g.group_key)`,
    [...keysOf(ref), [...groups]],
  )
  return rows.map((row) => row.group_key)
}

/**
 * About when the connection's history begins. It looks only into two indexes, so it does not see older records of
 * groups that are due.
 */
export async function findEarliest(sql: Sql, ref: ConnectionRef): Promise<string | null> {
  const row = await sql.row<{ earliest: string | null }>(
    `select least(
       (select t.occurred_at from transactions t where t.user_key = $1::bigint and t.connection_key = $2::integer
        order by t.occurred_at, t.id limit 1),
       (select min(d.occurred_at) from due_groups d where d.user_key = $1 and d.connection_key = $2)) as earliest`,
    keysOf(ref),
  )
  return row.earliest
}

/** A group that cannot be read stops only itself; what it became before, if anything, stays. */
export async function keepPoison(tx: Sql, ref: ConnectionRef, poison: ReadonlyMap<string, string>): Promise<void> {
  if (poison.size === 0) return
  await tx.execute(
    `insert into poison_groups (user_key, connection_key, seen_at, group_key, reason)
     select $1::bigint, $2::integer, $3::timestamptz, g.* from unnest($4::text[], $5::text[]) as g
     on conflict (user_key, connection_key, group_key) do update
       set reason = excluded.reason, seen_at = excluded.seen_at`,
    [...keysOf(ref), tx.now(), [...poison.keys()], [...poison.values()]],
  )
}

export async function deletePoison(tx: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<void> {
  await tx.execute(
    `delete from poison_groups
     where user_key = $1::bigint and connection_key = $2::integer and group_key = any($3::text[])`,
    [...keysOf(ref), [...groups]],
  )
}

export interface PoisonedTime {
  stream: string
  partition: string
  /** Half open, around the group's records of this stream. */
  startMs: number
  endMs: number
  records: number
}

const poisonedTimesMax = 1_000

/** The times of the groups that could not be derived; only the newest if there are very many. */
export async function listPoisonedTimes(sql: Sql, ref: ConnectionRef): Promise<PoisonedTime[]> {
  const rows = await sql.rows<{
    stream: string
    partition: string
    first_at: string
    last_at: string
    records: number
  }>(
    `select r.stream, r.partition, min(r.occurred_at) as first_at, max(r.occurred_at) as last_at, count(*)::int as records
     from poison_groups p
     join raw_records r on r.user_key = p.user_key and r.connection_key = p.connection_key and r.group_key = p.group_key
     where p.user_key = $1::bigint and p.connection_key = $2::integer and r.retired_at is null
     group by r.stream, r.partition, p.group_key order by max(r.occurred_at) desc limit $3::bigint`,
    [...keysOf(ref), poisonedTimesMax],
  )
  return rows.map(({ stream, partition, first_at, last_at, records }) => ({
    stream,
    partition,
    startMs: Date.parse(first_at),
    endMs: Date.parse(last_at) + 1,
    records,
  }))
}

/** The keys of the owner's connections that have such groups. */
export async function listPoisonedConnections(sql: Sql, { userKey }: Pick<Owner, 'userKey'>): Promise<Set<number>> {
  const rows = await sql.rows<{ connection_key: number }>(
    'select distinct connection_key from poison_groups where user_key = $1::bigint',
    [userKey],
  )
  return new Set(rows.map((row) => row.connection_key))
}
