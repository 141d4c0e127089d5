import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import * as store from './store.ts'
import type { Bookmark } from './store.ts'

const ref = { tenantId: 'ten_a', userId: 'usr_a', connectionId: 'con_a' }
const window = { startMs: 1_000, endMs: 90_000 }
const at = (position: string | null): Bookmark => ({ window, position })
const move = (db: Database, from: Bookmark | undefined, to: Bookmark): Promise<boolean> =>
  store.moveBookmark(db, ref, 'ledger', from, to)

describe('a bookmark', () => {
  it('moves from where the reader left it', async (t) => {
    const { db } = await testDatabase(t)
    assert.equal(await move(db, undefined, at('50')), true)
    assert.equal(await move(db, at('50'), at('100')), true)
    assert.deepEqual(await store.findBookmark(db, ref, 'ledger'), at('100'))
    assert.equal(await store.findBookmark(db, ref, 'deposits'), undefined)
    assert.equal(await store.findBookmark(db, { ...ref, connectionId: 'con_b' }, 'ledger'), undefined)
  })

  it('refuses a worker that was taken for dead and comes back', async (t) => {
    const { db } = await testDatabase(t)
    await move(db, undefined, at('50'))
    await move(db, at('50'), at('100'))
    assert.equal(await move(db, at('50'), at('100')), false)
    assert.equal(await move(db, undefined, at('50')), false)
    assert.equal(await move(db, { window: { startMs: 2_000, endMs: 90_000 }, position: '100' }, at('150')), false)
    assert.deepEqual(await store.findBookmark(db, ref, 'ledger'), at('100'))
  })

  it('refuses such a worker also when it believes to have come to the end', async (t) => {
    const { db } = await testDatabase(t)
    await move(db, undefined, at('50'))
    await move(db, at('50'), at('100'))
    const late = db.transaction(async (tx) => {
      if (!(await store.closeWindow(tx, ref, 'ledger', at('50'), window))) throw new Error('refused')
    })
    await assert.rejects(late, /refused/)
    assert.deepEqual(await store.findBookmark(db, ref, 'ledger'), at('100'))
    assert.deepEqual(await store.listCovered(db, ref, 'ledger'), [])
    assert.equal(await store.closeWindow(db, ref, 'ledger', at('100'), window), true)
    assert.equal(await store.findBookmark(db, ref, 'ledger'), undefined)
  })
})

describe('covered windows', () => {
  const close = (db: Database, startMs: number, endMs: number): Promise<boolean> =>
    store.closeWindow(db, ref, 'ledger', undefined, { startMs, endMs })

  it('become one when they touch or overlap, and stay apart when there is a hole', async (t) => {
    const { db } = await testDatabase(t)
    await close(db, 1_000, 2_000)
    await close(db, 5_000, 6_000)
    await close(db, 2_001, 3_000)
    assert.deepEqual(await store.listCovered(db, ref, 'ledger'), [
      { startMs: 1_000, endMs: 2_000 },
      { startMs: 2_001, endMs: 3_000 },
      { startMs: 5_000, endMs: 6_000 },
    ])
    await close(db, 2_000, 2_001)
    await close(db, 2_500, 5_500)
    assert.deepEqual(await store.listCovered(db, ref, 'ledger'), [{ startMs: 1_000, endMs: 6_000 }])
    await close(db, 0, 9_000)
    assert.deepEqual(await store.listCovered(db, ref, 'ledger'), [{ startMs: 0, endMs: 9_000 }])
  })
})

describe('failures in a row', () => {
  const addConnection = (db: Database): Promise<unknown> =>
    db.execute(
      `insert into connections (tenant_id, user_id, id, provider_id, connection_type, status, key_lane)
       values ('ten_a', 'usr_a', 'con_a', 'kraken', 'api_key', 'active', 'lane')`,
    )

  it('of a connection that is gone are not kept', async (t) => {
    const { db } = await testDatabase(t)
    assert.deepEqual([await store.countFailure(db, ref, { anew: false })], [1])
    assert.deepEqual(await db.rows('select from sync_failures'), [])
  })

  it('are counted until something was read', async (t) => {
    const { db } = await testDatabase(t)
    await addConnection(db)
    const count = (anew: boolean): Promise<number> => store.countFailure(db, ref, { anew })
    assert.deepEqual([await count(false), await count(false), await count(false)], [1, 2, 3])
    assert.deepEqual([await count(true), await count(false)], [1, 2])
    await store.clearFailures(db, ref)
    assert.equal(await count(false), 1)
  })
})
