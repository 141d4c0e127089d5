import { getDefinition, loadConnector, type Cost } from '@assay/connectors'
import { hourMs, NoAnswer, SourceError } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { testDatabase } from '../../../../test/postgres.ts'
import { createStillClock } from '../../../../test/still-clock.ts'
import { until } from '../../../../test/until.ts'
import { markInstallation, type Database } from '../db/index.ts'
import { openEngine, type Account } from '../test-engine.ts'
import { createMetering, type Ask, type Asked, type NonceRange, type PartCalls } from './index.ts'

const capacity = 20
const cost: Cost = { calls: 2 }

describe('a call that another one follows', async () => {
  const kraken = await loadConnector('kraken')
  const definition = getDefinition('kraken')
  // So slow that nothing is refilled while a test runs.
  const tiers = [{ capacity, refillPerSecond: 1 / 100_000 }] as const
  interface Asking {
    db: Database
    start(by?: { interactive: boolean }): Ask
    /** The process's own clock stands still otherwise. */
    pass(ms: number): void
    /** The process stands still for so long between the next answer of PostgreSQL and looking at it. */
    stallOnce(ms: number, meanwhile: () => Promise<unknown>): void
  }

  async function open(t: TestContext, scope: 'key' | 'address' = 'key'): Promise<Asking> {
    const connector = {
      ...kraken,
      budget: { ...kraken.budget, buckets: [{ name: 'calls', scope, tiers }] },
    } as const
    const { db } = await testDatabase(t)
    let monotonicMs = 0
    let stall: (() => Promise<void>) | undefined
    const stalling: Database = {
      ...db,
      async row(text, values) {
        const row = await db.row(text, values)
        const stallNow = stall
        stall = undefined
        await stallNow?.()
        return row as never
      },
    }
    const metering = createMetering({
      ...{ db: stalling, random: () => 0.5, scaleWait: (ms) => ms, egress: 'main' },
      log: pino({ level: 'silent' }),
      monotonicMs: () => monotonicMs,
    })
    const start = (by = { interactive: false }): Ask => {
      const asker = {
        connector,
        definition,
        userKey: '1',
        keyLane: 'a',
        status: 'active',
        nonces: createNonces(),
        parts: createParts(),
      }
      return metering.startAsking(asker, by)
    }
    const pass = (ms: number): void => void (monotonicMs += ms)
    const stallOnce: Asking['stallOnce'] = (ms, meanwhile) => {
      stall = async () => {
        await meanwhile()
        pass(ms)
      }
    }
    return { db, start, pass, stallOnce }
  }
  const countTaken = async (db: Database): Promise<number> => {
    const { tokens } = await db.row<{ tokens: number }>('select tokens from budgets')
    return Math.round(capacity - tokens)
  }
  const answer = async (): Promise<object> => ({})

  it('takes the tokens of both while it is under way, and the other takes none', async (t) => {
    const { db, start } = await open(t)
    const ask = start()
    await ask(cost, answer)
    const followed = await ask(
      cost,
      async () => {
        await until('the tokens of the next call', async () => ((await countTaken(db)) === 6 ? true : undefined))
        return {}
      },
      { isFollowed: true },
    )
    assert.equal(followed.kind, 'answer')
    assert.equal((await ask(cost, answer)).kind, 'answer')
    assert.equal(await countTaken(db), 6)
    await ask(cost, answer)
    assert.equal(await countTaken(db), 8)
  })

  it('takes nothing ahead where the budget does not allow it now, and fails neither call for that', async (t) => {
    const { db, start } = await open(t)
    const ask = start()
    for (let calls = 0; calls < capacity / 2 - 1; calls += 1) await ask(cost, answer)
    assert.equal((await ask(cost, answer, { isFollowed: true })).kind, 'answer')
    assert.equal(await countTaken(db), capacity)
    assert.equal((await ask(cost, answer)).kind, 'wait')
  })

  it('leaves to others what is kept for people, even if a person waits for it', async (t) => {
    const { start } = await open(t, 'address')
    const ask = start({ interactive: true })
    let followed = 0
    while ((await ask(cost, answer, { isFollowed: true })).kind === 'answer') followed += 1
    assert.equal(followed, (capacity * 0.8) / 2)
    assert.equal((await ask(cost, answer)).kind, 'answer')
  })

  it('does not let the next one pass that comes late, after another job has taken the key', async (t) => {
    const { start, pass } = await open(t)
    const ask = start()
    await ask(cost, answer)
    await ask(cost, answer, { isFollowed: true })
    await start()(cost, answer)
    pass(1_000)
    let isCalled = false
    const late = await ask(cost, async () => {
      isCalled = true
      return {}
    })
    assert.deepEqual([late.kind, isCalled], ['overtaken', false])
  })

  it('is not made by a process that stood still when it was admitted, and whose key another job has taken', async (t) => {
    const { start, stallOnce } = await open(t)
    const ask = start()
    await ask(cost, answer)
    stallOnce(1_000, () => start()(cost, answer))
    let isCalled = false
    const late = await ask(cost, async () => {
      isCalled = true
      return {}
    })
    assert.deepEqual([late.kind, isCalled], ['overtaken', false])
  })

  it('is made by a process that stood still and kept its key, and paid for once', async (t) => {
    const { db, start, stallOnce } = await open(t)
    const ask = start()
    await ask(cost, answer)
    const before = await countTaken(db)
    stallOnce(60_000, async () => undefined)
    assert.equal((await ask(cost, answer)).kind, 'answer')
    assert.equal((await countTaken(db)) - before, before)
  })
})

