/**
 * Many users with a connection each, and nothing that is due: every connection has a job in the far future, every user
 * has a live grant and one that ended long ago.
 */
import type { Database } from '../../apps/server/src/db/index.ts'
import type { Bench } from '../benchmark.ts'
import type { BenchDatabase } from './postgres.ts'

const far = "timestamptz '2100-01-01'"
const clients = ['cli_live', 'cli_ended']

export async function openIdleConnections(bench: Bench, count: number): Promise<BenchDatabase> {
  const postgres = await bench.postgres()
  return postgres.ensureDatabase(`bench_idle_${count}`, bench.say, (db) => fill(db, count, bench))
}

async function fill(db: Database, count: number, { say }: Bench): Promise<void> {
  const now = db.now()
  const { tenant_key: tenantKey } = await db.row<{ tenant_key: number }>(
    `insert into tenants (id, name, created_at) values ('ten_idle', 'Idle', $1) returning tenant_key`,
    [now],
  )
  await db.execute(
    `insert into clients (id, tenant_key, tenant_id, name, redirect_uris, embed_origins, scopes, s256_only,
       require_code_verifier, created_at)
     select id, $2, 'ten_idle', 'Idle', '{}', '{}', '{assets:read,transactions:read}', false, true, $3
     from unnest($1::text[]) as c (id)`,
    [clients, tenantKey, now],
  )
  for (const [table, insert] of Object.entries(inserts)) {
    say(`idle connections: ${table}`)
    await db.execute(insert, [count, tenantKey, now])
  }
  say('idle connections: jobs')
  await db.execute(insertJobs(count))
  say('vacuum and analyze')
  await db.execute('vacuum analyze')
}

/** `n` numbers the users; their keys are as random as those that the product draws. */
const people = `(select n, hashint8extended(n, 1) as user_key, 'usr_' || n as user_id, $2::integer as tenant_key,
  'ten_idle' as tenant_id, $3::timestamptz as at from generate_series(1, $1::integer) n) p`

const inserts = {
  users: `insert into users (user_key, tenant_key, tenant_id, id, external_user_id, created_at)
    select user_key, tenant_key, tenant_id, user_id, 'idle ' || n, at from ${people}`,
  user_ledgers: `insert into user_ledgers (user_key, connection_keys, read_at)
    select user_key, 1, at from ${people}`,
  grants: `insert into grants (user_key, client_id, id, tenant_key, tenant_id, user_id, scopes, consent, granted_at,
      expires_at, lapse_seen)
    select user_key, c.id, 'grt_' || c.id || n, tenant_key, tenant_id, user_id, '{assets:read,transactions:read}', '{}',
      at - interval '400 days', case when c.ended then at - interval '60 days' else ${far} end, c.ended
    from ${people}, (values ('cli_live', false), ('cli_ended', true)) as c (id, ended)`,
  connections: `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id,
      connection_type, status, sealed_credentials, key_lane, created_at, added_at, shown_at, shown_seq, last_synced_at,
      next_sync_at)
    select user_key, 1, 'con_' || n, tenant_key, tenant_id, user_id, 'kraken', 'api_key',
      (array['active', 'active', 'active', 'degraded', 'needs_reauth'])[1 + n % 5], 'sealed', 'lane ' || n,
      at - interval '90 days', at - interval '90 days', at - interval '90 days', n, at,
      case when n % 5 < 4 then ${far} end
    from ${people}`,
}

const insertJobs = (count: number): string => `
  insert into graphile_worker._private_tasks (identifier) values ('sync') on conflict do nothing;
  insert into graphile_worker._private_jobs (task_id, payload, key, run_at)
  select t.id, '{}', 'sync:con_' || n, ${far}
  from generate_series(1, ${count}) n, graphile_worker._private_tasks t where t.identifier = 'sync'`
