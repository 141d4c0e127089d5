/**
 * Pages of transactions. Without filters a page is one backward range scan of transactions_page and a join of ready
 * texts, at page 1 as at page 10,000. With filters it must not matter how rare their hits are, so the way to the rows is
 * chosen by what is met, not by what PostgreSQL guesses from columns it takes for independent:
 *
 * 1. The next 100 rows of the page order. Filters that hit often fill their page here.
 * 2. One filter by asset or by kind has an index of its own, in the order of the page.
 * 3. Of several, the first that leads to fewer than 1,000 rows leads, and the others are conditions.
 * 4. When all of them are common, their walk is long only if they exclude each other; over all pages of a walk together
 *    it passes each row once.
 */
import type { Sql } from '../db/index.ts'
import {
  countStatement,
  listLeads,
  pageStatement,
  type Filter,
  type Lead,
  type PageRequest,
  type Reach,
} from './pages-query-store.ts'

export interface TransactionRow {
  id: string
  user_id: string
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

const rareMax = 1_000

// Rows of hidden connections are left out by an array that PostgreSQL computes once for each page (an InitPlan).
// Inside coalesce, because PostgreSQL has no statistics for that and takes it for one row in two. Of a bare comparison it
// believes, where an installation has few connections, that no row passes, and sorts all rows of the user for each page.
const settled = `not coalesce(t.connection_id = any(array(
  select c.id from hidden_connections c where c.tenant_id = $1 and c.user_id = $2)), false)`

export async function listTransactions(sql: Sql, owner: Owner, request: PageRequest): Promise<TransactionRow[]> {
  return listPage(sql, { tenantId: owner.tenantId, users: { one: owner.userId }, visible: settled }, request)
}

export async function listPage(sql: Sql, reach: Reach, request: PageRequest): Promise<TransactionRow[]> {
  const list = async (lead: Lead): Promise<TransactionRow[]> => {
    const { text, values } = pageStatement(reach, request, lead)
    return sql.rows<TransactionRow>(text, values)
  }
  const leads = listLeads(request.filters)
  const [only] = leads
  if (only === undefined) return list('walk')
  if (leads.length === 1 && only === 'asset') return list('asset')
  // Of some users the next rows are many times 100.
  const near = reach.users !== 'all' && 'some' in reach.users ? [] : await list('near')
  if (near.length === request.limit) return near
  if (leads.length === 1 && only === 'kind') return list('kind')
  for (const lead of leads) if (await isRare(sql, reach, request, lead)) return list(lead)
  return list(only === 'asset' ? 'asset' : 'walk')
}

async function isRare(sql: Sql, reach: Reach, request: PageRequest, lead: Filter): Promise<boolean> {
  const { text, values } = countStatement(reach, request, lead, rareMax)
  return (await sql.row<{ rows: number }>(text, values)).rows < rareMax
}

export async function findTransaction(sql: Sql, owner: Owner, id: string): Promise<TransactionRow | undefined> {
  return sql.maybeRow<TransactionRow>(
    `select t.id, t.user_id, t.connection_id, t.provider_id, t.occurred_at, t.updated_at, t.document
     from transactions t where t.tenant_id = $1 and t.user_id = $2 and t.id = $3 and ${settled}`,
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
