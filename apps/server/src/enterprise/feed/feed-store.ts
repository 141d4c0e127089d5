/** The SQL that reads a tenant's feed. feed-numbers-store.ts writes it. */
import type { Sql } from '../../db/index.ts'
import { listCovered } from '../users-store.ts'

export interface Feed {
  /** The newest number. */
  seq: string
  /** A cursor before this number has expired. */
  first_seq: string
}

export async function findFeed(sql: Sql, tenantKey: number): Promise<Feed> {
  const found = await sql.maybeRow<Feed>('select seq, first_seq from tenant_feeds where tenant_key = $1', [tenantKey])
  return found ?? { seq: '0', first_seq: '0' }
}

/** A range of one user's changes: those after `from_seq`, up to `to_seq`. */
export interface Announced {
  user_key: string
  user_id: string
  from_seq: string
  to_seq: string
  /** Whether a live grant covers the user's transactions at the moment of the request. */
  covered: boolean
}

/** The users from this key on of whom the feed has numbered anything, covered or not, each with all of it. */
export async function listUsersFrom(
  sql: Sql,
  tenantKey: number,
  page: { asOf: string; fromKey: string; limit: number },
): Promise<Announced[]> {
  const rows = await sql.rows<Omit<Announced, 'covered'>>(
    `select user_key, user_id, '0' as from_seq, numbered_seq as to_seq from feed_users
     where tenant_key = $1 and user_key >= $2::bigint and numbered_seq > 0
     order by user_key limit $3`,
    [tenantKey, page.fromKey, page.limit],
  )
  return withCovered(sql, rows, page.asOf)
}

/** The feed is on one node of a distributed database, and grants are where their users are. */
async function withCovered<Row extends Omit<Announced, 'covered'>>(
  sql: Sql,
  rows: readonly Row[],
  asOf: string,
): Promise<(Row & { covered: boolean })[]> {
  const keys = [...new Set(rows.map((row) => row.user_key))]
  const covered = new Set(keys.length === 0 ? [] : await listCovered(sql, keys, 'transactions:read', asOf))
  return rows.map((row) => ({ ...row, covered: covered.has(row.user_key) }))
}

export interface AnnouncedChange extends Announced {
  seq: string
  /** The user left, so the row has no range. */
  removed: boolean
}

/** The rows of the feed from this number on. */
export async function listChangesFrom(
  sql: Sql,
  tenantKey: number,
  page: { asOf: string; fromSeq: string; limit: number },
): Promise<AnnouncedChange[]> {
  const rows = await sql.rows<Omit<AnnouncedChange, 'covered'>>(
    `select seq, user_key, user_id, removed, from_seq, to_seq from tenant_changes
     where tenant_key = $1 and seq >= $2::bigint
     order by seq limit $3`,
    [tenantKey, page.fromSeq, page.limit],
  )
  return withCovered(sql, rows, page.asOf)
}
