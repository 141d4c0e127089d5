/** All SQL over `connections` and `key_nonces`. */
import type { Cause, ErrorItem } from '@assay/core'
import type { Sql } from '../db/index.ts'

/** Names one connection; user and tenant come first in every key. */
export interface ConnectionRef {
  tenantId: string
  userId: string
  connectionId: string
}

export type ConnectionStatus = 'pending' | 'syncing' | 'active' | 'degraded' | 'needs_reauth' | 'removed'

export interface ConnectionRow {
  id: string
  provider_id: string
  connection_type: 'api_key' | 'wallet' | 'oauth2'
  display_label: string | null
  status: ConnectionStatus
  status_cause: Cause | null
  status_message: string | null
  added_at: string | null
  last_synced_at: string | null
  next_sync_at: string | null
  history_from: string | null
  transaction_count: string
}

export interface Verdict {
  added: boolean
  connection_id: string | null
  errors: ErrorItem[]
}

export const shown = `id, provider_id, connection_type, display_label, status, status_cause, status_message, added_at,
  last_synced_at, next_sync_at, history_from, transaction_count`

export async function insertPending(
  sql: Sql,
  ref: ConnectionRef,
  row: {
    providerId: string
    connectionType: string
    displayLabel: string | null
    sealedCredentials: string
    keyLane: string
    sessionId: string | null
    repairOf: string | null
  },
): Promise<void> {
  await sql.execute(
    `insert into connections (tenant_id, user_id, id, provider_id, connection_type, display_label, status,
       sealed_credentials, key_lane, session_id, repair_of)
     values ($1, $2, $3, $4, $5, $6, 'pending', $7, $8, $9, $10)`,
    [
      ref.tenantId,
      ref.userId,
      ref.connectionId,
      row.providerId,
      row.connectionType,
      row.displayLabel,
      row.sealedCredentials,
      row.keyLane,
      row.sessionId,
      row.repairOf,
    ],
  )
}

export interface OpenableRow {
  /** A grant is live, or the connection still belongs to its session. */
  allowed: boolean
  provider_id: string
  status: ConnectionStatus
  sealed_credentials: string | null
  key_lane: string
  session_id: string | null
  /** The credentials are sealed for this connection, whose place they are to take. */
  repair_of: string | null
}

export async function findOpenable(sql: Sql, ref: ConnectionRef): Promise<OpenableRow | undefined> {
  return sql.maybeRow<OpenableRow>(
    `select provider_id, status, sealed_credentials, key_lane, session_id, repair_of,
       session_id is not null
         or exists (select from live_grants g where g.tenant_id = $1 and g.user_id = $2) as allowed
     from connections
     where tenant_id = $1 and user_id = $2 and id = $3`,
    [ref.tenantId, ref.userId, ref.connectionId],
  )
}

/**
 * The account's fingerprint is unique for a user and provider: undefined when it was free and is now this one's. Two
 * keys of one account may be verified at the same moment, in lanes of their own; whoever comes second waits here and
 * finds the first, instead of running into the unique index.
 */
export async function acceptPending(
  tx: Sql,
  ref: ConnectionRef,
  account: { providerId: string; fingerprint: string },
): Promise<{ existingId: string; sessionId: string | null } | undefined> {
  const owned = [ref.tenantId, ref.userId, account.providerId, account.fingerprint]
  await tx.execute('select pg_advisory_xact_lock(hashtextextended($1, 0))', [JSON.stringify(['account', ...owned])])
  const existing = await tx.maybeRow<{ id: string; session_id: string | null }>(
    `select id, session_id from connections
     where tenant_id = $1 and user_id = $2 and provider_id = $3 and account_fingerprint = $4 and status <> 'removed'`,
    owned,
  )
  if (existing !== undefined) return { existingId: existing.id, sessionId: existing.session_id }
  const verdict: Verdict = { added: true, connection_id: ref.connectionId, errors: [] }
  await tx.execute(
    `update connections set status = 'syncing', account_fingerprint = $4, added_at = assay_now(), verdict = $5
     where tenant_id = $1 and user_id = $2 and id = $3 and status = 'pending'`,
    [ref.tenantId, ref.userId, ref.connectionId, account.fingerprint, JSON.stringify(verdict)],
  )
  return undefined
}

