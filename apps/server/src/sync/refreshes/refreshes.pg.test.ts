import { Refusal } from '@assay/core'
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { createTenants } from '../../tenants/index.ts'
import { deleteOldRefreshes } from './refresh-store.ts'
import { requestRefresh } from './refreshes.ts'

/** A user with so many connections. */
async function open(t: TestContext, connections: number, status = 'active') {
  const { db } = await testDatabase(t)
  const tenants = createTenants({ db })
  const tenant = await tenants.createTenant('Example Ltd')
  const eve = await tenants.ensureUser({ ...tenant, externalUserId: 'eve' })
  const ann = await tenants.ensureUser({ ...tenant, externalUserId: 'ann' })
  await db.execute(
    `insert into connections (user_key, connection_key, id, tenant_key, tenant_id, user_id, provider_id, connection_type,
       status, key_lane, created_at, added_at)
     select $1::bigint, g, 'con_' || g, $2, $3, $4, 'kraken', 'api_key', $7, 'lane ' || g, $5::timestamptz, $5::timestamptz
     from generate_series(1, $6::int) g`,
    [eve.userKey, eve.tenantKey, eve.tenantId, eve.userId, db.now(), connections, status],
  )
  return { db, eve, ann, deps: { db, metering: { findCircuitOpen: async () => undefined } } }
}

it('a user who refreshes hundreds of connections goes before others with a few of them only', async (t) => {
  const connections = 60
  const { db, eve, deps } = await open(t, connections)
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

it('a user whose refreshes read nothing fills no table: a minute has a limit, for this user alone', async (t) => {
  // A refresh of a connection that waits for its owner fails at once and begins no cool-down.
  const { db, eve, ann, deps } = await open(t, 500, 'needs_reauth')
  for (let count = 0; count < 4; count += 1) {
    assert.equal((await requestRefresh(deps, eve, 'assets', undefined)).status, 'failed')
  }
  const isRefused = (error: unknown): boolean => error instanceof Refusal && error.code === 'rate_limited'
  await assert.rejects(requestRefresh(deps, eve, 'assets', undefined), isRefused)
  await assert.rejects(requestRefresh(deps, eve, 'transactions', ['con_1']), isRefused)
  assert.equal((await requestRefresh(deps, ann, 'assets', undefined)).status, 'succeeded')
  await db.execute("update refreshes set requested_at = requested_at - interval '1 minute'")
  assert.equal((await requestRefresh(deps, eve, 'assets', ['con_1'])).status, 'failed')
})

it('old refreshes are deleted, however many an application has asked for', async (t) => {
  const { db, eve, ann, deps } = await open(t, 1)
  await db.execute(
    `insert into refreshes (user_key, id, kind, requested_at)
     select $1::bigint, 'rfr_' || g, 'assets', $2::timestamptz - interval '8 days' from generate_series(1, 2500) g`,
    [eve.userKey, db.now()],
  )
  const { refreshId } = await requestRefresh(deps, ann, 'assets', undefined)
  await deleteOldRefreshes(db)
  assert.deepEqual(await db.rows('select id from refreshes'), [{ id: refreshId }])
})
