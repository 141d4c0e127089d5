/** A rotation of sealing keys, for the signing secrets of webhooks. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import type { Keyring } from '../keys.ts'
import { testKeyring } from '../test-keys.ts'
import { checkSecrets, openSecret, resealSecrets, sealSecret } from './secrets.ts'
import { listWebhooks, putWebhook } from './store.ts'

const oldRing = testKeyring('old')
const newRing = testKeyring('new')
const bothRing = testKeyring('new', 'old')

async function fill(t: TestContext, rings: Record<string, Keyring>): Promise<Database> {
  const { db } = await testDatabase(t)
  for (const [tenantId, ring] of Object.entries(rings)) {
    await putWebhook(db, tenantId, 'https://app.example/', await sealSecret(ring, tenantId, 'whsec_x'))
  }
  return db
}

describe('the signing secrets of webhooks', () => {
  it('are resealed with the newest key, after which the old one can be removed', async (t) => {
    const db = await fill(t, { ten_1: oldRing, ten_2: newRing })
    assert.equal((await resealSecrets(db, bothRing)).resealed, 1)
    for (const row of await listWebhooks(db)) {
      assert.equal(await openSecret(newRing, row.tenant_id, row.sealed_secret), 'whsec_x')
    }
    assert.equal((await resealSecrets(db, bothRing)).resealed, 0)
  })

  it('that no key opens are named, and the others are still resealed', async (t) => {
    const lostRing = testKeyring('gone')
    const db = await fill(t, { ten_1: lostRing, ten_2: oldRing })
    const { resealed, lost } = await resealSecrets(db, bothRing)
    assert.deepEqual([resealed, lost], [1, ['ten_1']])
  })

  it('are not changed by a check', async (t) => {
    const db = await fill(t, { ten_1: oldRing, ten_2: newRing })
    const before = await listWebhooks(db)
    const { sealedBy, lost } = await checkSecrets(db, newRing)
    assert.deepEqual(
      sealedBy,
      new Map([
        ['old', 1],
        ['new', 1],
      ]),
    )
    assert.deepEqual(lost, ['ten_1'])
    assert.deepEqual(await listWebhooks(db), before)
  })

  it('a secret that was set during the rotation stays, and is not counted', async (t) => {
    const db = await fill(t, { ten_1: oldRing })
    // Simulates a secret that is set between the read and the write.
    await db.execute(`create function set_anew() returns trigger language plpgsql as $$ begin return null; end $$;
      create trigger set_anew before update on webhooks for each row execute function set_anew()`)
    assert.equal((await resealSecrets(db, bothRing)).resealed, 0)
  })
})
