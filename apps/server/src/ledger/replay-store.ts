/** SQL that a replay reads by. It writes as deriving does. */
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

interface Which {
  connectionId: string | undefined
}

export type ReplayedConnection = ConnectionRef & { providerId: string }

export async function countConnections(sql: Sql, { connectionId }: Which): Promise<number> {
  const row = await sql.row<{ connections: number }>(
    'select count(*)::int as connections from existing_connections where $1::text is null or id = $1',
    [connectionId ?? null],
  )
  return row.connections
}

/** Of all users, one user after the other. */
export async function listConnections(
  sql: Sql,
  { connectionId }: Which,
  after: ConnectionRef | undefined,
  limit: number,
): Promise<ReplayedConnection[]> {
  return sql.rows<ReplayedConnection>(
    `select tenant_id as "tenantId", user_id as "userId", id as "connectionId", provider_id as "providerId"
     from existing_connections
     where (tenant_id, user_id, id) > ($1, $2, $3) and ($4::text is null or id = $4)
     order by tenant_id, user_id, id limit $5`,
    [after?.tenantId ?? '', after?.userId ?? '', after?.connectionId ?? '', connectionId ?? null, limit],
  )
}

/** Groups that have records or transactions, in the order of their keys. */
export async function listGroups(sql: Sql, ref: ConnectionRef, after: string, limit: number): Promise<string[]> {
  const of = (table: string): string => `(select distinct group_key from ${table}
    where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key > $4 order by group_key limit $5)`
  const rows = await sql.rows<{ group_key: string }>(
    `select group_key from (${of('raw_records')} union ${of('transactions')}) g order by group_key limit $5`,
    [ref.tenantId, ref.userId, ref.connectionId, after, limit],
  )
  return rows.map((row) => row.group_key)
}

export interface StoredTransaction {
  id: string
  category: string
  document: string
}

/** What is stored of these groups, and under these ids. */
export async function listStored(
  sql: Sql,
  ref: ConnectionRef,
  groups: readonly string[],
  ids: readonly string[],
): Promise<StoredTransaction[]> {
  return sql.rows<StoredTransaction>(
    `select id, category, document from transactions
     where tenant_id = $1 and user_id = $2 and connection_id = $3 and group_key = any($4::text[])
     union
     select id, category, document from transactions where tenant_id = $1 and user_id = $2 and id = any($5::text[])`,
    [ref.tenantId, ref.userId, ref.connectionId, [...groups], [...ids]],
  )
}