/** The key is destroyed at once; the row goes when the verdict has been read. */
export async function refusePending(sql: Sql, ref: ConnectionRef, verdict: Verdict): Promise<void> {
  await sql.execute(
    `update connections set sealed_credentials = null, verdict = $4
     where tenant_id = $1 and user_id = $2 and id = $3 and status = 'pending'`,
    [ref.tenantId, ref.userId, ref.connectionId, JSON.stringify(verdict)],
  )
}

export async function hasVerdict(sql: Sql, ref: ConnectionRef): Promise<boolean> {
  const row = await sql.maybeRow(
    'select from connections where tenant_id = $1 and user_id = $2 and id = $3 and verdict is not null',
    [ref.tenantId, ref.userId, ref.connectionId],
  )
  return row !== undefined
}

/**
 * Ends the waiting: a row that is still pending (refused, unheard, or a repair) has served and goes; one that was
 * accepted stays. In this order, because a verdict may come at the very moment the waiting is given up.
 */
export async function takeVerdict(sql: Sql, ref: ConnectionRef): Promise<Verdict | undefined> {
  const values = [ref.tenantId, ref.userId, ref.connectionId]
  const ended = await sql.maybeRow<{ verdict: Verdict | null }>(
    `delete from connections where tenant_id = $1 and user_id = $2 and id = $3 and status = 'pending' returning verdict`,
    values,
  )
  const row =
    ended ??
    (await sql.maybeRow<{ verdict: Verdict | null }>(
      'select verdict from connections where tenant_id = $1 and user_id = $2 and id = $3',
      values,
    ))
  return row?.verdict ?? undefined
}

/** Pending rows whose asker is gone: nobody will read their verdict. */
export async function deleteAbandonedPending(sql: Sql): Promise<number> {
  return sql.execute(
    `delete from connections where status = 'pending' and created_at < assay_now() - interval '10 minutes'`,
  )
}

export async function findConnection(sql: Sql, ref: ConnectionRef): Promise<ConnectionRow | undefined> {
  return sql.maybeRow<ConnectionRow>(
    `select ${shown} from connections
     where tenant_id = $1 and user_id = $2 and id = $3 and session_id is null and status not in ('pending', 'removed')`,
    [ref.tenantId, ref.userId, ref.connectionId],
  )
}

/** By (added_at, id), the oldest first: a list people read, in the order they made it. */
export async function listConnections(
  sql: Sql,
  owner: { tenantId: string; userId: string },
  page: { limit: number; after: { addedAt: string; id: string } | undefined },
): Promise<ConnectionRow[]> {
  return sql.rows<ConnectionRow>(
    `select ${shown} from connections
     where tenant_id = $1 and user_id = $2 and session_id is null and status not in ('pending', 'removed')
       and ($3::timestamptz is null or (added_at, id) > ($3::timestamptz, $4))
     order by added_at, id limit $5`,
    [owner.tenantId, owner.userId, page.after?.addedAt ?? null, page.after?.id ?? null, page.limit],
  )
}

/** Settled ones only, locked, so that two removals of one connection do not both report it. */
export async function lockForRemoval(
  sql: Sql,
  owner: { tenantId: string; userId: string },
  which: { connectionId?: string; providerId?: string },
): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    `select id from connections
     where tenant_id = $1 and user_id = $2 and session_id is null and status not in ('pending', 'removed')
       and ($3::text is null or id = $3) and ($4::text is null or provider_id = $4)
     order by id for update`,
    [owner.tenantId, owner.userId, which.connectionId ?? null, which.providerId ?? null],
  )
  return rows.map((row) => row.id)
}

/** Whoever writes what is read through it is done, and nobody begins; false when it is gone. */
export async function lockConnection(tx: Sql, ref: ConnectionRef): Promise<boolean> {
  const row = await tx.maybeRow(
    'select id from connections where tenant_id = $1 and user_id = $2 and id = $3 for update',
    [ref.tenantId, ref.userId, ref.connectionId],
  )
  return row !== undefined
}

export async function deleteConnection(sql: Sql, ref: ConnectionRef): Promise<void> {
  await sql.execute('delete from connections where tenant_id = $1 and user_id = $2 and id = $3', [
    ref.tenantId,
    ref.userId,
    ref.connectionId,
  ])
}

