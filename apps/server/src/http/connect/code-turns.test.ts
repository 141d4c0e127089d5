import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, it } from 'node:test'
import { createTurns } from '../request/turns.ts'
import { inTurnForCodes } from './code-turns.ts'

describe('turns for sign-in codes', () => {
  it('go to the networks of a tenant one after another, however many requests one of them has', async () => {
    const turns = {
      ofNetwork: createTurns({ atOnceMax: 1, waitingMax: 10 }),
      ofTenant: createTurns({ atOnceMax: 1, waitingMax: 10 }),
    }
    const begun: string[] = []
    const ends = new Map<string, () => void>()
    const ask = (tenantId: string, ip: string): Promise<void> =>
      inTurnForCodes(
        turns,
        { tenantId },
        ip,
      )(
        () =>
          new Promise((resolve) => {
            begun.push(`${tenantId} ${ip}`)
            ends.set(`${tenantId} ${ip}`, resolve)
          }),
      )
    // Two /64s of one /48, then a network that came last, and another tenant.
    const asked = [
      ask('one', '2001:db8:1:1::1'),
      ask('one', '2001:db8:1:2::1'),
      ask('one', '2001:db8:1:3::1'),
      ask('one', '192.0.2.1'),
      ask('two', '2001:db8:1:4::1'),
    ]
    const order = [
      'one 2001:db8:1:1::1',
      'two 2001:db8:1:4::1',
      'one 192.0.2.1',
      'one 2001:db8:1:2::1',
      'one 2001:db8:1:3::1',
    ]
    await nextTurn()
    assert.deepEqual(begun, order.slice(0, 2))
    for (const [at, name] of ['one 2001:db8:1:1::1', 'one 192.0.2.1', 'one 2001:db8:1:2::1'].entries()) {
      ends.get(name)?.()
      await nextTurn()
      assert.deepEqual(begun, order.slice(0, at + 3))
    }
    for (const end of ends.values()) end()
    await Promise.all(asked)
  })
})
