import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createClock } from './clock.ts'

it('the clock is the outside time plus an offset that never shrinks', () => {
  let outside = 1_000
  const clock = createClock(() => outside)
  clock.moveTo(500)
  outside = 1_100
  assert.equal(clock.nowMs(), 1_600)
  assert.throws(() => clock.moveTo(499), /only moves forward/)
  clock.moveTo(500)
  assert.equal(clock.offsetMs(), 500)
})
