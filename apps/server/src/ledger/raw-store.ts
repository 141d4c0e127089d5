/** All SQL over raw records, the provider's own words, and over the groups of them that could not be derived. */
import type { RawRecord, StoredRecord } from '@assay/connectors'
import { createHash } from 'node:crypto'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

const refOf = (ref: ConnectionRef): [string, string, string] => [ref.tenantId, ref.userId, ref.connectionId]
const toTime = (ms: number): string => new Date(ms).toISOString()

/**
 * A record that is known and unchanged is left alone; a changed one makes its group due again. One that moves to another
 * group (it could not be read before, or the provider corrected its reference) also makes the group due that it leaves.
 * Returns the groups that have no record any more: they are over, with what they had become.
 */
export async function upsertRaw(
  sql: Sql,
  ref: ConnectionRef,
  stream: string,
  records: readonly RawRecord[],
): Promise<string[]> {
  if (records.length === 0) return []
  // A provider may repeat a row within one page; one statement must not touch a row twice.
  const unique = [...new Map(records.map((record) => [record.key, record])).values()]
  const left = await sql.rows<{ left_group: string }>(
    `with kept as (
       insert into raw_records as r (tenant_id, user_id, connection_id, stream, source_key, group_key, occurred_at, body)
       select $1, $2, $3, $4, * from unnest($5::text[], $6::text[], $7::timestamptz[], $8::text[])
       on conflict (tenant_id, user_id, connection_id, stream, source_key) do update
         set group_key = excluded.group_key, occurred_at = excluded.occurred_at, body = excluded.body, derived = false,
             left_group = nullif(r.group_key, excluded.group_key)
         where r.body <> excluded.body or r.group_key <> excluded.group_key
       returning left_group
     ) select distinct left_group from kept where left_group is not null`,
    [
      ...refOf(ref),
      stream,
      unique.map((record) => record.key),
      unique.map((record) => record.group),
      unique.map((record) => toTime(record.occurredAtMs)),
      unique.map((record) => record.body),
    ],
  )
  if (left.length === 0) return []
  const groups = left.map((row) => row.left_group)
  const rows = await sql.rows<{ group_key: string }>(
    `update raw_records set derived = false
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[])
     returning group_key`,
    [...refOf(ref), groups],
  )
  const kept = new Set(rows.map((row) => row.group_key))
  return groups.filter((group) => !kept.has(group))
}

export interface GroupPage {
  after: string
  limit: number
  /** Only groups that lie wholly at or after this time. */
  sinceMs?: number | undefined
}

/**
 * In the order of their keys, after the one named. From there on, because what was derived before it has left the index
 * in name only until a vacuum: read from the beginning, every batch would step over all batches before it.
 */
export async function listUnderivedGroups(sql: Sql, ref: ConnectionRef, page: GroupPage): Promise<string[]> {
  const values = [...refOf(ref), page.after, page.limit]
  const whole = `and not exists (select from raw_records o where o.tenant_id = $1 and o.user_id = $2
    and o.connection_id = $3 and o.group_key = r.group_key and o.occurred_at < $6)`
  const rows = await sql.rows<{ group_key: string }>(
    `select distinct r.group_key from raw_records r
     where r.tenant_id = $1 and r.user_id = $2 and r.connection_id = $3 and r.group_key > $4 and not r.derived
       ${page.sinceMs === undefined ? '' : whole}
     order by r.group_key limit $5`,
    page.sinceMs === undefined ? values : [...values, toTime(page.sinceMs)],
  )
  return rows.map((row) => row.group_key)
}

export interface RawRow {
  stream: string
  source_key: string
  group_key: string
  occurred_at: string
  body: string
}

// The same in both statements that name it, so that the digest of a group is one thing.
const inOrder = 'order by stream, source_key'

