/**
 * The texts of a tenant's page queries. A page is newest first by (occurred_at, id), and its point is part of every
 * range, never an OFFSET. One of these leads to the rows, and all other filters become conditions on them:
 *
 * - `walk`: the page index of the tenant, or of a user, from the point on, until the page is full.
 * - `near`: the same over the next 100 rows only. Enough for filters that hit often.
 * - `kind`: the kinds there are (provider or connection, category, type), found by stepping over their index from one
 *   to the next, and the newest rows of each kind that is wanted. The kinds of a tenant are found before.
 * - `asset`: for each user and asset the newest rows, by the postings. Pending transactions have none and are few, so
 *   their texts are looked into.
 * - `update`: for each user, everything that changed since then, sorted.
 *
 * The last two are led by users and not by the tenant, because an index of a tenant's postings would cost every write
 * for the sake of a rare question. A probe for each user takes some microseconds.
 *
 * An ORDER BY stands wherever an index must lead: for a bare LIMIT PostgreSQL may choose to scan the table. An OFFSET 0
 * stands where a look-up must stay one: for a thousand of them PostgreSQL may read and hash a whole table.
 *
 * A distributed database runs the statement for a tenant on each shard and merges what it found. It can do that as long
 * as every part joins by the user's key, and a lateral with a LIMIT refers to tables of users only. So kinds and assets
 * of a tenant's page are parts of the text, one after the other, and not rows that a lateral refers to.
 */
import { firstSeqAt, type Filter, type Lead, type TransactionFilters } from '../../portfolio/index.ts'
import { coveredRowByRow, isLive } from '../grants.ts'

/** The filters of one user's list, except connections, which TenantReach resolves first. */
export type TenantFilters = Omit<TransactionFilters, 'connectionIds'>

export interface TenantPageRequest {
  filters: TenantFilters
  limit: number
  /** The last row of the page before. */
  after: { occurredAt: string; id: string } | undefined
}

export interface TenantReach {
  tenantKey: number
  /** The key of one user; null for all of the tenant's. The users' live grants decide whose rows are shown. */
  user: string | null
  /** Only these connections of the user. */
  connectionKeys?: readonly number[] | undefined
  /** The moment at which grants are checked. */
  now: string
}

/** The columns that rows of one kind share and that can be filtered by. */
export interface Kind {
  provider_id: string
  category: string
  type: string
}

/** What was looked up before the page of a tenant is read. */
export interface Found {
  /** The requested kinds. */
  kinds: readonly Kind[]
  /** The keys of the requested assets. */
  assetKeys: readonly number[]
}

export interface TenantStatement {
  text: string
  values: readonly unknown[]
}

const newestFirst = 't.occurred_at desc, t.id desc'
const nearMax = 100

/** The filters that can lead to the rows, besides the order of the page. */
export function listLeads({ connectionKeys }: TenantReach, filters: TenantFilters): Filter[] {
  const { providerIds, types, categories } = filters
  const leads: Filter[] = []
  if (filters.assetSymbols !== undefined) leads.push('asset')
  if ([connectionKeys, providerIds, types, categories].some((wanted) => wanted !== undefined)) leads.push('kind')
  if (filters.updatedSince !== undefined) leads.push('update')
  return leads
}

export function pageStatement(
  reach: TenantReach,
  request: TenantPageRequest,
  lead: Lead,
  found: Found,
): TenantStatement {
  const parts = createParts(reach, request, found)
  const conditions = [...(lead === 'kind' ? [] : parts.ofKind('t')), ...parts.updated()]
  if (request.filters.assetSymbols !== undefined && lead !== 'asset') conditions.push(parts.hasAsset())
  const limit = parts.bind(request.limit)
  const rows = toRows(parts, lead, conditions, limit)
  // A trade of two assets that were both asked for is found twice.
  const once = lead === 'asset' ? 'distinct on (t.occurred_at, t.id, t.user_key)' : ''
  const order = lead === 'asset' ? `${newestFirst}, t.user_key` : newestFirst
  return {
    text: `select ${once} 'txn_' || replace(t.id::text, '-', '') as id, t.user_key, t.user_id, t.connection_id,
        t.provider_id, t.occurred_at, greatest(t.updated_at, t.shown_at) as updated_at, t.document
      from (${rows}) t order by ${order} limit ${limit}`,
    values: parts.values,
  }
}

