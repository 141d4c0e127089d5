/**
 * Counters in a connection's row, which other rooms update in the transaction that makes the change, so that lists
 * never count rows: the ledger its transactions and balances, sync its records.
 */
import type { Sql } from '../db/index.ts'
import { keysOf, type ConnectionRef } from '../owner.ts'
import { toUnprovedAt, type Grade } from './store.ts'

/** How a connection's transactions changed. */
export interface CountedTransactions {
  /** Transactions added less those removed. */
  difference: number
  /**
   * The earliest moment that was written; with `isExact`, the earliest of all transactions. Null when there are none.
   */
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
 * The body of a CTE, for the statement that writes balances: they were read now. One row (user_key, tenant_key,
 * former_at), or none when the connection was removed; `former_at` is the reading before. The parameters are given by
 * their names, such as `$1`. A reading that waits for its proof keeps its place: otherwise one that is read again every
 * minute would never be judged. One that is not whole, because a network could not be read, is never judged.
 */
export function toBalancesQuery(names: {
  userKey: string
  connectionKey: string
  now: string
  isWhole: string
  mayHaveLost: string
}): string {
  const of = `user_key = ${names.userKey}::bigint and connection_key = ${names.connectionKey}::integer`
  return `update connections c set balances_at = ${names.now}::timestamptz, balances_failed = not ${names.isWhole}::boolean,
      balances_since = coalesce(c.balances_since, ${names.now}::timestamptz),
      balances_doubted_at = case when ${names.isWhole}::boolean then c.balances_doubted_at else ${names.now}::timestamptz end,
      losses_open_at = case when ${names.mayHaveLost}::boolean then ${names.now}::timestamptz else c.losses_open_at end,
      unproved_at = coalesce(c.unproved_at, case when ${names.isWhole}::boolean then ${names.now}::timestamptz end)
    from (select user_key, connection_key, balances_at as former_at from connections
      where ${of} and status <> 'removed' for update) b
    where c.${of.replace(' and ', ' and c.')} and c.user_key = b.user_key and c.connection_key = b.connection_key
    returning c.user_key, c.tenant_key, b.former_at, c.balances_since, c.unproved_at, c.proof_balances_at`
}

/** A verdict on a connection's balances. */
export interface CountedProof {
  grade: Grade
  provedSince: string | null
  /** Since when no record is missing; null when one may be. */
  completeSince: string | null
  /** The reading that was judged. */
  balancesAt: string | null
  /** How far running balances were checked. */
  walkedAt: string | null
}

export async function recordProof(tx: Sql, ref: ConnectionRef, proof: CountedProof): Promise<void> {
  await tx.execute(
    `update connections c set proof_grade = $3, proof_checked_at = $4::timestamptz, proof_balances_at = $5::timestamptz,
       proved_since = $6::timestamptz, complete_since = $7::timestamptz, proof_walked_at = $8::timestamptz,
       unproved_at = case when $5::timestamptz < c.unproved_at then c.unproved_at
         else ${toUnprovedAt('$5::timestamptz')} end
     where user_key = $1::bigint and connection_key = $2`,
    [
      ...[...keysOf(ref), proof.grade, tx.now(), proof.balancesAt],
      ...[proof.provedSince, proof.completeSince, proof.walkedAt],
    ],
  )
}
