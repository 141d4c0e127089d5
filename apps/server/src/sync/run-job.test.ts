import { SourceError } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CircuitOpen } from '../metering/index.ts'
import { backoffMs, toPauseMs } from './run-job.ts'

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

it('a server that names a time lengthens the pause, up to an hour, and never shortens it', () => {
  for (const fault of ['rate_limited', 'venue_down', 'unreadable_answer'] as const) {
    const pauses = [0, 60_000, 48 * 3_600_000].map((retryAfterMs) =>
      toPauseMs(new SourceError(fault, 'not now', { retryAfterMs }), 4_000),
    )
    assert.deepEqual(pauses, [4_000, 60_000, 3_600_000], fault)
    assert.equal(toPauseMs(new SourceError(fault, 'not now'), 4_000), 4_000)
  }
  // Those that know when to ask again may say "sooner".
  assert.equal(toPauseMs(new CircuitOpen('kraken', 0, 1_000), 4_000), 1_000)
  assert.equal(toPauseMs(new SourceError('data_hole', 'a doubt', { retryAfterMs: 1_000 }), 4_000), 1_000)
})