function createParts(): PartCalls {
  return { reach: (_, request) => request() }
}

function createNonces(): NonceRange {
  const nonces: NonceRange = {
    last: undefined,
    toReserve: () => ({ atLeast: 1_000, count: 10 }),
    use: (last) => void (nonces.last = last),
  }
  return nonces
}

interface Caller {
  userKey: string
  keyLane: string
  status: string
}

const ofUser = (userKey: string, keyLane = `key of ${userKey}`): Caller => ({ userKey, keyLane, status: 'active' })
const pending = (caller: Caller): Caller => ({ ...caller, status: 'pending' })

/** Jobs of several users, while the clock stands still. */
describe('a provider that counts our address', async () => {
  const kraken = await loadConnector('kraken')
  const definition = getDefinition('kraken')
  const buckets = [{ name: 'calls', scope: 'address', tiers: [{ capacity: 100, refillPerSecond: 1 }] }] as const
  const connector = { ...kraken, budget: { ...kraken.budget, buckets } } as const

  interface Asking {
    /** A job of its own, which makes one call; without an error it is answered. */
    call(caller: Caller, error?: SourceError): Promise<Asked<object>['kind']>
    pass(seconds: number): Promise<unknown>
    db: Database
  }

  async function open(t: TestContext): Promise<Asking> {
    const db = createStillClock().of((await testDatabase(t)).db)
    await markInstallation(db, 'sandbox')
    const log = pino({ level: 'silent' })
    const metering = createMetering({ db, random: () => 0.5, scaleWait: (ms) => ms, egress: 'main', log })
    const call: Asking['call'] = async (caller, error) => {
      const asker = { connector, definition, ...caller, nonces: createNonces(), parts: createParts() }
      const ask = metering.startAsking(asker, { interactive: true })
      const { kind } = await ask(cost, async () => {
        if (error !== undefined) throw error
        return {}
      })
      return kind
    }
    return { call, pass: (seconds) => db.clock.advance(seconds * 1_000), db }
  }

  const limited = new SourceError('rate_limited', 'HTTP 429', { retryAfterMs: hourMs })
  const banned = new SourceError('rate_limited', 'HTTP 418', { retryAfterMs: hourMs, isOfAddress: true })
  const [a, b, c] = [ofUser('1'), ofUser('2'), ofUser('3')]

  it('and refuses one user’s keys as too many is called for the other users', async (t) => {
    const { call } = await open(t)
    for (const keyLane of ['a', 'another key of a']) assert.equal(await call(ofUser('1', keyLane), limited), 'fault')
    for (const keyLane of ['a', 'another key of a']) assert.equal(await call(ofUser('1', keyLane)), 'wait')
    for (const caller of [b, c, pending(b)]) assert.equal(await call(caller), 'answer')
  })

  it('and refuses keys of two users within a minute is called by none', async (t) => {
    const { call, pass } = await open(t)
    await call(a, limited)
    await pass(61)
    await call(b, limited)
    assert.equal(await call(c), 'answer')
    await pass(59)
    // It counts during the first read, too: many users who connect at once may be too many for the address.
    await call({ ...c, status: 'syncing' }, limited)
    assert.equal(await call(ofUser('4')), 'wait')
  })

  it('and says that it means the address is called by none at once', async (t) => {
    const { call } = await open(t)
    await call(a, banned)
    for (const caller of [a, b]) assert.equal(await call(caller), 'wait')
  })

  it('is called for others however many keys are refused that are being checked', async (t) => {
    const { call } = await open(t)
    for (const caller of [a, b, c]) assert.equal(await call(pending(caller), limited), 'fault')
    assert.equal(await call(pending(a)), 'wait')
    assert.equal(await call(ofUser('4')), 'answer')
  })

  it('is tried after a long wait by a key that was verified and not refused lately, unless there is none', async (t) => {
    const { call, pass } = await open(t)
    await call(a, limited)
    await pass(1)
    await call(b, banned)
    await pass(3_601)
    // The wait is over for the key of `a`, too, but it may have been refused for itself.
    for (const caller of [a, pending(c)]) assert.equal(await call(caller), 'wait')
    assert.equal(await call(b), 'answer')
    assert.equal(await call(c), 'wait')
    await pass(6)
    for (const caller of [pending(c), a, c]) assert.equal(await call(caller), 'answer')

    await call(b, banned)
    await pass(3_601)
    assert.equal(await call(pending(c)), 'wait')
    await pass(60)
    assert.equal(await call(pending(c)), 'answer')
  })

  it('and has to be waited for is left at once by a job that queues itself again', async (t) => {
    const still = createStillClock().of((await testDatabase(t)).db)
    let asked = 0
    const db: Database = {
      ...still,
      async row(text, values) {
        asked += 1
        return still.row(text, values)
      },
    }
    const quick = [{ name: 'calls', scope: 'address', tiers: [{ capacity: 10, refillPerSecond: 10 }] }] as const
    const asker = { connector: { ...connector, budget: { ...connector.budget, buckets: quick } }, definition, ...a }
    const metering = createMetering({
      ...{ db, random: () => 0.5, scaleWait: (ms) => ms, egress: 'main' },
      log: pino({ level: 'silent' }),
    })
    const ask = (): Promise<Asked<object>> => {
      const job = { ...asker, nonces: createNonces(), parts: createParts() }
      return metering.startAsking(job, { interactive: true, mayWait: false })(cost, async () => ({}))
    }
    for (let call = 0; call < 5; call += 1) assert.equal((await ask()).kind, 'answer')
    const before = asked
    const refused = await ask()
    // So short a wait that other jobs wait for it in their place.
    assert.ok(refused.kind === 'wait' && refused.ms <= 500, JSON.stringify(refused))
    assert.equal(asked - before, 1)
  })

  it('and does not answer is probed by a key that was never read only where no other one does', async (t) => {
    const { call, pass, db } = await open(t)
    const silent = new NoAnswer('timeout')
    for (const caller of [a, b, c, a, b]) assert.equal(await call(caller, silent), 'fault')
    const readProbes = async (): Promise<number | undefined> =>
      (await db.maybeRow<{ probes: number }>('select probes from circuits where opened_at is not null'))?.probes
    assert.equal(await readProbes(), 0)
    await pass(31)
    assert.equal(await call(pending(ofUser('4')), silent), 'fault')
    assert.equal(await readProbes(), 0)
    assert.equal(await call(a, silent), 'fault')
    assert.equal(await readProbes(), 1)
    // The next pause is a minute, and so is the time after which it comes first.
    await pass(61)
    assert.equal(await call(pending(ofUser('4'))), 'fault')
    await pass(60)
    assert.equal(await call(pending(ofUser('4'))), 'answer')
    assert.equal(await readProbes(), undefined)
  })
})

