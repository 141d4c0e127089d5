/** `assay status` and `assay doctor`, over a real database. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { openTestDatabase, testDatabase } from '../../../../test/postgres.ts'
import { parseConfig } from '../config/config.ts'
import { requestSignInCode } from '../connect/sign-in/sign-in.ts'
import type { Database } from '../db/index.ts'
import { installQueue } from '../jobs/index.ts'
import { createLog } from '../http/log.ts'
import { testKeyring, testKeyTexts } from '../test-keys.ts'
import { createTenants } from '../tenants/index.ts'
import {
  describeRole,
  examine,
  examineNative,
  examineProxies,
  examineSettings,
  readStatus,
  type Finding,
} from './index.ts'

interface GivenConnection {
  providerId: string
  status: string
  cause?: string
  sealed?: string
  addedAgoSeconds?: number
  nextInSeconds?: number
}

async function insertConnections(db: Database, rows: readonly GivenConnection[]): Promise<void> {
  for (const [index, row] of rows.entries()) {
    const at = (seconds: number | undefined): string | null =>
      seconds === undefined ? null : new Date(db.clock.now() + seconds * 1_000).toISOString()
    const addedAt = row.addedAgoSeconds === undefined ? null : at(-row.addedAgoSeconds)
    await db.execute(
      `insert into connections (user_key, connection_key, tenant_key, tenant_id, user_id, id, provider_id,
         connection_type, status, status_cause, key_lane, sealed_credentials, created_at, added_at, next_sync_at)
       values (1, $1::int, 1, 'ten_1', 'usr_1', 'con_' || $1::int, $2, 'api_key', $3, $4, 'lane', $5, $6, $7, $8)`,
      [
        index,
        ...[row.providerId, row.status, row.cause ?? null, row.sealed ?? null],
        ...[db.now(), addedAt, at(row.nextInSeconds)],
      ],
    )
  }
}

const keyring = testKeyring('main')
const signInLimits = { ...parseConfig(testKeyTexts('main')).signInLimits, codesPerTenant: 4 }

it('status counts connections by provider, state and cause, and says how far behind they are', async (t) => {
  const { db, connection } = await testDatabase(t)
  await installQueue(connection, createLog({ level: 'silent' }))
  await insertConnections(db, [
    { providerId: 'kraken', status: 'active', nextInSeconds: -90 },
    { providerId: 'kraken', status: 'needs_reauth', cause: 'key_expired' },
  ])
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

it('status counts connections by how well their balances are proved, the worst first', async (t) => {
  const { db, connection } = await testDatabase(t)
  await installQueue(connection, createLog({ level: 'silent' }))
  assert.deepEqual((await readStatus(db)).proofs, [])
  const active = { providerId: 'kraken', status: 'active' }
  await insertConnections(db, [active, active, active, active])
  await db.execute(`update connections set proof_grade = (array['proved', 'proved', 'open', null])[connection_key + 1]`)
  assert.deepEqual((await readStatus(db)).proofs, [
    { grade: 'open', connections: 1 },
    { grade: 'proved', connections: 2 },
  ])
})

it('status names the provider whose connections wait longest, for a first read or a due one', async (t) => {
  const { db, connection } = await testDatabase(t)
  await installQueue(connection, createLog({ level: 'silent' }))
  assert.equal((await readStatus(db)).slowest, null)
  const day = 86_400
  await insertConnections(db, [
    { providerId: 'kraken', status: 'active', addedAgoSeconds: day, nextInSeconds: -540 },
    { providerId: 'coinbase', status: 'syncing', addedAgoSeconds: 600 },
    { providerId: 'coinbase', status: 'active', addedAgoSeconds: day, nextInSeconds: 540 },
    { providerId: 'kraken', status: 'needs_reauth', addedAgoSeconds: 365 * day },
  ])
  const { slowest } = await readStatus(db)
  assert.deepEqual([slowest?.provider_id, slowest?.waiting], ['coinbase', 1])
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

it('the doctor reports only the missing worker of an otherwise healthy installation', async (t) => {
  const { db } = await testDatabase(t)
  const findings = await examine({ db, keyring, now: Date.now, signInLimits })
  assert.deepEqual(
    findings.filter(({ well }) => !well).map(({ check }) => check),
    ['workers'],
  )
})

it('the doctor names credentials that do not open, a wrong clock, and an unreachable database', async (t) => {
  const { db, connection } = await testDatabase(t)
  // This header names a key outside the ring; the rest does not matter.
  const header = Buffer.from('{"alg":"A256GCMKW","enc":"A256GCM","kid":"lost"}').toString('base64url')
  await insertConnections(db, [{ providerId: 'kraken', status: 'active', sealed: `${header}.a.b.c.d` }])
  const ill = (await examine({ db, keyring, now: () => Date.now() - 60_000, signInLimits })).filter(({ well }) => !well)
  assert.deepEqual(
    ill.map(({ check }) => check),
    ['clock', 'sealed credentials', 'workers'],
  )
  assert.ok(ill.every(({ fix }) => fix !== undefined))

  const away = openTestDatabase({ ...connection, host: '/nowhere' })
  t.after(() => away.close())
  const [finding] = await examine({ db: away, keyring, now: Date.now, signInLimits })
  assert.deepEqual([finding?.check, finding?.well], ['PostgreSQL', false])
})

it('the doctor names a database that takes no writes, as a standby', async (t) => {
  const { db, connection } = await testDatabase(t)
  const deps = { keyring, now: () => db.clock.now(), signInLimits }
  const find = async (at: Database): Promise<Finding | undefined> =>
    (await examine({ ...deps, db: at })).find(({ check }) => check === 'PostgreSQL')
  assert.equal((await find(db))?.well, true)
  await db.execute(
    `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
  )
  const readOnly = openTestDatabase(connection)
  t.after(() => readOnly.close())
  const finding = await find(readOnly)
  assert.deepEqual([finding?.well, /takes no writes/.test(finding?.found ?? '')], [false, true])
})

it('the doctor also opens the secrets of webhooks and the codes of sign-ins, and names the tenant of a webhook', async (t) => {
  const { db } = await testDatabase(t)
  const tenants = createTenants({ db })
  const tenant = await tenants.ensureSandboxTenant()
  const { tenantId } = tenant
  const { userKey } = await tenants.ensureUser({ ...tenant, externalUserId: 'told' })
  const sealedBy = (name: string): string =>
    `${Buffer.from(`{"alg":"A256GCMKW","enc":"A256GCM","kid":"${name}"}`).toString('base64url')}.a.b.c.d`
  await db.execute(
    "insert into webhooks (tenant_id, url, sealed_secret, created_at) values ($1, 'https://a.example/', $2, $3)",
    [tenantId, sealedBy('lost'), db.now()],
  )
  const insertCode = (hash: string, expires: string): Promise<number> =>
    db.execute(
      `insert into provider_states (state_hash, provider_id, user_key, grant_id, redirect_uri, handle_hash, sealed_code,
         expires_at, key_id)
       values ($1, 'coinbase', $4, 'grt_1', 'https://a.example/', $1, $2, $5::timestamptz + $3::interval, 'key')`,
      [Buffer.from(hash), sealedBy('older'), expires, userKey, db.now()],
    )
  await insertCode('on its way', '10 minutes')
  await insertCode('lapsed', '-1 second')
  const findings = await examine({ db, keyring, now: Date.now, signInLimits })
  const [secrets, codes] = ['webhook secrets', 'sign-ins at providers'].map((name) =>
    findings.find(({ check }) => check === name),
  )
  assert.deepEqual([secrets?.well, secrets?.found], [false, '0 of 1 signing secrets open (1 by "lost")'])
  assert.match(secrets?.fix ?? '', new RegExp(`assay webhook set .*${tenantId}`))
  assert.deepEqual([codes?.well, codes?.found], [false, '0 of 1 codes open (1 by "older")'])
})

it('the doctor warns of a tenant that came near its limit of sign-in codes', async (t) => {
  const { db, connection } = await testDatabase(t)
  await installQueue(connection, createLog({ level: 'silent' }))
  const tenants = createTenants({ db })
  const { tenantId } = await tenants.ensureSandboxTenant()
  const look = async (): Promise<Finding | undefined> => {
    const findings = await examine({ db, keyring, now: Date.now, signInLimits })
    return findings.find(({ check }) => check === 'sign-in codes')
  }
  const deps = { db, signInKeys: keyring.derive('sign_in'), randomBytes, signInLimits, onTenantLimit: () => undefined }
  const ask = async (origin: string): Promise<void> => {
    const asker = { sessionId: randomUUID(), tenantId, clientId: 'cli_demo', purpose: 'connect' } as const
    await requestSignInCode(deps, asker, origin, `${randomUUID()}@example.com`)
  }
  await ask('192.0.2.1')
  assert.deepEqual([(await look())?.well, (await look())?.warns], [true, undefined])
  await ask('198.51.100.1')
  const finding = await look()
  assert.deepEqual([finding?.well, finding?.warns], [true, true])
  assert.match(finding?.found ?? '', new RegExp(`^2 in an hour for ${tenantId}, of 4;`))
})

it('a clock that is two seconds off is a warning, one that is ten seconds off is a failure', async (t) => {
  const { db } = await testDatabase(t)
  const look = async (now: () => number): Promise<unknown[]> => {
    const findings = await examine({ db, keyring, now, signInLimits })
    const clock = findings.find(({ check }) => check === 'clock')
    return [clock?.well, clock?.warns]
  }
  assert.deepEqual(await look(Date.now), [true, undefined])
  assert.deepEqual(await look(() => Date.now() - 9_500), [true, true])
  assert.deepEqual(await look(() => Date.now() + 9_500), [true, true])
  assert.deepEqual(await look(() => Date.now() + 60_000), [false, true])
  assert.deepEqual(await look(() => Date.now() - 60_000), [false, true])
})

it('a slow database is not mistaken for a wrong clock', async (t) => {
  const { db } = await testDatabase(t)
  // The query is sent at PostgreSQL's time, or a minute before it, and its answer arrives a minute later.
  for (const leftMs of [Date.now(), Date.now() - 60_000]) {
    const looks = [leftMs, leftMs + 60_000]
    const findings = await examine({ db, keyring, now: () => looks.shift() ?? leftMs + 60_000, signInLimits })
    const clock = findings.find(({ check }) => check === 'clock')
    assert.deepEqual([clock?.well, clock?.warns], [true, undefined], clock?.found)
  }
})

it('the doctor warns of a role that may do more on the machine of the database than use it', async (t) => {
  const { db } = await testDatabase(t)
  const findings = await examine({ db, keyring, now: Date.now, signInLimits })
  const role = findings.find(({ check }) => check === 'database role')
  assert.deepEqual([role?.well, role?.warns], [true, undefined], role?.found)
  const strong = describeRole(['is a superuser'])
  assert.deepEqual([strong.well, strong.warns, strong.found], [true, true, 'is a superuser'])
})

it('the doctor warns when the public address is https and no proxy is trusted', () => {
  const behind = 'https://assay.example'
  assert.equal(examineProxies(behind, []).warns, true)
  assert.equal(examineProxies(behind, ['10.0.0.1']).warns, undefined)
  assert.equal(examineProxies('http://127.0.0.1:4000', []).warns, undefined)
  assert.equal(examineProxies(undefined, []).warns, undefined)
})
