import assert from 'node:assert/strict'
import { it } from 'node:test'
import { toWholePercents } from './whole-percents.ts'

it('shares that each round up still add up to 100', () => {
  // Rounded one by one: 36 + 31 + 11 + 11 + 12 = 101.
  assert.deepEqual(toWholePercents([0.358, 0.307, 0.107, 0.106, 0.122]), [36, 31, 11, 10, 12])
})

it('shares whose rest is too small to show are those of a whole', () => {
  assert.deepEqual(toWholePercents([0.664, 0.332]), [67, 33])
  assert.deepEqual(toWholePercents([0.997]), [100])
  assert.deepEqual(toWholePercents([]), [])
})
