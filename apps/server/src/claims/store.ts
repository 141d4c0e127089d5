/** All SQL over claim_keys, claim_subjects and claims. */
import type { Decimal } from '@assay/core'
import type { JWK } from 'jose'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'

/** Records that these keys are in use; skips one that was recorded within `fresherMs`. */
export async function noteKeys(
  sql: Sql,
  keys: readonly { kid: string; publicJwk: JWK }[],
  fresherMs: number,
): Promise<void> {
  await sql.execute(
    `insert into claim_keys as k (kid, public_jwk, used_at)
     select g.kid, g.jwk, $3::timestamptz from unnest($1::text[], $2::jsonb[]) as g (kid, jwk)
     on conflict (kid) do update set used_at = excluded.used_at
       where k.used_at < excluded.used_at - make_interval(secs => $4::double precision / 1000)`,
    [keys.map(({ kid }) => kid), keys.map(({ publicJwk }) => JSON.stringify(publicJwk)), sql.now(), fresherMs],
  )
}

/** The newest first. */
export async function listKeys(sql: Sql, keptMs: number): Promise<JWK[]> {
  const rows = await sql.rows<{ public_jwk: JWK }>(
    `select public_jwk from claim_keys
     where used_at > $1::timestamptz - make_interval(secs => $2::double precision / 1000)
     order by used_at desc, kid`,
    [sql.now(), keptMs],
  )
  return rows.map(({ public_jwk }) => public_jwk)
}

/** The name of the user in this grant's statements. The row stays locked, so the claims of a grant are made one by one. */
export async function holdSubject(tx: Sql, { userKey }: Owner, grantId: string, newSubject: string): Promise<string> {
  const { subject } = await tx.row<{ subject: string }>(
    `insert into claim_subjects as s (user_key, grant_id, subject) values ($1::bigint, $2, $3)
     on conflict (user_key, grant_id) do update set subject = s.subject returning subject`,
    [userKey, grantId, newSubject],
  )
  return subject
}

/** The question: two claims that agree in all of these members are the same claim. */
export interface AskedClaim {
  claim: 'value_at_least' | 'holds_at_least'
  assetId: string | null
  amount: Decimal
  /** Null for the present. */
  asOf: string | null
}

/** Different claims of a grant since a moment, each with the time when it was first made; the oldest first. */
export async function listAsked(
  tx: Sql,
  { userKey }: Owner,
  grantId: string,
  sinceMs: number,
): Promise<(AskedClaim & { firstAt: string })[]> {
  return tx.rows(
    `select claim, asset_id as "assetId", trim_scale(amount)::text as amount, asked_for as "asOf", min(made_at) as "firstAt"
     from claims where user_key = $1::bigint and grant_id = $2 and made_at > $3::timestamptz
     group by claim, asset_id, amount, asked_for order by min(made_at)`,
    [userKey, grantId, new Date(sinceMs).toISOString()],
  )
}

export interface MadeClaim {
  grantId: string
  claim: AskedClaim['claim']
  assetId: string | null
  amount: Decimal
  asOf: string
  /** Null when the data was too weak for an answer. */
  holds: boolean | null
  grade: string
  audience: string
  madeAt: string
}

export async function insertClaim(
  tx: Sql,
  { userKey }: Owner,
  made: MadeClaim & { id: string; askedFor: string | null },
): Promise<void> {
  await tx.execute(
    `insert into claims (user_key, grant_id, id, claim, asset_id, amount, asked_for, as_of, holds, grade, audience, made_at)
     values ($1::bigint, $2, $3, $4, $5, $6::numeric, $7, $8, $9, $10, $11, $12)`,
    [
      ...[userKey, made.grantId, made.id, made.claim, made.assetId, made.amount, made.askedFor, made.asOf],
      ...[made.holds, made.grade, made.audience, made.madeAt],
    ],
  )
}

export async function listClaims(sql: Sql, { userKey }: Owner, limit: number): Promise<MadeClaim[]> {
  return sql.rows<MadeClaim>(
    `select grant_id as "grantId", claim, asset_id as "assetId", trim_scale(amount)::text as amount, as_of as "asOf",
       holds, grade, audience, made_at as "madeAt"
     from claims where user_key = $1::bigint order by made_at desc, id limit $2::bigint`,
    [userKey, limit],
  )
}
