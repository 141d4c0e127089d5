import type { Bucket, Connector, Cost } from '@assay/connectors'
import { getDefinition, listCatalog, loadConnector } from '@assay/connectors'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { openTestDatabase, testDatabase } from '../../../../test/postgres.ts'
import { createStillClock } from '../../../../test/still-clock.ts'
import { markInstallation, type Database, type Sql } from '../db/index.ts'
import { createBudgets, OverBudget, type Budgets, type LimitError, type Metered } from './budgets.ts'
import {
  admitCall,
  followSpent,
  lowerTier,
  takeTokens,
  type CallAdmission,
  type BucketRequest,
  type CallRequest,
} from './budget-store.ts'
import { claimProbe } from './circuit-store.ts'
import { findCircuitOpen } from './circuits.ts'

// The rates are so slow that nothing is refilled while a test runs; time passes by moving the clock.
const slow = { capacities: [20, 20, 10], refills: [1 / 1_000, 1 / 2_000, 1 / 4_000] }
const tiersCount = slow.capacities.length

async function open(t: TestContext): Promise<{ db: Database; pass(seconds: number): Promise<unknown> }> {
  const db = createStillClock().of((await testDatabase(t)).db)
  await markInstallation(db, 'sandbox')
  return { db, pass: (seconds) => db.clock.advance(seconds * 1_000) }
}

const of = (key: string, cost: number): BucketRequest => ({ key, ...slow, cost, reserves: [0, 0, 0] })
const take = (db: Database, bucket: string, cost: number): ReturnType<typeof takeTokens> =>
  takeTokens(db, [of(bucket, cost)])

/** How many calls of this cost succeed now. */
async function countTakes(db: Database, cost: number): Promise<number> {
  for (let taken = 0; ; taken += 1) {
    if ((await take(db, 'bucket', cost)).waitMs > 0) return taken
  }
}

/** The time until enough is there, at the rate of a tier, while the clock stands still. */
function assertWait(waitMs: number, expectedSeconds: number): void {
  assert.equal(Math.round(waitMs), expectedSeconds * 1_000)
}

