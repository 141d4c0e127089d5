import { setImmediate } from 'node:timers/promises'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusal } from '@assay/core'
import type { AccessToken, Caller } from '../../oauth/index.ts'
import { createLines } from './lines.ts'
import { createTurns } from './turns.ts'

const limits = { turns: { atOnceMax: 2, waitingMax: 3 }, tenantTurns: { atOnceMax: 3, waitingMax: 4 } }

function open() {
  const { promise: gate, resolve: openGate } = Promise.withResolvers<undefined>()
  const lines = createLines({
    authenticate: async () => {
      throw new Refusal('invalid_token', 'unknown')
    },
    turns: createTurns(limits.turns),
    tenantTurns: createTurns(limits.tenantTurns),
  })
  const tokenOf = (userKey: number): AccessToken => ({
    kind: 'user',
    userKey: String(userKey),
    tokenHash: Buffer.alloc(32, userKey),
  })
  return { lines, tokenOf, gate, openGate }
}

const callerOf = (userKey: string): Caller => ({
  ...{ tenantKey: 1, tenantId: 'ten_1', clientId: 'cli_1', userKey, userId: 'usr_1', grantId: 'grt_1' },
  scopes: new Set<never>(),
})

describe('made-up tokens', () => {
  it('of one address leave room to users of another address who were not seen before', async () => {
    const { lines, tokenOf, gate, openGate } = open()
    const attacker = { ip: '192.0.2.1', headers: {} }
    const forged = Array.from({ length: 20 }, (_, index) =>
      lines
        .readInTurn(tokenOf(index + 1), attacker, () => gate)
        .then(
          () => 'checked',
          (error: unknown) => (error instanceof Refusal ? error.code : 'failed'),
        ),
    )
    const read = async () => ({ caller: callerOf('100') })
    const victim = { ip: '198.51.100.7', headers: {} }
    const first = lines.readInTurn(tokenOf(100), victim, read)
    assert.notEqual(await Promise.race([first, setImmediate('still waiting')]), 'still waiting')
    const checked = lines.checkInTurn(tokenOf(101), victim, async () => callerOf('101'))
    assert.notEqual(await Promise.race([checked, setImmediate('still waiting')]), 'still waiting')
    openGate(undefined)
    const { atOnceMax, waitingMax } = limits.turns
    const outcomes = await Promise.all(forged)
    assert.equal(outcomes.filter((outcome) => outcome === 'checked').length, atOnceMax + waitingMax)
    assert.equal(outcomes.filter((outcome) => outcome === 'rate_limited').length, 20 - atOnceMax - waitingMax)
  })
})

describe('the requests of one user', () => {
  it('leave room in the line of the tenant, also while their tokens are checked', async () => {
    const { lines, tokenOf, gate, openGate } = open()
    const sender = { ip: '192.0.2.1', headers: {} }
    const check = (userKey: number, before?: Promise<unknown>): Promise<Caller | undefined> =>
      lines.checkInTurn(tokenOf(userKey), sender, async () => {
        await before
        return callerOf(String(userKey))
      })
    await check(1)
    await check(2)
    const many = Promise.allSettled(Array.from({ length: 20 }, () => check(1, gate)))
    const other = check(2).catch((error: unknown) => error)
    assert.equal(((await Promise.race([other, setImmediate()])) as Caller | undefined)?.userKey, '2')
    openGate(undefined)
    await many
  })
})
