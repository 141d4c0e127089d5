import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestDatabase, silentLog, testDatabase } from '../../../../test/postgres.ts'
import { createDatabase, markInstallation } from './index.ts'

const hourMs = 3_600_000
const isNear = (actualMs: number, expectedMs: number): boolean => Math.abs(actualMs - expectedMs) < 60_000

describe('the clock', () => {
  it('of the sandbox goes forward in this process at once, and in others when they look', async (t) => {
    const { db, connection } = await testDatabase(t)
    await markInstallation(db, true)
    const elsewhere = openTestDatabase(connection)
    t.after(() => elsewhere.close())
    assert.equal(await db.clock.advance(hourMs), hourMs)
    assert.ok(isNear(db.clock.now(), Date.now() + hourMs))
    assert.ok(isNear(Date.parse(db.now()), Date.now() + hourMs))
    assert.ok(isNear(elsewhere.clock.now(), Date.now()))
    await elsewhere.clock.refresh()
    assert.ok(isNear(elsewhere.clock.now(), Date.now() + hourMs))
  })

  it('inside a transaction is the same', async (t) => {
    const { db } = await testDatabase(t)
    await markInstallation(db, true)
    await db.clock.advance(hourMs)
    const now = await db.transaction(async (tx) => tx.now())
    assert.ok(isNear(Date.parse(now), Date.now() + hourMs))
    assert.match(now, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it('never goes back', async (t) => {
    const { db } = await testDatabase(t)
    await markInstallation(db, true)
    await db.clock.advance(hourMs)
    assert.equal(await db.clock.advance(-hourMs), hourMs)
    assert.equal(await db.clock.advance(0), hourMs)
  })

  it('outside the sandbox cannot be moved, whatever the database holds', async (t) => {
    const { db } = await testDatabase(t)
    await markInstallation(db, false)
    await db.execute('update sandbox_clock set offset_ms = $1', [hourMs])
    await db.clock.refresh()
    assert.ok(isNear(db.clock.now(), Date.now()))
    await assert.rejects(db.clock.advance(1), /only the sandbox clock/)
  })

  it('is the database’s, also when the machine’s is a day ahead', async (t) => {
    const { db } = await testDatabase(t)
    const trueMs = Date.now()
    t.mock.method(Date, 'now', () => trueMs + 24 * hourMs)
    await db.clock.refresh()
    assert.ok(isNear(db.clock.now(), trueMs))
  })

  it('is refused until it was read once', async (t) => {
    const { connection } = await testDatabase(t)
    const options = { connection, pooler: 'none', poolSizeMax: 2, statementTimeoutMs: 10_000, log: silentLog } as const
    const db = createDatabase(options)
    t.after(() => db.close())
    assert.throws(() => db.now(), /was not read before it was needed/)
    await db.clock.refresh()
    assert.ok(isNear(Date.parse(db.now()), Date.now()))
  })
})
