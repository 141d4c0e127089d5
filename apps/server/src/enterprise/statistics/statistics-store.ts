/**
 * The SQL that keeps the statistics of a tenant. A fold (fold.ts) counts each user who has a notice again, and adds the
 * difference to the user's kept counts and to the tenant's sums.
 */
import type { Sql } from '../../db/index.ts'
import { isLive } from '../grants.ts'

const keptColumns = 'user_key, measure, subject, label, amount, quantity, recount_at'

/**
 * A user counts for so many assets, those that were known first. Strangers choose how many tokens a wallet has, and
 * until a user is counted, the feeds and sums of all others wait.
 */
const assetsMax = 2_000

/**
 * What users count for at the moment $2, from the tables themselves: what the live grants of each user cover.
 *
 * User by user (PostgreSQL never turns a sum in a lateral into a join). It can only guess how many users there are, and
 * with a low guess it would read all holdings of the tenant for each of them. Each part finds the live grants again,
 * because a distributed database does that on the node of each user, and what was found once would have to be sent to
 * all.
 */
export function counted(users: 'of $3' | 'all'): string {
  const live = `(select g.user_key, min(g.expires_at) as recount_at, bool_or('providers:read' = any(g.scopes)) as accounts,
      bool_or('assets:read' = any(g.scopes)) as assets
    from grant_terms g
    where g.tenant_key = $1::integer and ${isLive('g', '$2')}
      ${users === 'all' ? '' : 'and g.user_key = any($3::bigint[])'}
    group by g.user_key) live`
  return `with accounts as materialized (
      select live.user_key, c.provider_id, c.amount from ${live}, lateral (
        select c.provider_id, count(*) as amount from readable_connections c
        where c.user_key = live.user_key group by c.provider_id) c
      where live.accounts
    ), positions as materialized (
      select live.user_key, h.asset_id, h.label, h.amount, h.quantity from ${live}, lateral (
        select a.id as asset_id, a.symbol as label, held.amount, held.quantity
        from (
          select h.asset_key, count(*) as amount, sum(h.liquid + h.staked) as quantity
          from readable_connections c
          join holdings h on h.user_key = c.user_key and h.connection_key = c.connection_key
          where c.user_key = live.user_key and not h.spam
          group by h.asset_key order by h.asset_key limit ${assetsMax}) held
        join assets a on a.asset_key = held.asset_key) h
      where live.assets
    )
    select user_key, 'user' as measure, '' as subject, '' as label, 0::bigint as amount, 0::numeric as quantity, recount_at
    from ${live}
    union all select distinct user_key, 'account_user', '', '', 0, 0, null::timestamptz from accounts
    union all select distinct user_key, 'position_user', '', '', 0, 0, null::timestamptz from positions
    union all select user_key, 'provider', provider_id, '', amount, 0, null::timestamptz from accounts
    union all select user_key, 'asset', asset_id, label, amount, quantity, null::timestamptz from positions`
}

const countedColumns = `user_key bigint, measure text, subject text, label text, amount bigint, quantity numeric,
  recount_at timestamptz`

/**
 * Counts these users again, and adds the difference to the tenant's sums. Differences by EXCEPT, which hashes:
 * PostgreSQL cannot know how many rows a CTE has and runs an anti-join as a nested loop (seen: 3 s for 2,000 users).
 *
 * The counts come as one text of JSON, whose numbers are exact, and go back as it is: users are on all nodes of a
 * distributed database, and the sums on one.
 */
