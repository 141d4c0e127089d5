/**
 * Transactions as the service knew them at an earlier moment: those that have not changed since, and the versions that
 * ended later (`transaction_versions`). Rows of a connection count from the moment it was shown, as they did then.
 * The present list does not use this code, so keeping the past costs it nothing.
 *
 * Hardly any row of a long history may have been known at the moment, or belong to the wanted connections. So a
 * statement looks at some thousand rows, and a page that is not full by then is read on in steps, each with a turn of
 * its own, as a page with filters is (page-steps-store.ts).
 */
import type { InTurn } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { walkInSteps, type StepRows } from './page-steps-store.ts'
import {
  createBinder,
  headColumns,
  itemText,
  newestFirst,
  pageResult,
  requestRowsMax,
  toUuid,
  type Binder,
  type UserPageRequest,
  type TransactionFilters,
} from './pages-query-store.ts'
import { cutRows, toPage, type PageRow, type TransactionsResult } from './pages-store.ts'
import {
  readAuthorized,
  authorizedReadText,
  knownUserText,
  type UncheckedToken,
  type AuthorizedRead,
} from './authorized-read-store.ts'

const scope = 'transactions:read'
/** How many rows of each of the two tables a statement looks at. */
const stepMaxDefault = 2_000

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

/**
 * The next rows of the page as (occurred_at, id, item), and `step`, which has the last row that they are looked for in.
 * It has none when the walk ends. Of the two tables, the one whose share is used up first ends the step: down to there,
 * all rows of both are looked at.
 */
function nextRows(
  { filters, after }: KnownAtRequest,
  stepMax: number,
  { bind }: Binder<KnownAtRequest>,
): { step: string; rows: string } {
  const knownAt = bind((asked) => asked.knownAt)
  const limit = `${bind((asked) => asked.limit)}::bigint`
  const connections =
    filters.connectionIds === undefined ? 'true' : `s.id = any(${bind((asked) => asked.filters.connectionIds)}::text[])`
  // The text contains only the requested filters: a parameter that may be null would hide the range from the planner.
  const range = ['t.user_key = $1::bigint']
  if (filters.startTime !== undefined) {
    range.push(`t.occurred_at >= ${bind((asked) => asked.filters.startTime)}::timestamptz`)
  }
  if (filters.endTime !== undefined) {
    range.push(`t.occurred_at < ${bind((asked) => asked.filters.endTime)}::timestamptz`)
  }
  if (after !== undefined) {
    const point = `${bind((asked) => asked.after?.occurredAt)}::timestamptz, ${bind((asked) => asked.after && toUuid(asked.after.id))}::uuid`
    range.push(`(t.occurred_at, t.id) < (${point})`)
  }
  const ends = ['transactions', 'transaction_versions'].map(
    (table) => `(select t.occurred_at, t.id from ${table} t where ${range.join(' and ')}
       order by ${newestFirst} offset ${stepMax - 1} limit 1)`,
  )
  const conditions = [
    ...range,
    `(t.occurred_at, t.id) >= (coalesce((select occurred_at from step), '-infinity'),
       coalesce((select id from step), '00000000-0000-0000-0000-000000000000'))`,
    ofShown(knownAt, connections),
  ]
  return {
    step: `step as materialized (select * from (${ends.join(' union all ')}) t order by ${newestFirst} limit 1)`,
    rows: `select t.occurred_at, t.id, ${itemText} as item
      from (${knownRows(knownAt, conditions.join(' and '), String(requestRowsMax))}) t
      join shown s on s.connection_key = t.connection_key
      order by ${newestFirst} limit ${limit}`,
  }
}

export async function readKnownAt(
  sql: Sql,
  token: UncheckedToken,
  request: KnownAtRequest,
  stepMax = stepMaxDefault,
): Promise<AuthorizedRead<TransactionsResult> | undefined> {
  const { limit } = request
  // One row more than is shown: it says whether another page follows.
  const asked = { ...request, limit: limit + 1 }
  const binder = createBinder<KnownAtRequest>(3)
  const { step, rows } = nextRows(asked, stepMax, binder)
  const result = `with ${step} select page.*, exists (select from step) as "hasMore" from (${pageResult(rows, binder)}) page`
  const text = authorizedReadText({ scope, columns: headColumns.v2, result })
  const authorized = await readAuthorized<PageRow & { hasMore: boolean | null }>(
    sql,
    token,
    text,
    binder.toValues(asked),
  )
  if (authorized === undefined) return undefined
  const { caller, issues, result: first } = authorized
  const page = toPage(first, limit)
  if (page.end !== undefined || first.hasMore !== true) return { caller, issues, result: { page, removed: undefined } }
  const readFurther = async (inTurn: InTurn) =>
    cutRows(await walkInSteps(asked, inTurn, (next) => readStep(sql, token, next, stepMax)), limit)
  return { caller, issues, result: { page, readFurther, removed: undefined } }
}

/** A row of a step with where it ends; without an item where the step has no rows. */
interface StepRow {
  occurred_at: string
  id: string
  item: string | null
  until_at: string | null
  until_id: string | null
}

async function readStep(
  sql: Sql,
  { userKey }: Pick<UncheckedToken, 'userKey'>,
  asked: KnownAtRequest,
  stepMax: number,
): Promise<StepRows> {
  const binder = createBinder<KnownAtRequest>(1)
  const { step, rows } = nextRows(asked, stepMax, binder)
  const result = `select * from (
    with ${step}
    select t.*, step.occurred_at as until_at, step.id as until_id
    from (select) always left join step on true left join (${rows}) t on true) t
    order by ${newestFirst}`
  const text = knownUserText({ columns: headColumns.v2, result })
  const listed = await sql.rows<StepRow>(text, [userKey, ...binder.toValues(asked)])
  const { until_at: occurredAt = null, until_id: id = null } = listed[0] ?? {}
  return {
    found: listed.flatMap(({ item, ...row }) => (item === null ? [] : [{ ...row, item }])),
    until: occurredAt === null || id === null ? undefined : { occurredAt, id },
  }
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
