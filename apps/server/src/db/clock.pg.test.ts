import { hourMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openTestDatabase, silentLog, testDatabase } from '../../../../test/postgres.ts'
import { patienceMs } from '../../../../test/until.ts'
import { createClock } from './clock.ts'
import { createDatabase, markInstallation, type Database } from './index.ts'

/** Clocks are read in fractions of a millisecond and reported in whole ones. */
const roundingMs = 2

/** Asserts that a clock is this far ahead of the machine's clock, however long the test takes. */
function createCheck(): (actualMs: number, aheadMs?: number) => void {
  const beganMs = Date.now()
  return (actualMs, aheadMs = 0) => {
    const sinceMs = actualMs - aheadMs - beganMs
    assert.ok(
      sinceMs >= -roundingMs && sinceMs <= Date.now() - beganMs + roundingMs,
      `${sinceMs} ms after the beginning`,
    )
  }
}

describe('the clock', () => {
  it('of the sandbox moves forward in this process at once, and in others when they next read it', async (t) => {
    const checkNow = createCheck()
    const { db, connection } = await testDatabase(t)
    await markInstallation(db, 'sandbox')
    const elsewhere = openTestDatabase(connection)
    t.after(() => elsewhere.close())
    assert.equal(await db.clock.advance(hourMs), hourMs)
    checkNow(db.clock.now(), hourMs)
    checkNow(Date.parse(db.now()), hourMs)
    checkNow(elsewhere.clock.now())
    await elsewhere.clock.refresh()
    checkNow(elsewhere.clock.now(), hourMs)
  })

  it('gives the same time inside a transaction', async (t) => {
    const checkNow = createCheck()
    const { db } = await testDatabase(t)
    await markInstallation(db, 'sandbox')
    await db.clock.advance(hourMs)
    const now = await db.transaction(async (tx) => tx.now())
    checkNow(Date.parse(now), hourMs)
    assert.match(now, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it('never goes back', async (t) => {
    const { db } = await testDatabase(t)
    await markInstallation(db, 'sandbox')
    await db.clock.advance(hourMs)
    assert.equal(await db.clock.advance(-hourMs), hourMs)
    assert.equal(await db.clock.advance(0), hourMs)
  })

  it('is not set back by an answer that was on its way when it was moved', async (t) => {
    const checkNow = createCheck()
    const { db } = await testDatabase(t)
    await markInstallation(db, 'sandbox')
    const late = Promise.withResolvers<void>()
    let questions = 0
    const clock = createClock(
      {
        maybeRow: db.maybeRow,
        async row(text, values) {
          questions += 1
          const isFirst = questions === 1
          const row = await db.row(text, values)
          if (isFirst) await late.promise
          return row as never
        },
      },
      {},
    )
    const first = clock.refresh()
    await clock.advance(hourMs)
    late.resolve()
    await first
    checkNow(clock.now(), hourMs)
  })

  it('outside the sandbox cannot be moved, whatever the database holds', async (t) => {
    const checkNow = createCheck()
    const { db } = await testDatabase(t)
    await markInstallation(db, 'production')
    await db.execute('update sandbox_clock set offset_ms = $1', [hourMs])
    await db.clock.refresh()
    checkNow(db.clock.now())
    await assert.rejects(db.clock.advance(1), /only the sandbox clock/)
  })

  it('is the database’s clock, even when the machine’s is a day ahead', async (t) => {
    const { db } = await testDatabase(t)
    const checkNow = createCheck()
    const { now } = Date
    const { mock } = t.mock.method(Date, 'now', () => now() + 24 * hourMs)
    await db.clock.refresh()
    const told = db.clock.now()
    mock.restore()
    checkNow(told)
  })

  it('is not set back by an answer that took long to arrive', async (t) => {
    const { db } = await testDatabase(t)
    const slow: Database['row'] = async (text, values) => {
      const answer = await db.row<never>(text, values)
      await setTimeout(300)
      return answer
    }
    const clock = createClock({ row: slow, maybeRow: db.maybeRow }, { trustMachineClock: true })
    const before = clock.now()
    const beganMs = performance.now()
    await clock.refresh()
    const tookMs = performance.now() - beganMs
    const wentByMs = clock.now() - before
    assert.ok(wentByMs >= tookMs - roundingMs, `${wentByMs} ms by the clock in ${tookMs} ms`)
  })

  it('cannot be used until it has been read once', async (t) => {
    const checkNow = createCheck()
    const { connection } = await testDatabase(t)
    const db = createDatabase({
      ...{ connection, pooler: 'none', poolSizeMax: 2, log: silentLog },
      statementTimeoutMs: patienceMs,
    })
    t.after(() => db.close())
    assert.throws(() => db.now(), /was not read before it was needed/)
    await db.clock.refresh()
    checkNow(Date.parse(db.now()))
  })
})
