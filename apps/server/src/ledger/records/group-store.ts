/** All SQL over `group_aliases`, and over the groups that records move between. */
import type { ConnectorState, StoredRecord } from '@assay/connectors'
import type { Sql } from '../../db/index.ts'
import { keysOf, type ConnectionRef } from '../../owner.ts'
import type { GroupedRecord } from './raw-store.ts'

/** The keys among these that lead to another group than their own. */
export async function listAliases(sql: Sql, ref: ConnectionRef, keys: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql.rows<{ link_key: string; group_key: string }>(
    `select link_key, group_key from group_aliases
     where user_key = $1::bigint and connection_key = $2::integer and link_key = any($3::text[])`,
    [...keysOf(ref), [...keys]],
  )
  return new Map(rows.map((row) => [row.link_key, row.group_key]))
}

export async function keepAliases(tx: Sql, ref: ConnectionRef, aliases: ReadonlyMap<string, string>): Promise<void> {
  await tx.execute(
    `insert into group_aliases (user_key, connection_key, link_key, group_key)
     select $1::bigint, $2::integer, g.* from unnest($3::text[], $4::text[]) as g
     on conflict (user_key, connection_key, link_key) do update set group_key = excluded.group_key`,
    [...keysOf(ref), [...aliases.keys()], [...aliases.values()]],
  )
}

/** Moves records from each group to the other, with the keys that lead there. Returns how many records moved. */
export async function moveRecords(tx: Sql, ref: ConnectionRef, moves: ReadonlyMap<string, string>): Promise<number> {
  const values = [...keysOf(ref), [...moves.keys()], [...moves.values()]]
  await tx.execute(
    `update group_aliases a set group_key = m.new_key from unnest($3::text[], $4::text[]) as m (old_key, new_key)
     where a.user_key = $1::bigint and a.connection_key = $2::integer and a.group_key = m.old_key`,
    values,
  )
  return tx.execute(
    `update raw_records r set group_key = m.new_key from unnest($3::text[], $4::text[]) as m (old_key, new_key)
     where r.user_key = $1::bigint and r.connection_key = $2::integer and r.group_key = m.old_key`,
    values,
  )
}

/** Every record of the connection, retired ones too, in the order of their keys. */
export async function listRecords(
  sql: Sql,
  ref: ConnectionRef,
  after: Pick<StoredRecord, 'stream' | 'partition' | 'key'>,
  limit: number,
): Promise<GroupedRecord[]> {
  const rows = await sql.rows<{
    stream: string
    partition: string
    key: string
    group: string
    occurred_at: string
    body: string
    pending: boolean
    unreadable: string | null
  }>(
    `select stream, partition, source_key as key, group_key as "group", occurred_at, body, pending, unreadable
     from raw_records
     where user_key = $1::bigint and connection_key = $2::integer
       and (stream, partition, source_key) > ($3::text, $4::text, $5::text)
     order by stream, partition, source_key limit $6::bigint`,
    [...keysOf(ref), after.stream, after.partition, after.key, limit],
  )
  return rows.map(({ occurred_at, unreadable, ...row }) => ({
    ...row,
    occurredAtMs: Date.parse(occurred_at),
    ...(unreadable === null ? {} : { unreadable }),
  }))
}

/** Makes these aliases the connection's only ones, and puts each of these records into its group. */
export async function replaceGroups(
  tx: Sql,
  ref: ConnectionRef,
  aliases: ReadonlyMap<string, string>,
  moves: readonly { stream: string; partition: string; key: string; to: string; unreadable: string | null }[],
): Promise<void> {
  await tx.execute(
    'delete from group_aliases where user_key = $1::bigint and connection_key = $2::integer',
    keysOf(ref),
  )
  if (aliases.size > 0) await keepAliases(tx, ref, aliases)
  if (moves.length === 0) return
  await tx.execute(
    `update raw_records r set group_key = m.new_key, unreadable = m.unreadable
     from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
       as m (stream, partition, source_key, new_key, unreadable)
     where r.user_key = $1::bigint and r.connection_key = $2::integer
       and r.stream = m.stream and r.partition = m.partition and r.source_key = m.source_key`,
    [
      ...keysOf(ref),
      moves.map(({ stream }) => stream),
      moves.map(({ partition }) => partition),
      moves.map(({ key }) => key),
      moves.map(({ to }) => to),
      moves.map(({ unreadable }) => unreadable),
    ],
  )
}

/** What the connector knows of the account. */
export async function findState(sql: Sql, ref: ConnectionRef): Promise<ConnectorState> {
  const row = await sql.maybeRow<{ state: string }>(
    'select state from account_states where user_key = $1::bigint and connection_key = $2::integer',
    keysOf(ref),
  )
  return row === undefined ? {} : (JSON.parse(row.state) as Record<string, unknown>)
}
