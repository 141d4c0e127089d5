/**
 * The sums over a tenant's users that are shown. `keptSums` reads what fold.ts keeps, so that the cost grows with
 * providers and assets and not with users; `recount` sums the tables themselves. PostgreSQL computes the values from
 * the prices of the moment with its numeric type, which is exact, and returns decimal text.
 */
import type { Decimal } from '@assay/core'
import type { Sql } from '../../db/index.ts'
import { counted } from './statistics-store.ts'

export interface Sums {
  /** Rows of measure, subject, label, users, amount and quantity, as the schema explains them. */
  text: string
  /** Rows of user_key, measure and subject: which users are in which sum. */
  users: string
  values: readonly unknown[]
}

export function keptSums(tenantKey: number): Sums {
  return {
    text: 'select * from tenant_statistics where tenant_key = $1',
    users: 'select user_key, measure, subject from user_statistics where tenant_key = $1',
    values: [tenantKey],
  }
}

export function recount(tenantKey: number, at: string): Sums {
  const users = counted('all')
  const text = `select measure, subject, label, count(*) as users, sum(amount) as amount, sum(quantity) as quantity
    from (${users}) counted group by measure, subject, label`
  return { text, users, values: [tenantKey, at] }
}

/** A sum of an answer, and how many users are in it. */
export interface ShownSum {
  measure: 'user' | 'account_user' | 'position_user' | 'provider' | 'asset'
  /** Empty where the measure has no subjects. */
  subject?: string
  users: number
}

/** The sum over one user is what that user has, and two sums tell what a user has who came in between. */
const fewUsersMax = 100

/**
 * The users in those sums that are over few users. The answer itself says how many are in each of its sums, so nothing
 * is counted here, and at most `fewUsersMax` rows are read for a sum. Users with a consent and nothing that adds to the
 * sum do not hide the others: a tenant can make as many such users as it likes.
 */
export async function listUsersOfFew(sql: Sql, sums: Sums, shown: readonly ShownSum[]): Promise<string[]> {
  const few = shown.filter(({ users }) => users > 0 && users <= fewUsersMax)
  if (few.length === 0) return []
  const first = sums.values.length + 1
  const rows = await sql.rows<{ user_key: string }>(
    `select distinct user_key from (${sums.users}) u
     where measure = any($${first}::text[]) and subject = any($${first + 1}::text[])`,
    [...sums.values, few.map(({ measure }) => measure), few.map(({ subject = '' }) => subject)],
  )
  return rows.map(({ user_key: userKey }) => userKey)
}

export async function countUsers(sql: Sql, sums: Sums): Promise<{ users: number; users_with_accounts: number }> {
  return sql.row(
    `select coalesce(sum(users) filter (where measure = 'user'), 0)::int as users,
       coalesce(sum(users) filter (where measure = 'account_user'), 0)::int as users_with_accounts
     from (${sums.text}) s where measure in ('user', 'account_user')`,
    sums.values,
  )
}

export async function countAccounts(
  sql: Sql,
  sums: Sums,
): Promise<{ provider_id: string; accounts: number; users: number }[]> {
  return sql.rows(
    `select subject as provider_id, amount::int as accounts, users::int
     from (${sums.text}) s where measure = 'provider' order by s.amount desc, subject`,
    sums.values,
  )
}

export async function sumBalances(
  sql: Sql,
  sums: Sums,
): Promise<{ value_in_usd: Decimal; users: number; positions: number; positions_without_price: number }> {
  return sql.row(
    `select trim_scale(coalesce(sum(p.price_in_usd * s.quantity), 0))::text as value_in_usd,
       coalesce(sum(s.users) filter (where measure = 'position_user'), 0)::int as users,
       coalesce(sum(s.amount), 0)::int as positions,
       coalesce(sum(s.amount) filter (where p.price_in_usd is null), 0)::int as positions_without_price
     from (${sums.text}) s left join current_prices p on p.asset_id = s.subject and s.measure = 'asset'
     where s.measure in ('position_user', 'asset')`,
    sums.values,
  )
}

export interface AssetSum {
  asset_id: string
  asset_symbol: string
  total_holdings: Decimal
  price_in_usd: Decimal | null
  value_in_usd: Decimal | null
  users: number
}

const topAssetsMax = 30

export async function listTopAssets(sql: Sql, sums: Sums): Promise<AssetSum[]> {
  return sql.rows<AssetSum>(
    `select s.subject as asset_id, min(s.label) as asset_symbol, trim_scale(sum(s.quantity))::text as total_holdings,
       trim_scale(p.price_in_usd)::text as price_in_usd,
       trim_scale(p.price_in_usd * sum(s.quantity))::text as value_in_usd, sum(s.users)::int as users
     from (${sums.text}) s left join current_prices p on p.asset_id = s.subject
     where s.measure = 'asset'
     group by s.subject, p.price_in_usd
     order by p.price_in_usd * sum(s.quantity) desc nulls last, s.subject limit ${topAssetsMax}`,
    sums.values,
  )
}