describe('a budget', () => {
  it('gives what the bucket holds, then says how long until it holds enough again', async (t) => {
    const { db } = await open(t)
    assert.equal(await countTakes(db, 2), 10)
    assertWait((await take(db, 'bucket', 2)).waitMs, 2_000)
    assertWait((await take(db, 'bucket', 1)).waitMs, 1_000)
    assert.equal((await take(db, 'another bucket', 2)).waitMs, 0)
  })

  it('takes nothing when there is too little', async (t) => {
    const { db, pass } = await open(t)
    await countTakes(db, 1)
    await pass(1_500)
    for (let round = 0; round < 5; round += 1) assert.ok((await take(db, 'bucket', 2)).waitMs > 0)
    assert.equal((await take(db, 'bucket', 1)).waitMs, 0)
  })

  it('fills up with time, and never above what the bucket holds', async (t) => {
    const { db, pass } = await open(t)
    await countTakes(db, 1)
    await pass(7_001)
    assert.equal(await countTakes(db, 1), 7)
    await pass(10_000_000)
    assert.equal(await countTakes(db, 1), 20)
  })

  it('that many callers share at once is never overdrawn', async (t) => {
    const { db, connection } = await testDatabase(t)
    const other = openTestDatabase(connection)
    t.after(() => other.close())
    const asked = Array.from({ length: 60 }, (_, index) => take(index % 2 ? db : other, 'bucket', 1))
    const taken = (await Promise.all(asked)).filter(({ waitMs }) => waitMs === 0)
    assert.equal(taken.length, 20)
  })

  it('falls back to the next tier when the provider reports a rate limit, and waits as long as the provider said', async (t) => {
    const { db, pass } = await open(t)
    await countTakes(db, 1)
    await lowerTier(db, 'bucket', tiersCount, 60_000)
    assertWait((await take(db, 'bucket', 1)).waitMs, 2_000)
    await pass(2_001)
    assert.equal(await countTakes(db, 1), 1)
    await lowerTier(db, 'bucket', tiersCount, 60_000)
    await lowerTier(db, 'bucket', tiersCount, 60_000)
    assertWait((await take(db, 'bucket', 1)).waitMs, 4_000)
  })

  it('goes back by one tier for each hour that passes without a limit error', async (t) => {
    const { db, pass } = await open(t)
    const wide = { capacities: [1_000, 1_000, 1_000], refills: [1 / 10, 1 / 20, 1 / 40] }
    const wait = async (cost: number): Promise<number> =>
      (await takeTokens(db, [{ ...of('bucket', cost), ...wide }])).waitMs / 1_000
    const secondsForOne = async (): Promise<number> => Math.round((await wait(1_000)) - (await wait(999)))
    assert.equal(await wait(1_000), 0)
    assert.equal(await secondsForOne(), 10)
    for (let errors = 0; errors < 3; errors += 1) await lowerTier(db, 'bucket', tiersCount, 30_000)
    assert.equal(await secondsForOne(), 40)
    // The hour begins when the provider may be called again, and calls do not end it.
    await pass(30 + 3_599)
    assert.equal(await wait(1), 0)
    assert.equal(await secondsForOne(), 40)
    await pass(1)
    assert.equal(await secondsForOne(), 20)
    await pass(3_600)
    assert.equal(await secondsForOne(), 10)

    // From there it falls by one tier again, and each error starts a new hour.
    await lowerTier(db, 'bucket', tiersCount, 0)
    assert.equal(await secondsForOne(), 20)
    await pass(3_000)
    await lowerTier(db, 'bucket', tiersCount, 0)
    await pass(3_000)
    assert.equal(await secondsForOne(), 40)
    await pass(600)
    assert.equal(await secondsForOne(), 20)
    // What the provider has counted is judged by the same tier.
    await followSpent(db, { key: 'bucket', ...wide }, 0)
    assert.equal(await wait(3_600 / 20), 0)

    // A call that tries the provider after a long wait finds the same tier as the calls after it.
    await lowerTier(db, 'bucket', tiersCount, 60_000)
    await pass(60 + 3_600)
    assert.equal(await wait(1), 0)
    assert.equal(await secondsForOne(), 20)
  })

  it('is closed until the time that the provider named, even if tokens are left', async (t) => {
    const { db, pass } = await open(t)
    await lowerTier(db, 'bucket', tiersCount, 500_000_000)
    await pass(400_000)
    assertWait((await take(db, 'bucket', 1)).waitMs, 100_000)
    await lowerTier(db, 'bucket', tiersCount, 1_000)
    assert.ok((await take(db, 'bucket', 1)).waitMs > 90_000_000)
    await pass(100_001)
    assert.equal((await take(db, 'bucket', 1)).waitMs, 0)
  })
})

