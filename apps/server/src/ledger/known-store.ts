/** SQL over raw records that are read again. */
import type { RawRecord } from '@assay/connectors'
import type { Sql } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'
import type { List } from './raw-store.ts'
import type { CompleteWindow } from './retire-store.ts'

export interface ComparedPage extends List {
  records: readonly RawRecord[]
  complete?: CompleteWindow | undefined
}

/**
 * Whether any of these records is new or changed, or a stored one is missing. Most runs read again what they know (overlap
 * of windows), and ask this instead of opening a transaction.
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
