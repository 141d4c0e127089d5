/**
 * The SQL that keeps the statistics of a tenant. Triggers note whom to count again (migration 0017); a fold counts those
 * users anew and adds the difference, to what is kept of each user and to the tenant's sums, so that neither a write nor
 * an answer ever looks at all users.
 *
 * Nothing is lost, because a fold takes the changes in one statement and counts in a later one: what was taken was
 * committed, so it is counted; what commits afterwards has left a row for the next fold.
 */
import type { Sql } from '../db/index.ts'

const keptColumns = 'user_id, measure, subject, label, amount, quantity, recount_at'

/**
 * What users count for at the moment $2, from the tables themselves: the filter of contract §9. The moment is a
 * parameter, because assay_now() moves within a statement: a grant that ends meanwhile would count here and not there.
 *
 * User by user (a sum in a lateral is never made a join): how many users there are is for PostgreSQL a guess, and with a
 * low one it reads all holdings of the tenant for each.
 *
 * An asset may have several symbols. A user counts under the least of their own, so that users are not counted twice.
 */
export function counted(users: 'of $3' | 'all'): string {
  return `with live as materialized (
      select g.user_id, min(g.expires_at) as recount_at, bool_or('providers:read' = any(g.scopes)) as accounts,
        bool_or('assets:read' = any(g.scopes)) as assets
      from grant_terms g
      where g.tenant_id = $1 and g.in_force and g.expires_at > $2 ${users === 'all' ? '' : 'and g.user_id = any($3::text[])'}
      group by g.user_id
    ), accounts as materialized (
      select live.user_id, c.provider_id, c.amount from live, lateral (
        select c.provider_id, count(*) as amount from readable_connections c
        where c.tenant_id = $1 and c.user_id = live.user_id group by c.provider_id) c
      where live.accounts
    ), positions as materialized (
      select live.user_id, h.asset_id, h.label, h.amount, h.quantity from live, lateral (
        select h.asset_id, min(h.asset_symbol) as label, count(*) as amount, sum(h.liquid + h.staked) as quantity
        from settled_holdings h
        where h.tenant_id = $1 and h.user_id = live.user_id and not h.spam group by h.asset_id) h
      where live.assets
    )
    select user_id, 'user' as measure, '' as subject, '' as label, 0::bigint as amount, 0::numeric as quantity, recount_at
    from live
    union all select distinct user_id, 'account_user', '', '', 0, 0, null::timestamptz from accounts
    union all select distinct user_id, 'position_user', '', '', 0, 0, null::timestamptz from positions
    union all select user_id, 'provider', provider_id, '', amount, 0, null::timestamptz from accounts
    union all select user_id, 'asset', asset_id, label, amount, quantity, null::timestamptz from positions`
}

export interface Outstanding {
  as_of: string
  /** The newest change; null when there is none. */
  newest: string | null
  /** Whether somebody's grant has ended by itself. */
  due: boolean
}

const bigintMax = '9223372036854775807'

/** `upTo`: changes after this one are left for later; undefined: none are. */
export async function findOutstanding(sql: Sql, tenantId: string, upTo?: string): Promise<Outstanding> {
  return sql.row<Outstanding>(
    `select now as as_of, exists (select from user_statistics where tenant_id = $1 and recount_at <= now) as due,
       (select max(change) from statistic_changes where tenant_id = $1 and change <= $2) as newest
     from (select assay_now() as now) clock`,
    [tenantId, upTo ?? bigintMax],
  )
}

/** To the end of the transaction: one fold at a time for each tenant. Nobody else waits for it. */
export async function lockTenant(tx: Sql, tenantId: string): Promise<void> {
  await tx.execute(`select pg_advisory_xact_lock(hashtextextended('assay statistics ' || $1, 0))`, [tenantId])
}

/** Takes the oldest changes: whom to count again, and whether those of a client were among them. */
export async function takeChanges(
  tx: Sql,
  tenantId: string,
  limit: number,
): Promise<{ userIds: string[]; clients: boolean }> {
  const taken = await tx.rows<{ user_id: string | null; client_id: string | null }>(
    // By a range, whatever PostgreSQL believes of a table that is empty one moment and long the next.
    `delete from statistic_changes where tenant_id = $1 and change <= (select max(change) from (
       select change from statistic_changes where tenant_id = $1 order by change limit $2) oldest)
     returning user_id, client_id`,
    [tenantId, limit],
  )
  const idsOf = (ids: readonly (string | null)[]): string[] => [...new Set(ids.filter((id) => id !== null))]
  const clientIds = idsOf(taken.map((row) => row.client_id))
  if (clientIds.length > 0) {
    await tx.execute(
      `insert into statistic_changes (tenant_id, user_id)
       select distinct tenant_id, user_id from grant_terms where tenant_id = $1 and client_id = any($2::text[])`,
      [tenantId, clientIds],
    )
  }
  return { userIds: idsOf(taken.map((row) => row.user_id)), clients: clientIds.length > 0 }
}

export async function listDue(tx: Sql, tenantId: string, at: string, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ user_id: string }>(
    `select user_id from user_statistics where tenant_id = $1 and recount_at <= $2 order by recount_at limit $3`,
    [tenantId, at, limit],
  )
  return rows.map((row) => row.user_id)
}

/**
 * Counts these users anew, and adds what has changed to the tenant's sums. Differences by EXCEPT, which hashes: of an
 * anti-join PostgreSQL, which cannot know how many rows a CTE has, makes a nested loop (seen: 3 s for 2,000 users).
 */
