/** SQL over `connections` that go: locked, hidden, and deleted when nothing that was read through them is left. */
import type { Sql } from '../db/index.ts'
import { isNotQueued } from '../jobs/index.ts'
import { keysOf, type ConnectionRef, type Owner } from '../owner.ts'
import { refColumns } from './store.ts'

export interface Removable extends ConnectionRef {
  /** Applications could see it. */
  isShown: boolean
}

const isShown = `c.session_id is null and c.status not in ('pending', 'removed')`

/** Shown ones only, locked, so that two removals of one connection do not both report it. */
export async function lockForRemoval(
  tx: Sql,
  owner: Owner,
  which: { connectionId?: string; providerId?: string },
): Promise<Removable[]> {
  return tx.rows<Removable>(
    `select ${refColumns}, true as "isShown" from connections c
     where c.user_key = $1::bigint and ${isShown}
       and ($2::text is null or c.id = $2) and ($3::text is null or c.provider_id = $3)
     order by c.connection_key for update`,
    [owner.userKey, which.connectionId ?? null, which.providerId ?? null],
  )
}

/** All of a user that are not being destroyed already. */
export async function lockAll(tx: Sql, owner: Owner): Promise<Removable[]> {
  return tx.rows<Removable>(
    `select ${refColumns}, ${isShown} as "isShown" from connections c
     where c.user_key = $1::bigint and c.status <> 'removed' order by c.connection_key for update`,
    [owner.userKey],
  )
}

/**
 * Waits for transactions that write through this connection, and blocks new ones; false when the connection is gone.
 */
export async function lockConnection(tx: Sql, ref: ConnectionRef): Promise<boolean> {
  const row = await tx.maybeRow(
    'select id from connections where user_key = $1::bigint and connection_key = $2 for update',
    keysOf(ref),
  )
  return row !== undefined
}

/**
 * From now on neither an application nor a worker sees it, and its key is gone. The row stays until everything that was
 * read through it is destroyed.
 */
export async function hideConnection(tx: Sql, ref: ConnectionRef, hiddenSeq: string | null): Promise<void> {
  await tx.execute(
    `update connections set status = 'removed', hidden_seq = $3::bigint, sealed_credentials = null, address = null,
       networks = null, key_lane = '', account_fingerprint = null, fingerprint_of = null, session_id = null,
       repair_of = null, display_label = null, verdict = null, status_cause = null, status_message = null,
       next_sync_at = null
     where user_key = $1::bigint and connection_key = $2`,
    [...keysOf(ref), hiddenSeq],
  )
}

/** The number at which a hidden connection disappeared; undefined when it is gone. */
export async function findHidden(sql: Sql, ref: ConnectionRef): Promise<{ hiddenSeq: string | null } | undefined> {
  return sql.maybeRow(
    `select hidden_seq as "hiddenSeq" from connections
     where user_key = $1::bigint and connection_key = $2 and status = 'removed'`,
    keysOf(ref),
  )
}

/**
 * The same, in a transaction that holds the user from now on. A user who is being deleted is waited for, and then no
 * ids are kept any more.
 */
export async function findHiddenOfHeldUser(
  tx: Sql,
  ref: ConnectionRef,
): Promise<{ hiddenSeq: string | null } | undefined> {
  await tx.execute('select from user_ledgers where user_key = $1::bigint for no key update', [ref.userKey])
  return findHidden(tx, ref)
}

/** False when another process has deleted it. The ledger of a user who is gone goes with the last connection. */
export async function deleteConnection(tx: Sql, ref: ConnectionRef): Promise<boolean> {
  const deleted = await tx.execute(
    'delete from connections where user_key = $1::bigint and connection_key = $2',
    keysOf(ref),
  )
  await tx.execute(
    `delete from user_ledgers where user_key = $1::bigint
       and not exists (select from connections c where c.user_key = $1::bigint)
       and not exists (select from tenant_users u where u.user_key = $1::bigint)`,
    [ref.userKey],
  )
  return deleted === 1
}

/**
 * For a user who is being deleted: the ids of connections that were removed before, and are still being destroyed, are
 * not kept either.
 */
export async function forgetHidden(tx: Sql, { userKey }: Pick<Owner, 'userKey'>): Promise<void> {
  await tx.execute(
    `update connections set hidden_seq = null where user_key = $1::bigint and status = 'removed' and hidden_seq is not null`,
    [userKey],
  )
}

/**
 * Creates the ledger where it is missing, so that a first connection waits for it, too: adding an account locks it
 * first.
 */
export async function lockLedger(tx: Sql, { userKey }: Pick<Owner, 'userKey'>): Promise<void> {
  await tx.execute(
    `insert into user_ledgers as l (user_key) values ($1::bigint)
     on conflict (user_key) do update set connection_keys = l.connection_keys`,
    [userKey],
  )
}

/**
 * For a user who is being deleted. Keeps the ledger while a connection remains to be destroyed, because the end of that
 * connection deletes the ledger, too.
 */
export async function deleteLedger(tx: Sql, { userKey }: Pick<Owner, 'userKey'>): Promise<void> {
  await tx.execute(
    `delete from user_ledgers where user_key = $1::bigint
       and not exists (select from connections c where c.user_key = $1::bigint)`,
    [userKey],
  )
}

/**
 * Hidden, and without a job that would destroy them. Found first and then held against the queue, which is not where
 * the users are.
 */
export async function listUnattended(sql: Sql, limit: number): Promise<ConnectionRef[]> {
  return sql.rows<ConnectionRef>(
    `select ${refColumns} from (
       select * from connections where status = 'removed'
       order by user_key, connection_key limit ${removedLookedAtMax}) c
     where ${isNotQueued('destroy', 'c.id')} limit $1`,
    [limit],
  )
}

/** The rest waits until these are destroyed. */
const removedLookedAtMax = 1_000

export async function findProviderId(tx: Sql, ref: ConnectionRef): Promise<string | undefined> {
  const row = await tx.maybeRow<{ provider_id: string }>(
    'select provider_id from connections where user_key = $1::bigint and connection_key = $2',
    [ref.userKey, ref.connectionKey],
  )
  return row?.provider_id
}
