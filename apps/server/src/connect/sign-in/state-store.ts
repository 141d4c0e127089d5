/** All SQL over provider_states: sign-ins at providers that have not come back yet. */
import type { Sql } from '../../db/index.ts'
import type { Owner } from '../../owner.ts'

/** Who began: a connect session, or an application by one of its grants. */
export interface Beginner extends Owner {
  connectSessionId: string | null
  grantId: string | null
}

export interface BegunSignIn extends Beginner {
  providerId: string
  displayLabel: string | null
  repairOf: string | null
  /** The application's redirect URI; null in a connect session. */
  redirectUri: string | null
  /** The key that derives the verifier. */
  keyId: Buffer
}

const lifeSeconds = 600

/** Writes nothing and returns false when the connect session has ended: it may be ending at this moment. */
export async function insertState(sql: Sql, stateHash: Buffer, begun: BegunSignIn): Promise<boolean> {
  const inserted = await sql.execute(
    `with held as materialized (select from connect_sessions where id = $4::text for key share)
     insert into provider_states (state_hash, provider_id, user_key, session_id, grant_id, display_label, repair_of,
       redirect_uri, expires_at, key_id)
     select $1::bytea, $2::text, $3::bigint, $4::text, $5::text, $6::text, $7::text, $8::text,
       $9::timestamptz + make_interval(secs => $10), $11::bytea
     where $4::text is null or exists (select from held)`,
    [
      stateHash,
      begun.providerId,
      begun.userKey,
      begun.connectSessionId,
      begun.grantId,
      begun.displayLabel,
      begun.repairOf,
      begun.redirectUri,
      sql.now(),
      lifeSeconds,
      begun.keyId,
    ],
  )
  return inserted === 1
}

/** A sign-in that an application began and whose answer it does not have yet. */
export async function findForApplication(
  sql: Sql,
  stateHash: Buffer,
): Promise<{ providerId: string; userKey: string; grantId: string } | undefined> {
  return sql.maybeRow(
    `select provider_id as "providerId", user_key as "userKey", grant_id as "grantId" from provider_states
     where state_hash = $1 and redirect_uri is not null and handle_hash is null and expires_at > $2::timestamptz`,
    [stateHash, sql.now()],
  )
}

/**
 * Returns, once, the redirect URI of a sign-in that an application began. The handle then lasts another ten minutes.
 */
export async function keepAnswer(
  sql: Sql,
  stateHash: Buffer,
  handleHash: Buffer,
  sealedCode: string,
): Promise<string | undefined> {
  const kept = await sql.maybeRow<{ redirectUri: string }>(
    `update provider_states set handle_hash = $2, sealed_code = $3,
       expires_at = $5::timestamptz + make_interval(secs => $4)
     where state_hash = $1 and redirect_uri is not null and handle_hash is null and expires_at > $5::timestamptz
     returning redirect_uri as "redirectUri"`,
    [stateHash, handleHash, sealedCode, lifeSeconds, sql.now()],
  )
  return kept?.redirectUri
}

export async function dropForApplication(sql: Sql, stateHash: Buffer): Promise<string | undefined> {
  const dropped = await sql.maybeRow<{ redirectUri: string }>(
    `delete from provider_states
     where state_hash = $1 and redirect_uri is not null and handle_hash is null and expires_at > $2::timestamptz
     returning redirect_uri as "redirectUri"`,
    [stateHash, sql.now()],
  )
  return dropped?.redirectUri
}

/** Codes on their way: the few of the last ten minutes. */
export async function listSealedProviderCodes(sql: Sql): Promise<{ stateHash: Buffer; sealedCode: string }[]> {
  return sql.rows(
    `select state_hash as "stateHash", sealed_code as "sealedCode" from provider_states
     where sealed_code is not null and expires_at > $1::timestamptz`,
    [sql.now()],
  )
}

/**
 * Works only for the caller that the state was made for, and with the handle if there is one. Any other caller spends
 * nothing.
 */
export async function takeState(
  sql: Sql,
  stateHash: Buffer,
  of: Beginner & { providerId?: string; handleHash: Buffer | null },
): Promise<
  (Pick<BegunSignIn, 'providerId' | 'displayLabel' | 'repairOf' | 'keyId'> & { sealedCode: string | null }) | undefined
> {
  return sql.maybeRow(
    `delete from provider_states
     where state_hash = $1 and ($2::text is null or provider_id = $2) and user_key = $3
       and session_id is not distinct from $4 and grant_id is not distinct from $5
       and handle_hash is not distinct from $6 and expires_at > $7::timestamptz
     returning provider_id as "providerId", display_label as "displayLabel", repair_of as "repairOf",
       sealed_code as "sealedCode", key_id as "keyId"`,
    [stateHash, of.providerId ?? null, of.userKey, of.connectSessionId, of.grantId, of.handleHash, sql.now()],
  )
}