export async function listRaw(sql: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<StoredRecord[]> {
  const rows = await sql.rows<RawRow>(
    `select stream, source_key, group_key, occurred_at, body from raw_records
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[]) ${inOrder}`,
    [...refOf(ref), [...groups]],
  )
  return rows.map((row) => ({
    stream: row.stream,
    key: row.source_key,
    group: row.group_key,
    occurredAtMs: Date.parse(row.occurred_at),
    body: row.body,
  }))
}

/**
 * Those of the groups whose records are, to the letter, the ones that were listed. Whoever holds the connection alone
 * may rely on it to the end of the transaction.
 */
export async function listUnchangedGroups(
  tx: Sql,
  ref: ConnectionRef,
  listed: readonly StoredRecord[],
  groups: readonly string[],
): Promise<string[]> {
  const digests = new Map(
    [...Map.groupBy(listed, ({ group }) => group)].map(([group, records]) => [group, digestOf(records)]),
  )
  const rows = await tx.rows<{ group_key: string; digest: string }>(
    `select group_key, md5(string_agg(stream || chr(10) || source_key || chr(10) || body, chr(10) ${inOrder})) as digest
     from raw_records where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[])
     group by group_key`,
    [...refOf(ref), [...groups]],
  )
  const now = new Map(rows.map((row) => [row.group_key, row.digest]))
  return groups.filter((group) => now.get(group) === digests.get(group))
}

/** Not a secret's hash: it only tells a changed record from one that is the same. */
function digestOf(records: readonly StoredRecord[]): string {
  const text = records.map(({ stream, key, body }) => `${stream}\n${key}\n${body}`).join('\n')
  return createHash('md5').update(text).digest('hex')
}

/** Those of the groups that have records, all of them derived. */
export async function listDerivedGroups(sql: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<string[]> {
  const rows = await sql.rows<{ group_key: string }>(
    `select group_key from raw_records
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[])
     group by group_key having bool_and(derived)`,
    [...refOf(ref), [...groups]],
  )
  return rows.map((row) => row.group_key)
}

export async function markDerived(tx: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<void> {
  await tx.execute(
    `update raw_records set derived = true
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[]) and not derived`,
    [...refOf(ref), [...groups]],
  )
}

/** The connection's first moment: of what was derived by the order of the pages, of the rest by looking at it. */
export async function findEarliest(sql: Sql, ref: ConnectionRef): Promise<string | null> {
  const row = await sql.row<{ earliest: string | null }>(
    `select least(
       (select occurred_at from transactions where tenant_id = $1 and user_id = $2 and connection_id = $3
        order by occurred_at, id limit 1),
       (select min(occurred_at) from raw_records
        where tenant_id = $1 and user_id = $2 and connection_id = $3 and not derived)) as earliest`,
    refOf(ref),
  )
  return row.earliest
}

/** One group that cannot be read stops nothing but itself; what it became before, if anything, stays. */
export async function keepPoison(tx: Sql, ref: ConnectionRef, poison: ReadonlyMap<string, string>): Promise<void> {
  if (poison.size === 0) return
  await tx.execute(
    `insert into poison_groups (tenant_id, user_id, connection_id, seen_at, group_key, reason)
     select $1, $2, $3, (select assay_now()), * from unnest($4::text[], $5::text[])
     on conflict (tenant_id, user_id, connection_id, group_key) do update
       set reason = excluded.reason, seen_at = excluded.seen_at`,
    [...refOf(ref), [...poison.keys()], [...poison.values()]],
  )
}

export async function deletePoison(tx: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<void> {
  await tx.execute(
    `delete from poison_groups
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[])`,
    [...refOf(ref), [...groups]],
  )
}

export interface PoisonedTime {
  stream: string
  /** Half open, around the group's records of this stream. */
  startMs: number
  endMs: number
  records: number
}

const poisonedTimesMax = 1_000

/** When the groups lie that could not be derived; the newest, if there are very many. */
export async function listPoisonedTimes(sql: Sql, ref: ConnectionRef): Promise<PoisonedTime[]> {
  const rows = await sql.rows<{ stream: string; first_at: string; last_at: string; records: number }>(
    `select r.stream, min(r.occurred_at) as first_at, max(r.occurred_at) as last_at, count(*)::int as records
     from poison_groups p
     join raw_records r on r.tenant_id = p.tenant_id and r.user_id = p.user_id
       and r.connection_id = p.connection_id and r.group_key = p.group_key
     where p.tenant_id = $1 and p.user_id = $2 and p.connection_id = $3
     group by r.stream, p.group_key order by max(r.occurred_at) desc limit $4`,
    [...refOf(ref), poisonedTimesMax],
  )
  return rows.map(({ stream, first_at, last_at, records }) => ({
    stream,
    startMs: Date.parse(first_at),
    endMs: Date.parse(last_at) + 1,
    records,
  }))
}
