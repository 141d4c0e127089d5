/**
 * SQL over `connections` on their way in: a number for each, the verdict of the verification, the account they are of.
 */
import type { ErrorItem } from '@assay/core'
import type { Sql } from '../../db/index.ts'
import { keysOf, type ConnectionRef, type Owner } from '../../owner.ts'
import type { StoredCredentials } from '../credentials/credential-types.ts'

export interface Verdict {
  added: boolean
  connection_id: string | null
  errors: ErrorItem[]
}

/** The user's ledger is made with the first connection. Returns the connection's key, which no other one ever has. */
export async function insertPending(
  sql: Sql,
  owner: Owner,
  row: {
    connectionId: string
    providerId: string
    connectionType: string
    displayLabel: string | null
    stored: StoredCredentials
    keyLane: string
    connectSessionId: string | null
    repairOf: string | null
  },
): Promise<number> {
  const { connection_key } = await sql.row<{ connection_key: number }>(
    `with numbered as (
       insert into user_ledgers as l (user_key, connection_keys) values ($1::bigint, 1)
       on conflict (user_key) do update set connection_keys = l.connection_keys + 1
       returning connection_keys
     )
     insert into connections (user_key, connection_key, tenant_key, tenant_id, user_id, id, provider_id,
       connection_type, display_label, status, sealed_credentials, key_lane, session_id, repair_of, created_at,
       address, networks)
     select $1::bigint, connection_keys, $2::integer, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,
       'pending', $9::text, $10::text, $11::text, $12::text, $13::timestamptz, $14::text, $15::text[]
     from numbered
     returning connection_key`,
    [
      owner.userKey,
      owner.tenantKey,
      owner.tenantId,
      owner.userId,
      row.connectionId,
      row.providerId,
      row.connectionType,
      row.displayLabel,
      row.stored.sealedCredentials,
      row.keyLane,
      row.connectSessionId,
      row.repairOf,
      sql.now(),
      row.stored.address,
      row.stored.networks,
    ],
  )
  return connection_key
}

/** False for a user who was deleted after the request had been admitted. */
export async function isUser(sql: Sql, { userKey }: Owner): Promise<boolean> {
  return (await sql.maybeRow('select from tenant_users where user_key = $1::bigint', [userKey])) !== undefined
}

/** How many checks of one user the providers are asked for within an hour. */
export interface ChecksMax {
  refused: number
  /** Accepted, and left no further connection. */
  repeated: number
}

export interface CountedKeys {
  connected: number
  /** Keys without a verdict. */
  waiting: number
  /** Until fewer were refused within an hour than may be; null when there are fewer. */
  refusedWaitSeconds: number | null
  repeatedWaitSeconds: number | null
}

/** SQL: until the check that makes it this many, the latest first, is an hour old. */
const waitSecondsOf = (checks: string, max: string): string =>
  `(select greatest(1, ceil(extract(epoch from k.at + interval '1 hour' - $2::timestamptz)))::int from key_checks k
    where k.user_key = $1::bigint and k.at > $2::timestamptz - interval '1 hour' and ${checks}
    order by k.at desc offset ${max}::int - 1 limit 1)`

export async function countKeys(tx: Sql, { userKey }: Owner, max: ChecksMax): Promise<CountedKeys> {
  return tx.row(
    `select
       (select count(*)::int from connections
        where user_key = $1::bigint and status <> 'removed') as connected,
       (select count(*)::int from connections
        where user_key = $1::bigint and status = 'pending' and verdict is null
          and created_at > $2::timestamptz - interval '10 minutes') as waiting,
       ${waitSecondsOf('k.refused', '$3')} as "refusedWaitSeconds",
       ${waitSecondsOf('not k.refused', '$4')} as "repeatedWaitSeconds"`,
    [userKey, tx.now(), max.refused, max.repeated],
  )
}

export interface AccountFingerprint {
  providerId: string
  fingerprint: string
}

export interface TakenAccount {
  connectionKey: number
  connectionId: string
  connectSessionId: string | null
}

/**
 * The account's fingerprint is unique for a user and provider. Two keys of one account may be verified at the same
 * moment, in lanes of their own; the second one waits here, to the end of the first one's transaction, and finds it
 * instead of running into the unique index. The row is locked, so that its session stays what it is.
 */
