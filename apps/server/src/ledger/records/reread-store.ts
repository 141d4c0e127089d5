/**
 * All SQL over records that are read again: whether anything about them is new, and what happens to those that the
 * provider no longer shows. They are retired, never deleted: deriving leaves out a retired record, and one that comes
 * back is used again.
 */
import type { RawRecord } from '@assay/connectors'
import { dayMs } from '@assay/core'
import type { Sql } from '../../db/index.ts'
import { keysOf, type ConnectionRef } from '../../owner.ts'
import { makeDue, newMark, type ListKey } from './raw-store.ts'

/** A window of a list that was read to its end, and the keys of everything it showed. */
export interface CompleteWindow {
  startMs: number
  endMs: number
  keys: readonly string[]
}

/** A single bad answer must not remove anything: a record has to be missing from two reads, this far apart. */
const missingForMs = 10 * 60_000
/** When more than this part of a window is missing, and more than one record, the provider's answer is in doubt. */
const doubtedPart = 0.05
/** A provider that has not shown a record for this long does not have it, however many there are of them. */
const doubtedForMs = 7 * dayMs

/** Of the record `r`. */
const isRetired = '(r.source_key in (select source_key from judged where is_retired))'

const dueOfRetired = `due as (${makeDue('retired', { stream: '$5', partition: '$6', mark: '$4' })} returning d.group_key)`

/** The provider has withdrawn these records: they are retired at once. */
export async function retireWithdrawn(
  tx: Sql,
  ref: ConnectionRef,
  { stream, partition }: ListKey,
  keys: readonly string[],
): Promise<void> {
  await tx.execute(
    `with retired as (
       update raw_records set retired_at = $3::timestamptz, pending = false
       where user_key = $1::bigint and connection_key = $2::integer and stream = $5::text and partition = $6::text
         and source_key = any($7::text[]) and retired_at is null
       returning group_key, occurred_at
     ), ${dueOfRetired}
     select group_key from due`,
    [...keysOf(ref), tx.now(), newMark(), stream, partition, [...keys]],
  )
}

/**
 * Notes which records of the window were not shown, and retires those that were missing before. When too many are
 * missing, it retires only what has been missing for long, and returns the two counts.
 *
 * Records that could not be read do not count. One may be stored under another key than the same record has when it can
 * be read, and then it stays missing. An empty answer says nothing about such records.
 *
 * What was judged is looked up in a table of hashes (`is true` keeps PostgreSQL from a join): it expects a row or two of
 * a list that its statistics do not know, and compared each record of the list with each that was missing.
 */
export async function judgeMissing(
  tx: Sql,
  ref: ConnectionRef,
  { stream, partition }: ListKey,
  { startMs, endMs, keys }: CompleteWindow,
): Promise<{ missing: number; known: number } | undefined> {
  const { missing, known } = await tx.row<{ missing: number; known: number }>(
    `with known as materialized (
       select r.source_key, r.missing_since, r.unreadable is null as counts,
         r.missing_since <= $12::timestamptz as is_gone
       from raw_records r
       where r.user_key = $1::bigint and r.connection_key = $2::integer
         and r.occurred_at >= $7::timestamptz and r.occurred_at < $8::timestamptz
         and r.stream = $5::text and r.partition = $6::text and r.retired_at is null
     ), missing as materialized (
       select k.* from known k where k.source_key not in (select unnest($9::text[]))
     ), counts as materialized (
       select (select count(*) from known where counts)::integer as known,
         (select count(*) from missing where counts and is_gone is not true)::integer as missing
     ), judged as materialized (
       select m.source_key, m.is_gone is true or (m.missing_since <= $10::timestamptz
         and (c.missing <= 1 or c.missing <= $11::double precision * c.known)
         and (m.counts or cardinality($9::text[]) > 0)) is true as is_retired
       from missing m, counts c
     ), noted as (
       update raw_records r set missing_since = coalesce(r.missing_since, $3::timestamptz),
         retired_at = case when ${isRetired} then $3::timestamptz end, pending = r.pending and not ${isRetired}
       where r.user_key = $1::bigint and r.connection_key = $2::integer
         and r.stream = $5::text and r.partition = $6::text
         and (r.source_key in (select source_key from judged)) is true
       returning r.group_key, r.occurred_at, r.retired_at
     ), retired as (
       select group_key, occurred_at from noted where retired_at is not null
     ), ${dueOfRetired}
     select known, missing from counts`,
    [
      ...keysOf(ref),
      tx.now(),
      newMark(),
      stream,
      partition,
      new Date(startMs).toISOString(),
      new Date(endMs).toISOString(),
      [...keys],
      new Date(Date.parse(tx.now()) - missingForMs).toISOString(),
      doubtedPart,
      new Date(Date.parse(tx.now()) - doubtedForMs).toISOString(),
    ],
  )
  return missing > 1 && missing > doubtedPart * known ? { missing, known } : undefined
}

export interface ComparedPage extends ListKey {
  records: readonly RawRecord[]
  complete?: CompleteWindow | undefined
}

/**
 * Whether any of these records is new or changed, or a stored one is missing. Most runs read again what they know
 * (overlap of windows), and ask this instead of opening a transaction.
 */
export async function hasNews(sql: Sql, ref: ConnectionRef, pages: readonly ComparedPage[]): Promise<boolean> {
  const given = pages.flatMap(({ stream, partition, records }) =>
    records.map((record) => ({ stream, partition, ...record })),
  )
  const windows = pages.flatMap(({ stream, partition, complete }) =>
    complete === undefined ? [] : [{ stream, partition, ...complete }],
  )
  const shown = windows.flatMap(({ stream, partition, keys }) => keys.map((key) => ({ stream, partition, key })))
  const row = await sql.row<{ has_news: boolean }>(
    // A subquery for each record, by the primary key: a join may be planned to read all records of the connection.
    `select exists (
       select from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::text[])
         as g (stream, partition, source_key, body, pending, unreadable)
       where (select r.body = g.body and r.pending = g.pending and r.unreadable is not distinct from g.unreadable
           and r.missing_since is null and r.retired_at is null
         from raw_records r
         where r.user_key = $1::bigint and r.connection_key = $2::integer
           and r.stream = g.stream and r.partition = g.partition and r.source_key = g.source_key) is not true
     ) or exists (
       select from unnest($9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[])
         as w (stream, partition, start_at, end_at)
       cross join lateral (
         select r.source_key from raw_records r
         where r.user_key = $1::bigint and r.connection_key = $2::integer
           and r.occurred_at >= w.start_at and r.occurred_at < w.end_at
           and r.stream = w.stream and r.partition = w.partition and r.retired_at is null offset 0) known
       where (w.stream, w.partition, known.source_key) not in (
         select * from unnest($13::text[], $14::text[], $15::text[]))
     ) as has_news`,
    [
      ref.userKey,
      ref.connectionKey,
      given.map(({ stream }) => stream),
      given.map(({ partition }) => partition),
      given.map(({ key }) => key),
      given.map(({ body }) => body),
      given.map(({ pending }) => pending === true),
      given.map(({ unreadable }) => unreadable ?? null),
      windows.map(({ stream }) => stream),
      windows.map(({ partition }) => partition),
      windows.map(({ startMs }) => new Date(startMs).toISOString()),
      windows.map(({ endMs }) => new Date(endMs).toISOString()),
      shown.map(({ stream }) => stream),
      shown.map(({ partition }) => partition),
      shown.map(({ key }) => key),
    ],
  )
  return row.has_news
}
