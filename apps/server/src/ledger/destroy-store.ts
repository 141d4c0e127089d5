/**
 * All SQL that destroys what was read through a connection, some thousand rows at a time.
 *
 * Plans here depend on PostgreSQL's statistics as little as they can. A history is often removed right after it was
 * read, before its tables are analysed. PostgreSQL then planned a join over what a first statement had deleted as if it
 * were a row or two, and the join took longer than a statement may. So each batch is found by a walk along an index,
 * from where the one before ended (deleted rows stay in the index until a vacuum), and deleted by its places in the
 * table. The deletion names the user all the same: a place is one of a shard, and a distributed database has to know
 * which.
 */
import type { Sql } from '../db/index.ts'
import { keysOf, type ConnectionRef } from '../owner.ts'

// Each has an index in the order of user, connection and this key; legs have one of user and key, which is enough where
// no other connection of the user has any.
const keys = {
  transfer_legs: { column: 'transaction_id', type: 'uuid', first: '00000000-0000-0000-0000-000000000000' },
  transactions: { column: 'group_key', type: 'text', first: '' },
  raw_records: { column: 'group_key', type: 'text', first: '' },
  group_aliases: { column: 'link_key', type: 'text', first: '' },
  due_groups: { column: 'group_key', type: 'text', first: '' },
  poison_groups: { column: 'group_key', type: 'text', first: '' },
  transaction_revisions: { column: 'natural_key', type: 'text', first: '' },
  daily_changes: { column: 'asset_key', type: 'integer', first: '0' },
  transaction_versions: { column: 'id', type: 'uuid', first: '00000000-0000-0000-0000-000000000000' },
  replay_findings: { column: 'id', type: 'uuid', first: '00000000-0000-0000-0000-000000000000' },
  observed_balances: { column: 'asset_key', type: 'integer', first: '0' },
  due_proofs: { column: 'asset_key', type: 'integer', first: '0' },
  proofs: { column: 'asset_key', type: 'integer', first: '0' },
} as const

type Table = keyof typeof keys

// $1 to $4: the connection, where to begin, how many.
const nextOf = (table: Table): string => {
  const { column, type } = keys[table]
  return `select ctid from ${table} where user_key = $1::bigint and connection_key = $2::integer
    and ${column} >= $3::${type} order by ${column} limit $4::bigint`
}

export interface Batch {
  /** Where the batch before ended; undefined for the first. */
  after: string | undefined
  limit: number
}

export interface Gone {
  count: number
  /** Where the next batch begins. */
  last: string | undefined
  /** True when this was the last batch. */
  isDone: boolean
}

export async function deleteRows(
  tx: Sql,
  ref: ConnectionRef,
  table: Exclude<Table, 'transactions'>,
  { after, limit }: Batch,
): Promise<Gone> {
  const { column, first, type } = keys[table]
  // PostgreSQL before 18 has no max(uuid); the text of a uuid has the same order.
  const key = type === 'uuid' ? `${column}::text collate "C"` : column
  const row = await tx.row<{ count: number; last: string | null }>(
    `with gone as (delete from ${table} where user_key = $1::bigint and ctid = any(array(${nextOf(table)})) returning ${key} as key)
     select count(*)::integer as count, max(key)::text as last from gone`,
    [...keysOf(ref), after ?? first, limit],
  )
  return { count: row.count, last: row.last ?? after, isDone: row.count < limit }
}

/**
 * Also deletes their postings and awaited prices. Ids of a connection that was shown are remembered as removed when the
 * connection was hidden, each with the number that the transaction had: so they have a place in the feed.
 */
export async function deleteTransactions(
  tx: Sql,
  ref: ConnectionRef,
  { hiddenSeq }: { hiddenSeq: string | null },
  { after, limit }: Batch,
): Promise<Gone> {
  const row = await tx.row<{ ids: string[]; last: string | null }>(
    `with gone as (
       delete from transactions where user_key = $1::bigint and ctid = any(array(${nextOf('transactions')}))
       returning id, group_key, change_seq
     ), removed as (
       insert into removed_transactions (user_key, connection_key, tenant_key, id, change_seq, former_seq, removed_at)
       select $1::bigint, $2::integer, $6::integer, gone.id, $5::bigint, gone.change_seq,
         to_timestamp(($5::bigint >> 20) / 1000.0)
       from gone where $5::bigint is not null
       on conflict (user_key, id) do update set connection_key = excluded.connection_key,
         change_seq = excluded.change_seq, former_seq = excluded.former_seq, removed_at = excluded.removed_at
     )
     select coalesce(array_agg(id::text), '{}') as ids, max(group_key) as last from gone`,
    [...keysOf(ref), after ?? '', limit, hiddenSeq, ref.tenantKey],
  )
  let count = row.ids.length
  for (const table of count === 0 ? [] : ['postings', 'awaited_prices']) {
    count += await tx.execute(
      `delete from ${table} where user_key = $1::bigint and ctid = any(array(
         select found.ctid from unnest($2::uuid[]) as gone (id) cross join lateral (
           select ctid from ${table} own
           where own.user_key = $1::bigint and own.transaction_id = gone.id offset 0) found))`,
      [ref.userKey, row.ids],
    )
  }
  return { count, last: row.last ?? after, isDone: row.ids.length < limit }
}

/** Positions and daily values: few enough for one statement each. */
export async function deletePositions(tx: Sql, ref: ConnectionRef): Promise<void> {
  for (const table of ['holdings', 'observed_values', 'running_balances']) {
    await tx.execute(`delete from ${table} where user_key = $1::bigint and connection_key = $2::integer`, keysOf(ref))
  }
}
