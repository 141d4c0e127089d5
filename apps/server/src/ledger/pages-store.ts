/**
 * The page queries. Newest first by (occurred_at, id); a page is one backward range scan of transactions_page and a
 * join of ready texts, at page 1 as at page 10,000: the place is part of the index condition, never an OFFSET.
 *
 * Rows of provisional connections are left out by an array that PostgreSQL computes once for each page (an InitPlan).
 */
import type { Sql } from '../db/index.ts'

export interface TransactionFilters {
  /** Included. */
  startTime?: string | undefined
  /** Excluded. */
  endTime?: string | undefined
  providerIds?: readonly string[] | undefined
  connectionIds?: readonly string[] | undefined
  assetSymbols?: readonly string[] | undefined
  types?: readonly string[] | undefined
  categories?: readonly string[] | undefined
  /** Changed at this moment or later. */
  updatedSince?: string | undefined
}

export interface PageRequest {
  filters: TransactionFilters
  limit: number
  /** The last row of the page before. */
  after: { occurredAt: string; id: string } | undefined
}

export interface TransactionRow {
  id: string
  connection_id: string
  provider_id: string
  occurred_at: string
  updated_at: string
  /** The members after the head. */
  document: string
}

interface Owner {
  tenantId: string
  userId: string
}

const columns = 't.id, t.connection_id, t.provider_id, t.occurred_at, t.updated_at, t.document'
// Inside coalesce, because PostgreSQL has no statistics for that and takes it for one row in two. Of a bare comparison it
// believes, where an installation has few connections, that no row passes, and sorts all rows of the user for each page.
const settled = `not coalesce(t.connection_id = any(array(
  select c.id from provisional_connections c where c.tenant_id = $1 and c.user_id = $2)), false)`

export async function listTransactions(sql: Sql, owner: Owner, request: PageRequest): Promise<TransactionRow[]> {
  const { filters, after, limit } = request
  const values: unknown[] = [owner.tenantId, owner.userId]
  const bind = (value: unknown): string => `$${values.push(value)}`
  const conditions = [settled]
  // Only what was asked for is in the text: a parameter that may be null would hide the range from the planner.
  if (filters.types !== undefined) conditions.push(`t.type = any(${bind(filters.types)}::text[])`)
  if (filters.categories !== undefined) conditions.push(`t.category = any(${bind(filters.categories)}::text[])`)
  if (filters.providerIds !== undefined) conditions.push(`t.provider_id = any(${bind(filters.providerIds)}::text[])`)
  if (filters.connectionIds !== undefined)
    conditions.push(`t.connection_id = any(${bind(filters.connectionIds)}::text[])`)
  if (filters.updatedSince !== undefined) conditions.push(`t.updated_at >= ${bind(filters.updatedSince)}`)
  const range = (alias: string): string => {
    const parts = [`${alias}.tenant_id = $1 and ${alias}.user_id = $2`]
    if (filters.startTime !== undefined) parts.push(`${alias}.occurred_at >= ${bind(filters.startTime)}`)
    if (filters.endTime !== undefined) parts.push(`${alias}.occurred_at < ${bind(filters.endTime)}`)
    if (after !== undefined)
      parts.push(`(${alias}.occurred_at, ${alias}.id) < (${bind(after.occurredAt)}, ${bind(after.id)})`)
    return parts.join(' and ')
  }
  const text =
    filters.assetSymbols === undefined
      ? `select ${columns} from transactions t where ${range('t')} and ${conditions.join(' and ')}
         order by t.occurred_at desc, t.id desc limit ${bind(limit)}`
      : byAsset({ range: range('a'), conditions, symbols: bind(filters.assetSymbols), limit: bind(limit) })
  return sql.rows<TransactionRow>(text, values)
}

/**
 * For each symbol its own newest rows, by a range scan of the narrow table, then the newest of all. A trade of two
 * symbols that were both asked for is found twice and returned once.
 */
function byAsset(parts: { range: string; conditions: string[]; symbols: string; limit: string }): string {
  return `select distinct on (t.occurred_at, t.id) ${columns}
    from unnest(${parts.symbols}::text[]) as wanted (symbol), lateral (
      select t.* from transaction_assets a
      join transactions t on t.tenant_id = a.tenant_id and t.user_id = a.user_id and t.id = a.id
      where ${parts.range} and a.asset_symbol = wanted.symbol and ${parts.conditions.join(' and ')}
      order by a.occurred_at desc, a.id desc limit ${parts.limit}
    ) t
    order by t.occurred_at desc, t.id desc limit ${parts.limit}`
}

export async function findTransaction(sql: Sql, owner: Owner, id: string): Promise<TransactionRow | undefined> {
  return sql.maybeRow<TransactionRow>(
    `select ${columns} from transactions t where t.tenant_id = $1 and t.user_id = $2 and t.id = $3 and ${settled}`,
    [owner.tenantId, owner.userId, id],
  )
}

/** Ids that were served once and are gone since then, for those who keep a copy. */
export async function listRemoved(
  sql: Sql,
  owner: Owner,
  since: string,
): Promise<{ id: string; removed_at: string }[]> {
  return sql.rows(
    `select id, removed_at from removed_transactions
     where tenant_id = $1 and user_id = $2 and removed_at >= $3 order by removed_at, id`,
    [owner.tenantId, owner.userId, since],
  )
}
