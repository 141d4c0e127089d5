/** All SQL of explanations: what a transaction was made of. It only reads. */
import type { Decimal } from '@assay/core'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'

export interface ExplainedRow {
  connection_key: number
  provider_id: string
  group_key: string
  occurred_at: string
  updated_at: string
  /** The members of the transaction, without the head. */
  document: string
}

/** Undefined when the owner has no such transaction, or it is not shown. */
export async function findTransaction(sql: Sql, { userKey }: Owner, id: string): Promise<ExplainedRow | undefined> {
  return sql.maybeRow<ExplainedRow>(
    `select t.connection_key, t.provider_id, t.group_key, t.occurred_at, t.updated_at, t.document
     from transactions t
     join readable_connections c on c.user_key = t.user_key and c.connection_key = t.connection_key
     where t.user_key = $1::bigint and t.id = $2::uuid`,
    [userKey, id],
  )
}

export interface ExplainedRecord {
  stream: string
  partition: string
  key: string
  occurred_at: string
  fetched_at: string
  body: string
}

const recordsMax = 1_000

/** What the records of an explanation may take. Anyone who writes to a wallet decides how large its records are. */
const recordsBytesMax = 32 * 1024 * 1024

/** The records that the transaction was derived from, the oldest first, as far as an answer has room for them. */
export async function listRecords(
  sql: Sql,
  { userKey }: Owner,
  { connection_key, group_key }: ExplainedRow,
): Promise<ExplainedRecord[]> {
  return sql.rows<ExplainedRecord>(
    `select stream, partition, key, occurred_at, fetched_at, body from (
       select stream, partition, source_key as key, occurred_at, fetched_at, body,
         sum(octet_length(body)) over (order by occurred_at, stream, partition, source_key) as bytes
       from raw_records
       where user_key = $1::bigint and connection_key = $2::integer and group_key = $3 and retired_at is null) sized
     where bytes <= $4::bigint
     order by occurred_at, stream, partition, key limit ${recordsMax}`,
    [userKey, connection_key, group_key, recordsBytesMax],
  )
}

export interface DailyPrice {
  asset_id: string
  price_in_usd: Decimal
  method: string
  source: string
  at: string
}

export async function listPrices(sql: Sql, assetIds: readonly string[], occurredAt: string): Promise<DailyPrice[]> {
  return sql.rows<DailyPrice>(
    `select asset_id, trim_scale(price_in_usd)::text as price_in_usd, method, source,
       day::timestamp at time zone 'UTC' as at
     from daily_prices where asset_id = any($1::text[]) and day = ($2::timestamptz at time zone 'UTC')::date`,
    [[...assetIds], occurredAt],
  )
}

export interface MatchRow {
  other_id: string
  confidence: number
  is_same_hash: boolean
  is_same_address: boolean
  amount_out: Decimal
  amount_in: Decimal
  seconds_apart: number
}

export async function findMatch(sql: Sql, { userKey }: Owner, id: string): Promise<MatchRow | undefined> {
  return sql.maybeRow<MatchRow>(
    `select case when m.outgoing_id = $2::uuid then m.incoming_id else m.outgoing_id end as other_id, m.confidence,
       coalesce(o.hash = i.hash, false) as is_same_hash, coalesce(o.to_address = i.to_address, false) as is_same_address,
       trim_scale(o.amount)::text as amount_out, trim_scale(i.amount)::text as amount_in,
       extract(epoch from i.occurred_at - o.occurred_at)::double precision as seconds_apart
     from transfer_matches m
     join transfer_legs o on o.user_key = m.user_key and o.transaction_id = m.outgoing_id
     join transfer_legs i on i.user_key = m.user_key and i.transaction_id = m.incoming_id
     where m.user_key = $1::bigint and (m.outgoing_id = $2::uuid or m.incoming_id = $2::uuid)`,
    [userKey, id],
  )
}

export interface VersionRow {
  known_from: string
  known_to: string | null
  reason: string
}

/** Former versions, the oldest first. */
export async function listVersions(
  sql: Sql,
  { userKey }: Owner,
  id: string,
  { connection_key }: ExplainedRow,
): Promise<VersionRow[]> {
  return sql.rows<VersionRow>(
    `select known_from, known_to, reason from transaction_versions
     where user_key = $1::bigint and connection_key = $2::integer and id = $3::uuid
     order by known_from, known_to limit ${recordsMax}`,
    [userKey, connection_key, id],
  )
}
