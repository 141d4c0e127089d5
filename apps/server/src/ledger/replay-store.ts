/** SQL that a replay reads by. It writes as deriving does. */
import type { Sql } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'

interface Which {
  connectionId: string | undefined
}

export type ReplayedConnection = ConnectionRef & { providerId: string }

export async function countConnections(sql: Sql, { connectionId }: Which): Promise<number> {
  const row = await sql.row<{ connections: number }>(
    'select count(*)::int as connections from existing_connections where $1::text is null or id = $1::text',
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
    `select tenant_key as "tenantKey", tenant_id as "tenantId", user_key as "userKey", user_id as "userId",
       connection_key as "connectionKey", id as "connectionId", provider_id as "providerId"
     from existing_connections
     where ($1::bigint is null or (user_key, connection_key) > ($1::bigint, $2::integer))
       and ($3::text is null or id = $3::text)
     order by user_key, connection_key limit $4::bigint`,
    [after?.userKey ?? null, after?.connectionKey ?? null, connectionId ?? null, limit],
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
