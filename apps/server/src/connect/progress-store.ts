/** How far reading has come, from the views that the ledger declares. Reads only. */
import type { Decimal } from '@assay/core'
import type { ConnectionRow } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

export interface Progress {
  /** Null until balances were read. */
  assets: number | null
  records: number
  transactions: number
  historyFrom: string | null
  done: boolean
  /** The largest by value; a share is a length of a bar, no money. */
  top: { asset_symbol: string; share: number }[]
  valueInUsd: Decimal | null
}

interface ProgressRow {
  assets: number
  records: number
  transactions: number
  history_from: string | null
  top: Progress['top'] | null
  value_in_usd: Decimal | null
}

const topMax = 6

export async function listProgress(
  sql: Sql,
  owner: { tenantId: string; userId: string },
  rows: readonly ConnectionRow[],
): Promise<(ConnectionRow & { progress: Progress })[]> {
  // A session has a handful of connections, and each needs its own index ranges.
  const described: (ConnectionRow & { progress: Progress })[] = []
  for (const row of rows) {
    const found = await findProgress(sql, [owner.tenantId, owner.userId, row.id])
    described.push({ ...row, progress: toProgress(row, found) })
  }
  return described
}

async function findProgress(sql: Sql, ref: [string, string, string]): Promise<ProgressRow> {
  return sql.row<ProgressRow>(
    `with held as materialized (
       select asset_symbol, sum(value_in_usd) as value from connection_values
       where tenant_id = $1 and user_id = $2 and connection_id = $3 group by asset_symbol
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
     )
     select total.assets, total.value_in_usd, top.top, coalesce(records.records, 0)::int as records,
       coalesce(done.transactions, 0)::int as transactions, done.history_from
     from total
     cross join top
     left join connection_records records
       on records.tenant_id = $1 and records.user_id = $2 and records.connection_id = $3
     left join connection_transactions done
       on done.tenant_id = $1 and done.user_id = $2 and done.connection_id = $3`,
    ref,
  )
}

function toProgress({ status }: ConnectionRow, row: ProgressRow): Progress {
  // Balances come first, then records: with neither, an empty account and an unread one look the same.
  const balancesRead = row.assets > 0 || row.records > 0 || status !== 'syncing'
  return {
    assets: balancesRead ? row.assets : null,
    records: row.records,
    transactions: row.transactions,
    historyFrom: row.history_from,
    done: status === 'active',
    top: row.top ?? [],
    valueInUsd: row.value_in_usd,
  }
}
