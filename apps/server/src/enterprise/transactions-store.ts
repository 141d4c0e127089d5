/**
 * A tenant's transactions, newest first by (occurred_at, id): one range scan of transactions_tenant_page, each row held
 * against the grants in force. With `userIds` PostgreSQL may take the users' own pages instead.
 */
import type { Sql } from '../db/index.ts'
import { covered, coveredRowByRow } from './grants.ts'

export interface TransactionFilters {
  userIds?: readonly string[] | undefined
  startTime?: string | undefined
  endTime?: string | undefined
  providerIds?: readonly string[] | undefined
  connectionIds?: readonly string[] | undefined
  assetSymbols?: readonly string[] | undefined
  types?: readonly string[] | undefined
  categories?: readonly string[] | undefined
  updatedSince?: string | undefined
}

export interface TransactionRequest {
  filters: TransactionFilters
  limit: number
  after: { occurredAt: string; id: string } | undefined
}

export interface UserTransactionRow {
  id: string
  user_id: string
  connection_id: string
  provider_id: string
  occurred_at: string
  updated_at: string
  /** The members after the head. */
  document: string
}

const columns = 't.id, t.user_id, t.connection_id, t.provider_id, t.occurred_at, t.updated_at, t.document'
const granted = coveredRowByRow('t', 'transactions:read')

export async function listTransactions(
  sql: Sql,
  tenantId: string,
  { filters, limit, after }: TransactionRequest,
): Promise<UserTransactionRow[]> {
  const values: unknown[] = [tenantId]
  const bind = (value: unknown): string => `$${values.push(value)}`
  const conditions = [granted]
  // Only what was asked for is in the text: a parameter that may be null would hide the range from the planner.
  const among: [string, readonly string[] | undefined][] = [
    ['t.user_id', filters.userIds],
    ['t.type', filters.types],
    ['t.category', filters.categories],
    ['t.provider_id', filters.providerIds],
    ['t.connection_id', filters.connectionIds],
  ]
  for (const [column, wanted] of among) {
    if (wanted !== undefined) conditions.push(`${column} = any(${bind(wanted)}::text[])`)
  }
  if (filters.updatedSince !== undefined) conditions.push(`t.updated_at >= ${bind(filters.updatedSince)}`)
  const range = (alias: string): string => {
    const parts = [`${alias}.tenant_id = $1`]
    if (filters.startTime !== undefined) parts.push(`${alias}.occurred_at >= ${bind(filters.startTime)}`)
    if (filters.endTime !== undefined) parts.push(`${alias}.occurred_at < ${bind(filters.endTime)}`)
    if (after !== undefined)
      parts.push(`(${alias}.occurred_at, ${alias}.id) < (${bind(after.occurredAt)}, ${bind(after.id)})`)
    return parts.join(' and ')
  }
  const text =
    filters.assetSymbols === undefined
      ? `select ${columns} from settled_transactions t where ${range('t')} and ${conditions.join(' and ')}
         order by t.occurred_at desc, t.id desc limit ${bind(limit)}`
      : byAsset({ range: range('a'), conditions, symbols: bind(filters.assetSymbols), limit: bind(limit) })
  return sql.rows<UserTransactionRow>(text, values)
}

/** For each symbol its own newest rows, by a range scan of the narrow table, then the newest of all, each once. */
function byAsset(parts: { range: string; conditions: string[]; symbols: string; limit: string }): string {
  return `select distinct on (t.occurred_at, t.id) ${columns}
    from unnest(${parts.symbols}::text[]) as wanted (symbol), lateral (
      select t.* from transaction_assets a
      join settled_transactions t on t.tenant_id = a.tenant_id and t.user_id = a.user_id and t.id = a.id
      where ${parts.range} and a.asset_symbol = wanted.symbol and ${parts.conditions.join(' and ')}
      order by a.occurred_at desc, a.id desc limit ${parts.limit}
    ) t
    order by t.occurred_at desc, t.id desc limit ${parts.limit}`
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