export async function foldUsers(tx: Sql, tenantId: string, at: string, userIds: readonly string[]): Promise<void> {
  await tx.execute(
    `with counted as materialized (${counted('of $3')}), kept as materialized (
       select ${keptColumns} from user_statistics where tenant_id = $1 and user_id = any($3::text[])
     ), gone as (
       delete from user_statistics s
       using (select user_id, measure, subject from kept except select user_id, measure, subject from counted) k
       where s.tenant_id = $1 and s.user_id = k.user_id and s.measure = k.measure and s.subject = k.subject
     ), changed as (
       insert into user_statistics (tenant_id, ${keptColumns})
       select $1, * from (select ${keptColumns} from counted except select ${keptColumns} from kept) news
       on conflict (tenant_id, user_id, measure, subject) do update
         set label = excluded.label, amount = excluded.amount, quantity = excluded.quantity, recount_at = excluded.recount_at
     )
     insert into tenant_statistics as t (tenant_id, measure, subject, label, users, amount, quantity)
     select $1, measure, subject, label, sum(users), sum(amount), sum(quantity) from (
       select measure, subject, label, 1 as users, amount, quantity from counted
       union all select measure, subject, label, -1, -amount, -quantity from kept) difference
     group by measure, subject, label having (sum(users), sum(amount), sum(quantity)) <> (0, 0, 0)
     order by measure, subject, label
     on conflict (tenant_id, measure, subject, label) do update
       set users = t.users + excluded.users, amount = t.amount + excluded.amount, quantity = t.quantity + excluded.quantity`,
    [tenantId, at, userIds],
  )
  await tx.execute('delete from tenant_statistics where tenant_id = $1 and users = 0', [tenantId])
}

/** Tenants with something to fold. */
export async function listBehind(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ tenant_id: string }>(
    `select t.tenant_id from tenant_ids t
     where exists (select from statistic_changes c where c.tenant_id = t.tenant_id)
       or exists (select from user_statistics s where s.tenant_id = t.tenant_id and s.recount_at <= assay_now())`,
  )
  return rows.map((row) => row.tenant_id)
}

export async function listTenants(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ tenant_id: string }>('select tenant_id from tenant_ids order by tenant_id')
  return rows.map((row) => row.tenant_id)
}

export interface Difference {
  tenant_id: string
  /** Null: the tenant's sum is not the sum of its users. */
  user_id: string | null
  measure: string
  subject: string
  kept: string | null
  counted: string | null
}

/**
 * Where what is kept differs from what is there. Users with changes that are not folded yet are left out: those are late,
 * not wrong.
 */
export async function listUserDifferences(
  sql: Sql,
  tenantId: string,
  at: string,
  limit: number,
): Promise<Difference[]> {
  return sql.rows<Difference>(
    `with counted as (${counted('all')}), kept as (select ${keptColumns} from user_statistics where tenant_id = $1)
     select $1::text as tenant_id, user_id, measure, subject, ${told('k')} as kept, ${told('c')} as counted
     from kept k full join counted c using (user_id, measure, subject)
     where (k.label, k.amount, k.quantity, k.recount_at) is distinct from (c.label, c.amount, c.quantity, c.recount_at)
       and not exists (select from statistic_changes s
         where s.tenant_id = $1 and (s.user_id = coalesce(k.user_id, c.user_id) or s.client_id is not null))
       and not exists (select from user_statistics u
         where u.tenant_id = $1 and u.user_id = coalesce(k.user_id, c.user_id) and u.recount_at <= $2)
     order by user_id, measure, subject limit $3`,
    [tenantId, at, limit],
  )
}

const told = (alias: string): string =>
  `nullif(concat_ws(' ', nullif(${alias}.label, ''), ${alias}.amount, trim_scale(${alias}.quantity)), '')`

const summed = `select measure, subject, label, count(*) as users, sum(amount) as amount, sum(quantity) as quantity
  from user_statistics where tenant_id = $1 group by measure, subject, label`

export async function listSumDifferences(sql: Sql, tenantId: string, limit: number): Promise<Difference[]> {
  return sql.rows<Difference>(
    `select $1::text as tenant_id, null as user_id, measure, subject, nullif(concat_ws(' ', t.users, ${told('t')}), '') as kept,
       nullif(concat_ws(' ', s.users, ${told('s')}), '') as counted
     from (select * from tenant_statistics where tenant_id = $1) t
     full join (${summed}) s using (measure, subject, label)
     where (t.users, t.amount, t.quantity) is distinct from (s.users, s.amount, s.quantity)
     order by measure, subject limit $2`,
    [tenantId, limit],
  )
}

/** Sums anew what is kept of the users, and notes every user there is or was counted, for the folds that follow. */
export async function beginRebuild(tx: Sql, tenantId: string): Promise<void> {
  await tx.execute('delete from tenant_statistics where tenant_id = $1', [tenantId])
  await tx.execute(
    `insert into tenant_statistics (tenant_id, measure, subject, label, users, amount, quantity)
     select $1, s.* from (${summed}) s`,
    [tenantId],
  )
  await tx.execute(
    `insert into statistic_changes (tenant_id, user_id)
     select $1, user_id from grant_terms where tenant_id = $1
     union select $1, user_id from user_statistics where tenant_id = $1`,
    [tenantId],
  )
}
