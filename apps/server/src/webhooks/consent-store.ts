/**
 * Whether the tenant may hear of a user's accounts: only what a consent to one of its applications covers, as everywhere
 * else.
 */
import type { Sql } from '../db/index.ts'

type Scope = 'providers:read' | 'assets:read' | 'transactions:read'

/** Each of them shows the connections of the user, by their ids. */
const accountScopes: readonly Scope[] = ['providers:read', 'assets:read', 'transactions:read']

/** A consent that is in force covers this scope, or any that shows accounts. */
export async function isCovered(sql: Sql, userKey: string, scope?: Scope): Promise<boolean> {
  const found = await sql.maybeRow(
    `select from grant_terms g
     where g.user_key = $1::bigint and g.in_force and g.expires_at > $2::timestamptz and g.scopes && $3::text[] limit 1`,
    [userKey, sql.now(), scope === undefined ? accountScopes : [scope]],
  )
  return found !== undefined
}

/**
 * A consent covered the user's accounts, perhaps one that has ended: the tenant has to hear that what it read is gone.
 * The consents of a user who was deleted are gone too, and the tenant hears nothing more of that user.
 */
export async function wasCovered(sql: Sql, userKey: string): Promise<boolean> {
  const found = await sql.maybeRow('select from grants where user_key = $1::bigint and scopes && $2::text[] limit 1', [
    userKey,
    accountScopes,
  ])
  return found !== undefined
}
