import type { Window } from '@assay/connectors'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'
import * as store from './store.ts'
import type { Bookmark } from './store.ts'

const ref: ConnectionRef = {
  ...{ tenantKey: 1, tenantId: 'ten_a', userKey: '7', userId: 'usr_a' },
  ...{ connectionKey: 1, connectionId: 'con_a' },
}
const window = { startMs: 1_000, endMs: 90_000 }
const at = (position: string | null): Bookmark => ({ window, position })
const move = (db: Database, from: Bookmark | undefined, to: Bookmark): Promise<boolean> =>
  store.moveBookmark(db, ref, 'ledger', from, to)

/** With one connection, which the windows belong to. */
async function open(t: TestContext): Promise<Database> {
  const { db } = await testDatabase(t)
  await db.execute(
    `insert into connections (user_key, connection_key, tenant_key, tenant_id, user_id, id, provider_id,
       connection_type, status, key_lane, created_at)
     values (7, 1, 1, 'ten_a', 'usr_a', 'con_a', 'kraken', 'api_key', 'active', 'lane', $1)`,
    [db.now()],
  )
  return db
}
const findBookmark = async (db: Database, stream: string, of = ref): Promise<Bookmark | undefined> =>
  (await store.loadPlaces(db, of)).bookmarks.get(stream)
const listCovered = async (db: Database, stream: string): Promise<Window[]> =>
  (await store.loadPlaces(db, ref)).covered.get(stream) ?? []

describe('a bookmark', () => {
  it('moves from where the reader left it', async (t) => {
    const db = await open(t)
    assert.equal(await move(db, undefined, at('50')), true)
    assert.equal(await move(db, at('50'), at('100')), true)
    assert.deepEqual(await findBookmark(db, 'ledger'), at('100'))
    assert.equal(await findBookmark(db, 'deposits'), undefined)
    assert.equal(await findBookmark(db, 'ledger', { ...ref, connectionKey: 2 }), undefined)
  })

  it('refuses a worker that was presumed dead and comes back', async (t) => {
    const db = await open(t)
    await move(db, undefined, at('50'))
    await move(db, at('50'), at('100'))
    assert.equal(await move(db, at('50'), at('100')), false)
    assert.equal(await move(db, undefined, at('50')), false)
    assert.equal(await move(db, { window: { startMs: 2_000, endMs: 90_000 }, position: '100' }, at('150')), false)
    assert.deepEqual(await findBookmark(db, 'ledger'), at('100'))
  })

  it('refuses such a worker also when it believes to have come to the end', async (t) => {
    const db = await open(t)
    await move(db, undefined, at('50'))
    await move(db, at('50'), at('100'))
    const late = db.transaction(async (tx) => {
      const closing = { stream: 'ledger', from: at('50'), window }
      if ((await store.closeWindows(tx, ref, [closing])) !== 1) throw new Error('refused')
    })
    await assert.rejects(late, /refused/)
    assert.deepEqual(await findBookmark(db, 'ledger'), at('100'))
    assert.deepEqual(await listCovered(db, 'ledger'), [])
    assert.equal(await store.closeWindows(db, ref, [{ stream: 'ledger', from: at('100'), window }]), 1)
    assert.equal(await findBookmark(db, 'ledger'), undefined)
  })
})

describe('covered windows', () => {
  const close = (db: Database, startMs: number, endMs: number): Promise<number> =>
    store.closeWindows(db, ref, [{ stream: 'ledger', from: undefined, window: { startMs, endMs } }])

  it('become one when they touch or overlap, and stay apart when there is a hole', async (t) => {
    const db = await open(t)
    await close(db, 1_000, 2_000)
    await close(db, 5_000, 6_000)
    await close(db, 2_001, 3_000)
    assert.deepEqual(await listCovered(db, 'ledger'), [
      { startMs: 1_000, endMs: 2_000 },
      { startMs: 2_001, endMs: 3_000 },
      { startMs: 5_000, endMs: 6_000 },
    ])
    await close(db, 2_000, 2_001)
    await close(db, 2_500, 5_500)
    assert.deepEqual(await listCovered(db, 'ledger'), [{ startMs: 1_000, endMs: 6_000 }])
    await close(db, 0, 9_000)
    assert.deepEqual(await listCovered(db, 'ledger'), [{ startMs: 0, endMs: 9_000 }])
  })

  it('of several streams are closed together; one that another worker moves is left out', async (t) => {
    const db = await open(t)
    await store.moveBookmark(db, ref, 'deposits', undefined, at('50'))
    const closings = ['ledger', 'deposits', 'withdrawals'].map((stream) => ({ stream, from: undefined, window }))
    assert.equal(await store.closeWindows(db, ref, closings), 2)
    assert.deepEqual([await listCovered(db, 'ledger'), await listCovered(db, 'withdrawals')], [[window], [window]])
    assert.deepEqual([await listCovered(db, 'deposits'), await findBookmark(db, 'deposits')], [[], at('50')])
  })

  it('of a connection that was removed are not kept', async (t) => {
    const db = await open(t)
    await db.execute("update connections set status = 'removed'")
    assert.equal(await close(db, 1_000, 2_000), 0)
    assert.deepEqual(await listCovered(db, 'ledger'), [])
  })
})

describe('failures in a row', () => {
  it('of a connection that is gone are not kept', async (t) => {
    const db = await open(t)
    await db.execute('delete from connections')
    assert.deepEqual([await store.countFailure(db, ref, { anew: false })], [1])
    assert.deepEqual(await db.rows('select from sync_failures'), [])
  })

  it('are counted until something was read', async (t) => {
    const db = await open(t)
    const count = (anew: boolean): Promise<number> => store.countFailure(db, ref, { anew })
    assert.deepEqual([await count(false), await count(false), await count(false)], [1, 2, 3])
    assert.deepEqual([await count(true), await count(false)], [1, 2])
    assert.equal((await store.loadPlaces(db, ref)).hasFailures, true)
    await store.clearFailures(db, ref)
    assert.equal((await store.loadPlaces(db, ref)).hasFailures, false)
    assert.equal(await count(false), 1)
  })
})
