/**
 * The texts of a user's page queries: which index leads to the rows, with all other filters as conditions on what it
 * finds. A page is newest first by (occurred_at, id), and its point is part of every range, never an OFFSET.
 *
 * - `walk`: the page index from the point on, until the page is full. Without filters, that is 31 rows. With filters,
 *   one statement ends after some thousand rows (page-steps-store.ts).
 * - `near`: the same over the next 100 rows only. Enough for filters that match often.
 * - `asset`: the newest rows of each asset, by its postings. Of a common asset, as many at a time.
 * - `kind`: lists the kinds that exist in the wanted connections by stepping over transactions_kind from one to the
 *   next, then reads the newest rows of each wanted kind.
 * - `update`: the rows of each connection that changed since then, or all of them if the connection was shown since;
 *   sorted.
 *
 * The whole statement of an unfiltered page (2 million rows, 5,000 of this user, 31 of them on the page, the plan for
 * any user; EXPLAIN (ANALYZE, BUFFERS), November 2026):
 *
 *   caller   Index Scan access_tokens_pkey, token_families_pkey, clients            7 buffers
 *   shown    the user's two connections                                            4
 *   page     Aggregate ← Limit ← Limit ← Nested Loop: Index Scan transactions_page  7 with rows in page order, 35 with
 *            (user_key = $1 and (occurred_at, id) < ($5, $6)), CTE Scan shown         rows apart
 *
 *   PostgreSQL's processor time: 218 µs, including 34 for the caller alone and 58 for 31 bare rows.
 *
 * What that rests on:
 * - The page has two limits. The outer one is a parameter. For a parameter alone PostgreSQL assumes a tenth of the
 *   user's rows, so a generic plan looks more expensive than one made for 31, and every request is planned again (0.4
 *   ms). The inner one is a constant, the largest limit that a request can have: a tenth of that is cheap.
 * - `exists (select from shown)` is checked once, before the scan: without it a user whose connections are all hidden
 *   would make it read every row.
 * - The texts are concatenated in the order of their subquery, which has nothing but the aggregate above it.
 * - `to_char` formats times from the row, which costs as much as fetching the row. Most rows were written before their
 *   connection was shown; they use the connection's own text.
 * - An ORDER BY stands wherever an index must lead: for a bare LIMIT PostgreSQL may choose to scan the table.
 *   An OFFSET 0 stands where a look-up must stay one: for a thousand of them PostgreSQL may read and hash a whole
 *   table.
 */
import { itemEnd, toWireTime } from './authorized-read-store.ts'

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
  /** Changed, or shown, at this moment or later. */
  updatedSince?: string | undefined
}

export interface TransactionPoint {
  occurredAt: string
  /** A uuid, or the id of the wire. */
  id: string
}

export interface UserPageRequest {
  filters: TransactionFilters
  limit: number
  /** The last row of the page before. */
  after: TransactionPoint | undefined
  /** The last row that is looked at. */
  until?: TransactionPoint | undefined
}

/** The two versions differ in the name of a provider. */
export type Shape = 'v1' | 'v2'

export type Filter = 'asset' | 'kind' | 'update'
export type Lead = 'walk' | 'near' | Filter

export const newestFirst = 't.occurred_at desc, t.id desc'
/** The most that a request can ask for, and one more. */
export const requestRowsMax = 101
/** The most that an export reads at a time. */
const exportRowsMax = 501
const nearMax = 100
/** Of a step, for each of several assets: thousands of tokens may have the symbol of one. */
const shareMin = 10

/** The properties that requests with the same statement text share. */
export interface Form {
  /** Its name, for texts that are kept. */
  name: string
  given: ReadonlySet<keyof TransactionFilters>
  hasPoint: boolean
  hasEnd: boolean
  /** The filters that can lead to the rows, besides the order of the page. */
  leads: readonly Filter[]
  rowsMax: number
}

const kindFilters = ['providerIds', 'connectionIds', 'types', 'categories'] as const

export function formOf({ filters, after, until, limit }: UserPageRequest): Form {
  const given = new Set<keyof TransactionFilters>()
  for (const name in filters) {
    // The type allows only our own names.
    if (filters[name as keyof TransactionFilters] !== undefined) given.add(name as keyof TransactionFilters)
  }
  const leads: Filter[] = []
  if (given.has('assetSymbols')) leads.push('asset')
  if (kindFilters.some((name) => given.has(name))) leads.push('kind')
  if (given.has('updatedSince')) leads.push('update')
  const [hasPoint, hasEnd] = [after !== undefined, until !== undefined]
  const rowsMax = limit <= requestRowsMax ? requestRowsMax : exportRowsMax
  return { name: `${[...given].join()} ${hasPoint} ${hasEnd} ${rowsMax}`, given, hasPoint, hasEnd, leads, rowsMax }
}

