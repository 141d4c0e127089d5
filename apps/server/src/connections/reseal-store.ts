/** The SQL of a key rotation: every sealed credential once, in the order of keys. */
import type { ConnectionType } from '@assay/connectors'
import type { Sql } from '../db/index.ts'

export interface SealedRow {
  user_key: string
  connection_key: number
  id: string
  connection_type: ConnectionType
  repair_of: string | null
  sealed_credentials: string
}

export async function listSealed(sql: Sql, after: SealedRow | undefined, limit: number): Promise<SealedRow[]> {
  return sql.rows<SealedRow>(
    `select user_key, connection_key, id, connection_type, repair_of, sealed_credentials from connections
     where sealed_credentials is not null
       and ($1::bigint is null or (user_key, connection_key) > ($1::bigint, $2::integer))
     order by user_key, connection_key limit $3`,
    [after?.user_key ?? null, after?.connection_key ?? null, limit],
  )
}

/** False when the row holds something else by now. */
export async function replaceSeal(sql: Sql, row: SealedRow, sealed: string): Promise<boolean> {
  const replaced = await sql.execute(
    `update connections set sealed_credentials = $3
     where user_key = $1::bigint and connection_key = $2 and sealed_credentials = $4`,
    [row.user_key, row.connection_key, sealed, row.sealed_credentials],
  )
  return replaced === 1
}
