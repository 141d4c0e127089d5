/**
 * A page of all of a tenant's transactions, without filters, in one round trip: the statement checks the token and
 * returns the caller, what is wrong with the connections of the users on the page, and the page as one text. An invalid
 * token gives no row; a token without the scope gives the caller and an empty page, which http answers with a 403.
 * Pages with filters are in transactions-store.ts.
 *
 * With 10,000 users and 500,000 transactions it costs PostgreSQL 1.08 times what the bare prototype's statement costs
 * (1,119 and 1,038 µs, November 2026), although it also checks clients and issues. That rests on three things:
 * - The outer limit is a parameter and the inner one a constant. With the parameter alone, PostgreSQL plans every
 *   request again, because a plan for any limit looks expensive (see portfolio/pages-query-store.ts); that took 0.5 ms.
 * - Whether a row may be shown is found with its connection, which PostgreSQL remembers (Memoize). The rows of a user
 *   who has ended a consent may be the newest million, and each was looked up by itself.
 * - Issues are found by connections_unsettled, which has only the connections that have one. By the users' connections
 *   they took 0.3 ms.
 */
import type { ErrorItem } from '@assay/core'
import { toIssue, type IssueRow } from '../../connections/index.ts'
import type { Sql } from '../../db/index.ts'
import { clientCallerCte, type Caller } from '../../oauth/index.ts'
import { coveredRowByRow } from '../grants.ts'
import type { TenantPageRequest } from './transactions-query-store.ts'

export interface AuthorizedTenantPage {
  caller: Caller
  /** One for each connection that is not up to date, of the users on the page. */
  issues: ErrorItem[]
  /** Ready JSON, separated by commas. */
  items: string
  /** Whose rows are shown. */
  userKeys: string[]
  /** Where the next page continues; undefined after the last row. */
  end: { occurredAt: string; id: string } | undefined
}

interface TenantRow {
  caller: [tenantKey: number, tenantId: string, clientId: string, scopes: string[]]
  items: string | null
  count: number | null
  last_at: string | null
  last_id: string | null
  issues: FoundIssue[] | null
  user_keys: string[] | null
}

interface FoundIssue extends IssueRow {
  added_at: string
}

/** The most that a request can ask for, and one more. */
const rowsMax = 101
const issuesMax = 100
const newestFirst = 't.occurred_at desc, t.id desc'

const callerColumn = `json_build_array(caller.tenant_key, caller.tenant_id, caller.client_id, caller.scopes) as caller`

/** The values are ids and times, so none needs escaping. */
const item = `'{"id":"txn_' || encode(uuid_send(t.id), 'hex') || '","user_id":"' || c.user_id || '","provider_id":"'
  || c.provider_id || '","connection_id":"' || c.id || '","updated_at":"'
  || to_char(greatest(t.updated_at, c.shown_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '",' || t.document`

/**
 * Parameters: $1 token_hash, $2 the present, $3 the limit, $4 the last row that is shown, $5 and $6 the point.
 *
 * The page and its issues are tables of their own and not laterals of the caller: a distributed database finds the
 * caller on one node, asks every node for its part of the page, and puts the answer together on the first.
 */
function toText(hasPoint: boolean): string {
  const range = hasPoint ? 'and (t.occurred_at, t.id) < ($5::timestamptz, $6::uuid)' : ''
  return `with caller as materialized (${clientCallerCte}), page as materialized (
      select * from (
        select t.occurred_at, t.id, t.user_key, ${item} as item
        from transactions t
        cross join lateral (
          select c.id, c.user_id, c.provider_id, c.shown_at from readable_connections c
          where c.user_key = t.user_key and c.connection_key = t.connection_key
            and ${coveredRowByRow('c', 'transactions:read', '$2')} offset 0) c
        where t.tenant_key = (select caller.tenant_key from caller where 'enterprise:read' = any(caller.scopes)) ${range}
        order by ${newestFirst} limit ${rowsMax}) t
      order by ${newestFirst} limit $3::bigint
    ), issues as materialized (
      select c.id, c.provider_id, c.status, c.status_cause, c.status_message, c.next_sync_at, c.added_at
      from readable_connections c
      where c.user_key = any(array(select page.user_key from page)) and c.status in ('syncing', 'degraded', 'needs_reauth')
        and ${coveredRowByRow('c', 'providers:read', '$2')}
    )
    select ${callerColumn}, shown.*, (select json_agg(row_to_json(i)) from issues i) as issues
    from caller, (
      select string_agg(page.item, E',\\n') as items, count(*)::integer as count,
        (array_agg(page.occurred_at))[$4::integer] as last_at, (array_agg(page.id))[$4::integer] as last_id,
        array_agg(page.user_key) as user_keys
      from page) shown`
}

const firstPage = toText(false)
const laterPage = toText(true)

/** Undefined when the token is not valid. */
export async function readTenantPage(
  sql: Sql,
  tokenHash: Buffer,
  { limit, after }: Pick<TenantPageRequest, 'limit' | 'after'>,
): Promise<AuthorizedTenantPage | undefined> {
  const now = sql.now()
  const point = after === undefined ? [] : [after.occurredAt, after.id.replace('txn_', '')]
  const text = after === undefined ? firstPage : laterPage
  const row = await sql.maybeRow<TenantRow>(text, [tokenHash, now, limit + 1, limit, ...point])
  if (row === undefined) return undefined
  const { caller, items, count, last_at: occurredAt, last_id: id, issues: found } = row
  const isLast = items === null || (count ?? 0) <= limit || occurredAt === null || id === null
  return {
    caller: toCaller(caller),
    issues: found === null ? [] : toIssues(found, Date.parse(now)),
    // In row order, so the row beyond the page is the last one.
    userKeys: [...new Set((row.user_keys ?? []).slice(0, limit))],
    items: isLast ? (items ?? '') : items.slice(0, items.lastIndexOf(',\n')),
    end: isLast ? undefined : { occurredAt, id },
  }
}

/** The caller alone, for a page that takes more than one statement. */
export async function findCaller(sql: Sql, tokenHash: Buffer): Promise<AuthorizedTenantPage['caller'] | undefined> {
  const text = `with caller as materialized (${clientCallerCte}) select ${callerColumn} from caller`
  const row = await sql.maybeRow<Pick<TenantRow, 'caller'>>(text, [tokenHash, sql.now()])
  return row && toCaller(row.caller)
}

function toCaller([tenantKey, tenantId, clientId, scopes]: TenantRow['caller']): AuthorizedTenantPage['caller'] {
  return { tenantKey, tenantId, clientId, userKey: null, userId: null, grantId: null, scopes: new Set(scopes) }
}

function toIssues(rows: readonly FoundIssue[], nowMs: number): ErrorItem[] {
  return rows
    .toSorted((a, b) => Date.parse(a.added_at) - Date.parse(b.added_at) || (a.id < b.id ? -1 : 1))
    .slice(0, issuesMax)
    .map((row) => toIssue(row, nowMs))
}