/** Nobody sees it any more and its key is gone; the row stays until everything that was read through it is destroyed. */
export async function retireConnection(sql: Sql, ref: ConnectionRef, was: { served: boolean }): Promise<void> {
  await sql.execute(
    `update connections set status = 'removed', was_served = $4, sealed_credentials = null, key_lane = '',
       account_fingerprint = null, session_id = null, repair_of = null, display_label = null, verdict = null,
       status_cause = null, status_message = null, next_sync_at = null
     where tenant_id = $1 and user_id = $2 and id = $3`,
    [ref.tenantId, ref.userId, ref.connectionId, was.served],
  )
}

/** Removed, and not destroyed yet. */
export async function listRemovals(sql: Sql, limit: number): Promise<(ConnectionRef & { served: boolean })[]> {
  return sql.rows(
    `select tenant_id as "tenantId", user_id as "userId", id as "connectionId", coalesce(was_served, false) as served
     from connections where status = 'removed' limit $1`,
    [limit],
  )
}

/** The ids of those that have been read already. */
export async function settleSession(
  sql: Sql,
  owner: { tenantId: string; userId: string },
  sessionId: string,
): Promise<string[]> {
  const rows = await sql.rows<{ id: string; status: ConnectionStatus }>(
    `update connections set session_id = null where tenant_id = $1 and user_id = $2 and session_id = $3
     returning id, status`,
    [owner.tenantId, owner.userId, sessionId],
  )
  return rows.filter(({ status }) => status === 'active').map(({ id }) => id)
}

export interface NextStatus {
  status: ConnectionStatus
  from: readonly ConnectionStatus[]
  cause: string | null
  message: string | null
  /** Only if it still has this key. */
  keyLane?: string
  /** Undefined leaves the next run where it is planned. */
  nextSyncInMs?: number | undefined
}

export async function setStatus(sql: Sql, ref: ConnectionRef, next: NextStatus): Promise<number> {
  const { status, from, cause, message, keyLane = null, nextSyncInMs = null } = next
  return sql.execute(
    `update connections set status = $4, status_cause = $5, status_message = $6,
       next_sync_at = case when $4 = 'needs_reauth' then null
         else coalesce(assay_now() + make_interval(secs => $8::double precision / 1000), next_sync_at) end
     where tenant_id = $1 and user_id = $2 and id = $3 and status = any($7::text[])
       and ($9::text is null or key_lane = $9)`,
    [ref.tenantId, ref.userId, ref.connectionId, status, cause, message, [...from], nextSyncInMs, keyLane],
  )
}

/** What a list of connections tells of a history. */
export interface HistoryFacts {
  historyFrom: string | null
  transactionCount: number
}

export async function recordPart(sql: Sql, ref: ConnectionRef, facts: HistoryFacts): Promise<void> {
  await sql.execute(
    `update connections set history_from = $4, transaction_count = $5
     where tenant_id = $1 and user_id = $2 and id = $3
       and (history_from, transaction_count) is distinct from ($4::timestamptz, $5::bigint)`,
    [ref.tenantId, ref.userId, ref.connectionId, facts.historyFrom, facts.transactionCount],
  )
}

export async function hasKeyLane(tx: Sql, ref: ConnectionRef, keyLane: string): Promise<boolean> {
  const row = await tx.maybeRow(
    'select from connections where tenant_id = $1 and user_id = $2 and id = $3 and key_lane = $4 for share',
    [ref.tenantId, ref.userId, ref.connectionId, keyLane],
  )
  return row !== undefined
}

export async function recordRead(
  sql: Sql,
  ref: ConnectionRef,
  facts: HistoryFacts & { keyLane: string; nextSyncInMs: number | null },
): Promise<{ isNews: boolean } | undefined> {
  // News is a first read, a recovery, or another number of transactions; a quarter of an hour that passed is none.
  const row = await sql.maybeRow<{ is_news: boolean }>(
    `with before as (
       select tenant_id, user_id, id, status, transaction_count, session_id, (select assay_now()) as now from connections
       where tenant_id = $1 and user_id = $2 and id = $3 and status in ('syncing', 'active', 'degraded')
         and key_lane = $7
       for update
     )
     update connections c set status = 'active', status_cause = null, status_message = null,
       last_synced_at = b.now, history_from = $4, transaction_count = $5,
       next_sync_at = coalesce(b.now + make_interval(secs => $6::double precision / 1000), next_sync_at)
     from before b
     where c.tenant_id = b.tenant_id and c.user_id = b.user_id and c.id = b.id
     returning b.session_id is null and (b.status <> 'active' or b.transaction_count <> $5::bigint) as is_news`,
    [
      ...[ref.tenantId, ref.userId, ref.connectionId],
      ...[facts.historyFrom, facts.transactionCount, facts.nextSyncInMs, facts.keyLane],
    ],
  )
  return row && { isNews: row.is_news }
}

