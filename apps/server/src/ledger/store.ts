/** All SQL that writes transactions and what hangs on them. Raw records are in raw-store.ts, pages in pages-store.ts. */
import type { TransactionStatus } from '@assay/core'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

interface Owner {
  tenantId: string
  userId: string
}

const refOf = (ref: ConnectionRef): [string, string, string] => [ref.tenantId, ref.userId, ref.connectionId]
const toTime = (ms: number): string => new Date(ms).toISOString()

/**
 * PostgreSQL plans a table that it never looked at as if it were tiny, and would walk over everything of the connection
 * for every batch. Its own first look may be minutes away, so a first large history asks for it.
 */
export async function ensureStatistics(sql: Sql): Promise<void> {
  const unseen = await sql.rows<{ name: string }>(
    `select relname as name from pg_class
     where oid = any(array['raw_records', 'transactions', 'transaction_assets', 'transfer_legs', 'transfer_matches',
       'awaited_prices']::regclass[]) and reltuples < 0`,
  )
  if (unseen.length > 0) await sql.execute(`analyze ${unseen.map(({ name }) => name).join(', ')}`)
}

/** How often each key's transaction was given a new id; those that never were are left out. */
export async function listRevisions(
  sql: Sql,
  ref: ConnectionRef,
  naturalKeys: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql.rows<{ natural_key: string; revision: number }>(
    `select natural_key, revision from transaction_revisions
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and natural_key = any($4::text[])`,
    [...refOf(ref), [...naturalKeys]],
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
    `insert into transaction_revisions (tenant_id, user_id, connection_id, natural_key, revision)
     select $1, $2, $3, * from unnest($4::text[], $5::integer[])
     on conflict (tenant_id, user_id, connection_id, natural_key) do update set revision = excluded.revision`,
    [...refOf(ref), [...revisions.keys()], [...revisions.values()]],
  )
}

export interface StoredPlace {
  id: string
  groupKey: string
  occurredAtMs: number
  /** Null when it lies at the time that was given. */
  status: TransactionStatus | null
}

/** The transactions that are there under these ids. */
export async function listPlaces(
  sql: Sql,
  owner: Owner,
  given: readonly { id: string; occurredAtMs: number }[],
): Promise<StoredPlace[]> {
  const rows = await sql.rows<{ id: string; group_key: string; occurred_at: string; status: TransactionStatus | null }>(
    `select t.id, t.group_key, t.occurred_at,
       case when t.occurred_at <> given.occurred_at then ('{' || t.document)::jsonb ->> 'status' end as status
     from unnest($3::text[], $4::timestamptz[]) as given (id, occurred_at)
     join transactions t on t.tenant_id = $1 and t.user_id = $2 and t.id = given.id`,
    [owner.tenantId, owner.userId, given.map(({ id }) => id), given.map(({ occurredAtMs }) => toTime(occurredAtMs))],
  )
  return rows.map((row) => ({
    id: row.id,
    groupKey: row.group_key,
    occurredAtMs: Date.parse(row.occurred_at),
    status: row.status,
  }))
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

/** Makes the stored transactions of these groups exactly these; returns the ids that are gone. Unchanged ones keep their `updated_at`. */
export async function replaceGroups(
  tx: Sql,
  ref: ConnectionRef,
  providerId: string,
  groups: readonly string[],
  rendered: readonly RenderedTransaction[],
): Promise<string[]> {
  const keptIds = rendered.map(({ id }) => id)
  const gone = await retireGroups(tx, ref, groups, keptIds)
  if (rendered.length > 0) await upsertTransactions(tx, ref, providerId, rendered)
  return gone
}

/** Ends these groups but for the transactions that go on under the same ids; returns the ids that are gone. */
export async function retireGroups(
  tx: Sql,
  ref: ConnectionRef,
  groups: readonly string[],
  keptIds: readonly string[],
): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(
    `with gone as (
       delete from transactions
       where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[]) and id <> all($5::text[])
       returning id
     ), assets as (
       delete from transaction_assets where tenant_id = $1 and user_id = $2 and id in (select id from gone)
     )
     insert into removed_transactions (tenant_id, user_id, id, removed_at) select $1, $2, id, (select assay_now()) from gone
     on conflict (tenant_id, user_id, id) do update set removed_at = excluded.removed_at
     returning id`,
    [...refOf(ref), [...groups], [...keptIds]],
  )
  return rows.map(({ id }) => id)
}

async function upsertTransactions(
  tx: Sql,
  ref: ConnectionRef,
  providerId: string,
  rendered: readonly RenderedTransaction[],
): Promise<void> {
  await tx.execute(
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
  await tx.execute('delete from removed_transactions where tenant_id = $1 and user_id = $2 and id = any($3::text[])', [
    ref.tenantId,
    ref.userId,
    rendered.map(({ id }) => id),
  ])
  const assets = rendered.flatMap((one) => one.assetSymbols.map((symbol) => ({ one, symbol })))
  await tx.execute(
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

export async function listDocuments(
  sql: Sql,
  owner: Owner,
  ids: readonly string[],
): Promise<{ id: string; document: string }[]> {
  return sql.rows(
    'select id, document from transactions where tenant_id = $1 and user_id = $2 and id = any($3::text[])',
    [owner.tenantId, owner.userId, [...ids]],
  )
}

/** What comes later than the records: a price, the other side of a transfer. One that says the same stays as it is. */
export async function updateDocuments(
  tx: Sql,
  owner: Owner,
  changed: readonly { id: string; category: string; document: string }[],
): Promise<void> {
  await tx.execute(
    `update transactions t set document = given.document, category = given.category, updated_at = (select assay_now())
     from unnest($3::text[], $4::text[], $5::text[]) as given (id, category, document)
     where t.tenant_id = $1 and t.user_id = $2 and t.id = given.id and t.document <> given.document`,
    [
      owner.tenantId,
      owner.userId,
      changed.map(({ id }) => id),
      changed.map(({ category }) => category),
      changed.map(({ document }) => document),
    ],
  )
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

/** How long an integrator has to hear that a transaction is gone. */
const removedKeptDays = 90

/** In one round of upkeep: a long history that was removed 90 days ago is more than one statement should delete. */
const removalsPerRound = 20_000

export async function deleteOldRemovals(sql: Sql): Promise<void> {
  await sql.execute(
    `delete from removed_transactions where ctid = any(array(
       select ctid from removed_transactions where removed_at < assay_now() - make_interval(days => $1) limit $2))`,
    [removedKeptDays, removalsPerRound],
  )
}
