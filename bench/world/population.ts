/**
 * Users with histories and holdings, written by SQL, because reading ten million transactions through the product would
 * take hours. The documents are real ones of an account in the sandbox, in the mix of their kinds.
 *
 * Rows lie in the table as a first read leaves them: user by user, and within a user newest first, which is the order
 * in which the ledger derives (ledger/deriving/derive.ts). `storage` compares this with a real first read and says how
 * many blocks a page touches in each, which reveals a population that flatters us or a ledger that stops writing in
 * page order. What a population does not have is a long life: rows that arrive one by one after the first read lie
 * apart.
 *
 * Only the tables that the measured requests read are filled: raw records and postings are left empty.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Database } from '../../apps/server/src/db/index.ts'
import { createStatistics } from '../../apps/server/src/enterprise/index.ts'
import { platformScopes } from '../../apps/server/src/tenants/index.ts'
import type { Bench, Size } from '../benchmark.ts'
import type { Say } from '../measure.ts'
import { accessTokenOf, clientId, sha256, tenantId, tenantToken, userIdOf, userKeyOf } from './people.ts'
import type { BenchDatabase } from './postgres.ts'

export interface Population {
  users: number
  transactionsEach: number
  positionsEach: number
}

/** The population that most benchmarks share. */
export function pagePopulation(size: Size): Population {
  return size === 'try'
    ? { users: 20, transactionsEach: 1_000, positionsEach: 300 }
    : { users: 400, transactionsEach: 5_000, positionsEach: 300 }
}

export async function openPopulation(bench: Bench, population: Population): Promise<BenchDatabase> {
  const { users, transactionsEach, positionsEach } = population
  const postgres = await bench.postgres()
  const name = `bench_${users}_${transactionsEach}_${positionsEach}`
  return postgres.ensureDatabase(name, bench.say, (db) => fillPopulation(db, population, bench.say))
}

export const historyEndMs = Date.parse('2026-11-01T00:00:00Z')
export const historyStartMs = Date.parse('2021-11-01T00:00:00Z')
/** Applications can see the connections from this moment; then the first read wrote the transactions. */
const shownMs = historyEndMs
const readMs = shownMs + 60_000
/** The first change number of a moment (ledger/changes-store.ts). */
const firstSeqAt = (ms: number): string => String(BigInt(ms) << 20n)
/** Each provider has a third of a user's positions; the first has all transactions. */
const providerIds = ['kraken', 'binance', 'coinbase']
const rowsPerStatement = 50_000
const far = "timestamptz '2100-01-01'"

interface SampleDocument {
  type: string
  category: string
  document: string
}

const samples = JSON.parse(readFileSync(path.join(import.meta.dirname, 'documents.json'), 'utf8')) as SampleDocument[]

export async function fillPopulation(db: Database, population: Population, say: Say): Promise<void> {
  const tenantKey = await insertTenant(db)
  await insertUsers(db, tenantKey, population)
  await withoutIndexes(db, 'transactions', say, () => insertTransactions(db, tenantKey, population, say))
  await insertPositions(db, population)
  say('counting the users for the statistics of the tenant')
  await db.execute('insert into user_notices (user_key, tenant_key) select user_key, tenant_key from users')
  await createStatistics({ db }).fold()
  say('vacuum and analyze')
  await db.execute('vacuum analyze')
}

