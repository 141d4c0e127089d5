import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import type { Database } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'
import * as store from './store.ts'
import { idOf, type CoveredSpan } from './standings.ts'
import type { Bookmark } from './plan.ts'

const ref: ConnectionRef = {
  ...{ tenantKey: 1, tenantId: 'ten_a', userKey: '7', userId: 'usr_a' },
  ...{ connectionKey: 1, connectionId: 'con_a' },
}
const window = { start: 1_000, end: 90_000 }
const at = (pageMark: string): Bookmark => ({ ...window, pageMark, shownAgain: pageMark.length })
const ledger = { stream: 'ledger', partition: '' }
const move = (db: Database, from: Bookmark | undefined, to: Bookmark): Promise<boolean> =>
  store.moveBookmark(db, ref, ledger, from, to)

/** Opens a database with one connection, which the windows belong to. */
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
const listOpen = async (db: Database, stream: string, of = ref, partition = ''): Promise<Bookmark[]> =>
  (await store.loadStandings(db, of)).lists.get(idOf(stream, partition))?.open ?? []
const findBookmark = async (db: Database, stream: string, of = ref): Promise<Bookmark | undefined> =>
  (await listOpen(db, stream, of))[0]
const listCovered = async (db: Database, stream: string, partition = ''): Promise<CoveredSpan[]> =>
  (await store.loadStandings(db, ref)).lists.get(idOf(stream, partition))?.covered ?? []

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
    assert.equal(await move(db, { ...at('100'), pageMark: '99' }, at('150')), false)
    assert.deepEqual(await findBookmark(db, 'ledger'), at('100'))
  })

  it('refuses such a worker even if it believes that it has reached the end', async (t) => {
    const db = await open(t)
    await move(db, undefined, at('50'))
    await move(db, at('50'), at('100'))
    const late = db.transaction(async (tx) => {
      const closing = { ...ledger, from: at('50'), window }
      if ((await store.closeWindows(tx, ref, [closing])) !== 1) throw new Error('refused')
    })
    await assert.rejects(late, /refused/)
    assert.deepEqual(await findBookmark(db, 'ledger'), at('100'))
    assert.deepEqual(await listCovered(db, 'ledger'), [])
    assert.equal(await store.closeWindows(db, ref, [{ ...ledger, from: at('100'), window }]), 1)
    assert.equal(await findBookmark(db, 'ledger'), undefined)
  })
})

describe('several open windows', () => {
  it('have one bookmark each, which moves and closes independently', async (t) => {
    const db = await open(t)
    const newer: Bookmark = { start: 90_000, end: 95_000, pageMark: '7', shownAgain: 0 }
    await move(db, undefined, at('50'))
    assert.equal(await move(db, undefined, newer), true)
    assert.equal(await move(db, at('50'), at('100')), true)
    assert.deepEqual(await listOpen(db, 'ledger'), [at('100'), newer])
    assert.equal(await store.closeWindows(db, ref, [{ ...ledger, from: newer, window: newer }]), 1)
    assert.deepEqual(await listOpen(db, 'ledger'), [at('100')])
    assert.equal(await store.closeWindows(db, ref, [{ ...ledger, from: at('100'), window }]), 1)
    assert.deepEqual(await listCovered(db, 'ledger'), [{ start: 1_000, end: 95_000 }])
  })

  it('of one list are not those of another', async (t) => {
    const db = await open(t)
    await store.moveBookmark(db, ref, { stream: 'ledger', partition: 'A' }, undefined, at('50'))
    assert.deepEqual([await listOpen(db, 'ledger'), await listOpen(db, 'ledger', ref, 'A')], [[], [at('50')]])
  })
})

