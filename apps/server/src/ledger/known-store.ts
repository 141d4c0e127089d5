/** SQL over raw records that are read again. */
import type { RawRecord } from '@assay/connectors'
import type { Sql } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'

/**
 * Whether any of these records is new or changed. Most runs read again what they know (overlap of windows), and ask this
 * instead of opening a transaction.
 */
export async function hasNews(
  sql: Sql,
  ref: ConnectionRef,
  pages: readonly { stream: string; records: readonly RawRecord[] }[],
): Promise<boolean> {
  const given = pages.flatMap(({ stream, records }) => records.map((record) => ({ stream, ...record })))
  const row = await sql.row<{ has_news: boolean }>(
    // A subquery for each record, by the primary key: a join may be planned to read all records of the connection.
    `select exists (
       select from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as g (stream, source_key, group_key, body)
       where (select r.group_key = g.group_key and r.body = g.body from raw_records r
         where r.user_key = $1::bigint and r.connection_key = $2::integer
           and r.stream = g.stream and r.source_key = g.source_key) is not true) as has_news`,
    [
      ref.userKey,
      ref.connectionKey,
      given.map(({ stream }) => stream),
      given.map(({ key }) => key),
      given.map(({ group }) => group),
      given.map(({ body }) => body),
    ],
  )
  return row.has_news
}
