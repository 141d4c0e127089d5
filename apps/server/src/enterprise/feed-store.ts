/** The SQL that reads a tenant's feed. feed-numbers-store.ts writes it. */
import type { Sql } from '../db/index.ts'
import { coveredRowByRow } from './grants.ts'

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

/** The covered users from this key on, each with everything that the feed has numbered. */
export async function listUsersFrom(
  sql: Sql,
  tenantKey: number,
  page: { asOf: string; fromKey: string; limit: number },
): Promise<Announced[]> {
  return sql.rows<Announced>(
    `select f.user_key, f.user_id, '0' as from_seq, f.numbered_seq as to_seq,
       ${coveredRowByRow('f', 'transactions:read', '$3')} as covered
     from feed_users f
     where f.tenant_key = $1 and f.user_key >= $2::bigint and f.numbered_seq > 0
     order by f.user_key limit $4`,
    [tenantKey, page.fromKey, page.asOf, page.limit],
  )
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
  return sql.rows<AnnouncedChange>(
    `select c.seq, c.user_key, c.user_id, c.removed, c.from_seq, c.to_seq,
       ${coveredRowByRow('c', 'transactions:read', '$3')} as covered
     from tenant_changes c
     where c.tenant_key = $1 and c.seq >= $2::bigint
     order by c.seq limit $4`,
    [tenantKey, page.fromSeq, page.asOf, page.limit],
  )
}
