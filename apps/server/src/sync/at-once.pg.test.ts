/** Several lists of one connection, read at the same time. */
import { loadConnector, type CallsAtOnce, type ConnectorState, type Page, type PageRequest } from '@assay/connectors'
import { dayMs, SourceError } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pino } from 'pino'
import { until } from '../../../../test/until.ts'
import { createMetering } from '../metering/index.ts'
import type { ConnectionRef } from '../owner.ts'
import { beginningMs } from './plan.ts'
import { readConnection, type ReadRequest, type ReadResult } from './read-connection.ts'
import { createTestProvider, openReader, plainStream, record, type TestProvider } from './test-provider.ts'

const names = ['A', 'B', 'C', 'D', 'E', 'F']

/** What a page learned is a list of words; states are joined as sets. */
function atOnce(callsMax: number): CallsAtOnce {
  const wordsOf = ({ words = [] }: ConnectorState): string[] => words as string[]
  return {
    callsMax,
    joinStates: (one, other) => ({ words: [...new Set([...wordsOf(one), ...wordsOf(other)])].toSorted() }),
  }
}

/** Keeping pages takes longer than fetching them, as on a busy machine. */
const slowCommits = `
  create or replace function slow_commit() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.2); return null; end $$;
  create trigger slow_commit after insert on raw_records for each statement execute function slow_commit()`

