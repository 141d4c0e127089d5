/**
 * Users with histories and holdings, made by SQL: numbered, so that pgbench can choose one at random. The documents are
 * real ones, 16 of an account in the sandbox, in the mix of their kinds. Rows lie in the table as deriving leaves them:
 * user by user, and within a user in the order of the provider's references, which is none in time.
 *
 * Only what the measured requests read is filled: raw records and the search table of assets are left empty.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Database } from '../../apps/server/src/db/index.ts'
import { platformScopes } from '../../apps/server/src/tenants/index.ts'
import type { Bench, Size } from '../benchmark.ts'
import type { Say } from '../measure.ts'
import type { BenchDatabase } from './postgres.ts'

export interface Population {
  users: number
  transactionsEach: number
  positionsEach: number
}

/** The one that most benchmarks share. */
export function pagePopulation(size: Size): Population {
  return size === 'try'
    ? { users: 20, transactionsEach: 1_000, positionsEach: 300 }
    : { users: 400, transactionsEach: 5_000, positionsEach: 300 }
}

export async function openPopulation(bench: Bench, population: Population): Promise<BenchDatabase> {
  const { users, transactionsEach, positionsEach } = population
  const postgres = await bench.postgres()
  return postgres.ensureDatabase(`bench_${users}_${transactionsEach}_${positionsEach}`, (db) =>
    fillPopulation(db, population, bench.say),
  )
}

export const tenantId = 'ten_bench'
export const clientId = 'cli_bench'
export const historyEndMs = Date.parse('2026-11-01T00:00:00Z')
export const historyStartMs = Date.parse('2021-11-01T00:00:00Z')
/** Of a user's positions a third is at each. */
const providerIds = ['binance', 'coinbase', 'kraken']
const rowsPerStatement = 50_000

interface SampleDocument {
  type: string
  category: string
  document: string
}

const samples = JSON.parse(readFileSync(path.join(import.meta.dirname, 'documents.json'), 'utf8')) as SampleDocument[]

export function userIdOf(user: number): string {
  return `usr_${String(user).padStart(26, '0')}`
}

/** The same in SQL. */
export function userIdSql(user: string): string {
  return `('usr_' || lpad(${user}::text, 26, '0'))`
}

export function accessTokenOf(user: number): string {
  return createHash('sha256').update(`assay bench ${user}`).digest('base64url')
}

/** A client's own, for enterprise pages. */
export const tenantToken = createHash('sha256').update('assay bench tenant').digest('base64url')

async function fillPopulation(db: Database, population: Population, say: Say): Promise<void> {
  await insertPeople(db, population.users)
  await withoutIndexes(db, 'transactions', say, () => insertTransactions(db, population, say))
  await insertPositions(db, population)
  say('vacuum and analyze')
  await db.execute('vacuum analyze')
}

