/** All SQL over claim_keys, claim_subjects and claims. */
import type { Decimal } from '@assay/core'
import type { JWK } from 'jose'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'

/** Records that these keys are in use; skips a key whose last use was recorded less than `intervalMs` ago. */
export async function noteKeys(
  sql: Sql,
  keys: readonly { kid: string; publicJwk: JWK }[],
  intervalMs: number,
): Promise<void> {
  await sql.execute(
    `insert into claim_keys as k (kid, public_jwk, used_at)
     select g.kid, g.jwk, $3::timestamptz from unnest($1::text[], $2::jsonb[]) as g (kid, jwk)
     on conflict (kid) do update set used_at = excluded.used_at
       where k.used_at < excluded.used_at - make_interval(secs => $4::double precision / 1000)`,
    [keys.map(({ kid }) => kid), keys.map(({ publicJwk }) => JSON.stringify(publicJwk)), sql.now(), intervalMs],
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

export async function deleteKeysExcept(sql: Sql, kids: readonly string[]): Promise<number> {
  return sql.execute('delete from claim_keys where kid <> all($1::text[])', [[...kids]])
}

/**
 * Holds the user until the claim is made; false when the user is gone. Taken first, so that a claim and a deletion of
 * the user never wait for each other: an application that repeats a claim could keep a person from deleting the
 * account.
 */
export async function holdUser(tx: Sql, { userKey }: Owner): Promise<boolean> {
  const held = await tx.maybeRow('select from tenant_users where user_key = $1::bigint for key share', [userKey])
  return held !== undefined
}

/**
 * The name of the user in this grant's statements. The row stays locked, so the claims of a grant are made one by one.
 */
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

/** Different claims of a grant since a moment, each with the earliest time that is kept; the oldest first. */
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

/** How many questions were asked since a moment, answered or not, each counted for each of its audiences. */
export async function countQuestions(
  tx: Sql,
  { userKey }: Owner,
  { grantId, audience, sinceMs }: { grantId: string; audience: string; sinceMs: number },
): Promise<{ asked: number; toAudience: number }> {
  return tx.row(
    `select count(*)::integer as asked, count(*) filter (where audience = $4)::integer as "toAudience"
     from claims where user_key = $1::bigint and grant_id = $2 and made_at > $3::timestamptz`,
    [userKey, grantId, new Date(sinceMs).toISOString(), audience],
  )
}

/** Replaces the earlier claim with the same question and audience: the user's page shows only the newest. */
export async function insertClaim(
  tx: Sql,
  { userKey }: Owner,
  made: MadeClaim & { id: string; askedFor: string | null },
): Promise<void> {
  await tx.execute(
    `delete from claims
     where user_key = $1::bigint and grant_id = $2 and claim = $3 and asset_id is not distinct from $4
       and amount = $5::numeric and asked_for is not distinct from $6::timestamptz and audience = $7`,
    [userKey, made.grantId, made.claim, made.assetId, made.amount, made.askedFor, made.audience],
  )
  await tx.execute(
    `insert into claims (user_key, grant_id, id, claim, asset_id, amount, asked_for, as_of, holds, grade, audience, made_at)
     values ($1::bigint, $2, $3, $4, $5, $6::numeric, $7, $8, $9, $10, $11, $12)`,
    [
      ...[userKey, made.grantId, made.id, made.claim, made.assetId, made.amount, made.askedFor, made.asOf],
      ...[made.holds, made.grade, made.audience, made.madeAt],
    ],
  )
}

/**
 * At most `limit`, the newest first. If there are more, each question keeps its newest claim before any keeps a second:
 * an application that asked a thousand times for one thing must not push another question off the user's page.
 */
export async function listClaims(sql: Sql, { userKey }: Owner, limit: number): Promise<MadeClaim[]> {
  const question = 'grant_id, claim, asset_id, amount, asked_for'
  const rows = await sql.rows<MadeClaim>(
    `select grant_id as "grantId", claim, asset_id as "assetId", trim_scale(amount)::text as amount, as_of as "asOf",
       holds, grade, audience, made_at as "madeAt"
     from (
       select distinct on (${question}, audience) * from claims where user_key = $1::bigint
       order by ${question}, audience, made_at desc) asked
     order by row_number() over (partition by ${question} order by made_at desc), made_at desc, id limit $2::bigint`,
    [userKey, limit],
  )
  return rows.toSorted((a, b) => Date.parse(b.madeAt) - Date.parse(a.madeAt))
}