describe('lists that are read at once', async () => {
  const reader = await openReader()
  const { db } = reader
  const log = pino({ level: 'silent' })
  const metering = createMetering({ db, random: () => 0.5, scaleWait: (ms) => ms, egress: 'main', log })
  const watch = { read: () => undefined, brokeDown: () => undefined, committed: () => undefined }
  const { prove } = reader.proof
  const deps = {
    ...reader,
    metering,
    prove,
    watch,
    now: () => reader.clock.now(),
    random: () => 0.5,
    scaleWait: (ms: number) => ms,
    log,
  }

  /** Six lists with this many records each. */
  function createPartitioned(count: number, options: Parameters<typeof createTestProvider>[0] = {}): TestProvider {
    const streams = [{ ...plainStream, partitioned: true }] as const
    const provider = reader.use(createTestProvider({ streams, atOnce: atOnce(3), ...options }))
    provider.partitions = names.map((partition) => ({ stream: 'ledger', partition }))
    for (const name of names) fill(provider, `ledger/${name}`, count)
    return provider
  }
  function fill(provider: TestProvider, list: string, count: number): void {
    const nowMs = reader.clock.now()
    const records = Array.from({ length: count }, (_, index) => record(`${list}${index}`, nowMs - (index + 1) * dayMs))
    provider.lists.set(list, records)
  }
  async function read(ref: ConnectionRef, more: Partial<ReadRequest> = {}): Promise<ReadResult> {
    const opened = await reader.connections.open(ref)
    assert.ok(opened)
    const { signal } = new AbortController()
    return readConnection(deps, ref, opened, { what: 'run', run: undefined, interactive: false, signal, ...more })
  }
  async function readToEnd(ref: ConnectionRef): Promise<ReadResult> {
    let result = await read(ref)
    for (let jobs = 0; result.outcome.kind === 'more' && jobs < 50; jobs += 1)
      result = await read(ref, { run: result.run })
    return result
  }
  const countRaw = async ({ userKey }: ConnectionRef, partition?: string): Promise<number> =>
    (
      await db.rows('select from raw_records where user_key = $1 and partition = coalesce($2, partition)', [
        userKey,
        partition ?? null,
      ])
    ).length

  /** Asserts one window for each list, from the beginning to the end of the run, and no open window. */
  async function assertCovered({ userKey }: ConnectionRef): Promise<void> {
    const windows = await db.rows<{ partition: string; window_start: string; window_end: string }>(
      'select partition, window_start, window_end from covered_windows where user_key = $1 order by partition',
      [userKey],
    )
    assert.deepEqual(
      windows.map(({ partition, window_start: start }) => [partition, Number(start)]),
      names.map((name) => [name, beginningMs]),
    )
    assert.equal(new Set(windows.map(({ window_end: end }) => end)).size, 1)
    assert.deepEqual(await db.rows('select from stream_bookmarks where user_key = $1', [userKey]), [])
  }

  /** Each answer takes a while, so that calls which may overlap do. */
  function watchOverlap(provider: TestProvider): { most: number; underWay: number } {
    const seen = { most: 0, underWay: 0 }
    const { answer } = provider
    provider.answer = async (request, page) => {
      seen.underWay += 1
      seen.most = Math.max(seen.most, seen.underWay)
      for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve))
      seen.underWay -= 1
      return answer(request, page)
    }
    return seen
  }

  it('have at most as many calls in progress as the connector declares', async () => {
    const provider = createPartitioned(9)
    let underWay = 0
    let most = 0
    provider.answer = async (_, page) => {
      underWay += 1
      most = Math.max(most, underWay)
      await until('three calls at once', () => (most === 3 ? true : undefined))
      underWay -= 1
      return page
    }
    const ref = await reader.connectTest()
    assert.equal((await readToEnd(ref)).outcome.kind, 'done')
    assert.equal(most, 3)
    assert.equal(await countRaw(ref), 54)
  })

  it('have one call in progress when the connector declares nothing', async () => {
    const streams = [{ ...plainStream, partitioned: true }] as const
    const provider = reader.use(createTestProvider({ streams }))
    provider.partitions = names.map((partition) => ({ stream: 'ledger', partition }))
    for (const name of names) fill(provider, `ledger/${name}`, 9)
    const seen = watchOverlap(provider)
    const ref = await reader.connectTest()
    assert.equal((await readToEnd(ref)).outcome.kind, 'done')
    assert.deepEqual([seen.most, await countRaw(ref)], [1, 54])
    // Kraken refuses a nonce that is not larger than the last one.
    assert.equal((await loadConnector('kraken')).atOnce, undefined)
  })

  it('keep every page once, and cover every list, over many jobs', async () => {
    const provider = createPartitioned(60)
    provider.pageSize = 1
    const seen = watchOverlap(provider)
    const ref = await reader.connectTest()
    const { outcome } = await readToEnd(ref)
    assert.deepEqual([outcome.kind, seen.most], ['done', 3])
    assert.equal(await countRaw(ref), 360)
    const asked = provider.requests.map(({ partition, window, pageMark: position }) =>
      [partition, window.start, position].join(' '),
    )
    assert.equal(new Set(asked).size, asked.length)
    await assertCovered(ref)
  })

  it('keep what each of them learned from the same state', async () => {
    const provider = createPartitioned(3)
    provider.pageSize = 5
    let waiting = 0
    provider.answer = async ({ partition, pageMark: position }, page) => {
      if (position !== null) return page
      waiting += 1
      await until('two calls that began with one state', () => (waiting > 1 ? true : undefined))
      return { ...page, state: { words: [partition] } }
    }
    const ref = await reader.connectTest()
    assert.equal((await readToEnd(ref)).outcome.kind, 'done')
    const { state } = await db.row<{ state: string }>('select state from connector_states where user_key = $1', [
      ref.userKey,
    ])
    assert.deepEqual(JSON.parse(state), { words: names })
    assert.deepEqual(provider.listings.at(-1), { words: names })
  })

  it('continue when one of them cannot be read', async () => {
    const provider = createPartitioned(20)
    provider.answer = ({ partition }, page) => {
      if (partition === 'B') throw new SourceError('unreadable_answer', 'an unexpected shape')
      return page
    }
    const ref = await reader.connectTest()
    const { outcome } = await readToEnd(ref)
    assert.ok(outcome.kind === 'fault' && outcome.error.fault === 'unreadable_answer')
    assert.deepEqual([await countRaw(ref), await countRaw(ref, 'B')], [100, 0])
    provider.answer = (_, page) => page
    assert.equal((await readToEnd(ref)).outcome.kind, 'done')
    assert.equal(await countRaw(ref), 120)
  })

  for (const storiesStayInLists of [true, undefined] as const) {
    it(`continue when one of them is away, and are ${storiesStayInLists ? 'shown' : 'kept back'} when stories ${storiesStayInLists ? 'never' : 'may'} cross lists`, async () => {
      const provider = createPartitioned(20, { ...(storiesStayInLists && { storiesStayInLists }) })
      provider.answer = ({ partition }, page) => {
        if (partition === 'A') throw new SourceError('venue_down', 'away')
        return page
      }
      const ref = await reader.connectTest()
      const { outcome, isRead } = await readToEnd(ref)
      assert.ok(outcome.kind === 'fault' && outcome.error.fault === 'venue_down')
      assert.deepEqual([await countRaw(ref), await countRaw(ref, 'A'), isRead], [100, 0, false])
      assert.equal((await reader.listAmounts(ref)).length, storiesStayInLists ? 100 : 0)
      provider.answer = (_, page) => page
      assert.equal((await readToEnd(ref)).outcome.kind, 'done')
      assert.equal((await reader.listAmounts(ref)).length, 120)
    })
  }

  it('count as one endpoint when several of them fail together', async () => {
    const streams = [
      { ...plainStream, partitioned: true },
      { ...plainStream, name: 'other' },
    ] as const
    const provider = createPartitioned(5, { streams })
    fill(provider, 'other/', 30)
    provider.answer = ({ stream }, page) => {
      if (stream === 'ledger') throw new SourceError('venue_down', 'away')
      return page
    }
    const ref = await reader.connectTest()
    const { outcome } = await readToEnd(ref)
    assert.ok(outcome.kind === 'fault' && outcome.error.fault === 'venue_down')
    assert.equal(await countRaw(ref), 30)
    // The first failure may be one list's own; after the second, lists whose calls had not started were not requested.
    assert.ok(provider.requests.filter(({ stream }) => stream === 'ledger').length <= 4)
  })

  it('end together, with their pages kept, when the key is refused', async () => {
    const provider = createPartitioned(40)
    provider.pageSize = 1
    let isRefused = false
    provider.answer = async ({ partition, pageMark: position }, page) => {
      if (partition === 'C' && position === '5') {
        isRefused = true
        throw new SourceError('invalid_credentials', 'no')
      }
      // However slow the list is that is refused, the others are not read to their end before.
      if (Number(position) > 10) await until('the refusal', () => isRefused || undefined)
      return page
    }
    const seen = watchOverlap(provider)
    const ref = await reader.connectTest()
    const { outcome } = await read(ref)
    assert.ok(outcome.kind === 'fault' && outcome.error.fault === 'invalid_credentials')
    assert.equal(seen.underWay, 0)
    const answered = provider.requests.length - 1
    assert.equal(await countRaw(ref), answered)
    assert.ok(answered < 40, `${answered} pages`)
  })

  it('continue while one of them waits for its budget', async () => {
    const scarce = { ...plainStream, name: 'scarce', cost: { scarce: 1 } }
    const streams = [scarce, { ...plainStream, partitioned: true }] as const
    const buckets = [
      { name: 'calls', scope: 'key', tiers: [{ capacity: 1_000_000, refillPerSecond: 1_000 }] },
      { name: 'scarce', scope: 'key', tiers: [{ capacity: 2, refillPerSecond: 1 / 1_000 }] },
    ] as const
    const provider = createPartitioned(9, { streams, budget: { buckets } })
    fill(provider, 'scarce/', 30)
    const ref = await reader.connectTest()
    const { outcome, run } = await read(ref)
    assert.ok(outcome.kind === 'wait' && outcome.ms > 1_000, JSON.stringify(outcome))
    assert.ok(run !== undefined)
    assert.deepEqual([await countRaw(ref, ''), await countRaw(ref)], [4, 58])
  })

  it('lower the budget once when the provider refuses all of their calls', async () => {
    const tier = { capacity: 1_000, refillPerSecond: 1_000 }
    const provider = createPartitioned(9, {
      budget: { buckets: [{ name: 'calls', scope: 'key', tiers: [tier, tier, tier, tier] }] },
    })
    let refused = 0
    provider.answer = async () => {
      refused += 1
      await until('three calls at once', () => (refused === 3 ? true : undefined))
      throw new SourceError('rate_limited', 'too many', { retryAfterMs: 60_000 })
    }
    const ref = await reader.connectTest()
    const { outcome } = await read(ref)
    assert.ok(outcome.kind === 'fault' && outcome.error.fault === 'rate_limited')
    const { tier: lowered } = await db.row<{ tier: number }>(
      `select tier from budgets where bucket like 'kraken:calls:key:' || (select key_lane from connections where id = $1)`,
      [ref.connectionId],
    )
    assert.deepEqual([lowered, refused], [1, 3])
  })

  it('stop as overtaken when another worker has moved the bookmark of one of them', async () => {
    const provider = createPartitioned(30)
    provider.pageSize = 1
    provider.answer = async ({ partition, pageMark: position }, page) => {
      if (partition === 'B' && position === '9') {
        // Its first commit waits for those of the other lists.
        const find = () => db.rows("select from stream_bookmarks where partition = 'B'")
        await until('a bookmark', async () => ((await find()).length > 0 ? true : undefined))
        await db.execute("update stream_bookmarks set position = '15' where partition = 'B'")
      }
      return page
    }
    const seen = watchOverlap(provider)
    const ref = await reader.connectTest()
    assert.equal((await read(ref)).outcome.kind, 'overtaken')
    assert.equal(seen.underWay, 0)
    const moved = await db.rows("select position from stream_bookmarks where user_key = $1 and partition = 'B'", [
      ref.userKey,
    ])
    assert.deepEqual(moved, [{ position: '15' }])
  })

  it('continue from the last commit after a job that died, without a hole or a repeated record', async () => {
    const provider = createPartitioned(40)
    provider.pageSize = 1
    let pages = 0
    provider.answer = async ({ partition }: PageRequest, page) => {
      pages += 1
      if (pages === 70) await db.execute('alter table raw_records rename to lost_records')
      return { ...page, lastingMark: `${partition}${pages}` }
    }
    const seen = watchOverlap(provider)
    const ref = await reader.connectTest()
    await assert.rejects(readToEnd(ref))
    assert.equal(seen.underWay, 0)
    await db.execute('alter table lost_records rename to raw_records')
    const before = await countRaw(ref)
    assert.ok(before > 0 && before < 240, String(before))
    assert.equal((await readToEnd(ref)).outcome.kind, 'done')
    assert.equal(await countRaw(ref), 240)
    await assertCovered(ref)
  })

  it('hold a bounded number of records that are not kept yet', async () => {
    const provider = createPartitioned(0)
    const nowMs = reader.clock.now()
    for (const name of names.slice(0, 3)) {
      const records = Array.from({ length: 5_000 }, (_, index) =>
        record(`${name}${index}`, nowMs - (index + 1) * 1_000),
      )
      provider.lists.set(`ledger/${name}`, records)
    }
    provider.pageSize = 500
    const controller = new AbortController()
    let fetched = 0
    let most = 0
    provider.answer = async (_, page) => {
      fetched += page.records.length
      // Taken before the rows are counted: while that statement runs, the other lists fetch more, and keep it too.
      const fetchedBefore = fetched
      const { kept } = await db.row<{ kept: number }>(
        'select count(*)::int as kept from raw_records where user_key = $1',
        [ref.userKey],
      )
      most = Math.max(most, fetchedBefore - kept)
      // Deriving would take longer than the test.
      if (fetched > 14_000) controller.abort()
      return page
    }
    const ref = await reader.connectTest()
    await db.execute(slowCommits)
    assert.equal((await read(ref, { signal: controller.signal })).outcome.kind, 'more')
    await db.execute('drop trigger slow_commit on raw_records')
    // The limit, plus for each of the three lists one page that arrived since and one in progress.
    assert.ok(most <= 4_000 + 3 * 2 * 500, `${most} records`)
    assert.equal((await countRaw(ref)) > 14_000, true)
  })

  const withLongRecords = (page: Page): Page => ({
    ...page,
    records: page.records.map((one) => {
      const body = JSON.stringify({ links: [one.key], amount: '1', note: 'x'.repeat(200 * 4_096) })
      return { ...one, body }
    }),
  })

  // What may be ahead, or aside and being kept, plus for each of the three lists a page that arrived since and one in progress.
  for (const [what, lists, count, mostNotKept] of [
    ['that strangers have made long', 6, 40, 20 + 3 * 2],
    ['that strangers have made long, of windows that were put aside', 25, 1, 2 * 5 + 3 * 2],
  ] as const) {
    it(`hold few records ${what}`, async () => {
      const provider = createPartitioned(0)
      provider.partitions = Array.from({ length: lists }, (_, index) => ({ stream: 'ledger', partition: `L${index}` }))
      for (const { partition } of provider.partitions) fill(provider, `ledger/${partition}`, count)
      provider.pageSize = 1
      const controller = new AbortController()
      let fetched = 0
      let most = 0
      provider.answer = async (_, page) => {
        fetched += page.records.length
        const fetchedBefore = fetched
        most = Math.max(most, fetchedBefore - (await countRaw(ref)))
        if (fetched >= 60) controller.abort()
        return withLongRecords(page)
      }
      const ref = await reader.connectTest()
      await db.execute(slowCommits)
      await read(ref, { signal: controller.signal })
      await db.execute('drop trigger slow_commit on raw_records')
      assert.ok(most <= mostNotKept, `${most} records`)
      assert.ok(fetched >= 25)
    })
  }
})