/** Made at the end, in one go: several times faster than keeping them up row by row. */
async function withoutIndexes(db: Database, table: string, say: Say, fill: () => Promise<void>): Promise<void> {
  const indexes = await db.rows<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
     from pg_index where indrelid = $1::regclass and not indisprimary`,
    [table],
  )
  for (const { name } of indexes) await db.execute(`drop index ${name}`)
  await fill()
  for (const { name, definition } of indexes) {
    say(`making the index ${name}`)
    await db.execute(definition)
  }
}

async function insertPeople(db: Database, users: number): Promise<void> {
  const far = "timestamptz '2100-01-01'"
  const numbers = Array.from({ length: users }, (_, index) => index + 1)
  const hashes = numbers.map((user) => createHash('sha256').update(accessTokenOf(user)).digest())
  await db.execute(`insert into tenants (id, name) values ('${tenantId}', 'Benchmarks')`)
  await db.execute(
    `insert into clients (id, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only, require_code_verifier)
     values ($1, $2, 'Benchmarks', '{https://bench.example/callback}', '{}', $3, false, true)`,
    [clientId, tenantId, [...platformScopes, 'enterprise:read']],
  )
  await db.execute(
    `insert into access_tokens (token_hash, tenant_id, client_id, scopes, issued_at, expires_at)
     values ($1, $2, $3, '{enterprise:read}', now(), ${far})`,
    [createHash('sha256').update(tenantToken).digest(), tenantId, clientId],
  )
  await db.execute(
    `with people as (
       select n, ${userIdSql('n')} as id, token from unnest($1::int[], $2::bytea[]) as given (n, token)
     ), kept_users as (
       insert into users (tenant_id, id, external_user_id) select '${tenantId}', id, 'bench ' || n from people
     ), kept_grants as (
       insert into grants (tenant_id, user_id, client_id, id, scopes, consent, granted_at, expires_at)
       select '${tenantId}', id, '${clientId}', 'grt_' || n, $3, '{}', now(), ${far} from people
     ), kept_connections as (
       insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane, added_at)
       select '${tenantId}', id, 'con_' || lpad(n::text, 26, '0'), 'kraken', 'api_key', 'active', 'lane ' || n, now() from people
     ), families as (
       insert into token_families (tenant_id, user_id, client_id, code_hash, scopes, created_at, expires_at)
       select '${tenantId}', id, '${clientId}', sha256(convert_to('code ' || n, 'UTF8')), $3, now(), ${far} from people
       returning user_id, id
     )
     insert into access_tokens (token_hash, tenant_id, client_id, user_id, grant_id, family_id, scopes, issued_at, expires_at)
     select p.token, '${tenantId}', '${clientId}', p.id, 'grt_' || p.n, f.id, $3, now(), ${far}
     from people p join families f on f.user_id = p.id`,
    [numbers, hashes, platformScopes],
  )
}

async function insertTransactions(
  db: Database,
  { users, transactionsEach: each }: Population,
  say: Say,
): Promise<void> {
  const total = users * each
  const usersPerStatement = Math.max(1, Math.floor(rowsPerStatement / each))
  const stepMs = (historyEndMs - historyStartMs) / each
  for (let user = 1; user <= users; user += usersPerStatement) {
    for (let from = 0; from < each; from += rowsPerStatement) {
      const lastUser = Math.min(user + usersPerStatement - 1, users)
      const to = Math.min(from + rowsPerStatement, each) - 1
      await db.execute(insertRows, [
        [user, lastUser],
        [from, to],
        stepMs,
        samples.map(({ type }) => type),
        samples.map(({ category }) => category),
        samples.map(({ document }) => document),
      ])
      say(
        `transactions: ${Math.round(((lastUser - 1) * each + to + 1) / 1_000)} of ${Math.round(total / 1_000)} thousand`,
      )
    }
  }
}

/** Evenly over the years, newest first by `n`, each at some moment of its step, so that users do not act in unison. */
const insertRows = `
  with sample as (
    select ordinality - 1 as place, type, category, document
    from unnest($4::text[], $5::text[], $6::text[]) with ordinality as given (type, category, document, ordinality)
  ), planned as (
    select u, n, md5(u || '/' || n) as digest
    from generate_series(($1::int[])[1], ($1::int[])[2]) u, generate_series(($2::int[])[1], ($2::int[])[2]) n
  )
  insert into transactions (tenant_id, user_id, occurred_at, id, connection_id, provider_id, group_key, type, category,
                            updated_at, document)
  select '${tenantId}', ${userIdSql('u')},
    to_timestamp(${historyEndMs} / 1000.0 - (n + ('x' || substr(digest, 1, 6))::bit(24)::int / 16777216.0) * $3::float8 / 1000.0),
    'txn_' || digest, 'con_' || lpad(u::text, 26, '0'), 'kraken', upper(substr(digest, 14, 19)), type, category,
    timestamptz '2026-11-01', document
  from planned join sample on place = n % ${samples.length}
  order by u, digest`

async function insertPositions(db: Database, { users, positionsEach }: Population): Promise<void> {
  if (positionsEach === 0) return
  const assets = Math.ceil(positionsEach / providerIds.length)
  await db.execute(
    `insert into current_prices (asset_id, price_in_usd, source, fetched_at)
     select 'coingecko:coin-' || a, round((1000.0 / a)::numeric, 8), 'bench', now() from generate_series(1, $1::int) a`,
    [assets],
  )
  await db.execute(
    `insert into holdings (tenant_id, user_id, connection_id, provider_id, asset_id, asset_symbol, asset_name, liquid, staked,
                           fetched_at)
     select '${tenantId}', ${userIdSql('u')}, 'con_' || p || lpad(u::text, 25, '0'), ($3::text[])[p],
       'coingecko:coin-' || a, 'COIN' || a, 'Coin ' || a, round((u * 1.23456789 / a)::numeric, 8),
       case when a % 5 = 0 then 0.5 else 0 end, timestamptz '2026-11-01'
     from generate_series(1, $1::int) u, generate_series(1, 3) p, generate_series(1, $2::int) a`,
    [users, assets, providerIds],
  )
}
