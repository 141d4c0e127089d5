/** A user with a token, connections and rows that a test writes by hand. */
import { createHash } from 'node:crypto'
import type { Database, Sql } from '../db/index.ts'
import type { ConnectionRef, Owner } from '../owner.ts'
import type { UncheckedToken } from './authorized-read-store.ts'

export interface TestUser extends Owner {
  /** An access token, and its claims before it is checked. */
  token: string
  access: UncheckedToken
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** `txn_` and 32 digits, from any text. */
export const toId = (name: string): string => `txn_${createHash('md5').update(name).digest('hex')}`

/** The number of the change number `counter` in this millisecond. */
export const seqAt = (time: string, counter = 0): string => String((BigInt(Date.parse(time)) << 20n) + BigInt(counter))

/** A user of the tenant `ten_a`, who gave the client `cli_a` these scopes. */
export async function addUser(
  db: Database,
  name: string,
  scopes: readonly string[] = ['assets:read', 'transactions:read'],
): Promise<TestUser> {
  const userId = `usr_${name}`
  const key = sha256(userId).subarray(0, 8)
  const userKey = key.readBigInt64BE().toString()
  const token = Buffer.concat([key, sha256(`token of ${userId}`)]).toString('base64url')
  const tokenHash = sha256(token)
  const values = [userKey, userId, tokenHash, [...scopes], db.now()]
  const { tenant_key: tenantKey } = await db.row<{ tenant_key: number }>(
    `with tenant as (
       insert into tenants (id, name, created_at) values ('ten_a', 'A', $1)
       on conflict (id) do update set name = excluded.name returning tenant_key
     ), client as (
       insert into clients (id, tenant_key, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only,
         require_code_verifier, created_at)
       select 'cli_a', tenant_key, 'ten_a', 'A', '{}', '{}', '{}', false, false, $1 from tenant on conflict do nothing
     )
     select tenant_key from tenant`,
    [db.now()],
  )
  await db.execute(
    `with someone as (
       insert into users (user_key, tenant_key, tenant_id, id, external_user_id, created_at)
       values ($1, $6, 'ten_a', $2, $2, $5)
     ), ledger as (insert into user_ledgers (user_key) values ($1)
     ), family as (
       insert into token_families (user_key, client_id, grant_id, tenant_key, tenant_id, user_id, code_hash,
         code_challenge, code_challenge_method, scopes, consent, created_at, expires_at)
       values ($1, 'cli_a', 'grt_' || $2, $6, 'ten_a', $2, $3, '', 'S256', $4, '{}', $5,
         $5::timestamptz + interval '1 year') returning id
     )
     insert into access_tokens (user_key, token_hash, family_id, grant_id, client_id, tenant_key, tenant_id, user_id,
       scopes, issued_at, expires_at)
     select $1, $3, id, 'grt_' || $2, 'cli_a', $6, 'ten_a', $2, $4, $5, $5::timestamptz + interval '1 year' from family`,
    [...values, tenantKey],
  )
  return { tenantKey, tenantId: 'ten_a', userKey, userId, token, access: { userKey, tokenHash } }
}

export interface TestConnection {
  key: number
  id: string
  providerId?: string
  status?: string
  /** Provisional until the session is settled. */
  connectSessionId?: string
  shownAt?: string
  shownSeq?: string
  balancesAt?: string
  addedAt?: string
}

const longAgo = '2020-01-01T00:00:00.000Z'

export async function addConnection(db: Sql, owner: Owner, connection: TestConnection): Promise<ConnectionRef> {
  const {
    key,
    id,
    providerId = 'kraken',
    status = 'active',
    connectSessionId,
    addedAt = longAgo,
    balancesAt,
  } = connection
  const { shownAt = longAgo, shownSeq = '0' } = connection
  const isShown = connectSessionId === undefined
  await db.execute(
    `with counted as (
       update user_ledgers set connection_keys = greatest(connection_keys, $2::integer) where user_key = $1::bigint)
     insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type,
       status, key_lane, account_fingerprint, session_id, created_at, added_at, shown_at, shown_seq, balances_at)
     values ($1::bigint, $2::integer, $3, $4, $5, $6, $7, 'api_key', $8, $3, $3, $9, $10, $10, $11, $12, $13)`,
    [
      ...[owner.userKey, key, id, owner.tenantKey, owner.tenantId, owner.userId, providerId, status],
      ...[connectSessionId ?? null, addedAt, isShown ? shownAt : null, isShown ? shownSeq : null, balancesAt ?? null],
    ],
  )
  return { ...owner, connectionKey: key, connectionId: id }
}

export interface TestRow {
  /** Made with toId. */
  id: string
  connectionKey: number
  providerId?: string
  occurredAt: string
  updatedAt?: string
  /** By default the first number of `updatedAt`. */
  changeSeq?: string
  type?: string
  category?: string
  /** Its legs: a posting for each, or only the document has them if it is pending. */
  symbols?: readonly string[]
  isPending?: boolean
}

/** Assets `test:SYMBOL`. */
export async function addAssets(db: Sql, symbols: readonly string[]): Promise<void> {
  await db.execute(
    `insert into assets (id, kind, symbol, name) select 'test:' || s, 'crypto', s, s from unnest($1::text[]) s
     on conflict do nothing`,
    [[...symbols]],
  )
}

export async function addRows(db: Sql, owner: Owner, rows: readonly TestRow[]): Promise<void> {
  await addAssets(db, [...new Set(rows.flatMap(({ symbols = [] }) => symbols))])
  for (const row of rows) {
    const { updatedAt = longAgo, symbols = [], isPending = false } = row
    const changeSeq = row.changeSeq ?? seqAt(updatedAt)
    // A user's counter is never behind the number of a transaction.
    await db.execute('update user_ledgers set change_seq = greatest(change_seq, $2::bigint) where user_key = $1', [
      owner.userKey,
      changeSeq,
    ])
    await db.execute(
      `insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type,
         category, pending, staked_legs, provider_id, group_key, document)
       values ($1, $2::uuid, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11, $2::uuid::text, $12)`,
      [
        ...[owner.userKey, row.id.slice(4), row.occurredAt, changeSeq, updatedAt],
        ...[row.connectionKey, owner.tenantKey, row.type ?? 'send', row.category ?? 'withdrawal', isPending],
        ...[row.providerId ?? 'kraken', documentOf(symbols)],
      ],
    )
    if (isPending) continue
    await db.execute(
      `insert into postings (user_key, occurred_at, transaction_id, asset_key, connection_key, ordinal, staked, side, spam, amount)
       select $1, $2, $3, a.asset_key, $4, n, false, 'i', false, 1
       from unnest($5::text[]) with ordinality as w (symbol, n) join assets a on a.id = 'test:' || w.symbol`,
      [owner.userKey, row.occurredAt, row.id.slice(4), row.connectionKey, [...symbols]],
    )
  }
}

function documentOf(symbols: readonly string[]): string {
  const inputs = symbols.map((symbol) => ({ asset_symbol: symbol, asset_id: `test:${symbol}`, amount: '1' }))
  return JSON.stringify({ type: 'send', spam: false, inputs, outputs: [], fees: { items: [] } }).slice(1)
}
