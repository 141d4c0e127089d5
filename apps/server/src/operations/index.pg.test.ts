/** `assay status` and `assay doctor`, over a real database. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openTestDatabase, testDatabase } from '../../../../test/postgres.ts'
import { installQueue } from '../jobs/index.ts'
import { createLog } from '../http/log.ts'
import { parseKeyring } from '../keys.ts'
import { createTenants } from '../tenants/index.ts'
import { examine, examineNative, examineSettings, readStatus } from './index.ts'

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
  const { connections, queue, slowest } = await readStatus(db)
  assert.deepEqual(
    connections.map(({ status, status_cause, connections: count }) => [status, status_cause, count]),
    [
      ['active', null, 1],
      ['needs_reauth', 'key_expired', 1],
    ],
  )
  assert.ok((connections[0]?.behind_seconds ?? 0) >= 90)
  assert.equal(slowest?.provider_id, 'kraken')
  assert.deepEqual(
    queue.map(({ task, waiting, due, running }) => [task, waiting, due, running]),
    [['sync', 1, 1, 0]],
  )
})

it('status names the provider whose connections wait longest, for a first read or for one that is due', async (t) => {
  const { db, connection } = await testDatabase(t)
  await installQueue(connection, createLog({ level: 'silent' }))
  assert.equal((await readStatus(db)).slowest, null)
  await db.execute(
    `insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane, added_at, next_sync_at)
     values ('ten_1', 'usr_1', 'con_1', 'kraken', 'api_key', 'active', 'a', assay_now() - interval '1 day', assay_now() - interval '9 minutes'),
            ('ten_1', 'usr_1', 'con_2', 'harbor', 'api_key', 'syncing', 'b', assay_now() - interval '10 minutes', null),
            ('ten_1', 'usr_1', 'con_3', 'harbor', 'api_key', 'active', 'c', assay_now() - interval '1 day', assay_now() + interval '9 minutes'),
            ('ten_1', 'usr_1', 'con_4', 'kraken', 'api_key', 'needs_reauth', 'd', assay_now() - interval '1 year', null)`,
    [],
  )
  const { slowest } = await readStatus(db)
  assert.deepEqual([slowest?.provider_id, slowest?.waiting], ['harbor', 1])
  assert.ok(Math.abs((slowest?.waiting_seconds ?? 0) - 600) < 60)
})

it('the doctor names mistakes in the settings and a program that npm left out', async () => {
  assert.equal(examineSettings([]).well, true)
  const { well, found } = examineSettings(['ASSAY_PORT must be a port', 'ASSAY_HOST must be an address'])
  assert.deepEqual([well, found], [false, 'ASSAY_PORT must be a port; ASSAY_HOST must be an address'])

  const sound = await examineNative({ nodeVersion: '24.21.0', readPostgresVersion: async () => 18 })
  assert.deepEqual([sound.well, sound.found], [true, 'Node 24.21.0, embedded PostgreSQL 18'])
  const readPostgresVersion = (): Promise<number> => Promise.reject(new Error('libpq.so: cannot open'))
  const missing = await examineNative({ nodeVersion: '24.21.0', readPostgresVersion })
  assert.equal(missing.well, false)
  assert.match(missing.found, /libpq\.so/)
  assert.match(missing.fix ?? '', /npm ci/)
  assert.equal((await examineNative({ nodeVersion: '22.1.0', readPostgresVersion: undefined })).well, false)
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

it('the doctor opens the secrets of webhooks and the codes of sign-ins too, and names whose webhook it is', async (t) => {
  const { db } = await testDatabase(t)
  const tenants = createTenants({ db })
  const tenantId = await tenants.ensureSandboxTenant()
  const userId = await tenants.ensureUser({ tenantId, externalUserId: 'told' })
  const sealedBy = (name: string): string =>
    `${Buffer.from(`{"alg":"A256GCMKW","enc":"A256GCM","kid":"${name}"}`).toString('base64url')}.a.b.c.d`
  await db.execute("insert into webhooks (tenant_id, url, sealed_secret) values ($1, 'https://a.example/', $2)", [
    tenantId,
    sealedBy('lost'),
  ])
  const insertCode = (hash: string, expires: string): Promise<number> =>
    db.execute(
      `insert into provider_states (state_hash, provider_id, tenant_id, user_id, grant_id, redirect_uri, handle_hash,
         sealed_code, expires_at)
       values ($1, 'harbor', $4, $5, 'grt_1', 'https://a.example/', $1, $2, assay_now() + $3::interval)`,
      [Buffer.from(hash), sealedBy('older'), expires, tenantId, userId],
    )
  await insertCode('on its way', '10 minutes')
  await insertCode('lapsed', '-1 second')
  const findings = await examine({ db, keyring, now: Date.now })
  const [secrets, codes] = ['webhook secrets', 'sign-ins at providers'].map((name) =>
    findings.find(({ check }) => check === name),
  )
  assert.deepEqual([secrets?.well, secrets?.found], [false, '0 of 1 signing secrets open (1 by "lost")'])
  assert.match(secrets?.fix ?? '', new RegExp(`assay webhook set .*${tenantId}`))
  assert.deepEqual([codes?.well, codes?.found], [false, '0 of 1 codes open (1 by "older")'])
})

it('a clock that is two seconds off is a warning, one that is ten seconds off is an illness', async (t) => {
  const { db } = await testDatabase(t)
  const look = async (now: () => number): Promise<unknown[]> => {
    const findings = await examine({ db, keyring, now })
    const clock = findings.find(({ check }) => check === 'clock')
    return [clock?.well, clock?.warns]
  }
  assert.deepEqual(await look(Date.now), [true, undefined])
  assert.deepEqual(await look(() => Date.now() - 9_500), [true, true])
  assert.deepEqual(await look(() => Date.now() + 9_500), [true, true])
  assert.deepEqual(await look(() => Date.now() + 60_000), [false, true])
  assert.deepEqual(await look(() => Date.now() - 60_000), [false, true])
})

it('a database that takes its time to answer is not a clock that is off', async (t) => {
  const { db } = await testDatabase(t)
  // The question leaves at the time of PostgreSQL, or a minute before it, and its answer is there a minute later.
  for (const leftMs of [Date.now(), Date.now() - 60_000]) {
    const looks = [leftMs, leftMs + 60_000]
    const findings = await examine({ db, keyring, now: () => looks.shift() ?? leftMs + 60_000 })
    const clock = findings.find(({ check }) => check === 'clock')
    assert.deepEqual([clock?.well, clock?.warns], [true, undefined], clock?.found)
  }
})
