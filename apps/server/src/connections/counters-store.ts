/**
 * What other rooms count into a connection's row, in the transaction that makes the change, so that no list has to count
 * rows: the ledger its transactions and balances, sync its records.
 */
import type { Sql } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { keysOf } from './store.ts'

/** How a connection's transactions changed. */
export interface CountedTransactions {
  /** Transactions added less those removed. */
  difference: number
  /** The first moment of what was written; with `isExact` the first of everything there is. Null when there is nothing. */
  firstAt: string | null
  isExact: boolean
}

export async function recordTransactions(tx: Sql, ref: ConnectionRef, counted: CountedTransactions): Promise<void> {
  await tx.execute(
    `update connections set transaction_count = transaction_count + $3::bigint,
       history_from = case when $5::boolean then $4::timestamptz else least(history_from, $4::timestamptz) end
     where user_key = $1::bigint and connection_key = $2`,
    [...keysOf(ref), counted.difference, counted.firstAt, counted.isExact],
  )
}

export async function recordRecords(tx: Sql, ref: ConnectionRef, added: number): Promise<void> {
  if (added === 0) return
  await tx.execute(
    `update connections set record_count = record_count + $3::bigint
     where user_key = $1::bigint and connection_key = $2`,
    [...keysOf(ref), added],
  )
}

/**
 * The body of a CTE, for the statement that writes balances: they were read now. One row (user_key, tenant_key), or none
 * when the connection was removed. The parameters are given by their names, such as `$1`.
 */
export function toBalancesQuery(names: { userKey: string; connectionKey: string; now: string }): string {
  return `update connections set balances_at = ${names.now}::timestamptz
    where user_key = ${names.userKey}::bigint and connection_key = ${names.connectionKey}::integer and status <> 'removed'
    returning user_key, tenant_key`
}