export async function foldUsers(tx: Sql, tenantKey: number, at: string, userKeys: readonly string[]): Promise<void> {
  const { found } = await tx.row<{ found: string }>(
    `select coalesce(json_agg(c), '[]')::text as found from (${counted('of $3')}) c`,
    [tenantKey, at, userKeys],
  )
  await tx.execute(
    `with counted as materialized (select * from json_to_recordset($3::json) as c (${countedColumns})),
     kept as materialized (
       select ${keptColumns} from user_statistics where tenant_key = $1::integer and user_key = any($2::bigint[])
     ), gone as (
       delete from user_statistics s
       using (select user_key, measure, subject from kept except select user_key, measure, subject from counted) k
       where s.user_key = k.user_key and s.measure = k.measure and s.subject = k.subject
     ), changed as (
       insert into user_statistics (tenant_key, ${keptColumns})
       select $1::integer, * from (select ${keptColumns} from counted except select ${keptColumns} from kept) news
       on conflict (user_key, measure, subject) do update
         set label = excluded.label, amount = excluded.amount, quantity = excluded.quantity, recount_at = excluded.recount_at
     )
     insert into tenant_statistics as t (tenant_key, measure, subject, label, users, amount, quantity)
     select $1::integer, measure, subject, label, sum(users), sum(amount), sum(quantity) from (
       select measure, subject, label, 1 as users, amount, quantity from counted
       union all select measure, subject, label, -1, -amount, -quantity from kept) difference
     group by measure, subject, label having (sum(users), sum(amount), sum(quantity)) <> (0, 0, 0)
     order by measure, subject, label
     on conflict (tenant_key, measure, subject, label) do update
       set users = t.users + excluded.users, amount = t.amount + excluded.amount, quantity = t.quantity + excluded.quantity`,
    [tenantKey, userKeys, found],
  )
  await tx.execute('delete from tenant_statistics where tenant_key = $1 and users = 0', [tenantKey])
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

// A deleted user no longer has an id, and should not be counted either.
const ids = `(select tenant_id from tenant_keys where tenant_key = $1::integer) as tenant_id`

/**
 * Where the kept counts differ from the tables. Users with notices that are not folded yet are left out: their counts
 * are late, not wrong.
 */
export async function listUserDifferences(
  sql: Sql,
  tenantKey: number,
  at: string,
  limit: number,
): Promise<Difference[]> {
  return sql.rows<Difference>(
    `with counted as materialized (${counted('all')}),
       noticed as materialized (select distinct user_key from user_notices where tenant_key = $1::integer),
       kept as materialized (select ${keptColumns} from user_statistics where tenant_key = $1::integer)
     select ${ids}, coalesce((select u.id from tenant_users u where u.user_key = d.user_key), d.user_key::text) as user_id,
       measure, subject, kept, counted
     from (
       select user_key, measure, subject, ${summary('k')} as kept, ${summary('c')} as counted
       from kept k full join counted c using (user_key, measure, subject)
       where (k.label, k.amount, k.quantity, k.recount_at) is distinct from (c.label, c.amount, c.quantity, c.recount_at)
     ) d
     where d.user_key not in (select n.user_key from noticed n) and 0 not in (select n.user_key from noticed n)
       and not exists (select from user_statistics u where u.user_key = d.user_key and u.recount_at <= $2::timestamptz)
     order by user_id, measure, subject limit $3`,
    [tenantKey, at, limit],
  )
}

const summary = (alias: string): string =>
  `nullif(concat_ws(' ', nullif(${alias}.label, ''), ${alias}.amount, trim_scale(${alias}.quantity)), '')`

const summed = `select measure, subject, label, count(*) as users, sum(amount) as amount, sum(quantity) as quantity
  from user_statistics where tenant_key = $1::integer group by measure, subject, label`

export async function listSumDifferences(sql: Sql, tenantKey: number, limit: number): Promise<Difference[]> {
  return sql.rows<Difference>(
    `select ${ids}, null as user_id, measure, subject, nullif(concat_ws(' ', t.users, ${summary('t')}), '') as kept,
       nullif(concat_ws(' ', s.users, ${summary('s')}), '') as counted
     from (select * from tenant_statistics where tenant_key = $1::integer) t
     full join (${summed}) s using (measure, subject, label)
     where (t.users, t.amount, t.quantity) is distinct from (s.users, s.amount, s.quantity)
     order by measure, subject limit $2`,
    [tenantKey, limit],
  )
}

/**
 * Recomputes the tenant's sums from the users' kept counts. The caller writes a notice for each user, for later folds.
 */
export async function sumAgain(tx: Sql, tenantKey: number): Promise<void> {
  await tx.execute('delete from tenant_statistics where tenant_key = $1', [tenantKey])
  await tx.execute(
    `insert into tenant_statistics (tenant_key, measure, subject, label, users, amount, quantity)
     select $1::integer, s.* from (${summed}) s`,
    [tenantKey],
  )
}
