/**
 * All SQL that writes transactions. Raw records have records/raw-store.ts, and postings have
 * deriving/postings-store.ts.
 */
import type { Sql } from '../db/index.ts'
import { keysOf, type ConnectionRef, type Owner } from '../owner.ts'
import { changeNumberAt, type ChangeNumbers } from './changes-store.ts'

/** Enough changes for a plan that was made for an empty table to cost seconds. */
const changesMax = 2_000

/**
 * PostgreSQL plans by what it last saw of a table. A table that was never analysed, or only when it was nearly empty,
 * looks tiny, and every batch would scan all rows of the connection. Its own next analysis may be minutes away, so a
 * large history asks for one where a table has changed several times over since.
 *
 * Neither sign of that is enough alone. A history that was destroyed and vacuumed leaves its room behind, and the next
 * one fills it without making the file larger: reading it took three times as long. And a crash of PostgreSQL loses the
 * count of changes.
 *
 * A table that another session is analysing or vacuuming is skipped. Waiting for an operator's VACUUM could take hours,
 * and the history would not move on.
 */
export async function ensureStatistics(sql: Sql): Promise<void> {
  const unseen = await sql.rows<{ name: string }>(
    `select relname as name from pg_class
     where oid = any(array['raw_records', 'due_groups', 'transactions', 'postings', 'daily_changes', 'transfer_legs',
       'transfer_matches', 'awaited_prices']::regclass[])
       and (reltuples < 0 or pg_relation_size(oid) > (8 + 4 * relpages::bigint) * current_setting('block_size')::bigint
         or pg_stat_get_mod_since_analyze(oid) > $1::integer + 4 * reltuples)`,
    [changesMax],
  )
  if (unseen.length > 0) await sql.execute(`analyze (skip_locked) ${unseen.map(({ name }) => name).join(', ')}`)
}

/**
 * Until the transaction ends, PostgreSQL plans for any user and not for this one. Statistics that do not know a user yet
 * let it expect a single row, and then it reads all rows of a long history for each batch. Destroying one compared each
 * of its rows with every row of the batch: three seconds a batch, while the user's other connections waited.
 *
 * Not on Citus: without the user's key it does not know which node a statement is for, and refuses most of them.
 */
export async function planForAnyUser(tx: Sql): Promise<void> {
  await tx.execute(
    `select set_config('plan_cache_mode', 'force_generic_plan', true)
     where not exists (select from pg_extension where extname = 'citus')`,
  )
}

/** How often the transaction of each key was given a new id. Keys whose id never changed are left out. */
export async function listRevisions(
  sql: Sql,
  ref: ConnectionRef,
  naturalKeys: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql.rows<{ natural_key: string; revision: number }>(
    `select natural_key, revision from transaction_revisions
     where user_key = $1::bigint and connection_key = $2::integer and natural_key = any($3::text[])`,
    [...keysOf(ref), [...naturalKeys]],
  )
  return new Map(rows.map((row) => [row.natural_key, row.revision]))
}

export async function keepRevisions(
  tx: Sql,
  ref: ConnectionRef,
  revisions: ReadonlyMap<string, number>,
): Promise<void> {
  if (revisions.size === 0) return
  await tx.execute(
    `insert into transaction_revisions (user_key, connection_key, natural_key, revision)
     select $1::bigint, $2::integer, g.* from unnest($3::text[], $4::integer[]) as g
     on conflict (user_key, connection_key, natural_key) do update set revision = excluded.revision`,
    [...keysOf(ref), [...revisions.keys()], [...revisions.values()]],
  )
}

/** A transaction as it is stored. */
export interface StoredTransaction {
  id: string
  groupKey: string
  occurredAt: string
  stakedLegs: number
  document: string
}

interface StoredRow {
  id: string
  group_key: string
  occurred_at: string
  staked_legs: number
  document: string
}

const storedColumns = 'id, group_key, occurred_at, staked_legs, document'

function toStored(row: StoredRow): StoredTransaction {
  return {
    id: row.id,
    groupKey: row.group_key,
    occurredAt: row.occurred_at,
    stakedLegs: row.staked_legs,
    document: row.document,
  }
}

export async function listStoredOfGroups(
  sql: Sql,
  ref: ConnectionRef,
  groups: readonly string[],
): Promise<StoredTransaction[]> {
  const rows = await sql.rows<StoredRow>(
    `select ${storedColumns} from transactions
     where user_key = $1::bigint and connection_key = $2::integer and group_key = any($3::text[])`,
    [...keysOf(ref), [...groups]],
  )
  return rows.map(toStored)
}

