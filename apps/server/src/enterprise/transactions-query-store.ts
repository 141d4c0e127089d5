/**
 * The texts of a tenant's page queries. A page is newest first by (occurred_at, id), and its place is part of every range,
 * never an OFFSET. One of these leads to the rows, and all other filters become conditions on them:
 *
 * - `walk`: the tenant's page index from the place on, until the page is full; for some users, the page index of each.
 * - `near`: the same over the next 100 rows of the tenant only. Enough for filters that hit often.
 * - `kind`: lists the kinds that exist (provider or connection, category, type) by stepping over their index from one
 *   to the next, then reads the newest rows of each wanted kind.
 * - `asset`: for each user and asset the newest rows, by the postings. Pending transactions have none and are few, so
 *   their texts are looked into.
 * - `update`: for each user, everything that changed since then, sorted.
 *
 * The last two are led by users and not by the tenant, because an index of a tenant's postings would cost every write for
 * the sake of a rare question. A probe for each user takes some microseconds.
 *
 * An ORDER BY stands wherever an index must lead: for a bare LIMIT PostgreSQL may choose to scan the table. An OFFSET 0
 * stands where a look-up must stay one: for a thousand of them PostgreSQL may read and hash a whole table.
 */
import type { Filter, Lead, TransactionFilters } from '../portfolio/index.ts'
import { coveredRowByRow, isLive } from './grants.ts'

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
  /** The keys of some users, or all of the tenant's. Live grants decide whose rows are shown. */
  users: readonly string[] | 'all'
  /** Only these connections, of the users above. */
  connections?: readonly { user_key: string; connection_key: number }[] | undefined
  /** The time at which grants are checked. */
  now: string
}

export interface TenantStatement {
  text: string
  values: readonly unknown[]
}

const newestFirst = 't.occurred_at desc, t.id desc'
const nearMax = 100

/** What can lead to the rows of these filters, besides the order of the page. */
export function listLeads({ connections }: TenantReach, filters: TenantFilters): Filter[] {
  const { providerIds, types, categories } = filters
  const leads: Filter[] = []
  if (filters.assetSymbols !== undefined) leads.push('asset')
  if ([connections, providerIds, types, categories].some((wanted) => wanted !== undefined)) leads.push('kind')
  if (filters.updatedSince !== undefined) leads.push('update')
  return leads
}

export function pageStatement(reach: TenantReach, request: TenantPageRequest, lead: Lead): TenantStatement {
  const parts = createParts(reach, request)
  const conditions = [...(lead === 'kind' ? [] : parts.ofKind('t')), ...parts.updated()]
  if (request.filters.assetSymbols !== undefined && lead !== 'asset') conditions.push(parts.hasAsset())
  const limit = parts.bind(request.limit)
  const rows = toRows(parts, lead, conditions, limit)
  // The query finds a trade of two requested assets twice.
  const once = lead === 'asset' ? 'distinct on (t.occurred_at, t.id)' : ''
  return {
    text: `select ${once} 'txn_' || replace(t.id::text, '-', '') as id, t.user_key, t.user_id, t.connection_id,
        t.provider_id, t.occurred_at, greatest(t.updated_at, t.shown_at) as updated_at, t.document
      from (${rows}) t order by ${newestFirst} limit ${limit}`,
    values: parts.values,
  }
}

/** How many rows this filter leads to from here on, counted up to `max`. */
export function countStatement(
  reach: TenantReach,
  request: TenantPageRequest,
  lead: Filter,
  max: number,
): TenantStatement {
  const parts = createParts(reach, request)
  const rows = toKeys(parts, lead, String(max))
  return { text: `select count(*)::int as rows from (select from (${rows}) t limit ${max}) t`, values: parts.values }
}

/** The number of the first change at this moment (ledger/changes-store.ts). */
const toChangeSeq = (time: string): string => String(BigInt(Date.parse(time)) << 20n)

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

