/**
 * The tenant's feed: a client that applies its pages in order ends with exactly what the list returns, whatever happens
 * in between.
 */
import { dayMs } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../../test/postgres.ts'
import { markInstallation, type Database } from '../../db/index.ts'
import { ownedBySuite } from '../../oauth/test-oauth.ts'
import { bringUpToDate } from '../fold.ts'
import { createEnterprise, createStatistics, sweepFeed } from '../index.ts'
import { applyFeedStep, createReader, feedStep, listPlainly, usersMax, type FeedStep } from './test-feed.ts'
import { addTenant, type TestTenant } from '../statistics/test-statistics.ts'

describe('the feed of a tenant', async () => {
  const { db } = await testDatabase(ownedBySuite())
  await markInstallation(db, 'sandbox')
  const enterprise = createEnterprise({ db, endGrants: async () => 0 })
  const statistics = createStatistics({ db })
  let tenants = 0
  const newTenant = async (): Promise<TestTenant> => addTenant(db, `ten_${(tenants += 1)}`)
  const apply = (tenant: TestTenant, ...steps: (Pick<FeedStep, 'kind'> & Partial<FeedStep>)[]): Promise<void> =>
    steps.reduce((before, one) => before.then(() => applyFeedStep(db, tenant, one)), Promise.resolve())
  const readerOf = (tenant: TestTenant) => createReader(enterprise, tenant.tenantKey)
  const countRows = async ({ tenantKey }: TestTenant): Promise<number> =>
    (await db.rows('select from tenant_changes where tenant_key = $1', [tenantKey])).length

  it('gives a copy that equals the list, after any sequence of steps and with any page size', async () => {
    const story = fc.asyncProperty(fc.array(feedStep, { minLength: 10, maxLength: 30 }), async (steps) => {
      const tenant = await newTenant()
      const readers = [readerOf(tenant), readerOf(tenant)]
      // From the last user to the first, so that the order of keys is not the order of numbers.
      for (const user of [2, 1, 0]) {
        await apply(tenant, { kind: 'grant', user, hours: 30 }, { kind: 'connect', user }, { kind: 'commit', user })
      }
      for (const one of steps) {
        await applyFeedStep(db, tenant, one)
        const reader = readers[one.reader]
        assert.ok(reader)
        if (one.then === 'fold') await statistics.fold()
        if (one.then === 'restart') reader.restart()
        if (one.then === 'page' || one.then === 'restart') await reader.readPage(one.limit)
        if (one.then === 'poll') {
          await reader.poll(one.limit)
          assert.deepEqual(reader.list(), await listPlainly(enterprise, tenant.tenantKey), JSON.stringify(one))
        }
      }
      const list = await listPlainly(enterprise, tenant.tenantKey)
      for (const reader of [...readers, readerOf(tenant)]) {
        await reader.poll(2)
        assert.deepEqual(reader.list(), list)
      }
    })
    // Shrinking is off because it takes minutes; the failure prints the seed and the steps.
    await fc.assert(story, { numRuns: 60, endOnFailure: true })
  })

  it('loses nothing when commits, folds and readers run side by side', async () => {
    const tenant = await newTenant()
    const [steps] = fc.sample(fc.array(feedStep, { minLength: 300, maxLength: 300 }), { numRuns: 1, seed: 11 })
    assert.ok(steps)
    let writing = usersMax
    const write = async (user: number): Promise<void> => {
      // A deleted user does not come back, and the clock is shared with other tests.
      const mine = steps.filter((one) => one.user === user && one.kind !== 'delete' && one.kind !== 'clock')
      for (const one of mine) await applyFeedStep(db, tenant, one)
      writing -= 1
    }
    const fold = async (): Promise<void> => {
      while (writing > 0) await bringUpToDate(db, tenant.tenantKey)
    }
    const readers = [readerOf(tenant), readerOf(tenant)]
    const read = async (reader: ReturnType<typeof readerOf>, limit: number): Promise<void> => {
      while (writing > 0) await reader.readPage(limit)
    }
    const [first, second] = readers
    assert.ok(first && second)
    await Promise.all([write(0), write(1), write(2), fold(), read(first, 2), read(second, 100)])
    const list = await listPlainly(enterprise, tenant.tenantKey)
    for (const reader of readers) {
      await reader.poll(5)
      assert.deepEqual(reader.list(), list)
    }
  })

  it('a user who consents again before the end of the grant was numbered is complete, even if a page was read in between', async () => {
    const tenant = await newTenant()
    await apply(tenant, { kind: 'grant' }, { kind: 'connect' }, { kind: 'commit', written: [0, 1, 2, 3, 4, 5] })
    const reader = readerOf(tenant)
    await reader.readPage(2)
    await apply(tenant, { kind: 'revoke' })
    await reader.readPage(2)
    assert.deepEqual(reader.list(), [])
    await apply(tenant, { kind: 'grant' })
    await reader.poll(2)
    assert.equal(reader.list().length, 6)
  })

  it('hides a user whose grant has ended, even before a fold has processed the end', async () => {
    const tenant = await newTenant()
    await apply(tenant, { kind: 'grant' }, { kind: 'connect' }, { kind: 'commit' })
    await statistics.fold()
    // This update leaves no notice, like a writer that forgot to leave one.
    await db.execute('update grants set revoked_at = $2 where user_key = $1', [tenant.users[0]?.userKey, db.now()])
    const { items, last, point } = await enterprise.listChanges(tenant.tenantKey, { point: undefined, limit: 100 })
    assert.deepEqual([items, last], [[], true])
    // The reader did not skip the user: a new consent brings everything, to this reader too.
    await apply(tenant, { kind: 'grant' })
    assert.equal((await enterprise.listChanges(tenant.tenantKey, { point, limit: 100 })).items.length, 3)
  })

  it('announces once that a user left, including when the grant expires or the user is deleted', async () => {
    const tenant = await newTenant()
    for (const user of [0, 1]) {
      await apply(tenant, { kind: 'grant', user }, { kind: 'connect', user }, { kind: 'commit', user })
    }
    const page = await enterprise.listChanges(tenant.tenantKey, { point: undefined, limit: 100 })
    assert.equal(page.items.length, 6)
    await apply(tenant, { kind: 'delete', user: 1 }, { kind: 'clock', hours: 3 })
    const { items, point } = await enterprise.listChanges(tenant.tenantKey, { point: page.point, limit: 100 })
    assert.deepEqual(
      items.map((item) => [item.op, item.userId]).toSorted(),
      [0, 1].map((user) => ['remove_user', tenant.users[user]?.userId]),
    )
    assert.deepEqual((await enterprise.listChanges(tenant.tenantKey, { point, limit: 100 })).items, [])
    // The announcements that the removal replaces are deleted.
    assert.equal(await countRows(tenant), 2)
  })

  it('shows a connection with one number and removes it with one', async () => {
    const tenant = await newTenant()
    await apply(tenant, { kind: 'grant' }, { kind: 'connect', settled: false }, { kind: 'commit' }, { kind: 'commit' })
    await statistics.fold()
    const before = await countRows(tenant)
    await apply(tenant, { kind: 'settle' })
    await statistics.fold()
    assert.equal(await countRows(tenant), before + 1)
    const reader = readerOf(tenant)
    await reader.poll(2)
    assert.equal(reader.list().length, 3)
    await apply(tenant, { kind: 'remove' })
    await reader.poll(2)
    assert.deepEqual(reader.list(), [])
  })

  it('a fold that is killed before it commits is repeated by the next', async () => {
    const tenant = await newTenant()
    await apply(tenant, { kind: 'grant' }, { kind: 'connect' }, { kind: 'commit' })
    const killed: Database = {
      ...db,
      transaction: (work) =>
        db.transaction(async (tx) => {
          await work(tx)
          throw new Error('killed')
        }),
    }
    await assert.rejects(bringUpToDate(killed, tenant.tenantKey), /killed/)
    assert.equal(await countRows(tenant), 0)
    const reader = readerOf(tenant)
    await reader.poll(100)
    assert.equal(reader.list().length, 3)
  })

  it('a cursor from before the oldest announcement has expired, and one after it has not', async () => {
    const tenant = await newTenant()
    const { tenantKey } = tenant
    const empty = await enterprise.listChanges(tenantKey, { point: undefined, limit: 100 })
    await apply(tenant, { kind: 'grant', hours: 10_000 }, { kind: 'connect' }, { kind: 'commit', written: [0] })
    const first = await enterprise.listChanges(tenantKey, { point: empty.point, limit: 100 })
    await db.clock.advance(90 * dayMs)
    await apply(tenant, { kind: 'commit', written: [1] })
    const second = await enterprise.listChanges(tenantKey, { point: first.point, limit: 100 })
    assert.deepEqual([first.items.length, second.items.length], [1, 1])
    await sweepFeed(db, 90 * dayMs)
    await assert.rejects(enterprise.listChanges(tenantKey, { point: empty.point, limit: 100 }), (error: unknown) => {
      assert.deepEqual((error as { items: { cause: string }[] }).items[0]?.cause, 'cursor_expired')
      return true
    })
    assert.equal((await enterprise.listChanges(tenantKey, { point: first.point, limit: 100 })).items.length, 1)
    assert.equal((await enterprise.listChanges(tenantKey, { point: second.point, limit: 100 })).items.length, 0)
    const again = readerOf(tenant)
    await again.poll(100)
    assert.equal(again.list().length, 2)
  })

  /** The tables of the feed as they are now; calling it brings them back, as a restored backup does. */
  async function backUp({ tenantKey }: TestTenant): Promise<() => Promise<void>> {
    const tables = ['tenant_feeds', 'feed_users', 'tenant_changes']
    const kept = await Promise.all(
      tables.map(async (table) => {
        const { rows } = await db.row<{ rows: string }>(
          `select coalesce(json_agg(t), '[]')::text as rows from ${table} t where tenant_key = $1`,
          [tenantKey],
        )
        return { table, rows }
      }),
    )
    return async () => {
      for (const { table, rows } of kept) {
        await db.execute(`delete from ${table} where tenant_key = $1`, [tenantKey])
        await db.execute(`insert into ${table} select * from json_populate_recordset(null::${table}, $1::json)`, [rows])
      }
    }
  }

  it('never gives a number again that was given before the database was restored from a backup', async () => {
    const tenant = await newTenant()
    const { tenantKey } = tenant
    await apply(tenant, { kind: 'grant', hours: 100 }, { kind: 'connect' }, { kind: 'commit' })
    await statistics.fold()
    const restore = await backUp(tenant)
    for (let count = 0; count < 3; count += 1) {
      await apply(tenant, { kind: 'commit' })
      await statistics.fold()
    }
    const { point } = await enterprise.listChanges(tenantKey, { point: undefined, limit: 100 })
    await restore()
    await assert.rejects(enterprise.listChanges(tenantKey, { point, limit: 100 }), (error: unknown) => {
      assert.deepEqual((error as { items: { cause: string }[] }).items[0]?.cause, 'cursor_expired')
      return true
    })
    await db.clock.advance(1)
    await apply(tenant, { kind: 'grant', user: 1 }, { kind: 'connect', user: 1 }, { kind: 'commit', user: 1 })
    const { items } = await enterprise.listChanges(tenantKey, { point, limit: 100 })
    assert.equal(items.filter(({ userId }) => userId === tenant.users[1]?.userId).length, 3)
  })
})
