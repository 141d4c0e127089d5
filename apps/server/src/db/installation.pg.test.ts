import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { createTenants } from '../tenants/index.ts'
import { emptySandbox, markInstallation } from './installation.ts'

test('a database once used in sandbox mode is refused outside it', async (t) => {
  const { db } = await testDatabase(t)
  await markInstallation(db, 'sandbox')
  await markInstallation(db, 'sandbox')
  await assert.rejects(markInstallation(db, 'production'), /was used in sandbox mode and cannot be used for real users/)
})

test('a database of real users is refused in sandbox mode', async (t) => {
  const { db } = await testDatabase(t)
  await markInstallation(db, 'production')
  await assert.rejects(markInstallation(db, 'sandbox'), /real users and cannot be used in sandbox mode/)
})

test('live mode shares its database with no other mode', async (t) => {
  const { db } = await testDatabase(t)
  await markInstallation(db, 'live')
  await markInstallation(db, 'live')
  await assert.rejects(markInstallation(db, 'production'), /was used in live mode and cannot be used for real users/)
  await assert.rejects(markInstallation(db, 'sandbox'), /was used in live mode and cannot be used in sandbox mode/)
  await assert.rejects(emptySandbox(db), /Only a sandbox can be emptied/)
})

test('two processes that mark a new database at once cannot both win', async (t) => {
  const { db } = await testDatabase(t)
  const results = await Promise.allSettled([markInstallation(db, 'sandbox'), markInstallation(db, 'production')])
  assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})

test('an emptied sandbox has its applications, no users, and the real time', async (t) => {
  const { db } = await testDatabase(t)
  await markInstallation(db, 'sandbox')
  const tenants = createTenants({ db })
  const { tenantId } = await tenants.ensureSandboxTenant()
  await db.clock.advance(40 * 86_400_000)
  await db.execute(
    `insert into users (user_key, tenant_key, tenant_id, id, email, created_at)
     select 1, tenant_key, id, 'usr_1', 'ann@example.com', $2 from tenants where id = $1`,
    [tenantId, db.now()],
  )
  await emptySandbox(db)
  assert.equal(await db.clock.advance(0), 0)
  assert.ok(Math.abs(db.clock.now() - Date.now()) < 86_400_000)
  assert.deepEqual(await db.rows('select from users'), [])
  assert.ok((await tenants.listClients(tenantId)).some(({ clientId }) => clientId === 'cli_demo'))
})

test('a database of real users is not emptied', async (t) => {
  const { db } = await testDatabase(t)
  await markInstallation(db, 'production')
  await assert.rejects(emptySandbox(db), /Only a sandbox can be emptied/)
})

test('the clock cannot be set earlier than the machine’s', async (t) => {
  const { db } = await testDatabase(t)
  await assert.rejects(db.execute('update sandbox_clock set offset_ms = $1', ['-1']), { code: '23514' })
})