function createParts(reach: TenantReach, { filters, after }: TenantPageRequest) {
  const { values, bind, bindOnce } = createBinder()
  const now = bindOnce(reach.now)
  const tenant = bindOnce(reach.tenantKey)
  const isTenantWide = reach.users === 'all'
  const userKeys = bindOnce(reach.users)
  const some = (): string => `(select u.user_key from unnest(${userKeys()}::bigint[]) as u (user_key)
    where ${coveredRowByRow('u', 'transactions:read', now())}) u`
  const symbols = bindOnce(filters.assetSymbols)
  const since = bindOnce(toChangeSeq(filters.updatedSince ?? '1970-01-01'))

  return {
    values,
    bind,
    isTenantWide,
    /** Which rows may be shown: those of every covered user of the tenant, or those of the user `u`. */
    within: (): string => (isTenantWide ? `t.tenant_key = ${tenant()}::integer` : `t.user_key = u.user_key`),
    covered: (): string => (isTenantWide ? coveredRowByRow('t', 'transactions:read', now()) : 'true'),
    /** The users to read one by one, when the request names some. */
    some,
    /** The same when a filter leads that has no index for the tenant. */
    users: (more = 'true'): string =>
      isTenantWide
        ? `(select distinct g.user_key from grant_terms g join user_changes s on s.user_key = g.user_key
            where g.tenant_key = ${tenant()}::integer and ${isLive('g', now())}
              and 'transactions:read' = any(g.scopes) and ${more}) u`
        : some(),
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
    ofKind(alias: string, userKey = `${alias}.user_key`): string[] {
      const wanted: [string, string, readonly string[] | undefined][] = [
        ['type', 'transaction_type', filters.types],
        ['category', 'transaction_category', filters.categories],
        ['provider_id', 'text', filters.providerIds],
      ]
      const conditions = wanted.flatMap(([name, type, among]) =>
        among === undefined ? [] : [`${alias}.${name} = any(${bind(among)}::${type}[])`],
      )
      if (reach.connections !== undefined) {
        const owners = bind(reach.connections.map((one) => one.user_key))
        const connectionKeys = bind(reach.connections.map((one) => one.connection_key))
        conditions.push(`(${userKey}, ${alias}.connection_key) in (
          select * from unnest(${owners}::bigint[], ${connectionKeys}::integer[]))`)
      }
      return conditions
    },
    /** Of a row with its connection `c`. */
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
        select from postings p where p.user_key = t.user_key and p.transaction_id = t.id
          and p.asset_key in (${this.assetKeys()}) offset 0) end`
    },
  }
}

type Parts = ReturnType<typeof createParts>

/** A row with what its connection adds; rows of connections that are not shown are left out. */
const shown = `cross join lateral (
  select c.id as connection_id, c.user_id, c.shown_at from readable_connections c
  where c.user_key = t.user_key and c.connection_key = t.connection_key offset 0) c`
const seen = 't.*, c.connection_id, c.user_id, c.shown_at'

/** The rows, with conditions on `t` and its connection `c`. */
function toRows(parts: Parts, lead: Lead, conditions: readonly string[], limit: string): string {
  const fits = ['true', ...conditions].join(' and ')
  const inRange = (): string => `${parts.within()} and ${parts.range('t.occurred_at', 't.id')}`
  switch (lead) {
    case 'walk':
      return perUser(
        parts,
        `select ${seen} from transactions t ${shown} where ${inRange()} and ${parts.covered()} and ${fits}
         order by ${newestFirst} limit ${limit}`,
      )
    case 'near':
      return perUser(
        parts,
        `select ${seen} from (
           select t.* from transactions t where ${inRange()} order by ${newestFirst} limit ${nearMax}) t ${shown}
         where ${parts.covered()} and ${fits} order by ${newestFirst} limit ${limit}`,
      )
    case 'kind':
      return byKind(parts, seen, fits, limit)
    case 'asset':
      // Both subqueries share one lookup of the users.
      return `with people as materialized (select u.user_key from ${parts.users()})
        ${byPosting(parts, seen, fits, limit, 'people u')} union all ${byPendingText(parts, fits, limit, 'people u')}`
    case 'update':
      return byChange(parts, seen, fits)
  }
}

/** The rows that the lead finds, before the other filters apply. */
function toKeys(parts: Parts, lead: Filter, limit: string): string {
  switch (lead) {
    case 'kind':
      return byKind(parts, 't.id', 'true', limit)
    case 'asset':
      return byPosting(parts, 't.id', 'true', limit)
    case 'update':
      return byChange(parts, 't.id', 'true')
  }
}

function perUser(parts: Parts, text: string): string {
  return parts.isTenantWide ? text : `select t.* from ${parts.some()}, lateral (${text}) t`
}

function byKind(parts: Parts, columns: string, fits: string, limit: string): string {
  const first = parts.isTenantWide ? 'provider_id' : 'connection_key'
  const within = parts.within()
  return perUser(
    parts,
    `${kindsOf(within, first)}
     select t.* from kinds k, lateral (
       select ${columns} from transactions t ${shown}
       where ${within} and ${parts.range('t.occurred_at', 't.id')} and ${parts.covered()} and ${fits}
         and t.${first} = k.${first} and t.category = k.category and t.type = k.type
       order by ${newestFirst} limit ${limit}) t
     where ${['true', ...parts.ofKind('k', 'u.user_key')].join(' and ')}`,
  )
}

function byPosting(parts: Parts, columns: string, fits: string, limit: string, users = parts.users()): string {
  // A transaction with a fee in the same asset has two postings of it.
  return `select t.* from ${users}, unnest(array(${parts.assetKeys()})) as a (asset_key), lateral (
    select distinct on (p.occurred_at, p.transaction_id) ${columns} from postings p
    cross join lateral (
      select t.* from transactions t where t.user_key = p.user_key and t.id = p.transaction_id offset 0) t ${shown}
    where p.user_key = u.user_key and p.asset_key = a.asset_key
      and ${parts.range('p.occurred_at', 'p.transaction_id')} and ${fits}
    order by p.occurred_at desc, p.transaction_id desc limit ${limit}) t`
}

function byPendingText(parts: Parts, fits: string, limit: string, users: string): string {
  return `select t.* from ${users}, lateral (
    select ${seen} from transactions t ${shown}
    where t.user_key = u.user_key and t.pending and ${parts.range('t.occurred_at', 't.id')}
      and ${fits} and ${parts.namesAsset()}
    order by ${newestFirst} limit ${limit}) t`
}

/** Rows that changed, and all rows of a connection that was shown since then. */
function byChange(parts: Parts, columns: string, fits: string): string {
  return `select t.* from ${parts.users(`s.change_seq >= ${parts.since()}`)}, lateral (
    select ${columns} from (
      select t.* from transactions t where t.user_key = u.user_key and t.change_seq >= ${parts.since()}
      union all
      select t.* from readable_connections c
      join transactions t on t.user_key = c.user_key and t.connection_key = c.connection_key
      where c.user_key = u.user_key and c.shown_seq >= ${parts.since()} and t.change_seq < ${parts.since()}
    ) t ${shown}
    where ${parts.range('t.occurred_at', 't.id')} and ${fits}) t`
}

/**
 * Steps from one kind to the next, with one index lookup per step. A row also gives the provider, because all rows of a
 * connection have the same one.
 */
function kindsOf(within: string, first: 'connection_key' | 'provider_id'): string {
  const kind = `t.${first}, t.category, t.type`
  const found = first === 'connection_key' ? `${kind}, t.provider_id` : kind
  return `with recursive kinds as (
    (select ${found} from transactions t where ${within} order by ${kind} limit 1)
    union all
    select next.* from kinds k, lateral (
      select ${found} from transactions t where ${within} and (${kind}) > (k.${first}, k.category, k.type)
      order by ${kind} limit 1) next
  )`
}
