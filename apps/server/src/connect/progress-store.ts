/** How far reading has come and whether it adds up, from the views that other modules declare. Reads only. */
import type { Decimal } from '@assay/core'
import type { ConnectionRow, Grade } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import type { ProofCause } from '../proof/index.ts'

export interface ConnectProgress {
  /** Null until balances were read. */
  assets: number | null
  records: number
  transactions: number
  historyFrom: string | null
  done: boolean
  /** The largest by value; a share is the length of a bar, not money. */
  top: { asset_symbol: string; share: number }[]
  valueInUsd: Decimal | null
  /** Null until the balances were first judged. */
  proof: { grade: Grade; provedSince: string | null; difference: Difference | null } | null
}

/** The first thing that a person should know about what does not add up. */
interface Difference {
  assetSymbol: string
  cause: ProofCause
  amount: Decimal
  startMs: number
  endMs: number
  /** How many assets differ, this one included. */
  assets: number
}

interface ProgressRow {
  assets: number
  balances_read: boolean
  records: number
  transactions: number
  history_from: string | null
  top: ConnectProgress['top'] | null
  value_in_usd: Decimal | null
  difference: Difference | null
}

const topMax = 6

export async function listProgress(
  sql: Sql,
  { userKey }: Owner,
  rows: readonly ConnectionRow[],
): Promise<(ConnectionRow & { progress: ConnectProgress })[]> {
  // A session has a handful of connections, and each needs its own index ranges.
  const described: (ConnectionRow & { progress: ConnectProgress })[] = []
  for (const row of rows) {
    const found = await findProgress(sql, userKey, row.connection_key)
    // An undefined one was removed a moment ago.
    if (found !== undefined) described.push({ ...row, progress: toProgress(row, found) })
  }
  return described
}

async function findProgress(sql: Sql, userKey: string, connectionKey: number): Promise<ProgressRow | undefined> {
  return sql.maybeRow<ProgressRow>(
    `with held as materialized (
       select asset_symbol, sum(value_in_usd) as value from connection_values
       where user_key = $1 and connection_key = $2 group by asset_symbol
     ), total as (
       select count(*)::int as assets, trim_scale(sum(value))::text as value_in_usd, sum(value) as value from held
     ), top as (
       select json_agg(json_build_object('asset_symbol', asset_symbol, 'share', share) order by share desc, asset_symbol) as top
       from (
         select held.asset_symbol, round(held.value / total.value, 4)::double precision as share
         from held, total
         where held.value > 0 and total.value > 0
         order by held.value desc, held.asset_symbol limit ${topMax}
       ) largest
     ), differing as (
       select json_build_object('assetSymbol', a.symbol, 'cause', g.causes -> 0 ->> 'cause',
         'amount', g.causes -> 0 ->> 'amount', 'startMs', g.causes -> 0 -> 'startMs', 'endMs', g.causes -> 0 -> 'endMs',
         'assets', count(*) over ()) as difference
       from asset_grades g join assets a on a.asset_key = g.asset_key
       where g.user_key = $1 and g.connection_key = $2 and not g.spam and not g.uninvited and g.causes <> '[]'
       order by g.grade = 'open' desc, (g.causes -> 0 ->> 'amount')::numeric <> 0 desc, a.symbol limit 1
     )
     select total.assets, total.value_in_usd, top.top, (select difference from differing) as difference, counts.balances_at is not null as balances_read,
       counts.record_count::int as records, counts.transaction_count::int as transactions, counts.history_from
     from connection_counts counts
     cross join total
     cross join top
     where counts.user_key = $1 and counts.connection_key = $2`,
    [userKey, connectionKey],
  )
}

function toProgress(connection: ConnectionRow, row: ProgressRow): ConnectProgress {
  const { status, proof_grade: grade, proved_since: provedSince } = connection
  return {
    assets: row.balances_read ? row.assets : null,
    records: row.records,
    transactions: row.transactions,
    historyFrom: row.history_from,
    done: status === 'active',
    top: row.top ?? [],
    valueInUsd: row.value_in_usd,
    proof: grade === null ? null : { grade, provedSince, difference: row.difference },
  }
}
