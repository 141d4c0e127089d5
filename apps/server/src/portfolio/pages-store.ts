/**
 * Pages of a user's transactions. Without filters a page is one range of transactions_page and a join of ready texts,
 * at page 1 as at page 10,000, in one statement with the check of the token. With filters, rare matches must not make a
 * page slow, so the code chooses the query path from counted rows, not from what PostgreSQL estimates for columns that
 * it assumes to be independent. The first statement checks the token:
 *
 * 1. The next 100 rows of the page order; filters that match often fill their page here. A filter by asset alone uses
 *    its own index at once.
 * 2. How many rows each filter leads to, counted up to 250. A filter by kind alone needs no count.
 * 3. The first filter with fewer rows leads, and the others are conditions. When all of them are common, their walk is
 *    long only if they exclude each other, and is read in steps (page-steps-store.ts); over all pages of a walk
 *    together it passes each row once.
 */
import type { InTurn } from '../connections/index.ts'
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
import { listFurther, listRows, type ShapedRequest, type TransactionItem } from './page-steps-store.ts'
import {
  createBinder,
  createStatements,
  formOf,
  headColumns,
  itemText,
  pageResult,
  pageRows,
  toUuid,
  type Form,
  type Lead,
  type UserPageRequest,
  type TransactionPoint,
  type PageStatement,
} from './pages-query-store.ts'
import {
  cutItems,
  readAuthorized,
  authorizedReadText,
  type UncheckedToken,
  type ItemsRow,
  type AuthorizedRead,
} from './authorized-read-store.ts'

const scope = 'transactions:read'
/** $1 to $3 of a statement that checks the token. */
const reservedForToken = 3

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

export interface TransactionsRequest extends ShapedRequest {
  /** Undefined when the list of removed transactions is not wanted or has ended. */
  removed?: { after: FeedPoint } | undefined
}

export interface TransactionsResult {
  page: TransactionsPage
  /** Set when the page is not full, and further rows may match. Gives the whole page; each statement has its turn. */
  readFurther?: (inTurn: InTurn) => Promise<TransactionsPage>
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
  const removed = request.removed && toRemovedPage(result, limit)
  if (isDone) return { caller, issues, result: { page: found, removed } }
  const readFurther = async (inTurn: InTurn): Promise<TransactionsPage> =>
    cutRows(await listFurther(sql, token, asked, inTurn), limit)
  return { caller, issues, result: { page: found, readFurther, removed } }
}

export async function finishPage(
  { page, readFurther }: Pick<TransactionsResult, 'page' | 'readFurther'>,
  inTurn: InTurn,
): Promise<TransactionsPage> {
  return readFurther === undefined ? page : readFurther(inTurn)
}

/** `rows` has one more than the page when another page follows. */
export function cutRows(rows: readonly TransactionItem[], limit: number): TransactionsPage {
  const shown = rows.slice(0, limit)
  const items = shown.map(({ item }) => item).join(',\n')
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { items, end: last && { occurredAt: last.occurred_at, id: last.id } }
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

const keepStatement = createStatements<TransactionsRequest>()

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

/** Rows for a caller who is known already: an export reads many pages with one check of the token. */
export async function listTransactions(
  sql: Sql,
  user: Pick<Owner, 'userKey'>,
  request: UserPageRequest,
  inTurn: InTurn,
): Promise<TransactionItem[]> {
  const asked: ShapedRequest = { ...request, shape: 'v2' }
  const lead = firstLead(formOf(asked))
  const found = await inTurn(() => listRows(sql, user, lead, asked))
  if (lead !== 'near' || found.length === request.limit) return found
  return listFurther(sql, user, asked, inTurn)
}
