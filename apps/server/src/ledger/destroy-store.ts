/**
 * All SQL that destroys what was read through a connection, some thousand rows at a time.
 *
 * No plan here depends on what PostgreSQL believes of the tables. A history is often removed right after it was read,
 * before they are analysed; a join over what a first statement deleted was then planned as if it were a row or two, and
 * took longer than a statement may. So each batch is found by a walk along an index, from where the one before ended
 * (what was deleted stays in the index until a vacuum), and deleted by its places in the table.
 */
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

const refOf = (ref: ConnectionRef): [string, string, string] => [ref.tenantId, ref.userId, ref.connectionId]

// Each has an index in the order of tenant, user, connection and this key; legs one of tenant, user and key, which does
// where no other connection of the user has any.
const keys = {
  transfer_legs: 'id',
  transactions: 'group_key',
  raw_records: 'group_key',
  poison_groups: 'group_key',
  transaction_revisions: 'natural_key',
} as const

type Table = keyof typeof keys

// $1 to $5: the connection, where to begin, how many.
const nextOf = (table: Table): string => `select ctid from ${table}
  where tenant_id = $1 and user_id = $2 and connection_id = $3 and ${keys[table]} >= $4 order by ${keys[table]} limit $5`

export interface Batch {
  after: string
  limit: number
}

export interface Gone {
  count: number
  /** Where the next batch begins. */
  last: string
}

export async function deleteRows(
  tx: Sql,
  ref: ConnectionRef,
  table: Exclude<Table, 'transactions'>,
  { after, limit }: Batch,
): Promise<Gone> {
  const row = await tx.row<{ count: number; last: string | null }>(
    `with gone as (delete from ${table} where ctid = any(array(${nextOf(table)})) returning ${keys[table]} as key)
     select count(*)::int as count, max(key) as last from gone`,
    [...refOf(ref), after, limit],
  )
  return { count: row.count, last: row.last ?? after }
}

/** With what hangs on them; the ids of those that were served are remembered. */
export async function deleteTransactions(
  tx: Sql,
  ref: ConnectionRef,
  was: { served: boolean },
  { after, limit }: Batch,
): Promise<Gone> {
  const row = await tx.row<{ ids: string[]; last: string | null }>(
    `with gone as (
       delete from transactions where ctid = any(array(${nextOf('transactions')})) returning id, group_key
     ), removed as (
       insert into removed_transactions (tenant_id, user_id, id, removed_at)
       select $1, $2, id, (select assay_now()) from gone where $6
       on conflict (tenant_id, user_id, id) do update set removed_at = excluded.removed_at
     )
     select coalesce(array_agg(id), '{}') as ids, max(group_key) as last from gone`,
    [...refOf(ref), after, limit, was.served],
  )
  for (const table of ['transaction_assets', 'awaited_prices']) {
    await tx.execute(
      `delete from ${table} where ctid = any(array(
         select found.ctid from unnest($3::text[]) as gone (id) cross join lateral (
           select ctid from ${table} own where own.tenant_id = $1 and own.user_id = $2 and own.id = gone.id offset 0) found))`,
      [ref.tenantId, ref.userId, row.ids],
    )
  }
  return { count: row.ids.length, last: row.last ?? after }
}

/** What is small: positions, and a value for each day. */
export async function deletePositions(tx: Sql, ref: ConnectionRef): Promise<void> {
  for (const table of ['holdings', 'observed_values']) {
    await tx.execute(`delete from ${table} where tenant_id = $1 and user_id = $2 and connection_id = $3`, refOf(ref))
  }
}
