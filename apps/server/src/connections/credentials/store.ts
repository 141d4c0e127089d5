/**
 * The SQL of what is sealed for workers: credentials, which a rotation of the sealing keys walks in the order of their
 * keys, and each tenant's key for fingerprints.
 */
import type { ConnectionType } from '@assay/connectors'
import type { Sql } from '../../db/index.ts'

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

export interface FingerprintKeyRow {
  tenantKey: number
  sealedKey: string
}

export async function findFingerprintKey(sql: Sql, tenantKey: number): Promise<string | undefined> {
  const row = await sql.maybeRow<{ sealed_key: string }>(
    'select sealed_key from tenant_fingerprint_keys where tenant_key = $1',
    [tenantKey],
  )
  return row?.sealed_key
}

/** The key that is there from now on: this one, or one that another process stored first. */
export async function ensureFingerprintKey(sql: Sql, tenantKey: number, sealed: string): Promise<string> {
  await sql.execute(
    'insert into tenant_fingerprint_keys (tenant_key, sealed_key) values ($1, $2) on conflict (tenant_key) do nothing',
    [tenantKey, sealed],
  )
  return (await findFingerprintKey(sql, tenantKey)) ?? sealed
}

export async function listFingerprintKeys(sql: Sql): Promise<FingerprintKeyRow[]> {
  return sql.rows<FingerprintKeyRow>(
    'select tenant_key as "tenantKey", sealed_key as "sealedKey" from tenant_fingerprint_keys order by tenant_key',
    [],
  )
}

/** Does nothing when the row holds something else by now. */
export async function deleteFingerprintKey(sql: Sql, { tenantKey, sealedKey }: FingerprintKeyRow): Promise<void> {
  await sql.execute('delete from tenant_fingerprint_keys where tenant_key = $1 and sealed_key = $2', [
    tenantKey,
    sealedKey,
  ])
}

/** False when the row holds something else by now. */
export async function replaceFingerprintKey(
  sql: Sql,
  { tenantKey, sealedKey }: FingerprintKeyRow,
  sealed: string,
): Promise<boolean> {
  const replaced = await sql.execute(
    'update tenant_fingerprint_keys set sealed_key = $2 where tenant_key = $1 and sealed_key = $3',
    [tenantKey, sealed, sealedKey],
  )
  return replaced === 1
}