/** Columns of `shown` that `itemText` needs: the values that the heads of all rows of a connection share. */
export const headColumns: Readonly<Record<Shape, string>> = {
  v1: headOf('crypto_source_id'),
  v2: headOf('provider_id'),
}

function headOf(providerMember: string): string {
  return `'","${providerMember}":"' || c.provider_id || '","connection_id":"' || c.id || '","updated_at":"' as head,
    ${toWireTime('c.shown_at')} as shown_text`
}

/**
 * The whole transaction: the head, which this text writes, and the ready text. Ids and times need no escaping.
 * `updated_at` is the later of the row's own change and the moment its connection was shown.
 */
export const itemText = `'{"id":"txn_' || encode(uuid_send(t.id), 'hex') || s.head
  || case when t.updated_at <= s.shown_at then s.shown_text else ${toWireTime('t.updated_at')} end || '",' || t.document`

/** A statement text and the sources of its parameter values. It is made once for all requests of one form. */
export interface PageStatement<Request> {
  text: string
  toValues(request: Request): unknown[]
}

// Texts are kept: assembling one, and looking its name up, took a tenth of a page's time in this process. Requests have
// a few hundred forms; a flood of others only evicts what is kept.
const statementsMax = 1_000

/** Gives the statement of this name, which is made when it is wanted for the first time. */
export type KeepStatement<Request> = (name: string, make: () => PageStatement<Request>) => PageStatement<Request>

export function createStatements<Request>(): KeepStatement<Request> {
  const statements = new Map<string, PageStatement<Request>>()
  return (name, make) => {
    const kept = statements.get(name)
    if (kept !== undefined) return kept
    if (statements.size >= statementsMax) statements.clear()
    const made = make()
    statements.set(name, made)
    return made
  }
}

export interface Binder<Request> {
  /** The parameter that receives this value of a request. */
  bind(get: (request: Request) => unknown): string
  toValues(request: Request): unknown[]
}

/** `reserved` parameters come before the first that is bound. */
export function createBinder<Request>(reserved: number): Binder<Request> {
  const getters: ((request: Request) => unknown)[] = []
  return {
    bind: (get) => `$${reserved + getters.push(get)}`,
    toValues: (request) => getters.map((get) => get(request)),
  }
}

/** The rows of a page as (occurred_at, id, item), newest first; at most `limit`, which is a parameter. */
export function pageRows<Request extends UserPageRequest>(form: Form, lead: Lead, binder: Binder<Request>): string {
  const parts = createParts(form, binder)
  const limit = `${binder.bind((request) => request.limit)}::bigint`
  const columns = `t.occurred_at, t.id, ${itemText} as item`
  if (lead === 'walk' && form.leads.length === 0) {
    return `select * from (
      select ${columns} from transactions t join shown s on s.connection_key = t.connection_key
      where exists (select from shown) and ${parts.range('t')}
      order by ${newestFirst} limit ${form.rowsMax}) t
    order by ${newestFirst} limit ${limit}`
  }
  const conditions = parts.conditions(lead)
  const rows = createLeads(parts).rows[lead](conditions, limit)
  // The query finds a trade of two requested assets twice.
  const once = lead === 'asset' ? 'distinct on (t.occurred_at, t.id)' : ''
  // Materialized: a generic plan would otherwise look for the rows once for each connection. Only those of the page are
  // joined: a lead may find a page of each connection, and PostgreSQL compared each row with each connection.
  return `select ${columns}
    from (with found as materialized (select ${once} t.* from (${rows}) t order by ${newestFirst} limit ${limit})
      select * from found) t
    join shown s on s.connection_key = t.connection_key
    order by ${newestFirst}`
}

/**
 * A page as one row: its items, their number, and the point of the last shown item when the query reads one more.
 */
export function pageResult<Request extends UserPageRequest>(rows: string, { bind }: Binder<Request>): string {
  const last = `${bind(({ limit }) => limit - 1)}::integer`
  return `select string_agg(t.item, ${itemEnd}) as items, count(*)::integer as count,
      (array_agg(t.occurred_at))[${last}] as last_at, (array_agg(t.id))[${last}] as last_id
    from (${rows}) t`
}

/** How many rows each of these leads to from here on, counted up to `max`. One row with a column for each. */
export function countResult<Request extends UserPageRequest>(form: Form, max: number, binder: Binder<Request>): string {
  const { keys } = createLeads(createParts(form, binder))
  const counts = form.leads.map(
    (filter) =>
      `(select count(*)::integer from (select from (${keys[filter](String(max))}) t limit ${max}) found) as "${filter}"`,
  )
  return `select ${counts.join(', ')}`
}

