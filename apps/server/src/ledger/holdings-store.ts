/** All SQL over holdings. Sums are made by PostgreSQL's numeric, which is exact, and leave as decimal text. */
import type { Balance } from '@assay/connectors'
import { isZero, type Decimal } from '@assay/core'
import type { ConnectionRef } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'

interface Owner {
  tenantId: string
  userId: string
}

/** A connection's position in one asset (v2). */
export interface Position {
  connection_id: string
  provider_id: string
  asset_id: string
  asset_symbol: string
  asset_name: string
  liquid: Decimal
  staked: Decimal
  total: Decimal
  price_in_usd: Decimal | null
  value_in_usd: Decimal | null
  spam: boolean
  fetched_at: string
}

export interface PositionRequest {
  limit: number
  after: { connectionId: string; symbol: string; assetId: string } | undefined
  providerIds?: readonly string[] | undefined
  connectionIds?: readonly string[] | undefined
  assetSymbols?: readonly string[] | undefined
}

/** A crypto source's position in one asset, all its connections summed (v1). */
export interface SourcePosition {
  crypto_source_id: string
  asset_id: string
  asset_symbol: string
  liquid: Decimal
  staked: Decimal
  price_in_usd: Decimal | null
  fetched_at: string
}

export interface SourcePositionRequest {
  /** All of them when undefined. */
  limit: number | undefined
  after: { sourceId: string; symbol: string; assetId: string } | undefined
  sourceIds?: readonly string[] | undefined
  assetSymbols?: readonly string[] | undefined
  /** On the time of the row: start included, end excluded. */
  startTime?: string | undefined
  endTime?: string | undefined
}

export interface JudgedBalance extends Balance {
  spam: boolean
}

export async function replaceHoldings(
  sql: Sql,
  ref: ConnectionRef,
  providerId: string,
  balances: readonly JudgedBalance[],
): Promise<void> {
  const held = balances.filter((balance) => !isZero(balance.liquid) || !isZero(balance.staked))
  await deleteHoldings(sql, ref)
  // A conflict only with another worker that reads the same connection at the same moment, taken for dead; the later wins.
  await sql.execute(
    `insert into holdings (tenant_id, user_id, connection_id, provider_id, fetched_at, asset_id, asset_symbol, asset_name, liquid, staked, spam)
     select $1, $2, $3, $4, (select assay_now()), * from unnest($5::text[], $6::text[], $7::text[], $8::numeric[], $9::numeric[], $10::boolean[])
     on conflict (tenant_id, user_id, connection_id, asset_id) do update
       set fetched_at = excluded.fetched_at, liquid = excluded.liquid, staked = excluded.staked, spam = excluded.spam`,
    [
      ref.tenantId,
      ref.userId,
      ref.connectionId,
      providerId,
      held.map(({ assetId }) => assetId),
      held.map(({ symbol }) => symbol),
      held.map(({ name }) => name),
      held.map(({ liquid }) => liquid),
      held.map(({ staked }) => staked),
      held.map(({ spam }) => spam),
    ],
  )
}

async function deleteHoldings(sql: Sql, ref: ConnectionRef): Promise<void> {
  await sql.execute('delete from holdings where tenant_id = $1 and user_id = $2 and connection_id = $3', [
    ref.tenantId,
    ref.userId,
    ref.connectionId,
  ])
}

export async function listPositions(sql: Sql, owner: Owner, request: PositionRequest): Promise<Position[]> {
  return sql.rows<Position>(
    `select h.connection_id, h.provider_id, h.asset_id, h.asset_symbol, h.asset_name,
       trim_scale(h.liquid)::text as liquid, trim_scale(h.staked)::text as staked,
       trim_scale(h.liquid + h.staked)::text as total, trim_scale(p.price_in_usd)::text as price_in_usd,
       trim_scale(p.price_in_usd * (h.liquid + h.staked))::text as value_in_usd, h.spam, h.fetched_at
     from holdings h left join current_prices p on p.asset_id = h.asset_id
     where h.tenant_id = $1 and h.user_id = $2
       and not exists (select from hidden_connections c where c.tenant_id = $1 and c.user_id = $2 and c.id = h.connection_id)
       and ($3::text is null or (h.connection_id, h.asset_symbol, h.asset_id) > ($3, $4, $5))
       and ($6::text[] is null or h.provider_id = any($6)) and ($7::text[] is null or h.asset_symbol = any($7))
       and ($8::text[] is null or h.connection_id = any($8))
     order by h.connection_id, h.asset_symbol, h.asset_id limit $9`,
    [
      owner.tenantId,
      owner.userId,
      request.after?.connectionId ?? null,
      request.after?.symbol ?? null,
      request.after?.assetId ?? null,
      request.providerIds ?? null,
      request.assetSymbols ?? null,
      request.connectionIds ?? null,
      request.limit,
    ],
  )
}

export async function listSourcePositions(
  sql: Sql,
  owner: Owner,
  request: SourcePositionRequest,
): Promise<SourcePosition[]> {
  return sql.rows<SourcePosition>(
    `select s.crypto_source_id, s.asset_id, s.asset_symbol, trim_scale(s.liquid)::text as liquid,
       trim_scale(s.staked)::text as staked, trim_scale(p.price_in_usd)::text as price_in_usd, s.fetched_at
     from (
       select h.provider_id as crypto_source_id, h.asset_id, min(h.asset_symbol) as asset_symbol,
         sum(h.liquid) as liquid, sum(h.staked) as staked, min(h.fetched_at) as fetched_at
       from holdings h
       where h.tenant_id = $1 and h.user_id = $2 and not h.spam
         and not exists (select from hidden_connections c where c.tenant_id = $1 and c.user_id = $2 and c.id = h.connection_id)
         and ($3::text[] is null or h.provider_id = any($3)) and ($4::text[] is null or h.asset_symbol = any($4))
       group by h.provider_id, h.asset_id
     ) s left join current_prices p on p.asset_id = s.asset_id
     where ($5::timestamptz is null or s.fetched_at >= $5) and ($6::timestamptz is null or s.fetched_at < $6)
       and ($7::text is null or (s.crypto_source_id, s.asset_symbol, s.asset_id) > ($7, $8, $9))
     order by s.crypto_source_id, s.asset_symbol, s.asset_id limit $10`,
    [
      owner.tenantId,
      owner.userId,
      request.sourceIds ?? null,
      request.assetSymbols ?? null,
      request.startTime ?? null,
      request.endTime ?? null,
      request.after?.sourceId ?? null,
      request.after?.symbol ?? null,
      request.after?.assetId ?? null,
      request.limit ?? null,
    ],
  )
}
