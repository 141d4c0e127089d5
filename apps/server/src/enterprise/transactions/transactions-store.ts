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
import type { Sql } from '../../db/index.ts'
import type { Filter, Lead } from '../../portfolio/index.ts'
import { coveredRowByRow } from '../grants.ts'
import {
  countStatement,
  kindsStatement,
  kindStepsMax,
  listLeads,
  pageStatement,
  type Found,
  type Kind,
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
  const rows: TransactionRow[] = []
  const reaches = await findReaches(sql, tenantKey, userIds, connectionIds)
  // User by user: each statement names one, and a distributed database answers it from one node.
  for (const reach of reaches) rows.push(...(await listPage(sql, reach, { filters, limit, after })))
  return reaches.length === 1 ? rows : rows.toSorted(toNewestFirst).slice(0, limit)
}

function toNewestFirst(a: TransactionRow, b: TransactionRow): number {
  return Date.parse(b.occurred_at) - Date.parse(a.occurred_at) || (a.id < b.id ? 1 : -1)
}

async function listPage(sql: Sql, reach: TenantReach, request: TenantPageRequest): Promise<TransactionRow[]> {
  let found: Found = { kinds: [], assetKeys: [] }
  const list = async (lead: Lead): Promise<TransactionRow[]> => {
    if (lead === 'kind' && reach.user === null && found.kinds.length === 0) return []
    const { text, values } = pageStatement(reach, request, lead, found)
    return sql.rows<TransactionRow>(text, values)
  }
  const leads = listLeads(reach, request.filters)
  const [only] = leads
  if (only === undefined) return list('walk')
  const near = await list('near')
  if (near.length === request.limit) return near
  found = await find(sql, reach, request.filters, leads)
  if (found.assetKeys.length === 0 && leads.includes('asset')) return []
  if (leads.length === 1 && only !== 'update') return list(only)
  for (const lead of leads) if (await isRare(sql, { reach, request, found }, lead)) return list(lead)
  return list(only === 'asset' ? 'asset' : 'walk')
}

interface Search {
  reach: TenantReach
  request: TenantPageRequest
  found: Found
}

async function isRare(sql: Sql, { reach, request, found }: Search, lead: Filter): Promise<boolean> {
  if (lead === 'kind' && reach.user === null && found.kinds.length === 0) return true
  const { text, values } = countStatement(reach, request, lead, found, rareMax)
  return (await sql.row<{ rows: number }>(text, values)).rows < rareMax
}

async function find(
  sql: Sql,
  { tenantKey, user }: TenantReach,
  filters: TenantFilters,
  leads: readonly Filter[],
): Promise<Found> {
  const kinds = leads.includes('kind') && user === null ? await listKinds(sql, tenantKey) : []
  const assets = leads.includes('asset') ? await listAssetKeys(sql, filters.assetSymbols ?? []) : []
  const isWanted = (among: readonly string[] | undefined, value: string): boolean =>
    among === undefined || among.includes(value)
  return {
    assetKeys: assets,
    kinds: kinds.filter(
      ({ provider_id: providerId, category, type }) =>
        isWanted(filters.providerIds, providerId) &&
        isWanted(filters.categories, category) &&
        isWanted(filters.types, type),
    ),
  }
}

async function listKinds(sql: Sql, tenantKey: number): Promise<Kind[]> {
  const kinds: Kind[] = []
  for (;;) {
    const { text, values } = kindsStatement(tenantKey, kinds.at(-1))
    const next = await sql.rows<Kind>(text, values)
    kinds.push(...next)
    if (next.length < kindStepsMax) return kinds
  }
}

/** The oldest first: those that took a symbol later are rarely held. */
async function listAssetKeys(sql: Sql, symbols: readonly string[]): Promise<number[]> {
  const rows = await sql.rows<{ asset_key: number }>(
    'select asset_key from assets where symbol = any($1::text[]) order by asset_key',
    [symbols],
  )
  return rows.map((row) => row.asset_key)
}

/** The users whose rows may match: a connection belongs to one user. */
async function findReaches(
  sql: Sql,
  tenantKey: number,
  userIds: readonly string[] | undefined,
  connectionIds: readonly string[] | undefined,
): Promise<TenantReach[]> {
  const reach = { tenantKey, now: sql.now() }
  if (connectionIds !== undefined) {
    const connections = await sql.rows<{ user_key: string; connection_key: number }>(
      `select c.user_key, c.connection_key from readable_connections c
       where c.tenant_key = $1 and c.id = any($2::text[]) and ($3::text[] is null or c.user_id = any($3))`,
      [tenantKey, connectionIds, userIds ?? null],
    )
    const byUser = Map.groupBy(connections, (one) => one.user_key)
    return [...byUser].map(([user, own]) => ({ ...reach, user, connectionKeys: own.map((one) => one.connection_key) }))
  }
  if (userIds === undefined) return [{ ...reach, user: null }]
  const users = await sql.rows<{ user_key: string }>(
    'select u.user_key from tenant_users u where u.tenant_key = $1 and u.id = any($2::text[])',
    [tenantKey, userIds],
  )
  return users.map((one) => ({ ...reach, user: one.user_key }))
}

export interface RemovedRow {
  user_key: string
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
  const isAfterPoint = '($3::timestamptz is null or (r.removed_at, r.id) > ($3::timestamptz, $4::uuid))'
  const ofUsers = `($5::text[] is null or r.user_key in (
    select u.user_key from tenant_users u where u.tenant_key = $1 and u.id = any($5)))`
  const wanted = `r.tenant_key = $1 and r.removed_at >= $2::timestamptz and ${isAfterPoint} and ${ofUsers}`
  const isCovered = (alias: string): string => coveredRowByRow(alias, 'transactions:read', '$6')
  // Asked of the user, because PostgreSQL remembers the answer for the user's other rows: those of a user who has ended
  // the consent may be the oldest million.
  return sql.rows<RemovedRow>(
    `select r.user_key, 'txn_' || replace(r.id::text, '-', '') as id, r.removed_at from (
       (select r.user_key, r.id, r.removed_at from removed_transactions r
        cross join lateral (
          select u.user_key from user_changes u where u.user_key = r.user_key and ${isCovered('u')} offset 0) u
        where ${wanted} order by r.removed_at, r.id limit $7)
       union all
       (select r.user_key, r.id, r.removed_at from (
          select t.id, h.removed_at, h.user_key, h.tenant_key from (
            select c.*, to_timestamp((c.hidden_seq >> 20) / 1000.0)::timestamptz(3) as removed_at from removed_connections c
            where c.hidden_seq is not null) h
          join transactions t on t.user_key = h.user_key and t.connection_key = h.connection_key) r
        where ${wanted} and ${isCovered('r')} order by r.removed_at, r.id limit $7)) r
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