export async function listStored(sql: Sql, owner: Owner, ids: readonly string[]): Promise<StoredTransaction[]> {
  if (ids.length === 0) return []
  const rows = await sql.rows<StoredRow>(
    `select ${storedColumns} from transactions where user_key = $1::bigint and id = any($2::uuid[])`,
    [owner.userKey, [...ids]],
  )
  return rows.map(toStored)
}

/** The columns of a rendered transaction. */
export interface RenderedRow {
  id: string
  groupKey: string
  occurredAt: string
  type: string
  category: string
  isPending: boolean
  stakedLegs: number
  document: string
}

/**
 * Between documents that travel as one text. JSON escapes control characters, so no document contains one, and neither
 * end has to escape every quote of every document, as arrays would.
 */
const documentEnd = '\u0001'
const documentsOf = (parameter: string): string => `string_to_array(${parameter}::text, chr(1))`

const given = `unnest($6::uuid[], $7::text[], $8::timestamptz[], $9::transaction_type[], $10::transaction_category[],
    $11::boolean[], $12::integer[], ${documentsOf('$13')})
  with ordinality as g (id, group_key, occurred_at, type, category, pending, staked_legs, document, number)`

function valuesOf(
  ref: ConnectionRef,
  providerId: string,
  numbers: ChangeNumbers,
  rendered: readonly RenderedRow[],
): unknown[] {
  return [
    ...keysOf(ref),
    providerId,
    numbers.first,
    numbers.updatedAt,
    rendered.map(({ id }) => id),
    rendered.map(({ groupKey }) => groupKey),
    rendered.map(({ occurredAt }) => occurredAt),
    rendered.map(({ type }) => type),
    rendered.map(({ category }) => category),
    rendered.map(({ isPending }) => isPending),
    rendered.map(({ stakedLegs }) => stakedLegs),
    rendered.map(({ document }) => document).join(documentEnd),
  ]
}

/**
 * Transactions that are not there yet, in the order given: the rows of a page become neighbours on disk. A transaction
 * that was removed and has come back must not stay in the list of removed ones.
 */
export async function insertTransactions(
  tx: Sql,
  ref: ConnectionRef,
  providerId: string,
  numbers: ChangeNumbers,
  rendered: readonly RenderedRow[],
): Promise<void> {
  if (rendered.length === 0) return
  await tx.execute(
    `with back as (delete from removed_transactions where user_key = $1::bigint and id = any($6::uuid[]))
     insert into transactions (user_key, connection_key, provider_id, tenant_key, updated_at, change_seq,
       id, group_key, occurred_at, type, category, pending, staked_legs, document)
     select $1::bigint, $2::integer, $3::text, $14::integer, $5::timestamptz, $4::bigint + g.number - 1,
       g.id, g.group_key, g.occurred_at, g.type, g.category, g.pending, g.staked_legs, g.document
     from ${given} order by g.number`,
    [...valuesOf(ref, providerId, numbers, rendered), ref.tenantKey],
  )
}

/** Why a version of a transaction has ended. */
export type VersionReason = 'derived' | 'priced' | 'matched' | 'removed'

/**
 * The body of a CTE: the present texts of these transactions become former ones. In the statement that changes them,
 * which sees them as they were before it.
 */
const keepVersions = (reason: VersionReason, { ids, now }: { ids: string; now: string }): string =>
  `insert into transaction_versions (user_key, connection_key, id, known_from, known_to, reason, occurred_at, document)
   select t.user_key, t.connection_key, t.id, t.updated_at, ${now}::timestamptz, '${reason}', t.occurred_at, t.document
   from transactions t where t.user_key = $1::bigint and t.id = any(${ids}::uuid[])
   on conflict do nothing`

export async function updateTransactions(
  tx: Sql,
  ref: ConnectionRef,
  providerId: string,
  numbers: ChangeNumbers,
  rendered: readonly RenderedRow[],
): Promise<void> {
  if (rendered.length === 0) return
  await tx.execute(
    `with former as (${keepVersions('derived', { ids: '$6', now: '$5' })})
     update transactions t set provider_id = $3::text, updated_at = $5::timestamptz,
       change_seq = $4::bigint + g.number - 1, group_key = g.group_key, occurred_at = g.occurred_at, type = g.type,
       category = g.category, pending = g.pending, staked_legs = g.staked_legs, document = g.document
     from ${given}
     where t.user_key = $1::bigint and t.connection_key = $2::integer and t.id = g.id`,
    valuesOf(ref, providerId, numbers, rendered),
  )
}