/** How many rows this filter leads to from here on, counted up to `max`. */
export function countStatement(
  reach: TenantReach,
  request: TenantPageRequest,
  lead: Filter,
  found: Found,
  max: number,
): TenantStatement {
  const parts = createParts(reach, request, found)
  const rows = toKeys(parts, lead, String(max))
  return {
    text: `select count(*)::int as rows from (select t.user_key from (${rows}) t limit ${max}) t`,
    values: parts.values,
  }
}

/** The most in one statement; a tenant with more needs further statements. */
export const kindStepsMax = 24

/**
 * The next kinds of a tenant, in the order of their index. Each step is one index look-up. It is not a recursive query,
 * because a distributed database supports those only for the rows of one user.
 */
export function kindsStatement(tenantKey: number, after: Kind | undefined): { text: string; values: unknown[] } {
  const kind = 't.provider_id, t.category, t.type'
  const step = (from: string): string => `select ${kind} from transactions t
    where t.tenant_key = $1::integer and (${kind}) > (${from}) order by ${kind} limit 1`
  const given = '$2::text, $3::transaction_category, $4::transaction_type'
  const column = (name: string, before: number): string => `(select ${name} from step_${before})`
  const steps = Array.from({ length: kindStepsMax }, (_, number) =>
    number === 0
      ? `step_0 as materialized (${step(given)})`
      : `step_${number} as materialized (${step(['provider_id', 'category', 'type'].map((name) => column(name, number - 1)).join(', '))})`,
  )
  const all = steps.map((_, number) => `select * from step_${number}`).join(' union all ')
  return {
    text: `with ${steps.join(', ')} ${all}`,
    values: [tenantKey, after?.provider_id ?? '', after?.category ?? 'trade', after?.type ?? 'input_only'],
  }
}

function createBinder() {
  const values: unknown[] = []
  const bind = (value: unknown): string => `$${values.push(value)}`
  return {
    values,
    bind,
    /** Bound on first use, because PostgreSQL refuses a parameter that is not in the text. */
    bindOnce(value: unknown): () => string {
      let name: string | undefined
      return () => (name ??= bind(value))
    },
  }
}

