/**
 * A user's feed of changes. Every change has a number of the user's own counter (ledger/changes-store.ts), and a
 * point in the feed is a pair (seq, sub):
 *
 *   a transaction that changed after its connection was shown   (its change_seq, 0)
 *   one that was written before                                 (the connection's shown_seq, its change_seq)
 *   a removed transaction                                       (its change_seq, former_seq)
 *   a row of a removed connection that is not destroyed yet     (the connection's hidden_seq, its change_seq); removed
 *
 * Showing or hiding a connection is therefore one number, which is expanded here, and a destroyed row keeps its
 * point. The numbers of one user are committed in their order, because a commit holds the lock on the user's
 * counter. A reader that has seen a point will therefore never miss a smaller one, and a transaction that changes
 * again moves to a larger one. After the last page a client has exactly what the list shows.
 *
 * Each connection has its own range of transactions_change, so a page reads at most `limit` index entries of each
 * connection twice, and never steps over rows of a connection that is still provisional.
 */
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import { createBinder, headColumns, itemText, type Binder, type PageStatement } from './pages-query-store.ts'
import {
  cutItems,
  itemEnd,
  knownUserText,
  readAuthorized,
  authorizedReadText,
  toWireTime,
  type UncheckedToken,
  type ItemsRow,
  type AuthorizedRead,
} from './authorized-read-store.ts'

/** A point in a user's feed. Both numbers are decimal text: JavaScript's own cannot hold them. */
export interface FeedPoint {
  seq: string
  sub: string
}

const largest = '9223372036854775807'

/** Before the first change. */
export const feedStart: FeedPoint = { seq: '0', sub: '0' }
/** After every change up to this number. */
export const endOf = (seq: string): FeedPoint => ({ seq, sub: largest })

const timeOf = (seq: string): string => `to_timestamp((${seq} >> 20) / 1000.0)`
const removedItem = (id: string, seq: string): string =>
  `'"id":"txn_' || encode(uuid_send(${id}), 'hex') || '","removed_at":"' || ${toWireTime(timeOf(seq))} || '"}'`

interface Range {
  after: FeedPoint
  /** Included; undefined: no end. */
  upToSeq?: string | undefined
  limit: number
}

/** Removed transactions in a range, as (seq, sub, id), in order. */
function removals<Request extends { limit: number }>(
  toRange: (request: Request) => Omit<Range, 'limit'>,
  { bind }: Binder<Request>,
): string {
  const seq = `${bind((request) => toRange(request).after.seq)}::bigint`
  const sub = `${bind((request) => toRange(request).after.sub)}::bigint`
  const end = `${bind((request) => toRange(request).upToSeq ?? largest)}::bigint`
  const rows = `${bind(({ limit }) => limit)}::bigint`
  return `select * from (
      (select r.change_seq as seq, r.former_seq as sub, r.id from removed_transactions r
       where r.user_key = $1::bigint and (r.change_seq, r.former_seq) > (${seq}, ${sub}) and r.change_seq <= ${end}
       order by r.change_seq, r.former_seq limit ${rows})
      union all
      select h.hidden_seq, t.change_seq, t.id from removed_connections h, lateral (
        select t.change_seq, t.id from transactions t
        where t.user_key = $1::bigint and t.connection_key = h.connection_key
          and t.change_seq > case when h.hidden_seq = ${seq} then ${sub} else 0 end
        order by t.change_seq limit ${rows}) t
      where h.user_key = $1::bigint and h.hidden_seq between ${seq} and ${end}
    ) r order by r.seq, r.sub limit ${rows}`
}

interface FeedRange extends Range {
  /** Removals are reported after this point, which may be a later one. */
  removedAfter: FeedPoint
}

/**
 * Changed and removed transactions in a range, in order, as (seq, sub, id, connection_key, updated_at, document). A
 * removed one has no key and nothing after it. The rows come with their texts: to look for each by its id afterwards
 * would fetch every row twice.
 */
function changes(binder: Binder<FeedRange>): string {
  const { bind } = binder
  const seq = `${bind(({ after }) => after.seq)}::bigint`
  const sub = `${bind(({ after }) => after.sub)}::bigint`
  const end = `${bind(({ upToSeq }) => upToSeq ?? largest)}::bigint`
  const rows = `${bind(({ limit }) => limit)}::bigint`
  const ofConnection = `t.user_key = $1::bigint and t.connection_key = s.connection_key`
  const gone = removals(({ removedAfter, upToSeq }: FeedRange) => ({ after: removedAfter, upToSeq }), binder)
  return `select * from (
      select t.change_seq as seq, 0::bigint as sub, t.id, s.connection_key, t.updated_at, t.document from shown s, lateral (
        select t.change_seq, t.id, t.updated_at, t.document from transactions t
        where ${ofConnection} and t.change_seq > greatest(s.shown_seq, ${seq}) and t.change_seq <= ${end}
        order by t.change_seq limit ${rows}) t
      union all
      select s.shown_seq, t.change_seq, t.id, s.connection_key, t.updated_at, t.document from shown s, lateral (
        select t.change_seq, t.id, t.updated_at, t.document from transactions t
        where ${ofConnection} and t.change_seq < s.shown_seq
          and t.change_seq > case when s.shown_seq = ${seq} then ${sub} else 0 end
        order by t.change_seq limit ${rows}) t
      where s.shown_seq between ${seq} and ${end}
      union all
      select r.seq, r.sub, r.id, null, null, null from (${gone}) r
    ) c order by c.seq, c.sub limit ${rows}`
}

