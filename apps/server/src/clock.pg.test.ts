import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../test/postgres.ts'
import { createClock } from './clock.ts'
import { markInstallation } from './db/index.ts'

const hourMs = 3_600_000
const isNear = (actualMs: number, expectedMs: number): boolean => Math.abs(actualMs - expectedMs) < 60_000

describe('the clock', () => {
  it('of the sandbox goes forward for everybody: here, in SQL, and in other processes once they look', async (t) => {
    const { db } = await testDatabase(t)
    await markInstallation(db, true)
    const [here, there] = [createClock(db, true), createClock(db, true)]
    assert.equal(await here.advance(hourMs), hourMs)
    assert.ok(isNear(here.now(), Date.now() + hourMs))
    assert.ok(isNear(there.now(), Date.now()))
    await there.refresh()
    assert.ok(isNear(there.now(), Date.now() + hourMs))
    const { now } = await db.row<{ now: string }>('select assay_now() as now')
    assert.ok(isNear(Date.parse(now), Date.now() + hourMs))
  })

  it('never goes back', async (t) => {
    const { db } = await testDatabase(t)
    await markInstallation(db, true)
    const clock = createClock(db, true)
    await clock.advance(hourMs)
    assert.equal(await clock.advance(-hourMs), hourMs)
    assert.equal(await clock.advance(0), hourMs)
  })

  it('outside the sandbox cannot be moved, whatever the database holds', async (t) => {
    const { db } = await testDatabase(t)
    await markInstallation(db, false)
    await db.execute('update sandbox_clock set offset_ms = $1', [hourMs])
    const clock = createClock(db, false)
    await clock.refresh()
    assert.ok(isNear(clock.now(), Date.now()))
    await assert.rejects(clock.advance(1), /only the sandbox clock/)
    const { now } = await db.row<{ now: string }>('select assay_now() as now')
    assert.ok(isNear(Date.parse(now), Date.now()))
  })

  it('is the database’s, also when the machine’s is a day ahead', async (t) => {
    const { db } = await testDatabase(t)
    const clock = createClock(db, false)
    const trueMs = Date.now()
    t.mock.method(Date, 'now', () => trueMs + 24 * hourMs)
    await clock.refresh()
    assert.ok(isNear(clock.now(), trueMs))
  })
})
