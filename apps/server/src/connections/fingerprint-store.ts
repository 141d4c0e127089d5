/** All SQL over tenant_fingerprint_keys. */
import type { Sql } from '../db/index.ts'

export interface KeyRow {
  tenantKey: number
  sealedKey: string
}

export async function findKey(sql: Sql, tenantKey: number): Promise<string | undefined> {
  const row = await sql.maybeRow<{ sealed_key: string }>(
    'select sealed_key from tenant_fingerprint_keys where tenant_key = $1',
    [tenantKey],
  )
  return row?.sealed_key
}

/** The key that is there from now on: this one, or one that another process stored first. */
export async function ensureKey(sql: Sql, tenantKey: number, sealed: string): Promise<string> {
  await sql.execute(
    'insert into tenant_fingerprint_keys (tenant_key, sealed_key) values ($1, $2) on conflict (tenant_key) do nothing',
    [tenantKey, sealed],
  )
  return (await findKey(sql, tenantKey)) ?? sealed
}

export async function listKeys(sql: Sql): Promise<KeyRow[]> {
  return sql.rows<KeyRow>(
    'select tenant_key as "tenantKey", sealed_key as "sealedKey" from tenant_fingerprint_keys order by tenant_key',
    [],
  )
}

/** False when the row holds something else by now. */
export async function replaceKey(sql: Sql, { tenantKey, sealedKey }: KeyRow, sealed: string): Promise<boolean> {
  const replaced = await sql.execute(
    'update tenant_fingerprint_keys set sealed_key = $2 where tenant_key = $1 and sealed_key = $3',
    [tenantKey, sealed, sealedKey],
  )
  return replaced === 1
}
