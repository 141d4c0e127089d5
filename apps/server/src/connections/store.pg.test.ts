import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { openTestDatabase, testDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/until.ts'
import type { Database } from '../db/index.ts'
import * as store from './store.ts'

const owner = { tenantId: 'ten_a', userId: 'usr_a' }
const refOf = (connectionId: string): store.ConnectionRef => ({ ...owner, connectionId })
const account = { providerId: 'kraken', fingerprint: 'one account' }

async function withPending(t: TestContext, ...ids: string[]): Promise<Database> {
  const { db } = await testDatabase(t)
  for (const id of ids) {
    await store.insertPending(db, refOf(id), {
      ...{ providerId: 'kraken', connectionType: 'api_key', displayLabel: null, sealedCredentials: 'sealed' },
      ...{ keyLane: id, sessionId: null, repairOf: null },
    })
  }
  return db
}

const statusOf = (db: Database, id: string): Promise<{ status: string } | undefined> =>
  db.maybeRow('select status from connections where id = $1', [id])

describe('an account', () => {
  it('verified twice at the same moment belongs to whoever was first; the other one finds it', async (t) => {
    const db = await withPending(t, 'con_first', 'con_second')
    let letFirstEnd: () => void = () => undefined
    const mayEnd = new Promise<void>((resolve) => (letFirstEnd = resolve))
    let firstHasIt: () => void = () => undefined
    const taken = new Promise<void>((resolve) => (firstHasIt = resolve))

    const first = db.transaction(async (tx) => {
      const found = await store.acceptPending(tx, refOf('con_first'), account)
      firstHasIt()
      await mayEnd
      return found
    })
    await taken
    const second = db.transaction((tx) => store.acceptPending(tx, refOf('con_second'), account))
    await until('the second to wait', () =>
      db.maybeRow(
        `select pid from pg_stat_activity
         where wait_event_type = 'Lock' and datname = current_database() and backend_type = 'client backend'`,
      ),
    )
    letFirstEnd()
    assert.equal(await first, undefined)
    assert.deepEqual(await second, { existingId: 'con_first', sessionId: null })
    assert.deepEqual(await statusOf(db, 'con_second'), { status: 'pending' })
  })

  it('of another user is another one', async (t) => {
    const db = await withPending(t, 'con_first', 'con_other')
    await db.execute("update connections set user_id = 'usr_b' where id = 'con_other'")
    assert.equal(await store.acceptPending(db, refOf('con_first'), account), undefined)
    const other = { ...refOf('con_other'), userId: 'usr_b' }
    assert.equal(await store.acceptPending(db, other, account), undefined)
  })
})

describe('the verdict', () => {
  const verdict = { added: false, connection_id: null, errors: [] }

  it('of a refusal is read once, and the row goes with it', async (t) => {
    const db = await withPending(t, 'con_a')
    assert.equal(await store.hasVerdict(db, refOf('con_a')), false)
    await store.refusePending(db, refOf('con_a'), verdict)
    assert.equal(await store.hasVerdict(db, refOf('con_a')), true)
    assert.deepEqual(await db.rows('select from connections where sealed_credentials is not null'), [])
    assert.deepEqual(await store.takeVerdict(db, refOf('con_a')), verdict)
    assert.equal(await statusOf(db, 'con_a'), undefined)
  })

  it('of an acceptance is heard also when it came as the waiting was given up, and the row stays', async (t) => {
    const db = await withPending(t, 'con_a')
    await store.acceptPending(db, refOf('con_a'), account)
    assert.equal((await store.takeVerdict(db, refOf('con_a')))?.added, true)
    assert.deepEqual(await statusOf(db, 'con_a'), { status: 'syncing' })
  })

  it('that did not come leaves nothing, and comes too late for what is gone', async (t) => {
    const db = await withPending(t, 'con_a')
    assert.equal(await store.takeVerdict(db, refOf('con_a')), undefined)
    assert.equal(await store.acceptPending(db, refOf('con_a'), account), undefined)
    assert.equal(await statusOf(db, 'con_a'), undefined)
  })
})

describe('nonces of a key', () => {
  it('grow across restarts and processes, whatever the clock says', async (t) => {
    const { db, connection } = await testDatabase(t)
    const other = openTestDatabase(connection)
    t.after(() => other.close())
    const first = await store.reserveNonces(db, 'lane', 1_000_000, 500)
    const second = await store.reserveNonces(other, 'lane', 1_000_000, 500)
    const third = await store.reserveNonces(db, 'lane', 5, 500)
    assert.equal(first, 1_000_000n)
    assert.ok(second > first + 500n)
    assert.ok(third > second + 500n)
    assert.equal(await store.reserveNonces(db, 'lane', 9_000_000, 500), 9_000_000n)
    assert.equal(await store.reserveNonces(db, 'another lane', 1_000_000, 500), 1_000_000n)
  })

  it('reserved by many at once never overlap', async (t) => {
    const { db } = await testDatabase(t)
    const starts = await Promise.all(Array.from({ length: 40 }, () => store.reserveNonces(db, 'lane', 1_000, 10)))
    const used = starts.flatMap((start) => Array.from({ length: 10 }, (_, index) => start + BigInt(index + 1)))
    assert.equal(new Set(used).size, 400)
  })
})
