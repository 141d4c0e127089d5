/**
 * The shell of every read that takes one round trip: one statement checks the token, and returns the caller, the issues
 * of the user's connections, and the result as one text.
 *
 *   with caller as materialized (…the token, by primary key…),
 *   shown as materialized (…the user's readable connections, if the token has the scope…)
 *   select …caller…, …issues…, result.* from caller left join lateral (…) result on …the token has the scope…
 *
 * An invalid token gives no row at all, and `result` is never computed. A token without the scope gives the caller and
 * no result, because the join has the scope as its condition: http answers it with a 403.
 *
 * Everything else is joined to `shown`, which has a handful of rows. Rows of provisional and removed connections
 * therefore drop out, and ids come from the one place where they are stored.
 *
 * Parameters: $1 user_key, $2 token_hash, $3 the present. The parameters of a result come after them.
 */
import type { ErrorItem } from '@assay/core'
import { toIssue, type IssueRow } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import { callerCte, type Caller } from '../oauth/index.ts'

/** The claims of a bearer token before it is checked (oauth's readBearer). */
export interface UncheckedToken {
  userKey: string
  tokenHash: Buffer
}

export interface AuthorizedRead<Result> {
  caller: Caller
  /** One for each connection whose data is stale or still being read. */
  issues: ErrorItem[]
  result: Result
}

interface CallerRow {
  caller: [tenantKey: number, tenantId: string, clientId: string, userId: string, grantId: string, scopes: string[]]
  issues: FoundIssue[] | null
}

interface FoundIssue extends IssueRow {
  added_at: string
}

const issuesMax = 100

// One column for all that is known of the caller, because node-postgres spends time on each column.
const callerColumn = `json_build_array(caller.tenant_key, caller.tenant_id, caller.client_id, caller.user_id,
  caller.grant_id, caller.scopes) as caller`

// The reader sorts these: a sort would cost every page a fifteenth of its time (measured), and there is almost never
// anything to sort.
const issues = `(select json_agg(row_to_json(s)) from shown s where s.status <> 'active') as issues`

const connectionColumns = `c.connection_key, c.id, c.provider_id, c.shown_at, c.shown_seq, c.balances_at, c.added_at, c.status,
  c.status_cause, c.status_message, c.next_sync_at`

/** How a time is written on the wire. */
export const toWireTime = (time: string): string =>
  `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Between the items of a result: JSON escapes line ends, so each item is one line and the last can be cut off. */
export const itemEnd = `E',\\n'`

export interface AuthorizedReadText {
  scope: 'assets:read' | 'transactions:read'
  /** Further columns of `shown`, over the connection `c`. */
  columns?: string
  /** A subquery of one row, over `shown`. */
  result: string
}

export function authorizedReadText({ scope, columns, result }: AuthorizedReadText): string {
  return `with caller as materialized (${callerCte}),
    shown as materialized (
      select ${connectionColumns}${columns === undefined ? '' : `, ${columns}`}
      from caller join readable_connections c on c.user_key = $1::bigint
      where '${scope}' = any(caller.scopes))
    select ${callerColumn}, ${issues}, result.*
    from caller left join lateral (${result}) result on '${scope}' = any(caller.scopes)`
}

/** The same for a user who is known already; $1 is the user's key. */
export function knownUserText({ columns, result }: Omit<AuthorizedReadText, 'scope'>): string {
  return `with shown as materialized (
      select ${connectionColumns}${columns === undefined ? '' : `, ${columns}`}
      from readable_connections c where c.user_key = $1::bigint)
    ${result}`
}

/** Undefined when the token is not valid. */
export async function readAuthorized<Row extends object>(
  sql: Sql,
  { userKey, tokenHash }: UncheckedToken,
  text: string,
  values: readonly unknown[],
): Promise<AuthorizedRead<Row> | undefined> {
  const now = sql.now()
  const row = await sql.maybeRow<CallerRow & Row>(text, [userKey, tokenHash, now, ...values])
  if (row === undefined) return undefined
  const { caller, issues: found } = row
  const [tenantKey, tenantId, clientId, userId, grantId, scopes] = caller
  return {
    caller: { tenantKey, tenantId, clientId, userKey, userId, grantId, scopes: new Set(scopes) },
    issues: found === null ? [] : toIssues(found, now),
    result: row,
  }
}

function toIssues(rows: readonly FoundIssue[], now: string): ErrorItem[] {
  return rows
    .toSorted((a, b) => Date.parse(a.added_at) - Date.parse(b.added_at) || (a.id < b.id ? -1 : 1))
    .slice(0, issuesMax)
    .map((row) => toIssue(row, Date.parse(now)))
}

/** A page as a statement returns it, with one item more than asked for when there is one. */
export interface ItemsRow {
  items: string | null
  count: number
}

/** The items of a page, without the extra one that shows that another page follows. */
export function cutItems({ items, count }: ItemsRow, limit: number): { items: string; isLast: boolean } {
  if (items === null) return { items: '', isLast: true }
  if (count <= limit) return { items, isLast: true }
  return { items: items.slice(0, items.lastIndexOf(',\n')), isLast: false }
}
