import { setImmediate } from 'node:timers/promises'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusal } from '@assay/core'
import type { AccessToken, Caller } from '../../oauth/index.ts'
import { createLines, type Lines } from './lines.ts'
import { createTurns } from './turns.ts'

const limits = {
  turns: { atOnceMax: 2, waitingMax: 6, waitingOfEachMax: 3 },
  tenantTurns: { atOnceMax: 3, waitingMax: 4 },
}

function open() {
  const { promise: gate, resolve: openGate } = Promise.withResolvers<undefined>()
  const lines = createLines({
    authenticate: async () => {
      throw new Refusal('invalid_token', 'unknown')
    },
    turns: createTurns(limits.turns),
    tenantTurns: createTurns(limits.tenantTurns),
  })
  /** Every token of a user begins with the user's key. */
  const tokenOf = (userKey: number, token = userKey): AccessToken => ({
    kind: 'user',
    userKey: String(userKey),
    tokenHash: Buffer.alloc(32, token),
  })
  return { lines, tokenOf, gate, openGate }
}

type Sender = Parameters<Lines['readInTurn']>[1]

const callerOf = (userKey: string, clientId = 'cli_1'): Caller => ({
  ...{ tenantKey: 1, tenantId: 'ten_1', clientId, userKey, userId: 'usr_1', grantId: 'grt_1' },
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
    const { atOnceMax, waitingOfEachMax: waitingMax } = limits.turns
    const outcomes = await Promise.all(forged)
    assert.equal(outcomes.filter((outcome) => outcome === 'checked').length, atOnceMax + waitingMax)
    assert.equal(outcomes.filter((outcome) => outcome === 'rate_limited').length, 20 - atOnceMax - waitingMax)
  })

  it('with the key of a user take no place in the line of that user', async () => {
    const { lines, tokenOf, gate, openGate } = open()
    const read = async () => ({ caller: callerOf('1') })
    const victim = { ip: '198.51.100.7', headers: {} }
    await lines.readInTurn(tokenOf(1, 1), victim, read)
    const attacker = { ip: '192.0.2.1', headers: {} }
    const flood = Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => lines.readInTurn(tokenOf(1, 100 + index), attacker, () => gate)),
    )
    const page = lines.readInTurn(tokenOf(1, 1), victim, read).catch((error: unknown) => error)
    assert.deepEqual(await Promise.race([page, setImmediate('still waiting')]), await read())
    openGate(undefined)
    await flood
  })
})

describe('a token that has ended', () => {
  const ends: Record<string, (lines: Lines, token: AccessToken, sender: Sender) => Promise<unknown>> = {
    'where the statement that reads finds it out': (lines, token, sender) =>
      lines.readInTurn(token, sender, async () => undefined),
    'where it is checked alone': (lines, token, sender) =>
      assert.rejects(lines.checkInTurn(token, sender, () => Promise.reject(new Refusal('invalid_token', 'ended')))),
    'on a public path': (lines, token, sender) => lines.checkInTurn(token, sender, async () => undefined),
  }
  for (const [where, end] of Object.entries(ends)) {
    it(`takes no place in the line of its user any more, ${where}`, async () => {
      const { lines, tokenOf, gate, openGate } = open()
      const read = async () => ({ caller: callerOf('1') })
      const [ended, inForce] = [tokenOf(1, 1), tokenOf(1, 2)]
      const attacker = { ip: '192.0.2.1', headers: {} }
      const victim = { ip: '198.51.100.7', headers: {} }
      await lines.readInTurn(ended, attacker, read)
      await lines.readInTurn(inForce, victim, read)
      await end(lines, ended, attacker)
      const flood = Promise.allSettled(Array.from({ length: 20 }, () => lines.readInTurn(ended, attacker, () => gate)))
      const page = lines.readInTurn(inForce, victim, read).catch((error: unknown) => error)
      assert.deepEqual(await Promise.race([page, setImmediate('still waiting')]), await read())
      openGate(undefined)
      await flood
    })
  }
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

  it('from one application leave places to the other applications of the user, however many tokens it has', async () => {
    const { lines, tokenOf, gate, openGate } = open()
    const sender = { ip: '192.0.2.1', headers: {} }
    const [greedy, modest] = ['cli_greedy', 'cli_modest'].map((client) => ({ caller: callerOf('1', client) }))
    const tokens = Array.from({ length: 20 }, (_, index) => tokenOf(1, 10 + index))
    for (const token of tokens) await lines.readInTurn(token, sender, async () => greedy)
    await lines.readInTurn(tokenOf(1, 2), sender, async () => modest)
    const begun: string[] = []
    const read = (token: AccessToken, found: typeof greedy) =>
      lines.readInTurn(token, sender, async () => {
        begun.push(found?.caller.clientId ?? '')
        await gate
        return found
      })
    const many = Promise.allSettled(tokens.map((token) => read(token, greedy)))
    const other = read(tokenOf(1, 2), modest)
    openGate(undefined)
    assert.deepEqual(await other, modest)
    assert.equal(begun.indexOf('cli_modest'), limits.turns.atOnceMax + 1, 'after one more of the others')
    await many
  })

  it('are taken in turn with those of the other users of their tenant', async () => {
    const { lines, tokenOf, gate, openGate } = open()
    const sender = { ip: '192.0.2.1', headers: {} }
    const users = [1, 2, 3, 4]
    for (const user of users) {
      await lines.readInTurn(tokenOf(user), sender, async () => ({ caller: callerOf(String(user)) }))
    }
    const begun: number[] = []
    const read = (user: number) =>
      lines.readInTurn(tokenOf(user), sender, async () => {
        begun.push(user)
        await gate
        return { caller: callerOf(String(user)) }
      })
    // Of user 3 and 4 the first requests wait in the line of the tenant, and the second of user 3 as well.
    const all = [1, 1, 2, 3, 3, 4].map(read)
    await setImmediate()
    assert.deepEqual(begun, [1, 1, 2])
    openGate(undefined)
    await Promise.all(all)
    assert.deepEqual(begun, [1, 1, 2, 3, 4, 3])
  })
})
