/**
 * A tenant's transactions, newest first by (occurred_at, id): the ledger's pages over all users or some, each row held
 * against the grants in force.
 */
import type { Sql } from '../db/index.ts'
import { listPage, type PageRequest, type TransactionFilters, type TransactionRow } from '../ledger/index.ts'
import { covered, coveredRowByRow } from './grants.ts'

export interface TransactionRequest extends Omit<PageRequest, 'filters'> {
  filters: TransactionFilters & { userIds?: readonly string[] | undefined }
}

// `offset 0` keeps it a look-up for each row: as a join it could lead PostgreSQL away from the index that has the page in
// order.
const visible = `${coveredRowByRow('t', 'transactions:read')} and not exists (select from hidden_connections c
  where c.tenant_id = t.tenant_id and c.user_id = t.user_id and c.id = t.connection_id offset 0)`

export async function listTransactions(
  sql: Sql,
  tenantId: string,
  { filters: { userIds, ...filters }, limit, after }: TransactionRequest,
): Promise<TransactionRow[]> {
  const some = await findUsers(sql, tenantId, userIds, filters.connectionIds)
  const users = some === undefined ? 'all' : { some }
  return listPage(sql, { tenantId, users, visible }, { filters, limit, after })
}

/** Whose rows can be meant: a connection is one user's. Undefined: everybody's. */
async function findUsers(
  sql: Sql,
  tenantId: string,
  userIds: readonly string[] | undefined,
  connectionIds: readonly string[] | undefined,
): Promise<readonly string[] | undefined> {
  if (connectionIds === undefined) return userIds
  const rows = await sql.rows<{ user_id: string }>(
    'select distinct user_id from readable_connections where tenant_id = $1 and id = any($2::text[])',
    [tenantId, connectionIds],
  )
  const owners = rows.map((row) => row.user_id)
  return userIds === undefined ? owners : owners.filter((owner) => userIds.includes(owner))
}

/** Ids that were served once and are gone since then, for those who keep a copy. */
export async function listRemoved(
  sql: Sql,
  tenantId: string,
  since: string,
  userIds: readonly string[] | undefined,
): Promise<{ id: string; removed_at: string }[]> {
  return sql.rows(
    `select r.id, r.removed_at from removed_transactions r
     where r.tenant_id = $1 and r.removed_at >= $2 and ($3::text[] is null or r.user_id = any($3))
       and ${covered('r', 'transactions:read')}
     order by r.removed_at, r.id`,
    [tenantId, since, userIds ?? null],
  )
}
