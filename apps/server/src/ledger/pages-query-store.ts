/**
 * The texts of page queries: which index leads to the rows, with all other filters as conditions on what it finds. A page
 * is newest first by (occurred_at, id), and its place is part of every range, never an OFFSET.
 *
 * - `walk`: the page index from the place on, until the page is full. Without filters 31 rows, 34 buffers.
 * - `near`: the same over the next 100 rows only, 105 buffers. Enough for filters that hit often.
 * - `asset`: for each symbol its own newest rows, by the narrow table.
 * - `kind`: the kinds there are (migration 0018), found by stepping over the index from one to the next, and for each that
 *   is wanted its own newest rows. 5 buffers for each kind there is, then a buffer or so for each row.
 * - `update`: everything changed since then, sorted.
 *
 * An ORDER BY stands wherever an index must lead: of a bare LIMIT PostgreSQL may think that a scan of the table will do.
 * An OFFSET 0 stands where a look-up must stay one: for a thousand of them PostgreSQL may read and hash a whole table.
 */

export interface TransactionFilters {
  /** Included. */
  startTime?: string | undefined
  /** Excluded. */
  endTime?: string | undefined
  providerIds?: readonly string[] | undefined
  connectionIds?: readonly string[] | undefined
  assetSymbols?: readonly string[] | undefined
  types?: readonly string[] | undefined
  categories?: readonly string[] | undefined
  /** Changed at this moment or later. */
  updatedSince?: string | undefined
}

export interface PageRequest {
  filters: TransactionFilters
  limit: number
  /** The last row of the page before. */
  after: { occurredAt: string; id: string } | undefined
}

/** Whose rows, and which of them may be seen. */
export interface Reach {
  tenantId: string
  users: { one: string } | { some: readonly string[] } | 'all'
  /** A condition on the row `t`. $1 is the tenant, and $2 the user if it is one. */
  visible: string
}

export type Filter = 'asset' | 'kind' | 'update'
export type Lead = 'walk' | 'near' | Filter

export interface Statement {
  text: string
  values: readonly unknown[]
}

const columns = 't.id, t.user_id, t.connection_id, t.provider_id, t.occurred_at, t.updated_at, t.document'
const newestFirst = 't.occurred_at desc, t.id desc'
const nearMax = 100

/** What can lead to the rows of these filters, besides the order of the page. */
export function listLeads(filters: TransactionFilters): Filter[] {
  const { providerIds, connectionIds, types, categories } = filters
  const leads: Filter[] = []
  if (filters.assetSymbols !== undefined) leads.push('asset')
  if ([providerIds, connectionIds, types, categories].some((wanted) => wanted !== undefined)) leads.push('kind')
  if (filters.updatedSince !== undefined) leads.push('update')
  return leads
}

export function pageStatement(reach: Reach, request: PageRequest, lead: Lead): Statement {
  const parts = createParts(reach, request)
  const conditions = [reach.visible, ...(lead === 'kind' ? [] : parts.kindConditions('t'))]
  if (request.filters.updatedSince !== undefined && lead !== 'update') conditions.push(parts.updated())
  if (request.filters.assetSymbols !== undefined && lead !== 'asset') conditions.push(parts.hasAsset())
  const limit = parts.bind(request.limit)
  const rows = parts.overUsers(createLeads(parts).rows[lead](conditions.join(' and '), limit))
  // A trade of two symbols that were both asked for is found twice.
  const once = lead === 'asset' ? 'distinct on (t.occurred_at, t.id)' : ''
  return {
    text: `select ${once} ${columns} from ${rows} order by ${newestFirst} limit ${limit}`,
    values: parts.values,
  }
}

/** How many rows this one leads to from here on, as far as `max`. */
export function countStatement(reach: Reach, request: PageRequest, lead: Filter, max: number): Statement {
  const parts = createParts(reach, request)
  const rows = parts.overUsers(createLeads(parts).keys[lead](String(max)))
  return { text: `select count(*)::int as rows from (select from ${rows} limit ${max}) found`, values: parts.values }
}