describe('what a connector keeps', () => {
  it('is replaced only by a worker that knows its current version', async (t) => {
    const db = await open(t)
    const first = await store.replaceState(db, ref, '{"a":1}', null)
    assert.ok(first !== undefined)
    assert.equal(await store.replaceState(db, ref, '{"a":2}', null), undefined)
    const second = await store.replaceState(db, ref, '{"a":3}', first)
    assert.ok(second !== undefined)
    assert.equal(await store.replaceState(db, ref, '{"a":4}', first), undefined)
    const standings = await store.loadStandings(db, ref)
    assert.deepEqual([standings.state, standings.stateVersion], [{ a: 3 }, second])
    await store.beginState(db, ref, '{}')
    assert.deepEqual((await store.loadStandings(db, ref)).state, { a: 3 })
  })

  it('is not kept for a connection that was removed', async (t) => {
    const db = await open(t)
    await db.execute("update connections set status = 'removed'")
    assert.equal(await store.replaceState(db, ref, '{}', null), undefined)
    await store.keepPartitions(db, ref, { named: [{ stream: 'ledger', partition: 'A' }], dropped: [] })
    assert.equal((await store.loadStandings(db, ref)).lists.size, 0)
  })

  it('is forgotten with the connection', async (t) => {
    const db = await open(t)
    await store.replaceState(db, ref, '{}', null)
    await store.keepPartitions(db, ref, { named: [{ stream: 'ledger', partition: 'A' }], dropped: [] })
    await store.keepLastingMarks(db, ref, [{ ...ledger, lastingMark: '9' }])
    await move(db, undefined, at('50'))
    await store.forgetConnection(db, ref)
    const standings = await store.loadStandings(db, ref)
    assert.deepEqual([standings.lists.size, standings.stateVersion], [0, null])
  })
})

describe('lists', () => {
  it('are known with their lasting marks for as long as they are named', async (t) => {
    const db = await open(t)
    const [a, b] = ['A', 'B'].map((partition) => ({ stream: 'ledger', partition }))
    assert.ok(a && b)
    await store.keepPartitions(db, ref, { named: [a, b], dropped: [] })
    await store.keepLastingMarks(db, ref, [{ ...a, lastingMark: '9' }])
    await store.keepPartitions(db, ref, { named: [], dropped: [a] })
    const { lists } = await store.loadStandings(db, ref)
    const [first, second] = [a, b].map(({ stream, partition }) => lists.get(idOf(stream, partition)))
    assert.deepEqual([first?.isListed, first?.lastingMark], [false, '9'])
    assert.deepEqual([second?.isListed, second?.lastingMark], [true, null])
  })
})

describe('covered windows', () => {
  const close = (db: Database, start: number, end: number, partition = ''): Promise<number> =>
    store.closeWindows(db, ref, [{ stream: 'ledger', partition, from: undefined, window: { start, end } }])

  it('become one when they touch or overlap, and stay apart when there is a hole', async (t) => {
    const db = await open(t)
    await close(db, 1_000, 2_000)
    await close(db, 5_000, 6_000)
    await close(db, 2_001, 3_000)
    assert.deepEqual(await listCovered(db, 'ledger'), [
      { start: 1_000, end: 2_000 },
      { start: 2_001, end: 3_000 },
      { start: 5_000, end: 6_000 },
    ])
    await close(db, 2_000, 2_001)
    await close(db, 2_500, 5_500)
    assert.deepEqual(await listCovered(db, 'ledger'), [{ start: 1_000, end: 6_000 }])
    await close(db, 0, 9_000)
    assert.deepEqual(await listCovered(db, 'ledger'), [{ start: 0, end: 9_000 }])
  })

  it('of several streams are closed together; one that another worker moves is left out', async (t) => {
    const db = await open(t)
    await store.moveBookmark(db, ref, { ...ledger, stream: 'deposits' }, undefined, at('50'))
    const closings = ['ledger', 'deposits', 'withdrawals'].map((stream) => ({
      ...{ stream, partition: '', from: undefined, window },
    }))
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
    assert.deepEqual([await store.countFailure(db, ref, { restart: false })], [1])
    assert.deepEqual(await db.rows('select from sync_failures'), [])
  })

  it('are counted until something is read', async (t) => {
    const db = await open(t)
    const count = (restart: boolean): Promise<number> => store.countFailure(db, ref, { restart })
    assert.deepEqual([await count(false), await count(false), await count(false)], [1, 2, 3])
    assert.deepEqual([await count(true), await count(false)], [1, 2])
    assert.equal((await store.loadStandings(db, ref)).hasFailures, true)
    await store.clearFailures(db, ref)
    assert.equal((await store.loadStandings(db, ref)).hasFailures, false)
    assert.equal(await count(false), 1)
  })
})