describe('a call to a provider', () => {
  interface More extends Partial<Omit<CallRequest, 'buckets'>> {
    cost?: number
  }
  const ask = (sql: Sql, { cost = 1, ...more }: More = {}): Promise<CallAdmission> =>
    admitCall(sql, {
      ...{ buckets: [of('bucket', cost)], providerId: 'kraken', keyLane: 'lane' },
      nonces: { atLeast: 1_000_000, count: 500 },
      ...more,
    })
  const last = async (db: Database, more: More = {}): Promise<bigint> => {
    const { lastNonce } = await ask(db, { cost: 0, ...more })
    assert.ok(lastNonce !== undefined)
    return lastNonce
  }

  it('has increasing nonces across restarts and processes, whatever the clock says', async (t) => {
    const { db, connection } = await testDatabase(t)
    const other = openTestDatabase(connection)
    t.after(() => other.close())
    const first = await last(db)
    const second = await last(other)
    const third = await last(db, { nonces: { atLeast: 5, count: 500 } })
    assert.equal(first, 1_000_500n)
    assert.ok(second - 500n > first)
    assert.ok(third - 500n > second)
    assert.equal(await last(db, { nonces: { atLeast: 9_000_000, count: 500 } }), 9_000_500n)
    assert.equal(await last(db, { keyLane: 'another lane' }), 1_000_500n)
  })

  it('waits for the disk only when it reserves nonces', async (t) => {
    const { db } = await testDatabase(t)
    const durabilityAfter = (act: (tx: Sql) => Promise<unknown>): Promise<string> =>
      db.transaction(async (tx) => {
        await tx.execute('set local synchronous_commit = on')
        await act(tx)
        return (await tx.row<{ now: string }>("select current_setting('synchronous_commit') as now")).now
      })
    const mine = await last(db)
    assert.equal(await durabilityAfter((tx) => ask(tx, { nonces: { last: mine } })), 'off')
    assert.equal(await durabilityAfter((tx) => followSpent(tx, of('bucket', 1), 10)), 'off')
    assert.equal(await durabilityAfter((tx) => ask(tx, { nonces: { atLeast: 1_000, count: 10 } })), 'on')
  })

  it('never shares a nonce with a call made at the same moment', async (t) => {
    const { db } = await testDatabase(t)
    const nonces = { atLeast: 1_000, count: 10 }
    const ends = await Promise.all(Array.from({ length: 40 }, () => last(db, { nonces })))
    const used = ends.flatMap((end) => Array.from({ length: 10 }, (_, index) => end - BigInt(index)))
    assert.equal(new Set(used).size, 400)
  })

  it('is refused, and takes nothing, once another job has reserved nonces of the key', async (t) => {
    const { db } = await testDatabase(t)
    const mine = await last(db)
    assert.equal((await ask(db, { nonces: { last: mine } })).holdsKey, true)
    const theirs = await last(db)
    const before = await db.rows('select tokens from budgets')
    assert.equal((await ask(db, { nonces: { last: mine } })).holdsKey, false)
    assert.deepEqual(await db.rows('select tokens from budgets'), before)
    assert.equal((await ask(db, { nonces: { last: theirs }, cost: 0 })).holdsKey, true)
  })

  it('without tokens reserves no nonce, so that the job before it keeps the key', async (t) => {
    const { db } = await testDatabase(t)
    const mine = await last(db)
    await countTakes(db, 1)
    const late = await ask(db)
    assert.ok(late.waitMs > 0)
    assert.equal(late.lastNonce, undefined)
    assert.equal((await ask(db, { nonces: { last: mine }, cost: 0 })).holdsKey, true)
  })

  it('takes nothing while the circuit is open, and may probe when a probe is due', async (t) => {
    const { db, pass } = await open(t)
    await db.execute(
      `insert into circuits (provider_id, failures, failing_users, failing_since, opened_at, probe_at)
       values ('kraken', 5, '{1,2,3}', $1, $1, $1::timestamptz + interval '90 seconds')`,
      [db.now()],
    )
    const closed = await ask(db)
    assert.deepEqual([closed.circuit?.open, closed.lastNonce], [true, undefined])
    assertWait(closed.circuit?.wait_ms ?? 0, 90)
    assert.deepEqual(await db.rows('select from budgets'), [])
    // A job that was admitted before continues.
    assert.equal((await ask(db, { providerId: null })).waitMs, 0)
    await pass(91)
    const due = await ask(db)
    assert.deepEqual([due.circuit?.open, due.circuit?.wait_ms, due.waitMs], [true, 0, 0])
  })

  it('may probe when the clock was set back since the probe was planned', async (t) => {
    const { db } = await open(t)
    await db.execute(
      `insert into circuits (provider_id, failures, failing_users, failing_since, opened_at, probe_at)
       values ('kraken', 5, '{}', $1::timestamptz, $1::timestamptz, $1::timestamptz + interval '1 day')`,
      [db.now()],
    )
    assert.equal(await findCircuitOpen(db, 'kraken'), undefined)
    assert.equal((await ask(db)).circuit?.wait_ms, 0)
    assert.equal(await claimProbe(db, 'kraken', { leaseMs: 30_000, laterMs: 30 * 60_000 }), true)
    assert.equal((await ask(db)).circuit?.wait_ms, 30_000)
  })
})

/** So slow that an empty bucket is never waited for. */
function withSlowRefill(connector: Connector): Connector {
  const slowed = (bucket: Bucket): Bucket => {
    const [first, ...others] = bucket.tiers.map((tier) => ({ ...tier, refillPerSecond: tier.refillPerSecond / 1e6 }))
    assert.ok(first)
    return { ...bucket, tiers: [first, ...others] }
  }
  const [first, ...others] = connector.budget.buckets.map(slowed)
  assert.ok(first)
  return { ...connector, budget: { ...connector.budget, buckets: [first, ...others] } }
}