export async function findAccount(
  tx: Sql,
  owner: Owner,
  account: AccountFingerprint,
): Promise<TakenAccount | undefined> {
  const owned = [owner.userKey, account.providerId, account.fingerprint]
  await tx.execute('select pg_advisory_xact_lock(hashtextextended($1, 0))', [JSON.stringify(['account', ...owned])])
  return tx.maybeRow<TakenAccount>(
    `select connection_key as "connectionKey", id as "connectionId", session_id as "connectSessionId" from connections
     where user_key = $1::bigint and provider_id = $2 and account_fingerprint = $3 and status <> 'removed' for update`,
    owned,
  )
}

/** Locked until the transaction ends; undefined when it no longer waits for a verdict. */
export async function lockPending(
  tx: Sql,
  ref: ConnectionRef,
): Promise<{ connectSessionId: string | null } | undefined> {
  return tx.maybeRow(
    `select session_id as "connectSessionId" from connections
     where user_key = $1::bigint and connection_key = $2 and status = 'pending' for update`,
    keysOf(ref),
  )
}

export interface AcceptedAccount {
  fingerprint: string
  fingerprintOf: 'account' | 'key'
  /** The number and the time from which on applications see it; null while only its session does. */
  shown: { seq: string; at: string } | null
}

export async function acceptPending(
  tx: Sql,
  ref: ConnectionRef,
  { fingerprint, fingerprintOf, shown }: AcceptedAccount,
): Promise<void> {
  const verdict: Verdict = { added: true, connection_id: ref.connectionId, errors: [] }
  await tx.execute(
    `update connections set status = 'syncing', account_fingerprint = $3, verdict = $4::jsonb, added_at = $5::timestamptz,
       next_sync_at = $5::timestamptz, shown_seq = $6::bigint, shown_at = $7::timestamptz, fingerprint_of = $8
     where user_key = $1::bigint and connection_key = $2 and status = 'pending'`,
    [
      ...[...keysOf(ref), fingerprint, JSON.stringify(verdict), tx.now()],
      ...[shown?.seq ?? null, shown?.at ?? null, fingerprintOf],
    ],
  )
}

/** The key is destroyed at once; the row goes when the verdict has been read. */
export async function refusePending(sql: Sql, ref: ConnectionRef, verdict: Verdict): Promise<void> {
  await sql.execute(
    `update connections set sealed_credentials = null, address = null, networks = null, verdict = $3::jsonb
     where user_key = $1::bigint and connection_key = $2 and status = 'pending'`,
    [...keysOf(ref), JSON.stringify(verdict)],
  )
}

/**
 * The provider was called to check what a connection was to be read with, and the user has no further connection: it
 * was refused, or the check is a repeated one. A check that leaves a connection is recorded when that is removed.
 */
export async function recordCheck(
  sql: Sql,
  { userKey }: Owner,
  { keyLane, isRefused }: { keyLane: string; isRefused: boolean },
): Promise<void> {
  await sql.execute(
    `insert into key_checks (user_key, key_lane, refused, at)
     values ($1::bigint, $2::text, $3::boolean, $4::timestamptz)`,
    [userKey, keyLane, isRefused, sql.now()],
  )
}

/** The connection is being removed: if it was added within the hour, its check has left nothing after all. */
export async function recordCheckOfRemoved(tx: Sql, ref: ConnectionRef): Promise<void> {
  await tx.execute(
    `insert into key_checks (user_key, key_lane, refused, at)
     select user_key, key_lane, false, added_at from connections
     where user_key = $1::bigint and connection_key = $2 and added_at > $3::timestamptz - interval '1 hour'`,
    [...keysOf(ref), tx.now()],
  )
}

/**
 * Of a user who is being deleted. What is kept of their keys has to be found an hour later, so the lanes stay, without
 * the user.
 */
