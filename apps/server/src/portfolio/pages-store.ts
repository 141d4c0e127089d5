/**
 * Pages of a user's transactions. Without filters a page is one range of transactions_page and a join of ready texts,
 * at page 1 as at page 10,000, in one statement with the check of the token. With filters, rare matches must not make a
 * page slow, so the code chooses the query path from counted rows, not from what PostgreSQL estimates for columns that
 * it assumes to be independent. That takes up to three statements, the first of which checks the token:
 *
 * 1. The next 100 rows of the page order; filters that match often fill their page here. A filter by asset alone uses
 *    its own index at once.
 * 2. How many rows each filter leads to, counted up to 250. A filter by kind alone needs no count.
 * 3. The first filter with fewer rows leads, and the others are conditions. When all of them are common, their walk is
 *    long only if they exclude each other; over all pages of a walk together it passes each row once.
 */
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import {
  feedStart,
  removedResult,
  toRemovedPage,
  type FeedPoint,
  type RemovedPage,
  type RemovedColumns,
} from './changes-store.ts'
import {
  countResult,
  createBinder,
  formOf,
  headColumns,
  itemText,
  pageResult,
  pageRows,
  toUuid,
  type Filter,
  type Form,
  type Lead,
  type UserPageRequest,
  type TransactionPoint,
  type Shape,
  type PageStatement,
} from './pages-query-store.ts'
import {
  cutItems,
  knownUserText,
  readAuthorized,
  authorizedReadText,
  type UncheckedToken,
  type ItemsRow,
  type AuthorizedRead,
} from './authorized-read-store.ts'

/**
 * Few enough that PostgreSQL walks the index in order and stops. For a thousand, a generic plan read and sorted all
 * postings of a common asset to count the first of them.
 */
const rareMax = 250
const scope = 'transactions:read'
/** $1 to $3 of a statement that checks the token, or $1 of one for a known user. */
const reservedForToken = 3
const reservedForUser = 1

export interface TransactionsPage {
  /** Ready JSON, separated by commas. */
  items: string
  /** Where the next page continues; undefined after the last row. */
  end: TransactionPoint | undefined
}

export interface PageRow extends ItemsRow {
  last_at: string | null
  last_id: string | null
}

export interface TransactionsRequest extends UserPageRequest {
  shape: Shape
  /** Undefined when the list of removed transactions is not wanted or has ended. */
  removed?: { after: FeedPoint } | undefined
}

export interface TransactionsResult {
  page: TransactionsPage
  /** Undefined when it was not wanted. */
  removed: RemovedPage | undefined
}

export async function readTransactions(
  sql: Sql,
  token: UncheckedToken,
  request: TransactionsRequest,
): Promise<AuthorizedRead<TransactionsResult> | undefined> {
  const { limit } = request
  // One row more than is shown: it says whether another page follows.
  const asked: TransactionsRequest = { ...request, limit: limit + 1 }
  const form = formOf(asked)
  const lead = firstLead(form)
  const statement = firstStatement(asked, form, lead)
  const authorized = await readAuthorized<PageRow & RemovedColumns>(
    sql,
    token,
    statement.text,
    statement.toValues(asked),
  )
  if (authorized === undefined) return undefined
  const { caller, issues, result } = authorized
  const found = toPage(result, limit)
  const isDone = lead !== 'near' || found.end !== undefined || !caller.scopes.has(scope)
  const page = isDone ? found : await listFurther(sql, token, asked, form)
  const removed = request.removed && toRemovedPage(result, limit)
  return { caller, issues, result: { page, removed } }
}

/** Only removed transactions, after the other list has ended. */
export async function readRemoved(
  sql: Sql,
  token: UncheckedToken,
  request: { after: FeedPoint; limit: number },
): Promise<AuthorizedRead<TransactionsResult> | undefined> {
  const { text, toValues } = removedStatement
  const authorized = await readAuthorized<RemovedColumns>(
    sql,
    token,
    text,
    toValues({ ...request, limit: request.limit + 1 }),
  )
  if (authorized === undefined) return undefined
  const removed = toRemovedPage(authorized.result, request.limit)
  return { ...authorized, result: { page: { items: '', end: undefined }, removed } }
}

const removedStatement = ((): PageStatement<{ after: FeedPoint; limit: number }> => {
  const binder = createBinder<{ after: FeedPoint; limit: number }>(reservedForToken)
  const result = removedResult(({ after }) => after, binder)
  return { text: authorizedReadText({ scope, result }), toValues: binder.toValues }
})()

function firstLead({ leads }: Form): Lead {
  const [only] = leads
  if (only === undefined) return 'walk'
  return leads.length === 1 && only === 'asset' ? 'asset' : 'near'
}