const background = { interactive: false }
const interactive = { interactive: true }

describe('a job', async () => {
  const kraken = await loadConnector('kraken')
  const withBuckets = (...buckets: [Bucket, ...Bucket[]]): Connector => {
    return { ...kraken, budget: { ...kraken.budget, buckets } }
  }
  const few = [{ capacity: 4, refillPerSecond: 1 / 60 }] as const
  const connector = withBuckets({ name: 'calls', scope: 'key', tiers: few })
  const counted = withBuckets({ name: 'calls', scope: 'address', tiers: few })
  const calls = (count: number): Cost => ({ calls: count })
  const ofKey = (forMs: number): LimitError => ({ forMs, isOfAddress: false, userKey: '1' })
  const ofAddress = (forMs: number): LimitError => ({ forMs, isOfAddress: true, userKey: '1' })
  const budgetsOf = (db: Database, egress = 'main'): Budgets => createBudgets({ db, egress })

  it('waits briefly for its budget, and is requeued when the wait is long', async (t) => {
    // Real time has to pass here, because the job waits for it.
    const { db } = await testDatabase(t)
    await markInstallation(db, 'sandbox')
    const quick = withBuckets({ name: 'calls', scope: 'key', tiers: [{ capacity: 4, refillPerSecond: 100 }] })
    const budgets = budgetsOf(db)
    for (let call = 0; call < 6; call += 1) await budgets.take({ connector: quick, keyLane: 'a' }, calls(2), background)
    await budgets.take({ connector, keyLane: 'b' }, calls(4), background)
    await assert.rejects(budgets.take({ connector, keyLane: 'b' }, calls(2), background), (error) => {
      assert.ok(error instanceof OverBudget)
      assert.equal(error.fault, 'rate_limited')
      const waitMs = error.retryAfterMs ?? 0
      assert.ok(waitMs > 0 && waitMs <= 120_000, `${waitMs} ms`)
      return true
    })
  })

  it('has a budget for each key, or one for all where the provider counts our address', async (t) => {
    const { db } = await open(t)
    const budgets = budgetsOf(db)
    for (const keyLane of ['a', 'b']) await budgets.take({ connector, keyLane }, calls(4), background)
    await budgets.take({ connector: counted, keyLane: 'c' }, calls(4), background)
    await assert.rejects(budgets.take({ connector: counted, keyLane: 'd' }, calls(4), background), OverBudget)
  })

  it('loses no tokens when the clock is set back', async (t) => {
    const { db } = await open(t)
    const budgets = budgetsOf(db)
    await budgets.take({ connector, keyLane: 'a' }, calls(1), background)
    await db.execute("update budgets set refilled_at = refilled_at + interval '1 hour'")
    await budgets.take({ connector, keyLane: 'a' }, calls(3), background)
    await assert.rejects(budgets.take({ connector, keyLane: 'a' }, calls(1), background), OverBudget)
  })

  it('waits as long as before, and not for the clock to come back to where it was, when that is set back', async (t) => {
    const { db, pass } = await open(t)
    const budgets = budgetsOf(db)
    const takeOne = (keyLane: string): Promise<void> => budgets.take({ connector, keyLane }, calls(1), background)
    await budgets.recordLimitError({ connector, keyLane: 'answered' }, calls(1), ofKey(30_000))
    await pass(180)
    await takeOne('answered')
    await budgets.take({ connector, keyLane: 'empty' }, calls(4), background)
    await budgets.recordLimitError({ connector, keyLane: 'refused' }, calls(1), ofKey(60_000))
    await db.execute(
      "update budgets set refilled_at = refilled_at + interval '1 day', blocked_until = blocked_until + interval '1 day'",
    )
    await takeOne('answered')
    const waitOf = async (keyLane: string): Promise<number> => {
      const refused: unknown = await takeOne(keyLane).catch((error: unknown) => error)
      return refused instanceof OverBudget ? (refused.retryAfterMs ?? 0) : 0
    }
    for (const keyLane of ['empty', 'refused']) assertWait(await waitOf(keyLane), 60)
    await pass(59)
    for (const keyLane of ['empty', 'refused']) assert.ok((await waitOf(keyLane)) > 0)
    await pass(1)
    for (const keyLane of ['answered', 'empty', 'refused']) await takeOne(keyLane)
  })

  it('that hit a rate limit makes every job with that key wait', async (t) => {
    const { db } = await open(t)
    const budgets = budgetsOf(db)
    await budgets.recordLimitError({ connector, keyLane: 'a' }, calls(1), ofKey(60_000))
    await assert.rejects(budgets.take({ connector, keyLane: 'a' }, calls(1), background), OverBudget)
    await budgets.take({ connector, keyLane: 'b' }, calls(1), background)
  })

  it('that hit a limit without a key makes every job wait: the provider can only mean our address', async (t) => {
    const here = budgetsOf((await open(t)).db)
    const [bucket] = counted.budget.buckets
    const keyless = { ...counted, budget: { ...counted.budget, buckets: [{ ...bucket, keyless: true }] } } as const
    await here.recordLimitError({ connector: keyless, keyLane: 'a' }, calls(1), ofKey(90_000))
    await assert.rejects(here.take({ connector: keyless, keyLane: 'b' }, calls(1), background), OverBudget)
  })

  it('that hit a limit of our address makes every job wait, where the provider says so', async (t) => {
    const { db, pass } = await open(t)
    const [here, elsewhere] = [budgetsOf(db), budgetsOf(db)]
    await here.recordLimitError({ connector: counted, keyLane: 'a' }, calls(1), ofAddress(90_000))
    for (const keyLane of ['a', 'b', 'c']) {
      await assert.rejects(elsewhere.take({ connector: counted, keyLane }, calls(1), interactive), (error) => {
        assert.ok(error instanceof OverBudget)
        assertWait(error.retryAfterMs ?? 0, 90)
        return true
      })
    }
    // Buckets of other addresses are unaffected.
    await budgetsOf(db, 'frankfurt').take({ connector: counted, keyLane: 'a' }, calls(1), interactive)
    await pass(91)
    await elsewhere.take({ connector: counted, keyLane: 'b' }, calls(1), interactive)
  })

  it('waits for an hour at most, then one call tries before the others', async (t) => {
    const { db, pass } = await open(t)
    const budgets = budgetsOf(db)
    const of = { connector: counted, keyLane: 'a' }
    const waitOf = async (): Promise<number> => {
      const refused: unknown = await budgets.take(of, calls(1), interactive).catch((error: unknown) => error)
      return refused instanceof OverBudget ? (refused.retryAfterMs ?? 0) : 0
    }
    const threeDaysMs = 3 * 24 * 3_600_000
    await budgets.recordLimitError(of, calls(1), ofAddress(threeDaysMs))
    assertWait(await waitOf(), 3_600)
    await pass(3_600)
    assert.equal(await waitOf(), 0)
    assertWait(await waitOf(), 5)
    // It was refused.
    await budgets.recordLimitError(of, calls(1), ofAddress(threeDaysMs))
    assertWait(await waitOf(), 3_600)
    await pass(3_600)
    assert.equal(await waitOf(), 0)
    assertWait(await waitOf(), 5)
    // It was answered: the others may use what the bucket holds.
    await pass(5)
    for (let call = 0; call < 3; call += 1) assert.equal(await waitOf(), 0)
    // The people's share refills in 75 seconds, beginning where the trial ends.
    assertWait(await waitOf(), 75)
  })

  it('in the background leaves a fifth of an address bucket to interactive jobs', async (t) => {
    const { db } = await open(t)
    const wide = withBuckets({ name: 'calls', scope: 'address', tiers: [{ capacity: 10, refillPerSecond: 1 / 1_000 }] })
    const budgets = budgetsOf(db)
    for (let call = 0; call < 8; call += 1) await budgets.take({ connector: wide, keyLane: 'a' }, calls(1), background)
    await assert.rejects(budgets.take({ connector: wide, keyLane: 'a' }, calls(1), background), OverBudget)
    for (let call = 0; call < 2; call += 1) await budgets.take({ connector: wide, keyLane: 'b' }, calls(1), interactive)
    await assert.rejects(budgets.take({ connector: wide, keyLane: 'b' }, calls(1), interactive), OverBudget)
  })

  it('in the background gets a fifth of an address bucket over time, however much people ask for', async (t) => {
    const { db, pass } = await open(t)
    const tiers = [
      { capacity: 10, refillPerSecond: 1 / 10 },
      { capacity: 10, refillPerSecond: 1 / 20 },
    ] as const
    const shared = withBuckets({ name: 'calls', scope: 'address', tiers })
    const budgets = budgetsOf(db)
    const of = { connector: shared, keyLane: 'a' }
    const isTaken = (by: { interactive: boolean }): Promise<boolean> =>
      budgets.take(of, calls(1), by).then(
        () => true,
        () => false,
      )
    // People come first, every ten seconds, and take what they can.
    const countTaken = async (times: number): Promise<{ people: number; background: number }> => {
      const taken = { people: 0, background: 0 }
      for (let time = 0; time < times; time += 1) {
        await pass(10)
        while (await isTaken(interactive)) taken.people += 1
        while (await isTaken(background)) taken.background += 1
      }
      return taken
    }
    await countTaken(60)
    const { people, background: others } = await countTaken(100)
    assert.ok(Math.abs(people - 80) <= 2 && Math.abs(others - 20) <= 2, `${people} and ${others}`)
    // The same holds for a lower rate.
    await budgets.recordLimitError(of, calls(1), ofAddress(0))
    await countTaken(60)
    const slower = await countTaken(200)
    assert.ok(Math.abs(slower.people - 80) <= 2 && Math.abs(slower.background - 20) <= 2, JSON.stringify(slower))
  })

  it('of a person who refreshes leaves enough to people for a check of a key', async (t) => {
    const { db, pass } = await open(t)
    const tiers = [{ capacity: 10, refillPerSecond: 1 }] as const
    const shared = withBuckets({ name: 'calls', scope: 'address', tiers })
    const of = { connector: { ...shared, budget: { ...shared.budget, verify: calls(6) } }, keyLane: 'a' }
    const budgets = budgetsOf(db)
    const countRead = async (): Promise<number> => {
      for (let read = 0; ; read += 1) {
        const isTaken = await budgets.take(of, calls(1), interactive).then(
          () => true,
          () => false,
        )
        if (!isTaken) return read
      }
    }
    const check = { interactive: true, isVerified: false }
    assert.equal(await countRead(), 4)
    await budgets.take(of, calls(6), check)
    // The next check needs six tokens at once. What is refilled meanwhile is not taken one by one: people have 0.8 of it.
    for (let seconds = 0; seconds < 8; seconds += 1) {
      await pass(1)
      assert.equal(await countRead(), 0)
    }
    await budgets.take(of, calls(6), check)
    await pass(10)
    assert.equal(await countRead(), 2)
  })

  it('in the background takes from an address bucket later than any call that a person waits for, at every provider', async (t) => {
    const { db } = await open(t)
    const budgets = budgetsOf(db)
    const findWait = async (of: Metered, cost: Cost, by: { interactive: boolean }): Promise<number> => {
      const refused: unknown = await budgets.take(of, cost, by).catch((error: unknown) => error)
      assert.ok(refused instanceof OverBudget)
      return refused.retryAfterMs ?? 0
    }
    for (const { provider_id: id } of listCatalog()) {
      const connector = withSlowRefill(await loadConnector(id))
      const { budget } = connector
      const definition = getDefinition(id)
      const of = { connector, definition, keyLane: 'a' }
      const all = [budget.verify, budget.balances, budget.partitions, ...definition.streams.map(({ cost }) => cost)]
      for (const { name, tiers } of budget.buckets.filter(({ scope }) => scope === 'address')) {
        const prices = all.flatMap((cost) => cost[name] ?? []).filter((price) => price > 0)
        if (prices.length === 0) continue
        const [dearest, cheapest] = [{ [name]: Math.max(...prices) }, { [name]: Math.min(...prices) }]
        for (const tier of tiers.keys()) {
          // Empties the bucket, and each time lowers its tier.
          await budgets.recordLimitError(of, { [name]: 0 }, ofAddress(0))
          const waits = [await findWait(of, dearest, interactive), await findWait(of, cheapest, background)] as const
          assert.ok(waits[0] < waits[1], `${id}, ${name}, tier ${tier}: ${waits.join(' and ')} ms`)
        }
      }
    }
  })

  describe('with several buckets', () => {
    const tiers = [{ capacity: 10, refillPerSecond: 1 / 1_000 }] as const
    const both = withBuckets({ name: 'calls', scope: 'key', tiers: few }, { name: 'weight', scope: 'address', tiers })
    const mine = { connector: both, keyLane: 'a' }
    const listTokens = (db: Database): Promise<{ bucket: string; tokens: number }[]> =>
      db.rows('select bucket, tokens from budgets order by bucket')

    it('has to fit into every bucket that its cost names, and otherwise takes from none', async (t) => {
      const { db } = await open(t)
      const budgets = budgetsOf(db)
      await budgets.take(mine, { calls: 1, weight: 8 }, interactive)
      const before = await listTokens(db)
      assert.deepEqual(
        before.map(({ bucket, tokens }) => [bucket, tokens]),
        [
          ['kraken:calls:key:a', 3],
          ['kraken:weight:address:main', 2],
          ['kraken:weight:people:main', 2],
        ],
      )
      await assert.rejects(budgets.take(mine, { calls: 1, weight: 3 }, interactive), OverBudget)
      const after = await listTokens(db)
      assert.deepEqual(
        after.map(({ tokens }) => Math.round(tokens)),
        [3, 2, 2],
      )
      // Another key has its own bucket for calls, and shares the bucket for weight.
      await budgets.take({ ...mine, keyLane: 'b' }, { calls: 4 }, interactive)
      await assert.rejects(budgets.take({ ...mine, keyLane: 'b' }, { weight: 3 }, interactive), OverBudget)
      await budgets.take(mine, { calls: 1 }, interactive)
    })

    it('waits for the bucket that fills last', async (t) => {
      const { db } = await open(t)
      const budgets = budgetsOf(db)
      await budgets.take(mine, { calls: 4, weight: 10 }, interactive)
      await assert.rejects(budgets.take(mine, { calls: 1, weight: 1 }, interactive), (error) => {
        assert.ok(error instanceof OverBudget)
        // Of the bucket of weight people have four fifths.
        assertWait(error.retryAfterMs ?? 0, 1_250)
        return true
      })
    })

    it('is never overdrawn by many callers at once, even when they take in different orders', async (t) => {
      const { db } = await open(t)
      const requests = [
        [of('a', 1), of('b', 1)],
        [of('b', 1), of('a', 1)],
      ] as const
      const asked = Array.from({ length: 60 }, (_, index) => takeTokens(db, requests[index % 2 === 0 ? 0 : 1]))
      const taken = (await Promise.all(asked)).filter(({ waitMs }) => waitMs === 0)
      assert.ok(taken.length <= 20 && taken.length > 0, String(taken.length))
      const left = await listTokens(db)
      assert.ok(left.every(({ tokens }) => tokens >= 0))
    })

    it('follows the provider’s own count, but only downwards', async (t) => {
      const { db } = await open(t)
      const budgets = budgetsOf(db)
      await budgets.take(mine, { weight: 1 }, interactive)
      const left = new Map([['kraken:weight:address:main', 9]])
      await budgets.recordSpent(mine, left, [{ bucket: 'weight', used: 7 }])
      assert.equal(Math.round((await listTokens(db))[0]?.tokens ?? -1), 3)
      await budgets.recordSpent(mine, left, [{ bucket: 'weight', used: 0 }])
      assert.equal(Math.round((await listTokens(db))[0]?.tokens ?? -1), 3)
      await assert.rejects(budgets.take(mine, { weight: 4 }, interactive), OverBudget)
    })

    it('refuses a cost that names an unknown bucket', async (t) => {
      const { db } = await open(t)
      await assert.rejects(budgetsOf(db).take(mine, { lightness: 1 }, interactive), RangeError)
    })
  })
})