/** Indexes are made at the end, in one go, which is several times faster than updating them row by row. */
async function withoutIndexes(db: Database, table: string, say: Say, fill: () => Promise<void>): Promise<void> {
  const indexes = await db.rows<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
     from pg_index where indrelid = $1::regclass and not indisprimary`,
    [table],
  )
  for (const { name } of indexes) await db.execute(`drop index ${name}`)
  await fill()
  for (const { name, definition } of indexes) {
    say(`creating the index ${name}`)
    await db.execute(definition)
  }
}

async function insertTenant(db: Database): Promise<number> {
  const now = db.now()
  const { tenant_key: tenantKey } = await db.row<{ tenant_key: number }>(
    `insert into tenants (id, name, created_at) values ($1, 'Benchmarks', $2) returning tenant_key`,
    [tenantId, now],
  )
  await db.execute(
    `insert into clients (id, tenant_key, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only,
       require_code_verifier, created_at)
     values ($1, $2, $3, 'Benchmarks', '{https://bench.example/callback}', '{}', $4, false, true, $5)`,
    [clientId, tenantKey, tenantId, [...platformScopes, 'enterprise:read'], now],
  )
  await db.execute(
    `insert into client_tokens (token_hash, client_id, tenant_key, tenant_id, scopes, issued_at, expires_at)
     values ($1, $2, $3, $4, '{enterprise:read}', $5, ${far})`,
    [sha256(tenantToken), clientId, tenantKey, tenantId, now],
  )
  return tenantKey
}

/** Each user has a connection at every provider, a consent and an access token. */
async function insertUsers(db: Database, tenantKey: number, population: Population): Promise<void> {
  const numbers = Array.from({ length: population.users }, (_, index) => index + 1)
  const providers = population.positionsEach === 0 ? providerIds.slice(0, 1) : providerIds
  await db.execute(
    `with people as (
       select p.*, $5::integer as tenant_key, '${tenantId}' as tenant_id, '${clientId}' as client_id, $6::timestamptz as at
       from unnest($1::integer[], $2::bigint[], $3::text[], $4::bytea[]) as p (n, user_key, id, token_hash)
     ), kept_users as (
       insert into users (user_key, tenant_key, tenant_id, id, external_user_id, created_at)
       select user_key, tenant_key, tenant_id, id, 'bench ' || n, at from people
     ), ledgers as (
       insert into user_ledgers (user_key, connection_keys, change_seq)
       select user_key, cardinality($8::text[]), $9::bigint from people
     ), kept_grants as (
       insert into grants (user_key, client_id, id, tenant_key, tenant_id, user_id, scopes, consent, granted_at, expires_at)
       select user_key, client_id, 'grt_' || n, tenant_key, tenant_id, id, $7::text[], '{}', at, ${far} from people
     ), kept_connections as (
       insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id,
         connection_type, status, key_lane, created_at, added_at, shown_at, shown_seq, last_synced_at, balances_at,
         transaction_count)
       select user_key, c.key, 'con_' || c.key || lpad(n::text, 25, '0'), tenant_key, tenant_id, id, c.provider_id,
         'api_key', 'active', 'lane ' || c.key || ' of ' || n, shown.at, shown.at, shown.at, $11::bigint, shown.at,
         shown.at, case when c.key = 1 then $12::bigint else 0 end
       from people, unnest($8::text[]) with ordinality as c (provider_id, key),
         (select to_timestamp($10::bigint / 1000.0)) as shown (at)
     ), families as (
       insert into token_families (user_key, client_id, grant_id, tenant_key, tenant_id, user_id, code_hash,
         code_challenge, code_challenge_method, scopes, consent, created_at, expires_at)
       select user_key, client_id, 'grt_' || n, tenant_key, tenant_id, id, sha256(convert_to('code ' || n, 'UTF8')),
         encode(sha256(convert_to('verifier ' || n, 'UTF8')), 'base64'), 'S256', $7::text[], '{}', at, ${far} from people
       returning user_key, id
     )
     insert into access_tokens (user_key, token_hash, family_id, grant_id, client_id, tenant_key, tenant_id, user_id,
       scopes, issued_at, expires_at)
     select p.user_key, p.token_hash, f.id, 'grt_' || p.n, p.client_id, p.tenant_key, p.tenant_id, p.id, $7::text[],
       p.at, ${far}
     from people p join families f on f.user_key = p.user_key`,
    [
      ...[numbers, numbers.map(userKeyOf), numbers.map(userIdOf)],
      numbers.map((user) => sha256(accessTokenOf(user))),
      ...[tenantKey, db.now(), platformScopes, providers],
      String(BigInt(firstSeqAt(readMs)) + BigInt(population.transactionsEach)),
      ...[shownMs, firstSeqAt(shownMs), population.transactionsEach],
    ],
  )
}

async function insertTransactions(
  db: Database,
  tenantKey: number,
  { users, transactionsEach: each }: Population,
  say: Say,
): Promise<void> {
  const usersPerStatement = Math.max(1, Math.floor(rowsPerStatement / each))
  const stepMs = (historyEndMs - historyStartMs) / each
  for (let user = 1; user <= users; user += usersPerStatement) {
    const lastUser = Math.min(user + usersPerStatement - 1, users)
    const numbers = Array.from({ length: lastUser - user + 1 }, (_, index) => user + index)
    for (let from = 0; from < each; from += rowsPerStatement) {
      const to = Math.min(from + rowsPerStatement, each) - 1
      await db.execute(insertRows, [
        ...[numbers, numbers.map(userKeyOf), from, to, stepMs],
        samples.map(({ type }) => type),
        samples.map(({ category }) => category),
        samples.map(({ document }) => document),
        ...[tenantKey, firstSeqAt(readMs), readMs],
      ])
      const thousands = (rows: number): number => Math.round(rows / 1_000)
      say(`transactions: ${thousands((lastUser - 1) * each + to + 1)} of ${thousands(users * each)} thousand`)
    }
  }
}

/**
 * Evenly over the years, newest first by `n`, each at some moment of its own step, so that users do not act in unison.
 */
const insertRows = `
  with sample as (
    select ordinality - 1 as place, type::transaction_type, category::transaction_category, document
    from unnest($6::text[], $7::text[], $8::text[]) with ordinality as given (type, category, document, ordinality)
  ), planned as (
    select p.u, p.user_key, n, md5(p.u || '/' || n) as digest
    from unnest($1::integer[], $2::bigint[]) as p (u, user_key), generate_series($3::integer, $4::integer) n
  )
  insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type, category,
    pending, staked_legs, provider_id, group_key, document)
  select user_key, digest::uuid,
    to_timestamp(${historyEndMs} / 1000.0
      - (n + ('x' || substr(digest, 1, 6))::bit(24)::integer / 16777216.0) * $5::float8 / 1000.0),
    $10::bigint + n + 1, to_timestamp($11::bigint / 1000.0), 1, $9::integer, type, category, false, 0, '${providerIds[0]}',
    upper(substr(digest, 14, 19)), document
  from planned join sample on place = n % ${samples.length}
  order by u, n`

async function insertPositions(db: Database, { users, positionsEach }: Population): Promise<void> {
  if (positionsEach === 0) return
  const numbers = Array.from({ length: users }, (_, index) => index + 1)
  await db.execute(
    `with kept_assets as (
       insert into assets (id, kind, symbol, name)
       select 'crypto:coin-' || a, 'crypto', 'COIN' || a, 'Coin ' || a from generate_series(1, $3::integer) a
       returning asset_key, id, substr(id, 13)::integer as a
     ), prices as (
       insert into current_prices (asset_id, price_in_usd, source, method, fetched_at)
       select id, round((1000.0 / a)::numeric, 8), 'bench', 'simple_price', $4::timestamptz from kept_assets
     )
     insert into holdings (user_key, connection_key, asset_key, liquid, staked, changed_at)
     select p.user_key, c, k.asset_key, round((p.u * 1.23456789 / k.a)::numeric, 8),
       case when k.a % 5 = 0 then 0.5 else 0 end, $4::timestamptz
     from unnest($1::integer[], $2::bigint[]) as p (u, user_key), generate_series(1, ${providerIds.length}) c, kept_assets k
     order by p.u, c, k.a`,
    [numbers, numbers.map(userKeyOf), Math.ceil(positionsEach / providerIds.length), db.now()],
  )
}
