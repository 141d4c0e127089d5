/**
 * All SQL that writes postings, the sums of their days, and the marks of assets that have to be proved again. All
 * change in one transaction and by difference: a day's sum is what its postings add up to, spam left out, after every
 * commit. PostgreSQL's numeric adds, because it is exact.
 */
import type { Sql } from '../../db/index.ts'
import type { ConnectionRef } from '../../owner.ts'

export interface Posting {
  transactionId: string
  assetKey: number
  occurredAt: string
  /** Its place in the transaction: inputs, then outputs, then fees. */
  ordinal: number
  isStaked: boolean
  side: 'i' | 'o' | 'f'
  isSpam: boolean
  /** Signed: what leaves is negative. */
  amount: string
}

const given = `unnest($3::uuid[], $4::integer[], $5::timestamptz[], $6::smallint[], $7::boolean[], $8::"char"[],
  $9::boolean[], $10::numeric[]) as g (transaction_id, asset_key, occurred_at, ordinal, staked, side, spam, amount)`

function valuesOf(ref: ConnectionRef, postings: readonly Posting[]): unknown[] {
  return [
    ref.userKey,
    ref.connectionKey,
    postings.map(({ transactionId }) => transactionId),
    postings.map(({ assetKey }) => assetKey),
    postings.map(({ occurredAt }) => occurredAt),
    postings.map(({ ordinal }) => ordinal),
    postings.map(({ isStaked }) => isStaked),
    postings.map(({ side }) => side),
    postings.map(({ isSpam }) => isSpam),
    postings.map(({ amount }) => amount),
  ]
}

const insertPostings = `insert into postings
    (user_key, connection_key, transaction_id, asset_key, occurred_at, ordinal, staked, side, spam, amount)
  select $1::bigint, $2::integer, g.* from ${given}`

/**
 * Adds the amounts of the rows of `source` to their days; `sign` is `-` for deleted rows. A day on which as much came as
 * left has a row of zero: an asset without any row was never held.
 */
const sumUp = (source: string, sign: '' | '-'): string =>
  `insert into daily_changes as d (user_key, connection_key, asset_key, day, amount)
   select $1::bigint, $2::integer, c.asset_key, (c.occurred_at at time zone 'UTC')::date, ${sign}sum(c.amount)
   from ${source} as c where not c.spam
   group by 3, 4 having ${sign === '-' ? 'sum(c.amount) <> 0' : 'bool_or(c.amount <> 0)'}
   on conflict (user_key, connection_key, asset_key, day) do update set amount = d.amount + excluded.amount`

/** A CTE that marks the assets of `source` to be proved again. */
const toProve = (source: string): string =>
  `to_prove as (
     insert into due_proofs as q (user_key, connection_key, asset_key, since)
     select $1::bigint, $2::integer, c.asset_key, min(c.occurred_at) from ${source} as c group by c.asset_key
     on conflict (user_key, connection_key, asset_key) do update
       set since = least(q.since, excluded.since), marks = q.marks + 1
   )`

/** Adds the postings of new transactions. */
export async function addPostings(tx: Sql, ref: ConnectionRef, postings: readonly Posting[]): Promise<void> {
  if (postings.length === 0) return
  await tx.execute(
    `with added as (${insertPostings}), ${toProve(`(select * from ${given})`)} ${sumUp(`(select * from ${given})`, '')}`,
    valuesOf(ref, postings),
  )
}

/** Replaces the postings of these transactions. Unchanged rows are not touched. */
export async function replacePostings(
  tx: Sql,
  ref: ConnectionRef,
  transactionIds: readonly string[],
  postings: readonly Posting[],
): Promise<void> {
  if (transactionIds.length === 0) return
  const values = valuesOf(ref, postings)
  await tx.execute(
    `with gone as (
       delete from postings p
       where p.user_key = $1::bigint and p.transaction_id = any($11::uuid[])
         and (p.transaction_id, p.asset_key, p.occurred_at, p.ordinal, p.staked, p.side, p.spam, p.amount)
           not in (select * from ${given})
       returning p.asset_key, p.occurred_at, p.spam, p.amount
     ), ${toProve('gone')} ${sumUp('gone', '-')}`,
    [...values, [...transactionIds]],
  )
  if (postings.length === 0) return
  await tx.execute(
    `with added as (
       ${insertPostings}
       where not exists (select from postings p where p.user_key = $1::bigint
         and p.transaction_id = g.transaction_id and p.ordinal = g.ordinal)
       returning asset_key, occurred_at, spam, amount
     ), ${toProve('added')} ${sumUp('added', '')}`,
    values,
  )
}