/** Deletes transactions that their records no longer make. Each takes its own number into the list of removed ones. */
export async function removeTransactions(
  tx: Sql,
  ref: ConnectionRef,
  numbers: ChangeNumbers,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await tx.execute(
    `with former as (${keepVersions('removed', { ids: '$5', now: '$4' })}
     ), gone as (delete from transactions where user_key = $1::bigint and id = any($5::uuid[]))
     insert into removed_transactions (user_key, connection_key, tenant_key, id, change_seq, removed_at)
     select $1::bigint, $2::integer, $6::integer, g.id, $3::bigint + g.number - 1, $4::timestamptz
     from unnest($5::uuid[]) with ordinality as g (id, number)
     on conflict (user_key, id) do update set connection_key = excluded.connection_key,
       change_seq = excluded.change_seq, former_seq = excluded.former_seq, removed_at = excluded.removed_at`,
    [...keysOf(ref), numbers.first, numbers.updatedAt, [...ids], ref.tenantKey],
  )
}

/** The numbers that are left after the first `count` of them. */
export function numbersAfter({ first, updatedAt }: ChangeNumbers, count: number): ChangeNumbers {
  return { first: changeNumberAt(first, count), updatedAt }
}

export interface DocumentRow {
  id: string
  tenantKey: number
  connectionKey: number
  document: string
}

export async function listDocuments(
  sql: Sql,
  { userKey }: Pick<Owner, 'userKey'>,
  ids: readonly string[],
): Promise<DocumentRow[]> {
  return sql.rows<DocumentRow>(
    `select id, tenant_key as "tenantKey", connection_key as "connectionKey", document
     from transactions where user_key = $1::bigint and id = any($2::uuid[])`,
    [userKey, [...ids]],
  )
}

/** Writes what comes later than the records: a price, or the other side of a transfer. */
export async function updateDocuments(
  tx: Sql,
  { userKey }: Pick<Owner, 'userKey'>,
  numbers: ChangeNumbers,
  changed: readonly { id: string; category: string; document: string }[],
  reason: 'priced' | 'matched',
): Promise<void> {
  await tx.execute(
    `with former as (${keepVersions(reason, { ids: '$4', now: '$3' })})
     update transactions t set document = g.document, category = g.category, updated_at = $3::timestamptz,
       change_seq = $2::bigint + g.number - 1
     from unnest($4::uuid[], $5::transaction_category[], ${documentsOf('$6')})
       with ordinality as g (id, category, document, number)
     where t.user_key = $1::bigint and t.id = g.id`,
    [
      userKey,
      numbers.first,
      numbers.updatedAt,
      changed.map(({ id }) => id),
      changed.map(({ category }) => category),
      changed.map(({ document }) => document).join(documentEnd),
    ],
  )
}

/** When the connection's oldest transaction happened. */
export async function findFirstAt(sql: Sql, ref: ConnectionRef): Promise<string | null> {
  const row = await sql.maybeRow<{ occurred_at: string }>(
    `select occurred_at from transactions where user_key = $1::bigint and connection_key = $2::integer
     order by occurred_at, id limit 1`,
    keysOf(ref),
  )
  return row?.occurred_at ?? null
}

/** After `keptMs` a former version can no longer be asked for. */
export async function deleteOldVersions(sql: Sql, keptMs: number): Promise<void> {
  await sql.execute(
    `delete from transaction_versions where (user_key, connection_key, id, known_from, known_to) in (
       select user_key, connection_key, id, known_from, known_to from transaction_versions
       where known_to < $1::timestamptz - make_interval(secs => $2::double precision / 1000) limit $3::bigint)`,
    [sql.now(), keptMs, removalsPerRound],
  )
}

/** How many rows one round of upkeep deletes: a long history that was removed at once is too much for one statement. */
const removalsPerRound = 20_000

/** A client has `keptMs` to read that a transaction is gone. */
export async function deleteOldRemovals(sql: Sql, keptMs: number): Promise<void> {
  await sql.execute(
    `delete from removed_transactions where (user_key, id) in (
       select user_key, id from removed_transactions
       where removed_at < $1::timestamptz - make_interval(secs => $2::double precision / 1000) limit $3::bigint)`,
    [sql.now(), keptMs, removalsPerRound],
  )
}
