/** `assay status` and `assay doctor`, over a real database. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openTestDatabase, testDatabase } from '../../../../test/postgres.ts'
import { installQueue } from '../jobs/index.ts'
import { createLog } from '../http/log.ts'
import { parseKeyring } from '../keys.ts'
import { examine, readStatus } from './index.ts'

const keyring = parseKeyring(`main:${Buffer.alloc(32, 7).toString('base64')}`)

it('status counts connections by provider, state and cause, and says how far behind they are', async (t) => {
  const { db, connection } = await testDatabase(t)
  await installQueue(connection, createLog({ level: 'silent' }))
  await db.execute(
    `insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, status_cause, key_lane, next_sync_at)
     values ('ten_1', 'usr_1', 'con_1', 'kraken', 'api_key', 'active', null, 'a', assay_now() - interval '90 seconds'),
            ('ten_1', 'usr_1', 'con_2', 'kraken', 'api_key', 'needs_reauth', 'key_expired', 'b', null)`,
    [],
  )
  await db.execute("select graphile_worker.add_job('sync', '{}'::json, job_key => $1)", ['one'])
  const { connections, queue } = await readStatus(db)
  assert.deepEqual(
    connections.map(({ status, status_cause, connections: count }) => [status, status_cause, count]),
    [
      ['active', null, 1],
      ['needs_reauth', 'key_expired', 1],
    ],
  )
  assert.ok((connections[0]?.behind_seconds ?? 0) >= 90)
  assert.deepEqual(
    queue.map(({ task, waiting, due, running }) => [task, waiting, due, running]),
    [['sync', 1, 1, 0]],
  )
})

it('the doctor is content with a sound installation but for the worker it lacks', async (t) => {
  const { db } = await testDatabase(t)
  const findings = await examine({ db, keyring, now: Date.now })
  assert.deepEqual(
    findings.filter(({ well }) => !well).map(({ check }) => check),
    ['workers'],
  )
})

it('the doctor names credentials that do not open, a clock that is off, and a database that is away', async (t) => {
  const { db, connection } = await testDatabase(t)
  await db.execute(
    `insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane, sealed_credentials)
     values ('ten_1', 'usr_1', 'con_1', 'kraken', 'api_key', 'active', 'a', $1)`,
    // A header that names a key nobody has; the rest does not matter.
    [`${Buffer.from('{"alg":"A256GCMKW","enc":"A256GCM","kid":"lost"}').toString('base64url')}.a.b.c.d`],
  )
  const ill = (await examine({ db, keyring, now: () => Date.now() - 60_000 })).filter(({ well }) => !well)
  assert.deepEqual(
    ill.map(({ check }) => check),
    ['clock', 'sealed credentials', 'workers'],
  )
  assert.ok(ill.every(({ fix }) => fix !== undefined))

  const away = openTestDatabase({ ...connection, host: '/nowhere' })
  t.after(() => away.close())
  const [finding] = await examine({ db: away, keyring, now: Date.now })
  assert.deepEqual([finding?.check, finding?.well], ['PostgreSQL', false])
})