function createParts(reach: TenantReach, { filters, after }: TenantPageRequest, found: Found) {
  const { values, bind, bindOnce } = createBinder()
  const now = bindOnce(reach.now)
  const tenant = bindOnce(reach.tenantKey)
  const isTenantWide = reach.user === null
  const user = bindOnce(reach.user)
  const userKey = (): string => `${user()}::bigint`
  const live = (): string => `${isLive('g', now())} and 'transactions:read' = any(g.scopes)`
  const symbols = bindOnce(filters.assetSymbols)
  const since = bindOnce(firstSeqAt(filters.updatedSince ?? '1970-01-01'))

  return {
    values,
    bind,
    isTenantWide,
    found,
    /** The rows that may be shown: those of the tenant's users whom a grant covers, or those of one user. */
    within: (): string => (isTenantWide ? `t.tenant_key = ${tenant()}::integer` : `t.user_key = ${userKey()}`),
    covered: (): string =>
      isTenantWide ? 'true' : `exists (select 1 from grant_terms g where g.user_key = ${userKey()} and ${live()})`,
    /** Of a whole tenant, asked of the connection `c` of a row: PostgreSQL remembers the answer for its other rows. */
    coveredRow: (): string => (isTenantWide ? coveredRowByRow('c', 'transactions:read', now()) : 'true'),
    /** The users to examine one by one, when the leading filter has no index for the tenant. */
    users: (more = 'true'): string =>
      `(select distinct g.user_key from grant_terms g join user_changes s on s.user_key = g.user_key
        where ${isTenantWide ? `g.tenant_key = ${tenant()}::integer` : `g.user_key = ${userKey()}`}
          and ${live()} and ${more}) u`,
    /**
     * How a part of the statement names its user: by key, or by the user in another part. The key is repeated in each
     * part, because a subquery with an OFFSET 0 does not learn it from the others, and all of them have to lead to one
     * shard.
     */
    ofUser: (alias: string, from = 'u'): string =>
      `${alias}.user_key = ${isTenantWide ? `${from}.user_key` : userKey()}`,
    // The text contains only the requested filters: a parameter that may be null would hide the range from the planner.
    range(time: string, id: string): string {
      const conditions = ['true']
      if (filters.startTime !== undefined) conditions.push(`${time} >= ${bind(filters.startTime)}::timestamptz`)
      if (filters.endTime !== undefined) conditions.push(`${time} < ${bind(filters.endTime)}::timestamptz`)
      if (after !== undefined) {
        const uuid = after.id.replace('txn_', '')
        conditions.push(`(${time}, ${id}) < (${bind(after.occurredAt)}::timestamptz, ${bind(uuid)}::uuid)`)
      }
      return conditions.join(' and ')
    },
    ofKind(alias: string): string[] {
      const wanted: [string, string, readonly string[] | undefined][] = [
        ['type', 'transaction_type', filters.types],
        ['category', 'transaction_category', filters.categories],
        ['provider_id', 'text', filters.providerIds],
      ]
      const conditions = wanted.flatMap(([name, type, among]) =>
        among === undefined ? [] : [`${alias}.${name} = any(${bind(among)}::${type}[])`],
      )
      if (reach.connectionKeys !== undefined) {
        conditions.push(`${alias}.connection_key = any(${bind(reach.connectionKeys)}::integer[])`)
      }
      return conditions
    },
    /** For a row with its connection `c`. */
    updated: (): string[] =>
      filters.updatedSince === undefined
        ? []
        : [`greatest(t.updated_at, c.shown_at) >= ${bind(filters.updatedSince)}::timestamptz`],
    since: (): string => `${since()}::bigint`,
    assetKeys: (): string => `select a.asset_key from assets a where a.symbol = any(${symbols()}::text[])`,
    // The document is a text without its first brace.
    namesAsset: (): string => `exists (
      select from jsonb_path_query(('{' || t.document)::jsonb, '$.**.asset_symbol') as named (symbol)
      where named.symbol #>> '{}' = any(${symbols()}::text[]))`,
    hasAsset(): string {
      return `case when t.pending then ${this.namesAsset()} else exists (
        select from postings p where ${this.ofUser('p', 't')} and p.transaction_id = t.id
          and p.asset_key in (${this.assetKeys()}) offset 0) end`
    },
  }
}

type Parts = ReturnType<typeof createParts>

/** A row with what its connection adds; rows of connections that are not shown are left out. */
const shown = (parts: Parts, more = 'true'): string => `cross join lateral (
  select c.id as connection_id, c.user_id, c.shown_at from readable_connections c
  where ${parts.ofUser('c', 't')} and c.connection_key = t.connection_key and ${more} offset 0) c`
const seen = 't.*, c.connection_id, c.user_id, c.shown_at'

/** The rows, with conditions on `t` and its connection `c`. */
function toRows(parts: Parts, lead: Lead, conditions: readonly string[], limit: string): string {
  const fits = ['true', ...conditions].join(' and ')
  const inRange = (): string => `${parts.within()} and ${parts.range('t.occurred_at', 't.id')}`
  const walk = (more: string): string => `select ${seen} from transactions t ${shown(parts, parts.coveredRow())}
    where ${inRange()} and ${more} and ${parts.covered()} and ${fits} order by ${newestFirst} limit ${limit}`
  switch (lead) {
    case 'walk':
      return walk('true')
    case 'near': {
      // Up to the hundredth row, which was found before: otherwise a distributed database would collect the hundred
      // rows and send them back.
      const edge = (column: string, end: string): string => `coalesce(
        (select t.${column} from transactions t where ${inRange()} order by ${newestFirst} offset ${nearMax - 1} limit 1), ${end})`
      return walk(`(t.occurred_at, t.id) >= (
        ${edge('occurred_at', `'-infinity'::timestamptz`)}, ${edge('id', `'00000000-0000-0000-0000-000000000000'::uuid`)})`)
    }
    case 'kind':
      return byKind(parts, seen, fits, limit)
    case 'asset':
      return `select t.* from ${parts.users()}, lateral (
        ${byPosting(parts, seen, fits, limit)} union all ${byPendingText(parts, fits, limit)}) t`
    case 'update':
      return byChange(parts, seen, fits)
  }
}

