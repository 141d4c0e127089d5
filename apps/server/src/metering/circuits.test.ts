import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { afterSilence } from './circuits.ts'

interface Row {
  failures: number
  failing_users: string[]
  opened_at: string | null
  probes: number
}

const none: Row = { failures: 0, failing_users: [], opened_at: null, probes: 0 }

/** The row after a connection of each of these users failed once, and when the last of them opened the circuit. */
function fail(row: Row, users: readonly string[]): Row & { probeInMs: number | null } {
  let probeInMs: number | null = null
  let next = row
  for (const userKey of users) {
    const after = afterSilence(next, { userKey, wasProbe: false, random: 0.5 })
    probeInMs = after.probeInMs
    next = {
      failures: after.failures,
      failing_users: after.failingUsers,
      opened_at: probeInMs === null ? next.opened_at : 'now',
      probes: after.probes,
    }
  }
  return { ...next, probeInMs }
}

describe('a circuit', () => {
  it('opens at the fifth failure in a row when three users are affected', () => {
    assert.equal(fail(none, ['a', 'b', 'c', 'a']).probeInMs, null)
    assert.equal(fail(none, ['a', 'b', 'c', 'a', 'b']).probeInMs, 30_000)
  })

  it('stays closed for one user or two, however often their connections fail', () => {
    const often = Array.from({ length: 1_000 }, (_, index) => (index % 2 === 0 ? 'a' : 'b'))
    const { probeInMs, failing_users } = fail(none, often)
    assert.deepEqual([probeInMs, failing_users], [null, ['a', 'b']])
  })

  it('stores no more users than are needed to open it', () => {
    const many = Array.from({ length: 50 }, (_, index) => `user ${index}`)
    assert.equal(fail(none, many).failing_users.length, 3)
  })

  it('that is open waits twice as long after each probe without an answer, up to a quarter of an hour', () => {
    let row: Row = { failures: 5, failing_users: ['a', 'b', 'c'], opened_at: 'then', probes: 0 }
    const waits: (number | null)[] = []
    for (let probe = 0; probe < 8; probe += 1) {
      const after = afterSilence(row, { userKey: null, wasProbe: true, random: 0.5 })
      waits.push(after.probeInMs)
      row = { ...row, probes: after.probes }
    }
    const minutes = waits.map((ms) => (ms ?? 0) / 60_000)
    assert.deepEqual(minutes, [1, 2, 4, 8, 15, 15, 15, 15])
  })

  it('that is open does not change for a job that was running when it opened', () => {
    const row: Row = { failures: 5, failing_users: ['a', 'b', 'c'], opened_at: 'then', probes: 2 }
    const { probes, probeInMs } = afterSilence(row, { userKey: 'd', wasProbe: false, random: 0.5 })
    assert.deepEqual([probes, probeInMs], [2, null])
  })

  it('is probed at a random moment, up to a quarter sooner or later', () => {
    const row: Row = { failures: 4, failing_users: ['a', 'b', 'c'], opened_at: null, probes: 0 }
    const wait = (random: number): number | null =>
      afterSilence(row, { userKey: 'a', wasProbe: false, random }).probeInMs
    assert.deepEqual([wait(0), wait(1)], [22_500, 37_500])
  })
})
