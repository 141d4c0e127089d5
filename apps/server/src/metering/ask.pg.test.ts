import { getDefinition, loadConnector, type Cost } from '@assay/connectors'
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { testDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/until.ts'
import type { Database } from '../db/index.ts'
import { createMetering, type Ask, type NonceRange } from './index.ts'

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
  }

  async function open(t: TestContext, scope: 'key' | 'address' = 'key'): Promise<Asking> {
    const connector = {
      ...kraken,
      budget: { ...kraken.budget, buckets: [{ name: 'calls', scope, tiers }] },
    } as const
    const { db } = await testDatabase(t)
    const log = pino({ level: 'silent' })
    const metering = createMetering({ db, random: () => 0.5, scaleWait: (ms) => ms, egress: 'main', log })
    const start = (by = { interactive: false }): Ask => {
      const nonces: NonceRange = {
        last: undefined,
        toReserve: () => ({ atLeast: 1_000, count: 10 }),
        use: (last) => void (nonces.last = last),
      }
      return metering.startAsking({ connector, definition, userKey: '1', keyLane: 'a', status: 'active', nonces }, by)
    }
    return { db, start }
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
    const { start } = await open(t)
    const ask = start()
    await ask(cost, answer)
    await ask(cost, answer, { isFollowed: true })
    await start()(cost, answer)
    // The time for which an admission is valid. Nothing depends on its passing sooner or later than this.
    await delay(1_100)
    let isCalled = false
    const late = await ask(cost, async () => {
      isCalled = true
      return {}
    })
    assert.deepEqual([late.kind, isCalled], ['overtaken', false])
  })
})