/** The rows that the lead finds, before the other filters apply. */
function toKeys(parts: Parts, lead: Filter, limit: string): string {
  const key = 't.user_key, t.id'
  switch (lead) {
    case 'kind':
      return byKind(parts, key, 'true', limit)
    case 'asset':
      return `select t.* from ${parts.users()}, lateral (${byPosting(parts, key, 'true', limit)}) t`
    case 'update':
      return byChange(parts, key, 'true')
  }
}

function byKind(parts: Parts, columns: string, fits: string, limit: string): string {
  const within = parts.within()
  const newest = (ofKind: string): string => `select ${columns} from transactions t ${shown(parts, parts.coveredRow())}
    where ${within} and ${parts.range('t.occurred_at', 't.id')} and ${parts.covered()} and ${fits} and ${ofKind}
    order by ${newestFirst} limit ${limit}`
  if (parts.isTenantWide) {
    const arms = parts.found.kinds.map(({ provider_id: providerId, category, type }) =>
      newest(`t.provider_id = ${parts.bind(providerId)}::text and t.category = ${parts.bind(category)}::transaction_category
        and t.type = ${parts.bind(type)}::transaction_type`),
    )
    return arms.map((arm) => `(${arm})`).join(' union all ')
  }
  return `${kindsOf(within)}
    select t.* from kinds k, lateral (
      ${newest('t.connection_key = k.connection_key and t.category = k.category and t.type = k.type')}) t
    where ${['true', ...parts.ofKind('k')].join(' and ')}`
}

/** Few assets share a symbol, except worthless ones that copied it. Those share a part, because few users hold them. */
const assetPartsMax = 8

function byPosting(parts: Parts, columns: string, fits: string, limit: string): string {
  const own = parts.found.assetKeys.slice(0, assetPartsMax).map((key) => `p.asset_key = ${parts.bind(key)}::integer`)
  const rest = parts.found.assetKeys.slice(assetPartsMax)
  if (rest.length > 0) own.push(`p.asset_key = any(${parts.bind(rest)}::integer[])`)
  // A transaction with a fee in the same asset has two postings of it.
  return own
    .map(
      (ofAsset) => `(select distinct on (p.occurred_at, p.transaction_id) ${columns} from postings p
      cross join lateral (
        select t.* from transactions t where ${parts.ofUser('t', 'p')} and t.id = p.transaction_id offset 0) t ${shown(parts)}
      where ${parts.ofUser('p')} and ${ofAsset} and ${parts.range('p.occurred_at', 'p.transaction_id')} and ${fits}
      order by p.occurred_at desc, p.transaction_id desc limit ${limit})`,
    )
    .join(' union all ')
}

function byPendingText(parts: Parts, fits: string, limit: string): string {
  return `(select ${seen} from transactions t ${shown(parts)}
    where ${parts.ofUser('t')} and t.pending and ${parts.range('t.occurred_at', 't.id')} and ${fits} and ${parts.namesAsset()}
    order by ${newestFirst} limit ${limit})`
}

/** Rows that changed, and all rows of a connection that was shown since then. */
function byChange(parts: Parts, columns: string, fits: string): string {
  return `select t.* from ${parts.users(`s.change_seq >= ${parts.since()}`)}, lateral (
    select ${columns} from (
      select t.* from transactions t where ${parts.ofUser('t')} and t.change_seq >= ${parts.since()}
      union all
      select t.* from readable_connections c
      join transactions t on t.user_key = c.user_key and t.connection_key = c.connection_key
      where ${parts.ofUser('c')} and c.shown_seq >= ${parts.since()} and t.change_seq < ${parts.since()}
    ) t ${shown(parts)}
    where ${parts.range('t.occurred_at', 't.id')} and ${fits}) t`
}

/**
 * A user's kinds, from one to the next: each step is one index look-up. A row shows the provider, too, because all rows
 * of a connection have one.
 */
function kindsOf(within: string): string {
  const kind = 't.connection_key, t.category, t.type'
  return `with recursive kinds as (
    (select ${kind}, t.provider_id from transactions t where ${within} order by ${kind} limit 1)
    union all
    select next.* from kinds k, lateral (
      select ${kind}, t.provider_id from transactions t
      where ${within} and (${kind}) > (k.connection_key, k.category, k.type)
      order by ${kind} limit 1) next
  )`
}
