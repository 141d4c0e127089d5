/** All SQL that writes raw records, transactions and what hangs on them. Reading pages is in pages-store.ts. */
import type { RawRecord, StoredRecord } from '@assay/connectors'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

const refOf = (ref: ConnectionRef): [string, string, string] => [ref.tenantId, ref.userId, ref.connectionId]
const toTime = (ms: number): string => new Date(ms).toISOString()

/**
 * A record that is known and unchanged is left alone; a changed one makes its group due again. One that moves to another
 * group (it could not be read before, or the provider corrected its reference) also makes the group due that it leaves.
 */
export async function upsertRaw(
  sql: Sql,
  ref: ConnectionRef,
  stream: string,
  records: readonly RawRecord[],
): Promise<void> {
  if (records.length === 0) return
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
  if (left.length > 0)
    await deriveAgain(
      sql,
      ref,
      left.map((row) => row.left_group),
    )
}

/** What is left of these groups; one without records is over, with what it had become. */
async function deriveAgain(sql: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<void> {
  const rows = await sql.rows<{ group_key: string }>(
    `update raw_records set derived = false
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[])
     returning group_key`,
    [...refOf(ref), groups],
  )
  const kept = new Set(rows.map((row) => row.group_key))
  const over = groups.filter((group) => !kept.has(group))
  if (over.length > 0) await retireGroups(sql, ref, over, [])
}

/**
 * PostgreSQL plans a table that it never looked at as if it were tiny, and would walk over everything of the connection
 * for every batch. Its own first look may be minutes away, so a first large history asks for it.
 */
export async function ensureStatistics(sql: Sql): Promise<void> {
  const unseen = await sql.rows<{ name: string }>(
    `select relname as name from pg_class
     where oid = any(array['raw_records', 'transactions', 'transaction_assets']::regclass[]) and reltuples < 0`,
  )
  if (unseen.length > 0) await sql.execute(`analyze ${unseen.map(({ name }) => name).join(', ')}`)
}

/**
 * In the order of their keys, after the one named. From there on, because what was derived before it has left the index
 * in name only until a vacuum: read from the beginning, every batch would step over all batches before it.
 */
export async function listUnderivedGroups(
  sql: Sql,
  ref: ConnectionRef,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await sql.rows<{ group_key: string }>(
    `select distinct group_key from raw_records
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key > $4 and not derived
     order by group_key limit $5`,
    [...refOf(ref), after, limit],
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

export async function listRaw(sql: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<StoredRecord[]> {
  const rows = await sql.rows<RawRow>(
    `select stream, source_key, group_key, occurred_at, body from raw_records
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[])
     order by group_key, stream, source_key`,
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

export async function findEarliestRaw(sql: Sql, ref: ConnectionRef): Promise<string | null> {
  const row = await sql.row<{ earliest: string | null }>(
    `select min(occurred_at) as earliest from raw_records where tenant_id = $1 and user_id = $2 and connection_id = $3`,
    refOf(ref),
  )
  return row.earliest
}

export interface RenderedTransaction {
  id: string
  groupKey: string
  occurredAtMs: number
  type: string
  category: string
  assetSymbols: readonly string[]
  document: string
}

/** Makes the stored transactions of these groups exactly these. Unchanged ones keep their `updated_at`. */
export async function replaceGroups(
  sql: Sql,
  ref: ConnectionRef,
  providerId: string,
  groups: readonly string[],
  rendered: readonly RenderedTransaction[],
): Promise<void> {
  const ids = rendered.map(({ id }) => id)
  await retireGroups(sql, ref, groups, ids)
  if (rendered.length > 0) await upsertTransactions(sql, ref, providerId, rendered)
  await sql.execute(
    `update raw_records set derived = true
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[]) and not derived`,
    [...refOf(ref), [...groups]],
  )
}

/** Ends these groups but for the transactions that go on under the same ids. */
async function retireGroups(
  sql: Sql,
  ref: ConnectionRef,
  groups: readonly string[],
  keptIds: readonly string[],
): Promise<void> {
  await sql.execute(
    `with gone as (
       delete from transactions
       where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[]) and id <> all($5::text[])
       returning id
     ), assets as (
       delete from transaction_assets where tenant_id = $1 and user_id = $2 and id in (select id from gone)
     )
     insert into removed_transactions (tenant_id, user_id, id, removed_at) select $1, $2, id, (select assay_now()) from gone
     on conflict (tenant_id, user_id, id) do update set removed_at = excluded.removed_at`,
    [...refOf(ref), groups, keptIds],
  )
  await sql.execute(
    `delete from poison_groups
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[])`,
    [...refOf(ref), groups],
  )
}

async function upsertTransactions(
  sql: Sql,
  ref: ConnectionRef,
  providerId: string,
  rendered: readonly RenderedTransaction[],
): Promise<void> {
  await sql.execute(
    `insert into transactions as t (tenant_id, user_id, connection_id, provider_id, updated_at, id, group_key,
       occurred_at, type, category, document)
     select $1, $2, $3, $4, (select assay_now()), * from unnest($5::text[], $6::text[], $7::timestamptz[], $8::text[], $9::text[], $10::text[])
     on conflict (tenant_id, user_id, id) do update
       set group_key = excluded.group_key, occurred_at = excluded.occurred_at, type = excluded.type,
           category = excluded.category, document = excluded.document, updated_at = excluded.updated_at
       where t.document <> excluded.document or t.group_key <> excluded.group_key`,
    [
      ...refOf(ref),
      providerId,
      rendered.map(({ id }) => id),
      rendered.map(({ groupKey }) => groupKey),
      rendered.map(({ occurredAtMs }) => toTime(occurredAtMs)),
      rendered.map(({ type }) => type),
      rendered.map(({ category }) => category),
      rendered.map(({ document }) => document),
    ],
  )
  // One that was gone and is back must not stand in both lists.
  await sql.execute('delete from removed_transactions where tenant_id = $1 and user_id = $2 and id = any($3::text[])', [
    ref.tenantId,
    ref.userId,
    rendered.map(({ id }) => id),
  ])
  const assets = rendered.flatMap((one) => one.assetSymbols.map((symbol) => ({ one, symbol })))
  await sql.execute(
    `with stale as (delete from transaction_assets where tenant_id = $1 and user_id = $2 and id = any($6::text[])
       and (asset_symbol, occurred_at, id) not in (select * from unnest($3::text[], $4::timestamptz[], $5::text[])))
     insert into transaction_assets (tenant_id, user_id, asset_symbol, occurred_at, id)
     select $1, $2, * from unnest($3::text[], $4::timestamptz[], $5::text[]) on conflict do nothing`,
    [
      ref.tenantId,
      ref.userId,
      assets.map(({ symbol }) => symbol),
      assets.map(({ one }) => toTime(one.occurredAtMs)),
      assets.map(({ one }) => one.id),
      rendered.map(({ id }) => id),
    ],
  )
}

/** One group that cannot be read stops nothing but itself; what it became before, if anything, stays. */
export async function keepPoison(sql: Sql, ref: ConnectionRef, groupKey: string, reason: string): Promise<void> {
  await sql.execute(
    `insert into poison_groups (tenant_id, user_id, connection_id, group_key, reason, seen_at)
     values ($1, $2, $3, $4, $5, assay_now())
     on conflict (tenant_id, user_id, connection_id, group_key) do update
       set reason = excluded.reason, seen_at = excluded.seen_at`,
    [...refOf(ref), groupKey, reason],
  )
  await sql.execute(
    `update raw_records set derived = true
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = $4`,
    [...refOf(ref), groupKey],
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

export async function summarize(
  sql: Sql,
  ref: ConnectionRef,
): Promise<{ historyFrom: string | null; transactionCount: number }> {
  const row = await sql.row<{ history_from: string | null; transaction_count: number }>(
    `select min(occurred_at) as history_from, count(*)::int as transaction_count from transactions
     where tenant_id = $1 and user_id = $2 and connection_id = $3`,
    refOf(ref),
  )
  return { historyFrom: row.history_from, transactionCount: row.transaction_count }
}

export async function destroyConnection(sql: Sql, ref: ConnectionRef, was: { served: boolean }): Promise<void> {
  await sql.execute(
    `with gone as (
       delete from transactions where tenant_id = $1 and user_id = $2 and connection_id = $3 returning id
     ), assets as (
       delete from transaction_assets where tenant_id = $1 and user_id = $2 and id in (select id from gone)
     )
     insert into removed_transactions (tenant_id, user_id, id, removed_at) select $1, $2, id, (select assay_now()) from gone where $4
     on conflict (tenant_id, user_id, id) do update set removed_at = excluded.removed_at`,
    [...refOf(ref), was.served],
  )
  for (const table of ['raw_records', 'poison_groups']) {
    await sql.execute(`delete from ${table} where tenant_id = $1 and user_id = $2 and connection_id = $3`, refOf(ref))
  }
}

/** How long an integrator has to hear that a transaction is gone. */
const removedKeptDays = 90

export async function deleteOldRemovals(sql: Sql): Promise<void> {
  await sql.execute('delete from removed_transactions where removed_at < assay_now() - make_interval(days => $1)', [
    removedKeptDays,
  ])
}