export interface ChangesRequest {
  after: FeedPoint
  /**
   * Removals up to here are of rows that this reader has never seen. Undefined on the first page, where that is true of
   * all of them.
   */
  removedAfterSeq: string | undefined
  limit: number
}

export interface ChangesPage {
  /** Ready JSON, separated by commas. */
  items: string
  /** Where the next page continues: after the last item, or after all changes. */
  end: FeedPoint
  isLast: boolean
  /** The number of the user's newest change. */
  newestSeq: string
}

interface ChangesRow extends ItemsRow {
  last_seq: string | null
  last_sub: string | null
  newest_seq: string | null
}

const changesStatement = ((): PageStatement<FeedRange> => {
  const binder = createBinder<FeedRange>(3)
  const rows = changes(binder)
  const last = `${binder.bind(({ limit }) => limit - 1)}::integer`
  const result = `select string_agg(t.item, ${itemEnd}) as items, count(*)::integer as count,
      (array_agg(t.seq))[${last}] as last_seq, (array_agg(t.sub))[${last}] as last_sub,
      (select u.change_seq from user_changes u where u.user_key = $1::bigint) as newest_seq
    from (
      select t.seq, t.sub, case when t.connection_key is null then '{"op":"remove",' || ${removedItem('t.id', 't.seq')}
        else '{"op":"upsert","transaction":' || ${itemText} || '}' end as item
      from (${rows}) t left join shown s on s.connection_key = t.connection_key
      order by t.seq, t.sub) t`
  const text = authorizedReadText({ scope: 'transactions:read', columns: headColumns.v2, result })
  return { text, toValues: binder.toValues }
})()

export async function readChanges(
  sql: Sql,
  token: UncheckedToken,
  { after, removedAfterSeq = largest, limit }: ChangesRequest,
): Promise<AuthorizedRead<ChangesPage> | undefined> {
  const removedAfter = BigInt(removedAfterSeq) > BigInt(after.seq) ? endOf(removedAfterSeq) : after
  const values = changesStatement.toValues({ after, removedAfter, limit: limit + 1 })
  const authorized = await readAuthorized<ChangesRow>(sql, token, changesStatement.text, values)
  if (authorized === undefined) return undefined
  const row = authorized.result
  const { items, isLast } = cutItems(row, limit)
  const newestSeq = row.newest_seq ?? '0'
  const { last_seq: seq, last_sub: sub } = row
  // The newest number comes from the same snapshot, so everything up to it is committed and was read.
  const end = isLast || seq === null || sub === null ? endOf(newestSeq) : { seq, sub }
  return { ...authorized, result: { items, end, isLast, newestSeq } }
}

export type UserChange = { point: FeedPoint; id: string } & (
  | { op: 'upsert'; connection_id: string; provider_id: string; updated_at: string; document: string }
  | { op: 'remove'; removed_at: string }
)

interface UserChangeRow {
  seq: string
  sub: string
  id: string
  connection_id: string | null
  provider_id: string
  updated_at: string
  document: string
  removed_at: string
}

const userChangesStatement = ((): PageStatement<FeedRange> => {
  const binder = createBinder<FeedRange>(1)
  const result = `select t.seq, t.sub, 'txn_' || encode(uuid_send(t.id), 'hex') as id, s.id as connection_id, s.provider_id,
      greatest(t.updated_at, s.shown_at) as updated_at, t.document, ${timeOf('t.seq')}::timestamptz(3) as removed_at
    from (${changes(binder)}) t left join shown s on s.connection_key = t.connection_key
    order by t.seq, t.sub`
  return { text: knownUserText({ result }), toValues: binder.toValues }
})()

/** For a tenant's feed: the changes of one user after a point and up to a number, oldest first. */
export async function listUserChanges(
  sql: Sql,
  userKey: Owner['userKey'],
  after: FeedPoint,
  upToSeq: string,
  limit: number,
): Promise<UserChange[]> {
  const values = userChangesStatement.toValues({ after, removedAfter: after, upToSeq, limit })
  const found = await sql.rows<UserChangeRow>(userChangesStatement.text, [userKey, ...values])
  return found.map(({ seq, sub, id, connection_id, provider_id, updated_at, document, removed_at }) => ({
    point: { seq, sub },
    id,
    ...(connection_id === null
      ? { op: 'remove', removed_at }
      : { op: 'upsert', connection_id, provider_id, updated_at, document }),
  }))
}

export interface RemovedPage {
  /** Ready JSON, separated by commas. */
  items: string
  /** Undefined after the last one. */
  end: FeedPoint | undefined
}

/** Removed transactions as columns of a result. */
export interface RemovedColumns {
  removed_items: string | null
  removed_count: number
  removed_seq: string | null
  removed_sub: string | null
}

/** `limit` of the request is one more than is shown. */
export function removedResult<Request extends { limit: number }>(
  toPoint: (request: Request) => FeedPoint,
  binder: Binder<Request>,
): string {
  const last = `${binder.bind(({ limit }) => limit - 1)}::integer`
  return `select string_agg('{' || ${removedItem('r.id', 'r.seq')}, ${itemEnd}) as removed_items,
      count(*)::integer as removed_count, (array_agg(r.seq))[${last}] as removed_seq, (array_agg(r.sub))[${last}] as removed_sub
    from (${removals((request: Request) => ({ after: toPoint(request) }), binder)}) r`
}

export function toRemovedPage(row: RemovedColumns, limit: number): RemovedPage {
  const { items, isLast } = cutItems({ items: row.removed_items, count: row.removed_count }, limit)
  const { removed_seq: seq, removed_sub: sub } = row
  return { items, end: isLast || seq === null || sub === null ? undefined : { seq, sub } }
}
