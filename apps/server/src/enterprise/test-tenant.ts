/** Tenants, clients and users with known keys, as plain rows: as their owning rooms would write them. */
import type { Database } from '../db/index.ts'
import type { Owner, Tenant } from '../owner.ts'

export async function insertTenant(db: Database, tenantId: string, clientIds: readonly string[]): Promise<Tenant> {
  const { tenant_key: tenantKey } = await db.row<{ tenant_key: number }>(
    'insert into tenants (id, name, created_at) values ($1, $1, $2) returning tenant_key',
    [tenantId, db.now()],
  )
  await db.execute(
    `insert into clients (id, tenant_key, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only,
       require_code_verifier, created_at)
     select id, $1, $2, id, '{}', '{}', '{}', false, false, $4 from unnest($3::text[]) id`,
    [tenantKey, tenantId, clientIds, db.now()],
  )
  return { tenantKey, tenantId }
}

let users = 0

/** The keys of a test's users grow, so that their order is known. */
export async function insertUser(db: Database, tenant: Tenant, userId: string): Promise<Owner> {
  users += 1
  const userKey = String(users)
  await db.execute(
    `insert into users (user_key, tenant_key, tenant_id, id, external_user_id, created_at)
     values ($1::bigint, $2, $3, $4, $4, $5)`,
    [userKey, tenant.tenantKey, tenant.tenantId, userId, db.now()],
  )
  return { ...tenant, userKey, userId }
}

export interface TestGrant {
  clientId: string
  scopes: readonly string[]
  /** Counted from now; negative when it has ended. */
  lastsSeconds?: number
}

const yearSeconds = 31_536_000

/** The newest consent of a user to a client. */
export async function putGrant(
  db: Pick<Database, 'execute' | 'now'>,
  owner: Owner,
  { clientId, scopes, lastsSeconds = yearSeconds }: TestGrant,
): Promise<void> {
  await db.execute(
    `insert into grants (user_key, client_id, id, tenant_key, tenant_id, user_id, scopes, consent, granted_at, expires_at)
     values ($1::bigint, $2, 'grt_' || $2 || $5, $3, $4, $5, $6, '{}', $7::timestamptz,
       $7::timestamptz + make_interval(secs => $8))
     on conflict (user_key, client_id) do update
       set scopes = excluded.scopes, granted_at = excluded.granted_at, expires_at = excluded.expires_at, revoked_at = null`,
    [owner.userKey, clientId, owner.tenantKey, owner.tenantId, owner.userId, scopes, db.now(), lastsSeconds],
  )
}

export interface TestConnection {
  connectionKey: number
  connectionId: string
  providerId?: string
  /** The session that made it, if that was not redeemed. */
  connectSessionId?: string
}

export async function insertConnection(
  db: Pick<Database, 'execute' | 'now'>,
  owner: Owner,
  { connectionKey, connectionId, providerId = 'kraken', connectSessionId }: TestConnection,
): Promise<void> {
  await db.execute('insert into user_ledgers (user_key) values ($1::bigint) on conflict do nothing', [owner.userKey])
  await db.execute(
    `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type,
       status, key_lane, session_id, created_at, added_at, shown_at, shown_seq)
     values ($1::bigint, $2, $3, $4, $5, $6, $7, 'api_key', 'active', $3, $8::text, $9::timestamptz, $9::timestamptz,
       case when $8 is null then $9::timestamptz end, case when $8 is null then 1 end)
     on conflict do nothing`,
    [
      owner.userKey,
      connectionKey,
      connectionId,
      owner.tenantKey,
      owner.tenantId,
      owner.userId,
      providerId,
      connectSessionId ?? null,
      db.now(),
    ],
  )
}

/** Assets outside the registry, with the ids and symbols that the test chooses. */
export async function insertAssets(
  db: Database,
  assets: readonly (readonly [id: string, symbol: string])[],
): Promise<void> {
  await db.execute(
    `insert into assets (id, kind, symbol, name) select id, 'crypto', symbol, symbol
     from unnest($1::text[], $2::text[]) as given (id, symbol) on conflict (id) do nothing`,
    [assets.map(([id]) => id), assets.map(([, symbol]) => symbol)],
  )
}

export interface TestHolding {
  assetId: string
  liquid: string
  staked: string
  spam?: boolean
}

export async function replaceHoldings(
  tx: Pick<Database, 'execute' | 'now'>,
  owner: Owner,
  connectionKey: number,
  holdings: readonly TestHolding[],
): Promise<void> {
  await tx.execute('delete from holdings where user_key = $1 and connection_key = $2', [owner.userKey, connectionKey])
  for (const { assetId, liquid, staked, spam = false } of holdings) {
    await tx.execute(
      `insert into holdings (user_key, connection_key, asset_key, liquid, staked, spam, changed_at)
       select c.user_key, c.connection_key, a.asset_key, $4, $5, $6, $7 from connections c, assets a
       where c.user_key = $1 and c.connection_key = $2 and a.id = $3
       on conflict (user_key, connection_key, asset_key) do update
         set liquid = excluded.liquid, staked = excluded.staked, spam = excluded.spam`,
      [owner.userKey, connectionKey, assetId, liquid, staked, spam, tx.now()],
    )
  }
}

export interface TestTransaction {
  /** 32 hexadecimal digits. */
  id: string
  connectionKey: number
  occurredAt: string
  /** The newest of the user's change numbers, when it is written. */
  changeSeq: string
  /** The quantity and asset received; empty while the transaction is pending. */
  assetId?: string
  pending?: boolean
  document?: string
}

/** A deposit of one asset. */
export async function putTransaction(
  tx: Pick<Database, 'execute' | 'now'>,
  owner: Owner,
  { id, connectionKey, occurredAt, changeSeq, assetId, pending = false, document }: TestTransaction,
): Promise<void> {
  await tx.execute(
    `insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type, category,
       pending, staked_legs, provider_id, group_key, document)
     select $1::bigint, $2::uuid, $3, $4::bigint, to_timestamp(($4::bigint >> 20) / 1000.0), $5, $6, 'receive', 'deposit',
       $7, 0, c.provider_id, $2::text, $8
     from connections c where c.user_key = $1::bigint and c.connection_key = $5
     on conflict (user_key, id) do update
       set change_seq = excluded.change_seq, updated_at = excluded.updated_at, document = excluded.document`,
    [
      owner.userKey,
      id,
      occurredAt,
      changeSeq,
      connectionKey,
      owner.tenantKey,
      pending,
      document ?? `"type":"receive","inputs":[{"asset_symbol":"BTC"}]}`,
    ],
  )
  if (assetId === undefined || pending) return
  await tx.execute(
    `insert into postings (user_key, asset_key, occurred_at, transaction_id, ordinal, connection_key, staked, side, spam, amount)
     select $1::bigint, a.asset_key, $3, $2::uuid, 0, $4, false, 'i', false, 1 from assets a where a.id = $5
     on conflict do nothing`,
    [owner.userKey, id, occurredAt, connectionKey, assetId],
  )
}
