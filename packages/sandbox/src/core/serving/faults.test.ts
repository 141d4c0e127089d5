import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFaults, faultSchema, type Fault } from './faults.ts'

const call = { accountId: 'kraken.default.1', path: '/0/private/Ledgers', nowMs: 1_000 }

function armed(fault: Fault): ReturnType<typeof createFaults> {
  const faults = createFaults()
  faults.arm(faultSchema.parse(fault), 1_000)
  return faults
}

function hits(faults: ReturnType<typeof createFaults>, calls: number, over: Partial<typeof call> = {}): boolean[] {
  return Array.from({ length: calls }, () => faults.take({ ...call, ...over }).length > 0)
}

describe('which calls a fault hits', () => {
  it('lets `after` calls pass, then hits `times`', () => {
    assert.deepEqual(hits(armed({ kind: 'http_5xx', after: 2, times: 1 }), 4), [false, false, true, false])
  })

  it('hits every call until it is cleared when nothing limits it', () => {
    const faults = armed({ kind: 'down' })
    assert.deepEqual(hits(faults, 3), [true, true, true])
    faults.clear()
    assert.deepEqual(hits(faults, 1), [false])
    assert.deepEqual(faults.list(), [])
  })

  it('ends after duration_ms of the sandbox clock; for a stall that is the length of the stall instead', () => {
    assert.deepEqual(hits(armed({ kind: 'down', duration_ms: 10 }), 1, { nowMs: 1_009 }), [true])
    assert.deepEqual(hits(armed({ kind: 'down', duration_ms: 10 }), 1, { nowMs: 1_010 }), [false])
    assert.deepEqual(hits(armed({ kind: 'stall', duration_ms: 10 }), 1, { nowMs: 9_999 }), [true])
  })

  it('can be kept to one account and one endpoint', () => {
    assert.deepEqual(hits(armed({ kind: 'html', account_id: 'kraken.default.2' }), 1), [false])
    assert.deepEqual(hits(armed({ kind: 'html', account_id: 'kraken.default.1' }), 1), [true])
    assert.deepEqual(hits(armed({ kind: 'html', endpoint: 'Balance' }), 1), [false])
    assert.deepEqual(hits(armed({ kind: 'html', endpoint: 'Ledgers' }), 1), [true])
  })

  it('counts a fault on rows only when a page is cut', () => {
    const faults = armed({ kind: 'duplicate_rows', times: 1 })
    assert.deepEqual(hits(faults, 2), [false, false])
    assert.equal(faults.takeForPage(call).length, 1)
    assert.equal(faults.takeForPage(call).length, 0)
  })

  it('is refused when its kind or a field is unknown', () => {
    assert.throws(() => faultSchema.parse({ kind: 'earthquake' }))
    assert.throws(() => faultSchema.parse({ kind: 'down', forever: true }))
  })
})
