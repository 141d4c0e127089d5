import fc from 'fast-check'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { backoffMs } from './run-job.ts'

it('the backoff doubles with each failure, up to a quarter of an hour', () => {
  const waits = [1, 2, 3, 9, 10, 11, 1_000_000].map((failures) => backoffMs(failures, 0.5))
  assert.deepEqual(waits, [2_000, 4_000, 8_000, 512_000, 900_000, 900_000, 900_000])
})

it('the backoff is spread by at most a quarter in both directions', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const middle = backoffMs(failures, 0.5)
      const wait = backoffMs(failures, random)
      assert.ok(wait >= Math.floor(middle * 0.75) && wait <= Math.ceil(middle * 1.25))
    }),
  )
})
