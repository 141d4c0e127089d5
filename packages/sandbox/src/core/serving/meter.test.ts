import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMeter } from './meter.ts'

describe('a decaying counter', () => {
  it('refuses the call that would exceed it, and says when it would fit', () => {
    const meter = createMeter({ max: 4, decayPerSecond: 0.5 })
    assert.deepEqual(meter.take(2, 0), { accepted: true })
    assert.deepEqual(meter.take(2, 0), { accepted: true })
    assert.deepEqual(meter.take(1, 0), { accepted: false, retryAfterMs: 2_000 })
    assert.deepEqual(meter.take(1, 1_999), { accepted: false, retryAfterMs: 1 })
    assert.deepEqual(meter.take(1, 2_000), { accepted: true })
  })

  it('falls to zero and no further', () => {
    const meter = createMeter({ max: 2, decayPerSecond: 1 })
    meter.take(2, 0)
    assert.equal(meter.take(2, 1_000_000).accepted, true)
    assert.equal(meter.take(1, 1_000_000).accepted, false)
  })
})
