/**
 * All SQL over sign_in_codes and sign_in_events. An event counts against a subject: a session, an address, a network, a
 * tenant, or an address in a network, each hashed with a server key.
 */
import type { Sql } from '../../db/index.ts'

/** What the code lets the person do; the mail says it. */
export type SignInPurpose = 'connect' | 'manage'

export interface SignInCodeRequester {
  /** A connect session or a manage session, by purpose. */
  sessionId: string
  tenantId: string
  clientId: string
  purpose: SignInPurpose
}

export interface SignInCodeRow extends SignInCodeRequester {
  email: string
  nonce: Buffer
  /**
   * The key that the code was made with. A guess is compared with that one code: with two keys in the ring, during a
   * rotation, comparing it with the codes of both would double its chance.
   */
  keyId: Buffer
  triesLeft: number
}

const columns = `session_id as "sessionId", tenant_id as "tenantId", client_id as "clientId", purpose, email, nonce,
  key_id as "keyId", tries_left as "triesLeft"`

/** One code for each session: a new one ends the one before. */
export async function putSignInCode(sql: Sql, code: SignInCodeRow, lifeSeconds: number): Promise<void> {
  await sql.execute(
    `insert into sign_in_codes (session_id, tenant_id, client_id, email, nonce, key_id, purpose, tries_left, sent_at,
       expires_at)
     values ($1, $2, $3, $4, $5, $9, $10, $6, $8::timestamptz, $8::timestamptz + make_interval(secs => $7))
     on conflict (session_id) do update
       set email = excluded.email, nonce = excluded.nonce, key_id = excluded.key_id,
           tries_left = excluded.tries_left,
           sent_at = excluded.sent_at, expires_at = excluded.expires_at`,
    [
      code.sessionId,
      code.tenantId,
      code.clientId,
      code.email,
      code.nonce,
      code.triesLeft,
      lifeSeconds,
      sql.now(),
      code.keyId,
      code.purpose,
    ],
  )
}

export async function findSignInCode(sql: Sql, sessionId: string): Promise<SignInCodeRow | undefined> {
  return sql.maybeRow<SignInCodeRow>(
    `select ${columns} from sign_in_codes where session_id = $1 and expires_at > $2::timestamptz`,
    [sessionId, sql.now()],
  )
}

/** Tries are serialized. Otherwise five simultaneous tries would count as one. */
export async function lockSignInCode(tx: Sql, sessionId: string): Promise<SignInCodeRow | undefined> {
  return tx.maybeRow<SignInCodeRow>(
    `select ${columns} from sign_in_codes where session_id = $1 and expires_at > $2::timestamptz for update`,
    [sessionId, tx.now()],
  )
}

export async function spendTry(tx: Sql, sessionId: string): Promise<void> {
  await tx.execute('update sign_in_codes set tries_left = tries_left - 1 where session_id = $1', [sessionId])
}

export async function deleteSignInCode(sql: Sql, sessionId: string): Promise<void> {
  await sql.execute('delete from sign_in_codes where session_id = $1', [sessionId])
}

/** The first two are counted; `signed_in` is remembered for longer, and for an address in a network alone. */
export type EventKind = 'code' | 'wrong_try' | 'signed_in'

const signedInDays = 30
const keptDays: Readonly<Record<EventKind, number>> = { code: 1, wrong_try: 1, signed_in: signedInDays }

/** Counting and adding must be one step for a subject, whichever process does it. Held to the end. */
export async function lockSubject(tx: Sql, subjectHash: Buffer): Promise<void> {
  await tx.execute(`select pg_advisory_xact_lock(hashtextextended('sign_in ' || $1, 0))`, [subjectHash.toString('hex')])
}

/**
 * Undefined while fewer than `max` happened in the window; otherwise the seconds until the oldest of them leaves the
 * window.
 */
export async function findWaitSeconds(
  sql: Sql,
  subjectHash: Buffer,
  limit: { kind: EventKind; max: number; windowSeconds: number },
): Promise<number | undefined> {
  const row = await sql.maybeRow<{ seconds: number }>(
    `select ceil(extract(epoch from at + make_interval(secs => $4) - $5::timestamptz))::int as seconds
     from sign_in_events
     where subject_hash = $1 and kind = $2 and at > $5::timestamptz - make_interval(secs => $4)
     order by at desc offset $3 limit 1`,
    [subjectHash, limit.kind, limit.max - 1, limit.windowSeconds, sql.now()],
  )
  return row === undefined ? undefined : Math.max(row.seconds, 1)
}

/**
 * Subjects, as hexadecimal text, that got `min` codes or more within one window of the last day, each with the most that
 * it got.
 */
export async function listCodePeaks(
  sql: Sql,
  subjects: readonly string[],
  { min, windowSeconds }: { min: number; windowSeconds: number },
): Promise<{ subject: string; codes: number }[]> {
  return sql.rows<{ subject: string; codes: number }>(
    `select encode(subject_hash, 'hex') as subject, max(codes)::int as codes
     from (
       select subject_hash, count(*) over (
         partition by subject_hash order by at range between make_interval(secs => $3) preceding and current row
       ) as codes
       from sign_in_events
       where subject_hash in (select decode(hex, 'hex') from unnest($1::text[]) hex)
         and kind = 'code' and at > $4::timestamptz - make_interval(days => ${keptDays.code})
     ) counted
     group by 1 having max(codes) >= $2`,
    [subjects, min, windowSeconds, sql.now()],
  )
}

/** Whether the address was proved from this network within the last weeks. */
export async function hasSignedIn(sql: Sql, subjectHash: Buffer): Promise<boolean> {
  const row = await sql.maybeRow(
    `select from sign_in_events
     where subject_hash = $1 and kind = 'signed_in' and at > $2::timestamptz - make_interval(days => ${signedInDays})
     limit 1`,
    [subjectHash, sql.now()],
  )
  return row !== undefined
}

export async function addEvent(tx: Sql, subjectHash: Buffer, kind: EventKind): Promise<void> {
  await tx.execute('insert into sign_in_events (subject_hash, kind, at) values ($1, $2, $3::timestamptz)', [
    subjectHash,
    kind,
    tx.now(),
  ])
}

export async function deleteExpired(tx: Sql, batchSize: number): Promise<number> {
  const codes = await tx.execute(
    `delete from sign_in_codes where session_id in (
       select session_id from sign_in_codes where expires_at <= $2::timestamptz limit $1 for update skip locked)`,
    [batchSize, tx.now()],
  )
  let events = 0
  for (const [kind, days] of Object.entries(keptDays)) {
    events += await tx.execute(
      `delete from sign_in_events where ctid in (
         select ctid from sign_in_events where kind = $3 and at <= $2::timestamptz - make_interval(days => $4)
         limit $1 for update skip locked)`,
      [batchSize, tx.now(), kind, days],
    )
  }
  return codes + events
}