export async function disownChecks(tx: Sql, { userKey }: Owner): Promise<void> {
  const checks = await tx.rows<{ keyLane: string }>(
    'delete from key_checks where user_key = $1::bigint returning key_lane as "keyLane"',
    [userKey],
  )
  await tx.execute(
    `insert into key_checks (user_key, key_lane, refused, at)
     select 0, lane, true, $2::timestamptz from unnest($1::text[]) lane`,
    [[...new Set(checks.map(({ keyLane }) => keyLane))], tx.now()],
  )
}

const isOld = "at <= $1::timestamptz - interval '1 hour'"

/**
 * The lanes of checks that were an hour old at `now`, without those that their user reads with: what limit errors have
 * taught about a key stays with its connection. A key that is pending again leaves another check.
 */
export async function listOldLanes(sql: Sql, now: string): Promise<string[]> {
  const lanes = await sql.rows<{ keyLane: string }>(
    `select distinct key_lane as "keyLane" from key_checks k
     where ${isOld} and not exists (select from connections c
       where c.user_key = k.user_key and c.key_lane = k.key_lane and c.status <> 'pending')`,
    [now],
  )
  return lanes.map(({ keyLane }) => keyLane)
}

export async function deleteOldChecks(sql: Sql, now: string): Promise<void> {
  await sql.execute(`delete from key_checks where ${isOld}`, [now])
}

/**
 * False when the verdict has been written, and when none will come because the row was deleted with its user or
 * session.
 */
export async function isUndecided(sql: Sql, ref: ConnectionRef): Promise<boolean> {
  const row = await sql.maybeRow(
    'select from connections where user_key = $1::bigint and connection_key = $2 and verdict is null',
    keysOf(ref),
  )
  return row !== undefined
}

/**
 * Ends the wait. A row that is still pending (refused, without a verdict, or a repair) is deleted; an accepted one
 * stays. The order matters, because a verdict may arrive at the very moment the caller gives up.
 */
export async function takeVerdict(sql: Sql, ref: ConnectionRef): Promise<Verdict | undefined> {
  const ended = await sql.maybeRow<{ verdict: Verdict | null }>(
    `delete from connections
     where user_key = $1::bigint and connection_key = $2 and status = 'pending' returning verdict`,
    keysOf(ref),
  )
  const row =
    ended ??
    (await sql.maybeRow<{ verdict: Verdict | null }>(
      'select verdict from connections where user_key = $1::bigint and connection_key = $2',
      keysOf(ref),
    ))
  return row?.verdict ?? undefined
}

/** Pending rows whose caller is gone: their verdict will not be read. */
export async function deleteAbandonedPending(sql: Sql): Promise<number> {
  return sql.execute(
    `delete from connections
     where status = 'pending' and created_at < $1::timestamptz - interval '10 minutes'`,
    [sql.now()],
  )
}

/**
 * The new credentials take the place of the old, and the lane with them; undefined, with nothing changed, when the
 * account is another one. `needs_reauth` ends here; a connection that is being read continues with the new key.
 */
export async function acceptRepair(
  tx: Sql,
  pending: ConnectionRef,
  repaired: { connectionId: string; fingerprint: string },
): Promise<ConnectionRef | undefined> {
  const target = await tx.maybeRow<{ connectionKey: number }>(
    `update connections target
     set sealed_credentials = pending.sealed_credentials, address = pending.address, networks = pending.networks,
         connection_type = pending.connection_type, key_lane = pending.key_lane,
         status = case target.status when 'needs_reauth' then 'syncing' else target.status end,
         status_cause = case target.status when 'needs_reauth' then null else target.status_cause end,
         status_message = case target.status when 'needs_reauth' then null else target.status_message end,
         next_sync_at = $5::timestamptz
     from connections pending
     where target.user_key = $1::bigint and target.id = $3
       and target.account_fingerprint = $4 and target.session_id is null
       and target.status not in ('pending', 'removed')
       and pending.user_key = $1::bigint and pending.connection_key = $2 and pending.status = 'pending'
     returning target.connection_key as "connectionKey"`,
    [...keysOf(pending), repaired.connectionId, repaired.fingerprint, tx.now()],
  )
  if (target === undefined) return undefined
  await refusePending(tx, pending, { added: true, connection_id: repaired.connectionId, errors: [] })
  return { ...pending, connectionKey: target.connectionKey, connectionId: repaired.connectionId }
}
