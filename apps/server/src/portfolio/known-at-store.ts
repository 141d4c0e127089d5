/**
 * Transactions as the service knew them at an earlier moment: those that have not changed since, and the versions that
 * ended later (`transaction_versions`). Rows of a connection count from the moment it was shown, as they did then.
 * The present list does not use this code, so keeping the past costs it nothing.
 */
import type { Sql } from '../db/index.ts'
import {
  createBinder,
  headColumns,
  itemText,
  newestFirst,
  pageResult,
  requestRowsMax,
  toUuid,
  type UserPageRequest,
  type TransactionFilters,
} from './pages-query-store.ts'
import { toPage, type PageRow, type TransactionsResult } from './pages-store.ts'
import {
  readAuthorized,
  authorizedReadText,
  type UncheckedToken,
  type AuthorizedRead,
} from './authorized-read-store.ts'

const scope = 'transactions:read'

export interface KnownAtRequest extends UserPageRequest {
  filters: Pick<TransactionFilters, 'startTime' | 'endTime' | 'connectionIds'>
  knownAt: string
}

/** Both halves of what was known, each with the same condition; `connection_key` and the range have to be in it. */
const knownRows = (knownAt: string, condition: string, limit: string): string => `
  (select t.occurred_at, t.id, t.connection_key, t.updated_at, t.document from transactions t
   where ${condition} and t.updated_at <= ${knownAt}::timestamptz
   order by ${newestFirst} limit ${limit})
  union all
  (select t.occurred_at, t.id, t.connection_key, t.known_from as updated_at, t.document from transaction_versions t
   where ${condition} and t.known_from <= ${knownAt}::timestamptz and t.known_to > ${knownAt}::timestamptz
   order by ${newestFirst} limit ${limit})`

const ofShown = (knownAt: string, more = 'true'): string =>
  `t.user_key = $1::bigint and t.connection_key = any(array(
     select s.connection_key from shown s where s.shown_at <= ${knownAt}::timestamptz and ${more}))`

export async function readKnownAt(
  sql: Sql,
  token: UncheckedToken,
  request: KnownAtRequest,
): Promise<AuthorizedRead<TransactionsResult> | undefined> {
  const { filters, after } = request
  const paged = { ...request, limit: request.limit + 1 }
  const binder = createBinder<KnownAtRequest>(3)
  const { bind } = binder
  const knownAt = bind((asked) => asked.knownAt)
  const limit = `${bind((asked) => asked.limit)}::bigint`
  const connections =
    filters.connectionIds === undefined ? 'true' : `s.id = any(${bind((asked) => asked.filters.connectionIds)}::text[])`
  // The text contains only the requested filters: a parameter that may be null would hide the range from the planner.
  const conditions = [ofShown(knownAt, connections)]
  if (filters.startTime !== undefined) {
    conditions.push(`t.occurred_at >= ${bind((asked) => asked.filters.startTime)}::timestamptz`)
  }
  if (filters.endTime !== undefined) {
    conditions.push(`t.occurred_at < ${bind((asked) => asked.filters.endTime)}::timestamptz`)
  }
  if (after !== undefined) {
    const point = `${bind((asked) => asked.after?.occurredAt)}::timestamptz, ${bind((asked) => asked.after && toUuid(asked.after.id))}::uuid`
    conditions.push(`(t.occurred_at, t.id) < (${point})`)
  }
  const rows = `select t.occurred_at, t.id, ${itemText} as item
    from (${knownRows(knownAt, conditions.join(' and '), String(requestRowsMax))}) t
    join shown s on s.connection_key = t.connection_key
    order by ${newestFirst} limit ${limit}`
  const text = authorizedReadText({ scope, columns: headColumns.v2, result: pageResult(rows, binder) })
  const authorized = await readAuthorized<PageRow>(sql, token, text, binder.toValues(paged))
  return authorized && { ...authorized, result: { page: toPage(authorized.result, request.limit), removed: undefined } }
}

const oneText = authorizedReadText({
  scope,
  columns: headColumns.v2,
  result: `select ${itemText} as item
    from (${knownRows('$5', `${ofShown('$5')} and t.id = $4::uuid`, '1')}) t
    join shown s on s.connection_key = t.connection_key`,
})

/** One transaction as ready JSON; null when no transaction with this id was known then. */
export async function readOneKnownAt(
  sql: Sql,
  token: UncheckedToken,
  { id, knownAt }: { id: string; knownAt: string },
): Promise<AuthorizedRead<{ item: string | null }> | undefined> {
  return readAuthorized(sql, token, oneText, [toUuid(id), knownAt])
}
