/** All SQL over provider_states: sign-ins at providers that have not come back yet. */
import type { Sql } from '../db/index.ts'

/** Who began: a session, or an application by one of its grants. */
export interface Beginner {
  tenantId: string
  userId: string
  sessionId: string | null
  grantId: string | null
}

export interface BegunSignIn extends Beginner {
  providerId: string
  displayLabel: string | null
  repairOf: string | null
  /** Of the application; null in a session. */
  redirectUri: string | null
}

const lifeSeconds = 600

export async function insertState(sql: Sql, stateHash: Buffer, begun: BegunSignIn): Promise<void> {
  await sql.execute(
    `insert into provider_states (state_hash, provider_id, tenant_id, user_id, session_id, grant_id, display_label,
       repair_of, redirect_uri, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, assay_now() + make_interval(secs => $10))`,
    [
      stateHash,
      begun.providerId,
      begun.tenantId,
      begun.userId,
      begun.sessionId,
      begun.grantId,
      begun.displayLabel,
      begun.repairOf,
      begun.redirectUri,
      lifeSeconds,
    ],
  )
}

/** Once, and only for what an application began: its redirect URI. The handle has ten minutes of its own. */
export async function keepAnswer(
  sql: Sql,
  stateHash: Buffer,
  handleHash: Buffer,
  sealedCode: string,
): Promise<string | undefined> {
  const kept = await sql.maybeRow<{ redirectUri: string }>(
    `update provider_states set handle_hash = $2, sealed_code = $3,
       expires_at = assay_now() + make_interval(secs => $4)
     where state_hash = $1 and redirect_uri is not null and handle_hash is null and expires_at > assay_now()
     returning redirect_uri as "redirectUri"`,
    [stateHash, handleHash, sealedCode, lifeSeconds],
  )
  return kept?.redirectUri
}

export async function dropForApplication(sql: Sql, stateHash: Buffer): Promise<string | undefined> {
  const dropped = await sql.maybeRow<{ redirectUri: string }>(
    `delete from provider_states
     where state_hash = $1 and redirect_uri is not null and handle_hash is null and expires_at > assay_now()
     returning redirect_uri as "redirectUri"`,
    [stateHash],
  )
  return dropped?.redirectUri
}

/** Codes on their way: the few of the last ten minutes. */
export async function listSealedCodes(sql: Sql): Promise<{ stateHash: Buffer; sealedCode: string }[]> {
  return sql.rows(
    `select state_hash as "stateHash", sealed_code as "sealedCode" from provider_states
     where sealed_code is not null and expires_at > assay_now()`,
  )
}

/** Only for whom it was made, and with the handle if there is one: whoever else shows it spends nothing. */
export async function takeState(
  sql: Sql,
  stateHash: Buffer,
  of: Beginner & { providerId?: string; handleHash: Buffer | null },
): Promise<
  { providerId: string; displayLabel: string | null; repairOf: string | null; sealedCode: string | null } | undefined
> {
  return sql.maybeRow(
    `delete from provider_states
     where state_hash = $1 and ($2::text is null or provider_id = $2) and tenant_id = $3 and user_id = $4
       and session_id is not distinct from $5 and grant_id is not distinct from $6
       and handle_hash is not distinct from $7 and expires_at > assay_now()
     returning provider_id as "providerId", display_label as "displayLabel", repair_of as "repairOf",
       sealed_code as "sealedCode"`,
    [stateHash, of.providerId ?? null, of.tenantId, of.userId, of.sessionId, of.grantId, of.handleHash],
  )
}