// Texts are kept: assembling one, and looking its name up, took a tenth of a page's time in this process. Requests have
// a few hundred forms; a flood of others only evicts what is kept.
const statementsMax = 1_000
const statements = new Map<string, PageStatement<TransactionsRequest>>()

function keepStatement(
  name: string,
  make: () => PageStatement<TransactionsRequest>,
): PageStatement<TransactionsRequest> {
  const kept = statements.get(name)
  if (kept !== undefined) return kept
  if (statements.size >= statementsMax) statements.clear()
  const made = make()
  statements.set(name, made)
  return made
}

function firstStatement(
  { shape, removed }: TransactionsRequest,
  form: Form,
  lead: Lead,
): PageStatement<TransactionsRequest> {
  return keepStatement(`first ${shape} ${removed !== undefined} ${form.name}`, () => {
    const binder = createBinder<TransactionsRequest>(reservedForToken)
    const page = pageResult(pageRows(form, lead, binder), binder)
    const gone = removed && removedResult((request: TransactionsRequest) => request.removed?.after ?? feedStart, binder)
    const result = gone === undefined ? page : `select * from (${page}) page cross join (${gone}) removed`
    return { text: authorizedReadText({ scope, columns: headColumns[shape], result }), toValues: binder.toValues }
  })
}

async function listFurther(
  sql: Sql,
  owner: Pick<Owner, 'userKey'>,
  asked: TransactionsRequest,
  form: Form,
): Promise<TransactionsPage> {
  const lead = await furtherLead(sql, owner, asked, form)
  const { text, toValues } = keepStatement(`further ${asked.shape} ${lead} ${form.name}`, () => {
    const binder = createBinder<TransactionsRequest>(reservedForUser)
    const result = pageResult(pageRows(form, lead, binder), binder)
    return { text: knownUserText({ columns: headColumns[asked.shape], result }), toValues: binder.toValues }
  })
  return toPage(await sql.row<PageRow>(text, [owner.userKey, ...toValues(asked)]), asked.limit - 1)
}

async function furtherLead(
  sql: Sql,
  owner: Pick<Owner, 'userKey'>,
  asked: TransactionsRequest,
  form: Form,
): Promise<Lead> {
  const { leads } = form
  if (leads.length === 1 && leads[0] === 'kind') return 'kind'
  const { text, toValues } = keepStatement(`count ${form.name}`, () => {
    const binder = createBinder<TransactionsRequest>(reservedForUser)
    return { text: knownUserText({ result: countResult(form, rareMax, binder) }), toValues: binder.toValues }
  })
  const counts = await sql.row<Partial<Record<Filter, number>>>(text, [owner.userKey, ...toValues(asked)])
  return leads.find((lead) => (counts[lead] ?? rareMax) < rareMax) ?? (leads[0] === 'asset' ? 'asset' : 'walk')
}

export function toPage(row: PageRow, limit: number): TransactionsPage {
  const { items, isLast } = cutItems(row, limit)
  const { last_at: occurredAt, last_id: id } = row
  return { items, end: isLast || occurredAt === null || id === null ? undefined : { occurredAt, id } }
}

const transactionText = authorizedReadText({
  scope,
  columns: headColumns.v2,
  result: `select ${itemText} as item from transactions t join shown s on s.connection_key = t.connection_key
    where t.user_key = $1::bigint and t.id = $4::uuid`,
})

/** One transaction as ready JSON; null when no transaction has this id, or its connection is not shown. */
export async function readTransaction(
  sql: Sql,
  token: UncheckedToken,
  id: string,
): Promise<AuthorizedRead<{ item: string | null }> | undefined> {
  return readAuthorized(sql, token, transactionText, [toUuid(id)])
}

export interface TransactionItem {
  occurred_at: string
  id: string
  /** Ready JSON. */
  item: string
}

/** Rows for a caller who is known already: an export reads many pages with one check of the token. */
export async function listTransactions(
  sql: Sql,
  { userKey }: Pick<Owner, 'userKey'>,
  request: UserPageRequest,
): Promise<TransactionItem[]> {
  const asked: TransactionsRequest = { ...request, shape: 'v2' }
  const form = formOf(asked)
  const list = (lead: Lead): Promise<TransactionItem[]> => {
    const { text, toValues } = keepStatement(`rows ${lead} ${form.name}`, () => {
      const binder = createBinder<TransactionsRequest>(reservedForUser)
      const result = pageRows(form, lead, binder)
      return { text: knownUserText({ columns: headColumns.v2, result }), toValues: binder.toValues }
    })
    return sql.rows<TransactionItem>(text, [userKey, ...toValues(asked)])
  }
  const first = firstLead(form)
  const found = await list(first)
  if (first !== 'near' || found.length === request.limit) return found
  return list(await furtherLead(sql, { userKey }, asked, form))
}