/** Jobs of several users, while the clock stands still. */
describe('a part of a provider that has hosts of its own', async () => {
  const kraken = await loadConnector('kraken')
  const definition = getDefinition('kraken')

  interface Parts {
    /** A job of its own, which calls these parts at once; those that it names as silent do not answer. */
    call(caller: Caller, parts: readonly string[], silent?: readonly string[]): Promise<string[]>
    /** The parts that were really called, since the last time. */
    takeCalled(): string[]
    listOpen(): Promise<string[]>
    pass(seconds: number): Promise<unknown>
  }

  async function open(t: TestContext): Promise<Parts> {
    const db = createStillClock().of((await testDatabase(t)).db)
    await markInstallation(db, 'sandbox')
    const log = pino({ level: 'silent' })
    const metering = createMetering({ db, random: () => 0, scaleWait: (ms) => ms, egress: 'main', log })
    let called: string[] = []
    return {
      async call(caller, parts, silent = []) {
        const asker = { connector: kraken, definition, ...caller, nonces: createNonces(), parts: createParts() }
        const ask = metering.startAsking(asker, { interactive: true })
        const reach = async (part: string): Promise<string> => {
          try {
            await asker.parts.reach(part, async () => {
              called.push(part)
              if (silent.includes(part)) throw new NoAnswer('timeout')
            })
            return 'answer'
          } catch (error) {
            assert.ok(error instanceof SourceError)
            return error.name
          }
        }
        let outcomes: string[] = []
        const asked = await ask({}, async () => {
          outcomes = await Promise.all(parts.map(reach))
          return {}
        })
        assert.equal(asked.kind, 'answer')
        return outcomes
      },
      takeCalled() {
        const taken = called
        called = []
        return taken
      },
      async listOpen() {
        const rows = await db.rows<{ name: string }>(
          'select provider_id as name from circuits where opened_at is not null order by 1',
        )
        return rows.map(({ name }) => name)
      },
      pass: (seconds) => db.clock.advance(seconds * 1_000),
    }
  }
  const [a, b, c] = [ofUser('1'), ofUser('2'), ofUser('3')]
  const both = ['north', 'south']

  it('and does not answer is called by one job at a time, and the others are called by all', async (t) => {
    const { call, takeCalled, listOpen, pass } = await open(t)
    for (const caller of [a, b, c, a, b]) {
      assert.deepEqual(await call(caller, both, ['north']), ['SourceError', 'answer'])
    }
    assert.deepEqual(await listOpen(), ['kraken/north'])
    takeCalled()
    assert.deepEqual(await call(ofUser('4'), both), ['CircuitOpen', 'answer'])
    assert.deepEqual(takeCalled(), ['south'])

    await pass(31)
    assert.deepEqual(await call(a, both, ['north']), ['SourceError', 'answer'])
    assert.deepEqual(await call(b, both), ['CircuitOpen', 'answer'])
    await pass(61)
    assert.deepEqual(await call(b, both), ['answer', 'answer'])
    assert.deepEqual(await listOpen(), [])
  })

  it('and does not answer is called once, however many requests wait for it', async (t) => {
    const { call, takeCalled } = await open(t)
    const thrice = ['north', 'north', 'north']
    assert.deepEqual(await call(a, thrice, ['north']), ['SourceError', 'SourceError', 'SourceError'])
    assert.deepEqual(takeCalled(), ['north'])
    assert.deepEqual(await call(a, thrice), ['answer', 'answer', 'answer'])
    assert.deepEqual(takeCalled(), thrice)
  })

  it('is called on after a silence among answers, and by users of whom fewer than three met a silence', async (t) => {
    const { call, listOpen } = await open(t)
    for (const caller of [a, b, c, a, b]) {
      await call(caller, ['north'], ['north'])
      await call(ofUser('4'), ['north'])
    }
    for (const caller of [a, b, a, b, a, b]) await call(caller, ['north'], ['north'])
    assert.deepEqual(await listOpen(), [])
    assert.deepEqual(await call(c, ['north']), ['answer'])
  })
})

