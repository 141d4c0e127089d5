import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { findMissing, isFinal, settleMs, toDay, type Days, type DaysRead } from './days.ts'

const at = (text: string): number => Date.parse(`${text}Z`)
const read = (firstDay: string, lastDay: string, readAt: string): DaysRead => ({
  firstDay,
  lastDay,
  readAtMs: at(readAt),
})
const days = (firstDay: string, lastDay: string): Days => ({ firstDay, lastDay })

describe('a day', () => {
  const run = read('2026-03-01', '2026-03-05', '2026-03-05T12:00')

  it('is final when it was read after it had ended and settled', () => {
    assert.equal(isFinal('2026-03-04', run), true)
    assert.equal(isFinal('2026-03-05', run), false)
    assert.equal(isFinal('2026-03-05', { ...run, readAtMs: at('2026-03-06T00:59:59.999') }), false)
    assert.equal(isFinal('2026-03-05', { ...run, readAtMs: at('2026-03-06T01:00') }), true)
  })

  it('is not final outside the days that were read, or for an asset that was never read', () => {
    assert.equal(isFinal('2026-02-28', run), false)
    assert.equal(isFinal('2026-03-06', run), false)
    assert.equal(isFinal('2026-03-01', undefined), false)
  })
})

describe('the missing range', () => {
  const run = read('2026-03-01', '2026-03-05', '2026-03-05T12:00')
  const wanted = days('2026-03-01', '2026-03-05')

  it('is everything for an asset that was never read, and nothing for one that was just read', () => {
    assert.deepEqual(findMissing(wanted, undefined, at('2026-03-05T12:00')), wanted)
    assert.equal(findMissing(wanted, run, at('2026-03-05T23:00')), undefined)
  })

  it('is a provisional day once it has settled, and not before', () => {
    assert.equal(findMissing(wanted, run, at('2026-03-06T00:59')), undefined)
    assert.deepEqual(findMissing(wanted, run, at('2026-03-06T01:00')), days('2026-03-05', '2026-03-05'))
  })

  it('is a new day together with the provisional days before it', () => {
    const next = days('2026-03-01', '2026-03-06')
    assert.deepEqual(findMissing(next, run, at('2026-03-06T00:10')), days('2026-03-05', '2026-03-06'))
    const again = read('2026-03-01', '2026-03-06', '2026-03-06T00:10')
    assert.deepEqual(findMissing(next, again, at('2026-03-06T01:10')), days('2026-03-05', '2026-03-06'))
  })

  it('is everything from an older day on, so that no day in between is skipped', () => {
    assert.deepEqual(
      findMissing(days('2026-02-01', '2026-03-02'), run, at('2026-03-05T12:00')),
      days('2026-02-01', '2026-03-05'),
    )
  })

  it('leaves nothing missing once it is read, and every settled day final', () => {
    const day = fc.integer({ min: 20_000, max: 20_060 })
    fc.assert(
      fc.property(day, day, fc.array(fc.nat({ max: 40 * 24 }), { maxLength: 6 }), (a, b, hours) => {
        let run: DaysRead | undefined
        let nowMs = (Math.max(a, b) + 1) * dayMs - 1
        const wanted = days(toDay(Math.min(a, b) * dayMs), toDay(Math.max(a, b) * dayMs))
        for (const hour of [0, ...hours]) {
          nowMs += hour * 3_600_000
          const missing = findMissing(wanted, run, nowMs)
          if (missing === undefined) continue
          assert.ok(run === undefined || missing.firstDay <= run.lastDay)
          const firstDay = run === undefined || missing.firstDay < run.firstDay ? missing.firstDay : run.firstDay
          run = { firstDay, lastDay: missing.lastDay, readAtMs: nowMs }
          assert.equal(findMissing(wanted, run, nowMs), undefined)
        }
        const settled = nowMs >= Date.parse(wanted.lastDay) + dayMs + settleMs
        assert.equal(isFinal(wanted.firstDay, run) && isFinal(wanted.lastDay, run), settled)
      }),
    )
  })
})
