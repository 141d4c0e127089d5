/**
 * A tenant's transactions, newest first by (occurred_at, id), over all users or some, each row checked against the live
 * grants. Rare matches must not make a page slow, so the code chooses the query path from counted rows, not from what
 * PostgreSQL estimates for columns that it assumes to be independent:
 *
 * 1. The next 100 rows of the page order. Filters that match often fill their page here.
 * 2. A single filter by asset or by kind has its own index, in page order.
 * 3. With several filters, the first one that matches fewer than 1,000 rows leads, and the others are conditions.
 * 4. When all of them match often, the walk is long only if they exclude each other.
 */
import type { Sql } from '../db/index.ts'
import type { Filter, Lead } from '../portfolio/index.ts'
import { coveredRowByRow } from './grants.ts'
import {
  countStatement,
  listLeads,
  pageStatement,
  type TenantPageRequest,
  type TenantReach,
  type TenantFilters,
} from './transactions-query-store.ts'

export interface TransactionRow {
  id: string
  user_key: string
  user_id: string
  connection_id: string
  provider_id: string
  occurred_at: string
  updated_at: string
  /** The members after the head. */
  document: string
}

export interface TransactionRequest extends Omit<TenantPageRequest, 'filters'> {
  filters: TenantFilters & {
    userIds?: readonly string[] | undefined
    connectionIds?: readonly string[] | undefined
  }
}

const rareMax = 1_000

export async function listTransactions(
  sql: Sql,
  tenantKey: number,
  { filters: { userIds, connectionIds, ...filters }, limit, after }: TransactionRequest,
): Promise<TransactionRow[]> {
  const reach = await findReach(sql, tenantKey, userIds, connectionIds)
  if (reach.users.length === 0) return []
  return listPage(sql, reach, { filters, limit, after })
}

async function listPage(sql: Sql, reach: TenantReach, request: TenantPageRequest): Promise<TransactionRow[]> {
  const list = async (lead: Lead): Promise<TransactionRow[]> => {
    const { text, values } = pageStatement(reach, request, lead)
    return sql.rows<TransactionRow>(text, values)
  }
  const leads = listLeads(reach, request.filters)
  const [only] = leads
  if (only === undefined) return list('walk')
  // Reading the next 100 rows of each of many users would be too much.
  const near = reach.users === 'all' || reach.users.length === 1 ? await list('near') : []
  if (near.length === request.limit) return near
  if (leads.length === 1 && only !== 'update') return list(only)
  for (const lead of leads) if (await isRare(sql, reach, request, lead)) return list(lead)
  return list(only === 'asset' ? 'asset' : 'walk')
}

async function isRare(sql: Sql, reach: TenantReach, request: TenantPageRequest, lead: Filter): Promise<boolean> {
  const { text, values } = countStatement(reach, request, lead, rareMax)
  return (await sql.row<{ rows: number }>(text, values)).rows < rareMax
}

/** The users whose rows can match; a connection belongs to one user. */
async function findReach(
  sql: Sql,
  tenantKey: number,
  userIds: readonly string[] | undefined,
  connectionIds: readonly string[] | undefined,
): Promise<TenantReach> {
  const reach = { tenantKey, now: sql.now() }
  if (connectionIds !== undefined) {
    const connections = await sql.rows<{ user_key: string; connection_key: number }>(
      `select c.user_key, c.connection_key from readable_connections c
       where c.tenant_key = $1 and c.id = any($2::text[]) and ($3::text[] is null or c.user_id = any($3))`,
      [tenantKey, connectionIds, userIds ?? null],
    )
    return { ...reach, connections, users: [...new Set(connections.map((one) => one.user_key))] }
  }
  if (userIds === undefined) return { ...reach, users: 'all' }
  const users = await sql.rows<{ user_key: string }>(
    'select u.user_key from tenant_users u where u.tenant_key = $1 and u.id = any($2::text[])',
    [tenantKey, userIds],
  )
  return { ...reach, users: users.map((one) => one.user_key) }
}

export interface RemovedRow {
  id: string
  removed_at: string
}

export interface RemovedRequest {
  since: string
  limit: number
  /** The last row of the page before. */
  after: { removedAt: string; id: string } | undefined
  userIds?: readonly string[] | undefined
}

/**
 * Ids that were served once and have since been removed, oldest first. Rows of a removed connection disappear with it,
 * although destroying them may take an hour.
 */
export async function listRemoved(
  sql: Sql,
  tenantKey: number,
  { since, limit, after, userIds }: RemovedRequest,
): Promise<RemovedRow[]> {
  const place = '($3::timestamptz is null or (r.removed_at, r.id) > ($3::timestamptz, $4::uuid))'
  const ofUsers = `($5::text[] is null or r.user_key in (
    select u.user_key from tenant_users u where u.tenant_key = $1 and u.id = any($5)))`
  const wanted = `r.tenant_key = $1 and r.removed_at >= $2::timestamptz and ${place} and ${ofUsers}
    and ${coveredRowByRow('r', 'transactions:read', '$6')}`
  return sql.rows<RemovedRow>(
    `select 'txn_' || replace(r.id::text, '-', '') as id, r.removed_at from (
       (select r.id, r.removed_at from removed_transactions r where ${wanted} order by r.removed_at, r.id limit $7)
       union all
       (select r.id, r.removed_at from (
          select t.id, h.removed_at, h.user_key, h.tenant_key from (
            select c.*, to_timestamp((c.hidden_seq >> 20) / 1000.0)::timestamptz(3) as removed_at from removed_connections c
            where c.hidden_seq is not null) h
          join transactions t on t.user_key = h.user_key and t.connection_key = h.connection_key) r
        where ${wanted} order by r.removed_at, r.id limit $7)) r
     order by r.removed_at, r.id limit $7`,
    [
      tenantKey,
      since,
      after?.removedAt ?? null,
      after?.id.replace('txn_', '') ?? null,
      userIds ?? null,
      sql.now(),
      limit,
    ],
  )
}
