/** A rotation of sealing keys on real rows. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { testDatabase } from '../../../../../test/postgres.ts'
import type { Database } from '../../db/index.ts'
import { checkSeals, resealCredentials } from './reseal.ts'
import { createSealer } from './seal.ts'
import { sealText } from '../../sealing.ts'
import { testKeyring } from '../../test-keys.ts'

const oldRing = testKeyring('old')
const bothRing = testKeyring('new', 'old')
const newRing = testKeyring('new')

const secrets = { apiKey: 'a key', secretKey: 'a secret' }

async function fill(db: Database, ids: readonly string[]): Promise<void> {
  for (const [index, id] of ids.entries()) {
    const sealed = await createSealer(oldRing).seal(id, secrets)
    // User keys are signed integers, so a walk in their order must not begin at zero.
    await db.execute(
      `insert into connections (user_key, connection_key, tenant_key, tenant_id, user_id, id, provider_id,
         connection_type, status, sealed_credentials, key_lane, created_at)
       values ($1, $2, 1, 'ten_1', 'usr_1', $3, 'kraken', 'api_key', 'active', $4, 'lane', $5)`,
      [index % 3 === 0 ? '-5' : '5', index, id, sealed, db.now()],
    )
  }
}

async function openAll(db: Database, ring: typeof oldRing): Promise<number> {
  const rows = await db.rows<{ id: string; sealed_credentials: string }>(
    'select id, sealed_credentials from connections',
  )
  const sealer = createSealer(ring)
  const opened = await Promise.all(rows.map((row) => sealer.open(row.id, row.sealed_credentials)))
  return opened.filter((one) => isDeepStrictEqual(one, secrets)).length
}

describe('a rotation of the sealing keys', () => {
  const ids = Array.from({ length: 450 }, (_, index) => `con_${String(index).padStart(3, '0')}`)

  async function start(t: TestContext): Promise<Database> {
    const { db } = await testDatabase(t)
    await fill(db, ids)
    return db
  }

  it('reseals every credential with the newest key, after which the old key can be removed', async (t) => {
    const db = await start(t)
    const report = await resealCredentials(db, bothRing)
    assert.equal(report.resealed, ids.length)
    assert.deepEqual(report.lost, [])
    assert.equal(await openAll(db, newRing), ids.length)
    assert.equal((await resealCredentials(db, bothRing)).resealed, 0)
  })

  it('names the credentials that no key of the ring opens, and leaves them as they are', async (t) => {
    const db = await start(t)
    const report = await resealCredentials(db, newRing)
    assert.equal(report.resealed, 0)
    assert.equal(report.lost.length, ids.length)
    assert.equal(await openAll(db, oldRing), ids.length)
  })

  it('counts only what it replaced: a repair that happens in between wins', async (t) => {
    const { db } = await testDatabase(t)
    await fill(db, ['con_1', 'con_2'])
    // Simulates an owner who repairs con_1 between the read and the write.
    await db.execute(`create function repair() returns trigger language plpgsql as $$
        begin if old.id = 'con_1' then return null; end if; return new; end $$;
      create trigger repair before update on connections for each row execute function repair()`)
    assert.equal((await resealCredentials(db, bothRing)).resealed, 1)
  })

  it('checking the seals changes nothing', async (t) => {
    const db = await start(t)
    const report = await checkSeals(db, bothRing)
    assert.deepEqual([...report.sealedBy], [['old', ids.length]])
    assert.equal(await openAll(db, oldRing), ids.length)
  })

  it('checking the seals finds one that opens but does not match its connection', async (t) => {
    const { db } = await testDatabase(t)
    await fill(db, ['con_1', 'con_2'])
    const other = await createSealer(oldRing).seal('con_2', { descriptor: 'of a wallet' })
    await db.execute("update connections set sealed_credentials = $1 where id = 'con_2'", [other])
    assert.deepEqual((await checkSeals(db, bothRing)).lost, ['con_2'])
  })

  it('names a text that is not a seal and goes on, so that one bad row cannot keep an old key in use', async (t) => {
    const { db } = await testDatabase(t)
    await fill(db, ['con_1', 'con_2', 'con_3'])
    await db.execute("update connections set sealed_credentials = 'cut short' where id = 'con_1'")
    assert.deepEqual((await checkSeals(db, bothRing)).lost, ['con_1'])
    const report = await resealCredentials(db, bothRing)
    assert.deepEqual([report.resealed, report.lost], [2, ['con_1']])
  })

  it('checking the seals names a secret that is not JSON, and does not repeat any of it', async (t) => {
    const { db } = await testDatabase(t)
    await fill(db, ['con_1', 'con_2'])
    const other = await sealText(oldRing, 'con_1', 'a secret of another kind')
    await db.execute("update connections set sealed_credentials = $1 where id = 'con_1'", [other])
    assert.deepEqual((await checkSeals(db, bothRing)).lost, ['con_1'])
  })
})
