/**
 * The numbers of a user's changes. A number is the time of its commit in milliseconds times 2^20, plus a counter, so
 * that numbers grow with every commit of a user and a moment is a range of numbers: what changed since T has
 * `change_seq` of at least `T << 20`.
 *
 * The row of `user_ledgers` stays locked until the transaction ends. That lock puts the commits of one user in order,
 * so a reader never sees a number before a smaller one has been committed. Lock order: the connection's row first, then
 * this one (locks-store.ts).
 */
import type { Sql } from '../db/index.ts'

export interface ChangeNumbers {
  /** The first of `count` numbers in a row, as decimal text: JavaScript's numbers cannot hold it. */
  first: string
  /** The time in all of them, ISO 8601: the `updated_at` of what they number. */
  updatedAt: string
}

/** How many numbers share a millisecond. */
const numbersPerMs = 2 ** 20

/**
 * Takes `count` numbers for one user. All of them carry the same millisecond: where the counter would overflow in the
 * middle, they start with the next millisecond.
 */
export async function takeChangeNumbers(tx: Sql, userKey: string, count: number): Promise<ChangeNumbers> {
  if (count < 1 || count >= numbersPerMs) throw new RangeError(`cannot take ${count} change numbers at once`)
  const row = await tx.row<{ first: string; updated_at: string }>(
    `update user_ledgers set change_seq = case
         when (greatest(change_seq, $3::bigint << 20) + $2::bigint) >> 20 = (greatest(change_seq, $3::bigint << 20) + 1) >> 20
         then greatest(change_seq, $3::bigint << 20) + $2::bigint
         else (((change_seq >> 20) + 1) << 20) + $2::bigint end
     where user_key = $1::bigint
     returning change_seq - $2::bigint + 1 as first, to_timestamp((change_seq >> 20) / 1000.0) as updated_at`,
    [userKey, count, Date.parse(tx.now())],
  )
  return { first: row.first, updatedAt: row.updated_at }
}

/** How many ids of removed transactions are remembered of the user, up to `max`. */
export async function countRemoved(sql: Sql, userKey: string, max: number): Promise<number> {
  const { removed } = await sql.row<{ removed: number }>(
    `select count(*)::int as removed from (
       select from removed_transactions where user_key = $1::bigint limit $2::bigint) found`,
    [userKey, max],
  )
  return removed
}

export async function forgetRemoved(tx: Sql, userKey: string): Promise<void> {
  await tx.execute('delete from removed_transactions where user_key = $1::bigint', [userKey])
}

/** The number that is `offset` after `first`. */
export function changeNumberAt(first: string, offset: number): string {
  return String(BigInt(first) + BigInt(offset))
}