/**
 * Where the next `max` rows of a lead end, as (occurred_at, id); no row when there are fewer. Several assets share them,
 * and the step ends with the first whose share is used up: down to there, the rows of all assets are looked at.
 */
export function stepEnd<Request extends UserPageRequest>(
  form: Form,
  { lead, max }: { lead: 'walk' | 'asset'; max: number },
  binder: Binder<Request>,
): string {
  const { ends } = createLeads(createParts(form, binder))
  return `select t.occurred_at, t.id from (${ends[lead](max)}) t order by ${newestFirst} limit 1`
}

/** Whether a pending transaction touches an asset: it may have no postings, so its text is read. */
const documentHasSymbol = (symbols: string): string => `exists (
  select from (select ('{' || t.document)::jsonb as body offset 0) d,
    jsonb_array_elements((d.body -> 'inputs') || (d.body -> 'outputs') || (d.body -> 'fees' -> 'items')) leg
  where leg ->> 'asset_symbol' = any(${symbols}))`

function createParts<Request extends UserPageRequest>({ given, hasPoint, hasEnd }: Form, { bind }: Binder<Request>) {
  const has = (name: keyof TransactionFilters): boolean => given.has(name)
  const filter = (name: keyof TransactionFilters): string => bind(({ filters }) => filters[name])

  const point = (get: (request: Request) => TransactionPoint | undefined): string => {
    const occurredAt = bind((request) => get(request)?.occurredAt)
    return `${occurredAt}::timestamptz, ${bind((request) => toUuid(get(request)?.id ?? ''))}::uuid`
  }

  // The text contains only the requested filters: a parameter that may be null would hide the range from the planner.
  const range = (alias: string, id = 'id'): string => {
    const conditions = [`${alias}.user_key = $1::bigint`]
    if (has('startTime')) conditions.push(`${alias}.occurred_at >= ${filter('startTime')}::timestamptz`)
    if (has('endTime')) conditions.push(`${alias}.occurred_at < ${filter('endTime')}::timestamptz`)
    if (hasPoint) conditions.push(`(${alias}.occurred_at, ${alias}.${id}) < (${point(({ after }) => after)})`)
    if (hasEnd) conditions.push(`(${alias}.occurred_at, ${alias}.${id}) >= (${point(({ until }) => until)})`)
    return conditions.join(' and ')
  }

  /** A subquery of `shown`: the connections whose rows are wanted. */
  const wanted = (): string => {
    const conditions = ['true']
    if (has('connectionIds')) conditions.push(`s.id = any(${filter('connectionIds')}::text[])`)
    if (has('providerIds')) conditions.push(`s.provider_id = any(${filter('providerIds')}::text[])`)
    return `select s.connection_key, s.shown_at from shown s where ${conditions.join(' and ')}`
  }
  const ofWanted = (alias: string): string =>
    `${alias}.connection_key = any(array(select w.connection_key from (${wanted()}) w))`

  const kindConditions = (alias: string): string[] => {
    const conditions: string[] = []
    if (has('types')) conditions.push(`${alias}.type = any(${filter('types')}::transaction_type[])`)
    if (has('categories')) conditions.push(`${alias}.category = any(${filter('categories')}::transaction_category[])`)
    return conditions
  }

  const since = (): { time: string; seq: string } => ({
    time: `${filter('updatedSince')}::timestamptz`,
    seq: `${bind(({ filters }) => firstSeqAt(filters.updatedSince ?? ''))}::bigint`,
  })
  const updated = (): string => {
    const { time, seq } = since()
    return `(t.change_seq >= ${seq} or t.connection_key = any(array(
      select s.connection_key from shown s where s.shown_at >= ${time})))`
  }

  const symbols = (): string => `${filter('assetSymbols')}::text[]`
  const assetKeys = (): string => `array(select a.asset_key from assets a where a.symbol = any(${symbols()}))`
  const pendingWithAsset = (): string => documentHasSymbol(symbols())
  const hasAsset = (): string => `(exists (select from postings p where p.user_key = $1::bigint
      and p.transaction_id = t.id and p.asset_key = any(${assetKeys()}) offset 0)
    or (t.pending and ${pendingWithAsset()}))`

  const conditions = (lead: Lead): string => {
    const all = [ofWanted('t')]
    if (lead !== 'kind') all.push(...kindConditions('t'))
    if (has('updatedSince') && lead !== 'update') all.push(updated())
    if (has('assetSymbols') && lead !== 'asset') all.push(hasAsset())
    return all.join(' and ')
  }
  return { range, wanted, ofWanted, kindConditions, since, assetKeys, pendingWithAsset, conditions }
}

type Parts = ReturnType<typeof createParts>

