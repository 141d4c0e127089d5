/**
 * The SQL of folding a tenant's notices (notices.ts): which users have to be counted again.
 *
 * No change is missed, because a fold takes the notices in one statement and reads the users in a later one. A notice
 * is committed with its change, so the later statement sees the change behind every notice that was taken; a change
 * that commits afterwards leaves a notice for the next fold.
 */
import type { Sql } from '../db/index.ts'
import { allUsersKey } from '../notices.ts'

/**
 * Holds the lock until the transaction ends, so that each tenant has one fold at a time. Only folds wait for it.
 * Returns false when another fold holds it and `skip` says not to wait.
 */
export async function lockTenant(tx: Sql, tenantKey: number, skip = false): Promise<boolean> {
  const lock = async (): Promise<boolean> =>
    (await tx.maybeRow(`select from tenant_feeds where tenant_key = $1 for update ${skip ? 'skip locked' : ''}`, [
      tenantKey,
    ])) !== undefined
  if (await lock()) return true
  await tx.execute('insert into tenant_feeds (tenant_key, seq, first_seq) values ($1, 0, 0) on conflict do nothing', [
    tenantKey,
  ])
  return lock()
}

export interface Outstanding {
  /** The newest notice; null when there is none. */
  newest: string | null
  /** Whether a grant has expired since its user was last looked at. */
  due: boolean
}

const bigintMax = '9223372036854775807'

/**
 * Whether a grant has expired since its user was last looked at. The ORDER BY makes the index lead: for a bare EXISTS
 * PostgreSQL expects a third of all users to match, and scans the table until it finds one (seen: 30 ms for 5,000 users
 * of whom none was due).
 */
function isDue(tenantKey: string, at: string): string {
  return `coalesce(
    (select true from user_statistics s where s.tenant_key = ${tenantKey} and s.recount_at <= ${at}::timestamptz
     order by s.tenant_key, s.recount_at limit 1),
    (select true from feed_users f where f.tenant_key = ${tenantKey} and f.look_again_at <= ${at}::timestamptz
     order by f.tenant_key, f.look_again_at limit 1), false)`
}

/** Notices after `upTo` are left for later; without it, all count. */
export async function findOutstanding(sql: Sql, tenantKey: number, at: string, upTo?: string): Promise<Outstanding> {
  return sql.row<Outstanding>(
    `select (select max(notice) from user_notices where tenant_key = $1 and notice <= $2::bigint) as newest,
       ${isDue('$1', '$3')} as due`,
    [tenantKey, upTo ?? bigintMax, at],
  )
}

/** Takes the oldest notices: the users to count again, and whether one of the notices stood for all users. */
export async function takeNotices(
  tx: Sql,
  tenantKey: number,
  limit: number,
): Promise<{ userKeys: string[]; all: boolean }> {
  const taken = await tx.rows<{ user_key: string }>(
    // Selects by a range, because PostgreSQL cannot estimate a table that is empty one moment and long the next.
    `delete from user_notices where tenant_key = $1 and notice <= (select max(notice) from (
       select notice from user_notices where tenant_key = $1 order by notice limit $2) oldest)
     returning user_key`,
    [tenantKey, limit],
  )
  const userKeys = new Set(taken.map((row) => row.user_key))
  const all = userKeys.delete(allUsersKey)
  if (all) await noteEveryUser(tx, tenantKey)
  return { userKeys: [...userKeys], all }
}

/** Notes every user who has a grant, still counts in the statistics, or is in the feed. */
export async function noteEveryUser(tx: Sql, tenantKey: number): Promise<void> {
  await tx.execute(
    `insert into user_notices (user_key, tenant_key)
     select user_key, $1 from grant_terms where tenant_key = $1
     union select user_key, $1 from user_statistics where tenant_key = $1
     union select user_key, $1 from feed_users where tenant_key = $1`,
    [tenantKey],
  )
}

/** Users with a grant that has expired since they were last looked at. */
export async function listDue(tx: Sql, tenantKey: number, at: string, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ user_key: string }>(
    `(select user_key from user_statistics where tenant_key = $1 and recount_at <= $2::timestamptz
      order by recount_at limit $3)
     union
     (select user_key from feed_users where tenant_key = $1 and look_again_at <= $2::timestamptz
      order by look_again_at limit $3)`,
    [tenantKey, at, limit],
  )
  return rows.map((row) => row.user_key)
}

/**
 * Tenants with something to fold. Only the beginning of a long queue is examined; the rest follows in a later round.
 */
export async function listBehind(sql: Sql): Promise<number[]> {
  const noticed = await sql.rows<{ tenant_key: number }>(
    `select distinct tenant_key from (
       select tenant_key from user_notices order by tenant_key, notice limit ${noticesLookedAtMax}) n`,
  )
  const due = await sql.rows<{ tenant_key: number }>(
    `select t.tenant_key from tenant_keys t where ${isDue('t.tenant_key', '$1')}`,
    [sql.now()],
  )
  return [...new Set([...noticed, ...due].map((row) => row.tenant_key))]
}

const noticesLookedAtMax = 10_000

export async function listTenants(sql: Sql): Promise<number[]> {
  const rows = await sql.rows<{ tenant_key: number }>('select tenant_key from tenant_keys order by tenant_key')
  return rows.map((row) => row.tenant_key)
}
