import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { createTenants } from '../../tenants/index.ts'
import { requestRefresh } from './refreshes.ts'

it('a user who refreshes hundreds of connections goes before others with a few of them only', async (t) => {
  const { db } = await testDatabase(t)
  const tenants = createTenants({ db })
  const tenant = await tenants.createTenant('Example Ltd')
  const eve = await tenants.ensureUser({ ...tenant, externalUserId: 'eve' })
  const connections = 60
  await db.execute(
    `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type,
       status, key_lane, created_at, added_at)
     select $1::bigint, g, 'con_' || g, $2, $3, $4, 'kraken', 'api_key', 'active', 'lane ' || g, $5::timestamptz, $5::timestamptz
     from generate_series(1, $6::int) g`,
    [eve.userKey, eve.tenantKey, eve.tenantId, eve.userId, db.now(), connections],
  )
  const deps = { db, metering: { findCircuitOpen: async () => undefined } }
  const countPrompt = async (): Promise<number[]> => {
    const { prompt, all } = await db.row<{ prompt: number; all: number }>(
      `select count(*) filter (where priority < 0)::int as prompt, count(*)::int as all from graphile_worker.jobs`,
    )
    return [prompt, all]
  }
  // One after another, as a caller would who wants each of them to count as the first.
  for (let key = 1; key <= 10; key += 1) await requestRefresh(deps, eve, 'transactions', [`con_${key}`])
  assert.deepEqual(await countPrompt(), [10, 10])
  const { status, connections: refreshed } = await requestRefresh(deps, eve, 'assets', undefined)
  assert.deepEqual([status, refreshed.length], ['queued', connections])
  assert.deepEqual(await countPrompt(), [20, connections + 10], 'all of them are read, a few before other jobs')
})