/** The rows, with conditions on `t`; for filters also the columns that suffice to count them. */
function createLeads(parts: Parts) {
  const { range, wanted, ofWanted, kindConditions, since, assetKeys, pendingWithAsset } = parts
  const walk = (conditions: string, limit: string): string =>
    `select t.* from transactions t where exists (select from shown) and ${range('t')} and ${conditions}
     order by ${newestFirst} limit ${limit}`

  const ofKinds = (select: string, conditions: string, limit: string): string =>
    `${kindsOf(wanted())}
     ${select} from kinds k, lateral (
       ${select} from transactions t
       where ${range('t')} and t.connection_key = k.connection_key and t.category = k.category and t.type = k.type
         and ${conditions}
       order by ${newestFirst} limit ${limit}) t
     where ${['true', ...kindConditions('k')].join(' and ')}`

  const changed = (select: string, limit: string): string => {
    const { time, seq } = since()
    return `${select} from (${wanted()}) s, lateral (
      ${select} from transactions t where t.user_key = $1::bigint and t.connection_key = s.connection_key
        and t.change_seq >= case when s.shown_at >= ${time} then 0 else ${seq} end
      order by t.change_seq desc ${limit}) t`
  }

  // Several postings of a transaction are in the same asset, so rows are made distinct before they are counted.
  const ofAssets = (conditions: string, limit: string): string =>
    `select t.* from unnest(${assetKeys()}) as wanted (asset_key), lateral (
       select distinct on (p.occurred_at, p.transaction_id) t.* from postings p, lateral (
         select t.* from transactions t where t.user_key = $1::bigint and t.id = p.transaction_id offset 0) t
       where ${range('p', 'transaction_id')} and p.asset_key = wanted.asset_key and ${ofWanted('p')} and ${conditions}
       order by p.occurred_at desc, p.transaction_id desc limit ${limit}) t`

  const rows: Record<Lead, (conditions: string, limit: string) => string> = {
    walk,
    near: (conditions, limit) =>
      `select t.* from (${walk('true', String(nearMax))}) t where ${conditions} order by ${newestFirst} limit ${limit}`,
    asset: (conditions, limit) =>
      `${ofAssets(conditions, limit)}
       union all
       select t.* from transactions t
       where ${range('t')} and t.pending and ${conditions} and ${pendingWithAsset()}`,
    kind: (conditions, limit) => ofKinds('select t.*', conditions, limit),
    update: (conditions) =>
      `select t.* from (${changed('select t.*', 'offset 0')}) t where ${range('t')} and ${conditions}`,
  }
  const keys: Record<Filter, (limit: string) => string> = {
    asset: (limit) =>
      `select from unnest(${assetKeys()}) as wanted (asset_key), lateral (
         select from postings p where ${range('p', 'transaction_id')} and p.asset_key = wanted.asset_key
         order by p.occurred_at desc, p.transaction_id desc limit ${limit}) p`,
    kind: (limit) => ofKinds('select', 'true', limit),
    update: (limit) => changed('select', `limit ${limit}`),
  }
  const ends: Record<'walk' | 'asset', (max: number) => string> = {
    walk: (max) =>
      `select t.occurred_at, t.id from transactions t where ${range('t')}
       order by ${newestFirst} offset ${max - 1} limit 1`,
    asset: (max) =>
      `select p.occurred_at, p.id from unnest(${assetKeys()}) as wanted (asset_key), lateral (
         select p.occurred_at, p.transaction_id as id from postings p
         where ${range('p', 'transaction_id')} and p.asset_key = wanted.asset_key
         order by p.occurred_at desc, p.transaction_id desc
         offset greatest(${max} / cardinality(${assetKeys()}), ${shareMin}) - 1 limit 1) p`,
  }
  return { rows, keys, ends }
}

/** Steps from one kind of a connection to the next, with one index lookup per step. */
function kindsOf(wanted: string): string {
  const first = (after: string, connection: string): string =>
    `select t.category, t.type from transactions t
     where t.user_key = $1::bigint and t.connection_key = ${connection} ${after} order by t.category, t.type limit 1`
  return `with recursive kinds as (
    select w.connection_key, f.category, f.type from (${wanted}) w, lateral (${first('', 'w.connection_key')}) f
    union all
    select k.connection_key, f.category, f.type
    from kinds k, lateral (${first('and (t.category, t.type) > (k.category, k.type)', 'k.connection_key')}) f
  )`
}

/** The id of the wire, or a uuid, as PostgreSQL reads it. */
export function toUuid(id: string): string {
  return id.replace(/^txn_/, '')
}

/** The last millisecond whose numbers fit into a bigint, in the year 2248. */
const seqMsMax = 2 ** 43 - 1

/** The first number that a change at this moment can have (ledger/changes-store.ts). No changes exist before 1970. */
export function firstSeqAt(time: string): string {
  return String(BigInt(Math.min(Math.max(Date.parse(time), 0), seqMsMax)) << 20n)
}
