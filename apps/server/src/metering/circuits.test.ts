import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { afterSilence } from './circuits.ts'

interface Row {
  failures: number
  failing_keys: string[]
  opened_at: string | null
  probes: number
}

const none: Row = { failures: 0, failing_keys: [], opened_at: null, probes: 0 }

/** The row after each of these keys failed once, and when the last of them opened the circuit. */
function fail(row: Row, keys: readonly string[]): Row & { probeInMs: number | null } {
  let probeInMs: number | null = null
  let next = row
  for (const keyLane of keys) {
    const after = afterSilence(next, { keyLane, wasProbe: false, random: 0.5 })
    probeInMs = after.probeInMs
    next = {
      failures: after.failures,
      failing_keys: after.failingKeys,
      opened_at: probeInMs === null ? next.opened_at : 'now',
      probes: after.probes,
    }
  }
  return { ...next, probeInMs }
}

describe('a circuit', () => {
  it('opens at the fifth failure in a row when three keys are affected', () => {
    assert.equal(fail(none, ['a', 'b', 'c', 'a']).probeInMs, null)
    assert.equal(fail(none, ['a', 'b', 'c', 'a', 'b']).probeInMs, 30_000)
  })

  it('stays closed for one key or two, however often they fail', () => {
    const often = Array.from({ length: 1_000 }, (_, index) => (index % 2 === 0 ? 'a' : 'b'))
    const { probeInMs, failing_keys } = fail(none, often)
    assert.deepEqual([probeInMs, failing_keys], [null, ['a', 'b']])
  })

  it('stores no more keys than are needed to open it', () => {
    const many = Array.from({ length: 50 }, (_, index) => `key ${index}`)
    assert.equal(fail(none, many).failing_keys.length, 3)
  })

  it('that is open waits twice as long after each probe without an answer, up to a quarter of an hour', () => {
    let row: Row = { failures: 5, failing_keys: ['a', 'b', 'c'], opened_at: 'then', probes: 0 }
    const waits: (number | null)[] = []
    for (let probe = 0; probe < 8; probe += 1) {
      const after = afterSilence(row, { keyLane: null, wasProbe: true, random: 0.5 })
      waits.push(after.probeInMs)
      row = { ...row, probes: after.probes }
    }
    const minutes = waits.map((ms) => (ms ?? 0) / 60_000)
    assert.deepEqual(minutes, [1, 2, 4, 8, 15, 15, 15, 15])
  })

  it('that is open does not change for a job that was running when it opened', () => {
    const row: Row = { failures: 5, failing_keys: ['a', 'b', 'c'], opened_at: 'then', probes: 2 }
    const { probes, probeInMs } = afterSilence(row, { keyLane: 'd', wasProbe: false, random: 0.5 })
    assert.deepEqual([probes, probeInMs], [2, null])
  })

  it('is probed at a random moment, up to a quarter sooner or later', () => {
    const row: Row = { failures: 4, failing_keys: ['a', 'b', 'c'], opened_at: null, probes: 0 }
    const wait = (random: number): number | null =>
      afterSilence(row, { keyLane: 'a', wasProbe: false, random }).probeInMs
    assert.deepEqual([wait(0), wait(1)], [22_500, 37_500])
  })
})
