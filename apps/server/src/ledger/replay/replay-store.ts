/** SQL that a replay reads by, and what it found. It writes transactions as deriving does. */
import type { Sql } from '../../db/index.ts'
import type { ConnectionRef } from '../../owner.ts'

/** All connections when neither is given. */
export interface Which {
  connectionId?: string | undefined
  providerId?: string | undefined
  /** Only those with findings of an earlier replay. */
  only?: 'findings' | undefined
}

// $1 to $3 of `valuesOf`, over the connection `c`.
const chosen = `($1::text is null or c.id = $1::text) and ($2::text is null or c.provider_id = $2::text)
  and (not $3::boolean or exists (select from replay_findings f
    where f.user_key = c.user_key and f.connection_key = c.connection_key))`
const valuesOf = ({ connectionId, providerId, only }: Which): unknown[] => [
  connectionId ?? null,
  providerId ?? null,
  only === 'findings',
]

export type ReplayedConnection = ConnectionRef & { providerId: string }

export async function countConnections(sql: Sql, which: Which): Promise<number> {
  const row = await sql.row<{ connections: number }>(
    `select count(*)::int as connections from existing_connections c where ${chosen}`,
    valuesOf(which),
  )
  return row.connections
}

/** Lists connections user by user. */
export async function listConnections(
  sql: Sql,
  which: Which,
  after: ConnectionRef | undefined,
  limit: number,
): Promise<ReplayedConnection[]> {
  return sql.rows<ReplayedConnection>(
    `select tenant_key as "tenantKey", tenant_id as "tenantId", user_key as "userKey", user_id as "userId",
       connection_key as "connectionKey", id as "connectionId", provider_id as "providerId"
     from existing_connections c
     where ($4::bigint is null or (user_key, connection_key) > ($4::bigint, $5::integer)) and ${chosen}
     order by user_key, connection_key limit $6::bigint`,
    [...valuesOf(which), after?.userKey ?? null, after?.connectionKey ?? null, limit],
  )
}

/** Groups that have records or transactions, in the order of their keys. */
export async function listGroups(sql: Sql, ref: ConnectionRef, after: string, limit: number): Promise<string[]> {
  const of = (table: string): string => `(select distinct group_key from ${table}
    where user_key = $1::bigint and connection_key = $2::integer and group_key > $3::text
    order by group_key limit $4::bigint)`
  const rows = await sql.rows<{ group_key: string }>(
    `select group_key from (${of('raw_records')} union ${of('transactions')}) g order by group_key limit $4::bigint`,
    [ref.userKey, ref.connectionKey, after, limit],
  )
  return rows.map((row) => row.group_key)
}

/**
 * Those of these groups that are due and were never derived. Each group is looked up alone: right after a history was
 * read, a join over its tables was planned for a few rows and took minutes.
 */
export async function listUnderived(sql: Sql, ref: ConnectionRef, groups: readonly string[]): Promise<string[]> {
  const isIn = (table: string): string => `(select true from ${table} own
    where own.user_key = $1::bigint and own.connection_key = $2::integer and own.group_key = g.group_key limit 1)`
  const rows = await sql.rows<{ group_key: string }>(
    `select g.group_key from unnest($3::text[]) as g (group_key)
     where ${isIn('due_groups')} is true and ${isIn('transactions')} is null`,
    [ref.userKey, ref.connectionKey, [...groups]],
  )
  return rows.map((row) => row.group_key)
}

export interface ReplayedChange {
  /** The transaction's id in its stored form. */
  id: string
  groupKey: string
  change: 'added' | 'changed' | 'removed'
  /** Documents. */
  before: string | null
  after: string | null
  reason: string
}

export async function keepFindings(
  tx: Sql,
  ref: ConnectionRef,
  replayId: string,
  findings: readonly ReplayedChange[],
): Promise<void> {
  if (findings.length === 0) return
  await tx.execute(
    `insert into replay_findings (user_key, connection_key, replay_id, found_at, id, group_key, change, before, after, reason)
     select $1::bigint, $2::integer, $3::uuid, $4::timestamptz, g.*
     from unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[]) as g
     on conflict (user_key, connection_key, id) do update set replay_id = excluded.replay_id,
       found_at = excluded.found_at, group_key = excluded.group_key, change = excluded.change, before = excluded.before,
       after = excluded.after, reason = excluded.reason`,
    [
      ...[ref.userKey, ref.connectionKey, replayId, tx.now()],
      findings.map(({ id }) => id),
      findings.map(({ groupKey }) => groupKey),
      findings.map(({ change }) => change),
      findings.map(({ before }) => before),
      findings.map(({ after }) => after),
      findings.map(({ reason }) => reason),
    ],
  )
}

export async function deleteFindings(sql: Sql, ref: ConnectionRef): Promise<number> {
  return sql.execute('delete from replay_findings where user_key = $1::bigint and connection_key = $2::integer', [
    ref.userKey,
    ref.connectionKey,
  ])
}

/** Groups of a connection's findings, in the order of their keys. */
export async function listFoundGroups(sql: Sql, ref: ConnectionRef, after: string, limit: number): Promise<string[]> {
  const rows = await sql.rows<{ group_key: string }>(
    `select distinct group_key from replay_findings
     where user_key = $1::bigint and connection_key = $2::integer and group_key > $3::text
     order by group_key limit $4::bigint`,
    [ref.userKey, ref.connectionKey, after, limit],
  )
  return rows.map((row) => row.group_key)
}

export interface FoundRow extends Omit<ReplayedChange, 'groupKey'> {
  replayId: string
  foundAt: string
}

/** Lists the findings of one connection by id. */
export async function listFindings(
  sql: Sql,
  ref: ConnectionRef,
  after: string | undefined,
  limit: number,
): Promise<FoundRow[]> {
  return sql.rows<FoundRow>(
    `select id, replay_id as "replayId", found_at as "foundAt", change, before, after, reason from replay_findings
     where user_key = $1::bigint and connection_key = $2::integer and ($3::uuid is null or id > $3::uuid)
     order by id limit $4::bigint`,
    [ref.userKey, ref.connectionKey, after ?? null, limit],
  )
}