function createParts(reach: Reach, { filters, after }: PageRequest) {
  const { users } = reach
  const one = users !== 'all' && 'one' in users ? users.one : undefined
  const some = users !== 'all' && 'some' in users ? users.some : undefined
  const values: unknown[] = [reach.tenantId, ...(one === undefined ? [] : [one])]
  const bind = (value: unknown): string => `$${values.push(value)}`

  const first: 'connection_id' | 'provider_id' = users === 'all' ? 'provider_id' : 'connection_id'
  const within = (alias: string): string => {
    const user = one !== undefined ? '$2' : some !== undefined ? 'u.user_id' : undefined
    return `${alias}.tenant_id = $1${user === undefined ? '' : ` and ${alias}.user_id = ${user}`}`
  }
  // Only what was asked for is in the text: a parameter that may be null would hide the range from the planner.
  const range = (alias: string): string => {
    const conditions = [within(alias)]
    if (filters.startTime !== undefined) conditions.push(`${alias}.occurred_at >= ${bind(filters.startTime)}`)
    if (filters.endTime !== undefined) conditions.push(`${alias}.occurred_at < ${bind(filters.endTime)}`)
    if (after !== undefined)
      conditions.push(`(${alias}.occurred_at, ${alias}.id) < (${bind(after.occurredAt)}, ${bind(after.id)})`)
    return conditions.join(' and ')
  }
  const kindConditions = (alias: string): string[] => {
    const wanted: [string, readonly string[] | undefined][] = [
      ['type', filters.types],
      ['category', filters.categories],
      ['provider_id', filters.providerIds],
      ['connection_id', filters.connectionIds],
    ]
    return wanted.flatMap(([name, among]) =>
      among === undefined ? [] : [`${alias}.${name} = any(${bind(among)}::text[])`],
    )
  }
  const updated = (): string => `t.updated_at >= ${bind(filters.updatedSince)}`
  const hasAsset = (): string => `exists (select from transaction_assets a where a.tenant_id = t.tenant_id
    and a.user_id = t.user_id and a.id = t.id and a.asset_symbol = any(${bind(filters.assetSymbols)}::text[]) offset 0)`

  const overUsers = (text: string): string =>
    some === undefined ? `(${text}) t` : `unnest(${bind(some)}::text[]) as u (user_id), lateral (${text}) t`

  const symbols = (): string => `unnest(${bind(filters.assetSymbols)}::text[]) as wanted (symbol)`

  return { values, bind, within, range, kindConditions, updated, hasAsset, symbols, overUsers, first }
}

type Parts = ReturnType<typeof createParts>

/** The rows, newest first but for `update`, with conditions on `t`; and for filters also what is enough to count them. */
function createLeads({ within, range, kindConditions, updated, symbols, first }: Parts) {
  const walk = (conditions: string, limit: string): string =>
    `select t.* from transactions t where ${range('t')} and ${conditions} order by ${newestFirst} limit ${limit}`

  const ofKinds = (select: string, conditions: string, limit: string): string =>
    `${kindsOf(within('t'), first)}
     ${select} from kinds k, lateral (
       ${select} from transactions t
       where ${range('t')} and t.${first} = k.${first} and t.category = k.category and t.type = k.type and ${conditions}
       order by ${newestFirst} limit ${limit}) t
     where ${kindConditions('k').join(' and ')}`
  const rows: Record<Lead, (conditions: string, limit: string) => string> = {
    walk,
    near: (conditions, limit) =>
      `select t.* from (${walk('true', String(nearMax))}) t where ${conditions} order by ${newestFirst} limit ${limit}`,
    asset: (conditions, limit) =>
      `select t.* from ${symbols()}, lateral (
         select t.* from transaction_assets a, lateral (
           select t.* from transactions t
           where t.tenant_id = a.tenant_id and t.user_id = a.user_id and t.id = a.id offset 0) t
         where ${range('a')} and a.asset_symbol = wanted.symbol and ${conditions}
         order by a.occurred_at desc, a.id desc limit ${limit}) t`,
    kind: (conditions, limit) => ofKinds('select t.*', conditions, limit),
    update: (conditions) =>
      `select t.* from (
         select t.* from transactions t where ${within('t')} and ${updated()} order by t.updated_at desc offset 0) t
       where ${range('t')} and ${conditions}`,
  }
  const keys: Record<Filter, (limit: string) => string> = {
    asset: (limit) =>
      `select from ${symbols()}, lateral (
         select from transaction_assets a where ${range('a')} and a.asset_symbol = wanted.symbol
         order by a.occurred_at desc, a.id desc limit ${limit}) a`,
    kind: (limit) => ofKinds('select', 'true', limit),
    update: (limit) =>
      `select from transactions t where ${within('t')} and ${updated()} order by t.updated_at desc limit ${limit}`,
  }
  return { rows, keys }
}

/**
 * From one kind to the next: each step is one look into the index. A row shows the provider, too, because all rows of a
 * connection have one.
 */
function kindsOf(within: string, first: 'connection_id' | 'provider_id'): string {
  const kind = `t.${first}, t.category, t.type`
  const found = first === 'connection_id' ? `${kind}, t.provider_id` : kind
  return `with recursive kinds as (
    (select ${found} from transactions t where ${within} order by ${kind} limit 1)
    union all
    select next.* from kinds k, lateral (
      select ${found} from transactions t where ${within} and (${kind}) > (k.${first}, k.category, k.type)
      order by ${kind} limit 1) next
  )`
}
