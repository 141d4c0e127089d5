/**
 * Notices that a user has to be counted again, for the tenant's feed and statistics. The enterprise room consumes them.
 *
 * Every transaction that changes what a tenant may see of a user (grants, shown connections, holdings, transactions)
 * writes one. The rows are append only, so that writers never wait for each other, and they are written explicitly: a
 * trigger would cost every statement of a batch, and does not run on a distributed table.
 */
import type { Sql } from './db/index.ts'
import type { Owner, Tenant } from './owner.ts'

/** How many of a connection's transactions a change touches. */
export interface ChangeCounts {
  added: number
  changed: number
  removed: number
}

/** Call it once, in the transaction that makes the change: the notice must not exist without the change. */
export async function noteUser(
  sql: Pick<Sql, 'execute'>,
  { tenantKey, userKey }: Pick<Owner, 'tenantKey' | 'userKey'>,
): Promise<void> {
  await sql.execute(`insert into user_notices (user_key, tenant_key) values ($1::bigint, $2::integer)`, [
    userKey,
    tenantKey,
  ])
}

/** No user has this key: the notice stands for all users of the tenant. */
export const allUsersKey = '0'

/**
 * When a client is disabled or enabled, every user who consented to it has to be counted again. The fold finds them,
 * after this transaction has ended: a list made here would miss a consent that commits at the same time.
 */
export async function noteAllUsers(sql: Pick<Sql, 'execute'>, { tenantKey }: Pick<Tenant, 'tenantKey'>): Promise<void> {
  await noteUser(sql, { tenantKey, userKey: allUsersKey })
}

/** The same inside a statement that makes the change: a notice for each row of the CTE `changed`. */
export function toNoticeQuery(changed: string): string {
  return `insert into user_notices (user_key, tenant_key) select user_key, tenant_key from ${changed}`
}