describe('an exchange over ccxt that throttles the key of one user', async () => {
  const engine = await openEngine()
  const countCalls = async (account: Account): Promise<number> =>
    Object.values(await engine.listCalls(account)).reduce((sum, count) => sum + count, 0)

  it('is read for the others, and accepts their keys, however often that key is offered', async () => {
    const other = await engine.connect(await engine.newOwner(), 'empty', 'bybit')
    await engine.drain({ delayed: true })
    const throttled = await engine.newAccount('empty', 'bybit')
    const fault = { kind: 'http_429_retry_after', account_id: throttled.accountId, retry_after_s: 3_600 }
    await engine.control('providers/bybit/faults', fault)
    const owner = await engine.newOwner()
    for (let time = 0; time < 2; time += 1) {
      const { errors } = await engine.add(owner, throttled, { providerId: 'bybit' })
      assert.equal(errors[0]?.cause, 'rate_limited')
    }
    const before = await countCalls(other)
    await engine.sync.beginReading(engine.db, other, `lane of ${other.connectionId}`)
    await engine.drain()
    assert.ok((await countCalls(other)) > before)
    assert.equal((await engine.connections.find(other, other.connectionId))?.status, 'active')
    assert.ok(await engine.connect(await engine.newOwner(), 'empty', 'bybit'))
  })
})