/** Connections a reader should know about: still being read, or not readable now. */
export async function listUnsettled(sql: Sql, tenantId: string, userIds: readonly string[]): Promise<ConnectionRow[]> {
  return sql.rows<ConnectionRow>(
    `select ${shown} from connections
     where tenant_id = $1 and user_id = any($2::text[]) and session_id is null
       and (status in ('syncing', 'degraded', 'needs_reauth')) order by added_at, id limit 100`,
    [tenantId, userIds],
  )
}

/** What the provider said of the key when it was last looked at; null when it does not run out. */
export async function setKeyExpiry(sql: Sql, ref: ConnectionRef, expiresAtMs: number | null): Promise<void> {
  await sql.execute(
    `update connections set key_expires_at = $4
     where tenant_id = $1 and user_id = $2 and id = $3 and key_expires_at is distinct from $4::timestamptz`,
    [ref.tenantId, ref.userId, ref.connectionId, expiresAtMs === null ? null : new Date(expiresAtMs).toISOString()],
  )
}

export async function hasKeyExpired(sql: Sql, ref: ConnectionRef): Promise<boolean> {
  const row = await sql.maybeRow(
    `select from connections where tenant_id = $1 and user_id = $2 and id = $3 and key_expires_at <= assay_now()`,
    [ref.tenantId, ref.userId, ref.connectionId],
  )
  return row !== undefined
}

/** Reserves `count` nonces at or after `atLeast`; the returned one is the first. One statement, so two never overlap. */
export async function reserveNonces(sql: Sql, keyLane: string, atLeast: number, count: number): Promise<bigint> {
  const row = await sql.row<{ high_water: string }>(
    `insert into key_nonces as k (key_lane, high_water) values ($1, $2::bigint + $3)
     on conflict (key_lane) do update set high_water = greatest(k.high_water + 1, $2::bigint) + $3
     returning high_water`,
    [keyLane, atLeast, count],
  )
  return BigInt(row.high_water) - BigInt(count)
}

export async function isLastReserved(sql: Sql, keyLane: string, lastNonce: bigint): Promise<boolean> {
  const row = await sql.maybeRow('select from key_nonces where key_lane = $1 and high_water = $2::bigint', [
    keyLane,
    lastNonce.toString(),
  ])
  return row !== undefined
}

/** Settled connections that are overdue, or not read to their end, such as those nobody was allowed to read for a while. */
export async function listOverdue(
  sql: Sql,
  owner: { tenantId: string; userId: string },
): Promise<{ id: string; key_lane: string }[]> {
  return sql.rows(
    `select id, key_lane from connections
     where tenant_id = $1 and user_id = $2 and session_id is null and status in ('syncing', 'active', 'degraded')
       and coalesce(next_sync_at, '-infinity') < assay_now()`,
    [owner.tenantId, owner.userId],
  )
}

/** Connections of users who have allowed nobody anything for that long. */
export async function listForsaken(sql: Sql, forMs: number, limit: number): Promise<ConnectionRef[]> {
  const rows = await sql.rows<{ tenant_id: string; user_id: string; id: string }>(
    `select c.tenant_id, c.user_id, c.id from lapsed_users l
     join connections c on c.tenant_id = l.tenant_id and c.user_id = l.user_id and c.session_id is null
       and c.status <> 'removed'
     where l.lapsed_at < assay_now() - make_interval(secs => $1::double precision / 1000)
     limit $2`,
    [forMs, limit],
  )
  return rows.map((row) => ({ tenantId: row.tenant_id, userId: row.user_id, connectionId: row.id }))
}

/** False when somebody else has put others in their place. */
export async function replaceCredentials(sql: Sql, ref: ConnectionRef, from: string, to: string): Promise<boolean> {
  const replaced = await sql.execute(
    `update connections set sealed_credentials = $4
     where tenant_id = $1 and user_id = $2 and id = $3 and sealed_credentials = $5`,
    [ref.tenantId, ref.userId, ref.connectionId, to, from],
  )
  return replaced === 1
}
