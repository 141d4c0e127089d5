/** The SQL of a key rotation: every sealed credential once, by key order. */
import type { Sql } from '../db/index.ts'

export interface SealedRow {
  tenant_id: string
  user_id: string
  id: string
  repair_of: string | null
  sealed_credentials: string
}

export async function listSealed(sql: Sql, after: SealedRow | undefined, limit: number): Promise<SealedRow[]> {
  return sql.rows<SealedRow>(
    `select tenant_id, user_id, id, repair_of, sealed_credentials from connections
     where sealed_credentials is not null
       and ($1::text is null or (tenant_id, user_id, id) > ($1, $2, $3))
     order by tenant_id, user_id, id limit $4`,
    [after?.tenant_id ?? null, after?.user_id ?? null, after?.id ?? null, limit],
  )
}

/** False when the row holds something else by now. */
export async function replaceSeal(sql: Sql, row: SealedRow, sealed: string): Promise<boolean> {
  const replaced = await sql.execute(
    `update connections set sealed_credentials = $4
     where tenant_id = $1 and user_id = $2 and id = $3 and sealed_credentials = $5`,
    [row.tenant_id, row.user_id, row.id, sealed, row.sealed_credentials],
  )
  return replaced === 1
}
