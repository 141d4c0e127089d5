/** The outcomes of reading a connection, and what the two policies make of them. */
import { dayMs, parseDecimal, SourceError, zero } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pino } from 'pino'
import { until } from '../../../../test/until.ts'
import { createMetering } from '../metering/index.ts'
import { keysOf, type ConnectionRef } from '../owner.ts'
import { readConnection, type ReadRequest, type ReadResult } from './read-connection.ts'
import type { ReadingWatch } from './reading.ts'
import {
  createTestProvider,
  openReader,
  plainStream,
  record,
  type TestProvider,
  type TestRecord,
} from './test-provider.ts'

const ofRef = 'user_key = $1::bigint and connection_key = $2::integer'

describe('reading a connection', async () => {
  const reader = await openReader()
  const { db } = reader
  const log = pino({ level: 'silent' })
  const metering = createMetering({ db, random: () => 0.5, scaleWait: (ms) => ms, egress: 'main', log })
  const { prove } = reader.proof
  const seen: string[] = []
  const watch: ReadingWatch = {
    read: (providerId, outcome) => seen.push(`${providerId} ${outcome}`),
    brokeDown: () => seen.push('broke down'),
    committed: (providerId, seconds) => assert.ok(seconds > 0, `${providerId}: ${seconds}`),
  }
  const deps = {
    ...reader,
    metering,
    prove,
    watch,
    now: () => reader.clock.now(),
    random: () => 0.5,
    scaleWait: (ms: number) => ms,
    pagesPerJobMax: 200,
    log,
  }

  async function connect(provider: TestProvider): Promise<ConnectionRef> {
    reader.use(provider)
    return reader.connectTest()
  }
  async function read(ref: ConnectionRef, more: Partial<ReadRequest> = {}): Promise<ReadResult> {
    const opened = await reader.connections.open(ref)
    assert.ok(opened)
    const { signal } = new AbortController()
    return readConnection(deps, ref, opened, { what: 'run', run: undefined, interactive: false, signal, ...more })
  }
  const listRaw = ({ userKey }: ConnectionRef): Promise<object[]> =>
    db.rows('select from raw_records where user_key = $1', [userKey])
  function fill(provider: TestProvider, count: number): void {
    const nowMs = reader.clock.now()
    provider.lists.set(
      'ledger/',
      Array.from({ length: count }, (_, index) => record(`K${index}`, nowMs - (index + 1) * dayMs)),
    )
  }

  it('keeps the balances without those that are left out, and names these', async () => {
    const provider = createTestProvider()
    const bitcoin = {
      assetId: 'crypto:bitcoin',
      symbol: 'BTC',
      name: 'Bitcoin',
      liquid: parseDecimal('2'),
      staked: zero,
    }
    provider.answerBalances = () => ({ balances: [bitcoin], unreadable: ['ODD…'] })
    fill(provider, 2)
    const ref = await connect(provider)
    const result = await read(ref)
    assert.ok(result.outcome.kind === 'fault')
    assert.equal(result.outcome.error.fault, 'data_hole')
    // The history was read, and the balances that were are judged.
    assert.deepEqual([result.parts, result.isRead, result.lacksBalances], [['ODD…'], true, false])
    assert.equal((await listRaw(ref)).length, 2)
    const held = await db.rows<{ liquid: string }>(
      'select trim_scale(liquid)::text as liquid from holdings where user_key = $1',
      [ref.userKey],
    )
    assert.deepEqual(held, [{ liquid: '2' }])

    await reader.run(ref)
    const [issue] = await reader.connections.listIssues(ref)
    assert.match(issue?.message ?? '', /“ODD…” could not be read/)
    // A fault of the history comes first: it may pass.
    provider.answer = () => {
      throw new SourceError('venue_down', 'HTTP 503')
    }
    const later = await read(ref)
    assert.ok(later.outcome.kind === 'fault')
    assert.equal(later.outcome.error.fault, 'venue_down')
    provider.answer = (_, page) => page
    provider.answerBalances = () => ({ balances: [bitcoin] })
    assert.equal((await read(ref)).outcome.kind, 'done')
  })

  it('shows balances beside a debt that they may contain, and never judges them', async () => {
    const provider = createTestProvider()
    const tether = { assetId: 'crypto:tether', symbol: 'USDT', name: 'Tether', staked: zero }
    const balances = [{ ...tether, liquid: parseDecimal('80') }]
    provider.answerBalances = () => ({ balances, unreadable: ['borrowed USDT'], isInDoubt: true })
    fill(provider, 2)
    const ref = await connect(provider)
    const look = (): Promise<object> =>
      db.row(
        `select proof_grade, (select trim_scale(sum(liquid))::text from holdings where ${ofRef}) as held
         from connections where ${ofRef}`,
        keysOf(ref),
      )
    for (let runs = 0; runs < 2; runs += 1) {
      await reader.clock.advance(dayMs)
      await reader.run(ref)
    }
    assert.deepEqual(await look(), { proof_grade: null, held: '80' })
    const [issue] = await reader.connections.listIssues(ref)
    assert.match(issue?.message ?? '', /“borrowed USDT”/)
    // The loan was paid back.
    provider.answerBalances = () => ({ balances })
    for (let runs = 0; runs < 2; runs += 1) {
      await reader.clock.advance(dayMs)
      await reader.run(ref)
    }
    assert.notEqual(
      (
        await db.row<{ grade: string | null }>(
          `select proof_grade as grade from connections where ${ofRef}`,
          keysOf(ref),
        )
      ).grade,
      null,
    )
  })

  it('judges balances that may still have what open contracts have lost, and remembers when that was', async () => {
    const provider = createTestProvider()
    const tether = { assetId: 'crypto:tether', symbol: 'USDT', name: 'Tether', staked: zero }
    const balances = [{ ...tether, liquid: parseDecimal('80') }]
    provider.answerBalances = () => ({ balances, mayHaveLost: true })
    fill(provider, 2)
    const ref = await connect(provider)
    const look = (): Promise<{ judged: boolean; losing: boolean | null }> =>
      db.row(
        `select proof_grade is not null as judged, losses_open_at = balances_at as losing from connections where ${ofRef}`,
        keysOf(ref),
      )
    const runTwice = async (): Promise<void> => {
      for (let runs = 0; runs < 2; runs += 1) {
        await reader.clock.advance(dayMs)
        await reader.run(ref)
      }
    }
    await runTwice()
    assert.deepEqual(await look(), { judged: true, losing: true })
    provider.answerBalances = () => ({ balances })
    await runTwice()
    assert.deepEqual(await look(), { judged: true, losing: false })
  })

  it('keeps none of the balances when there are far more than an account has: each code would become an asset', async () => {
    const provider = createTestProvider()
    provider.answerBalances = () => ({
      balances: Array.from({ length: 20_001 }, (_, at) => {
        const symbol = `FLOOD${at}`
        return { assetId: `kraken:${symbol}`, symbol, name: symbol, liquid: parseDecimal('1'), staked: zero }
      }),
    })
    const { outcome } = await read(await connect(provider))
    assert.equal(outcome.kind === 'fault' && outcome.error.fault, 'unreadable_answer')
    assert.deepEqual(await db.rows("select from assets where symbol like 'FLOOD%' limit 1"), [])
  })

  it('keeps no further lists when a provider names others in every run, and says that something is missing', async () => {
    const provider = createTestProvider({ streams: [{ ...plainStream, partitioned: true }] })
    const ref = await connect(provider)
    const name = (count: number, run: string): void => {
      provider.partitions = Array.from({ length: count }, (_, at) => ({ stream: 'ledger', partition: `${run}${at}` }))
    }
    const count = async (): Promise<number> =>
      (await db.rows(`select from partition_cursors where ${ofRef}`, keysOf(ref))).length
    name(3, 'A')
    assert.equal((await read(ref)).outcome.kind, 'done')
    assert.equal(await count(), 3)
    name(49_998, 'B')
    const { outcome } = await read(ref)
    assert.equal(outcome.kind === 'fault' && outcome.error.fault, 'data_hole')
    assert.equal(await count(), 3)
  })

  it('counts a large record as several, as large as it is now, because the limit of records is one of storage', async () => {
    const provider = createTestProvider()
    const large = (note: string, kilobytes = 160): TestRecord => {
      const body = JSON.stringify({ links: ['L'], amount: '1', note: note.repeat(kilobytes * 1_024) })
      return record('L', reader.clock.now() - 60_000, { body })
    }
    provider.lists.set('ledger/', [large('a'), record('S', reader.clock.now() - 60_000)])
    const ref = await connect(provider)
    const count = async (): Promise<number> => {
      await read(ref)
      const query = 'select record_count::integer as count from connections where id = $1'
      return (await db.row<{ count: number }>(query, [ref.connectionId])).count
    }
    assert.equal(await count(), 12)
    for (const [changed, expected] of [
      [large('b'), 12],
      [large('b', 320), 22],
      [large('c', 16), 3],
    ] as const) {
      provider.lists.set('ledger/', [changed, record('S', reader.clock.now() - 60_000)])
      assert.equal(await count(), expected)
    }
  })

  it('is done when everything was read, and idle when the next run finds nothing new', async () => {
    const provider = createTestProvider()
    fill(provider, 3)
    const ref = await connect(provider)
    seen.length = 0
    const first = await read(ref)
    assert.deepEqual([first.outcome, first.isIdle], [{ kind: 'done' }, false])
    assert.deepEqual(seen, ['kraken done'])
    const { outcome, isIdle } = await read(ref)
    assert.deepEqual([outcome, isIdle], [{ kind: 'done' }, true])
  })

  it('requests balances in parts, keeps what each part learned, and after a failure continues from there', async () => {
    const provider = createTestProvider()
    const asked: unknown[] = []
    let isDown = true
    provider.answerBalances = (state) => {
      const part = Number(state['part'] ?? 0)
      asked.push(part)
      if (part === 2 && isDown) throw new SourceError('venue_down', 'away')
      return { balances: [], state: { part: part + 1 }, ...(part < 3 ? { isPartial: true } : {}) }
    }
    const ref = await connect(provider)
    assert.equal((await read(ref)).outcome.kind, 'fault')
    isDown = false
    assert.equal((await read(ref)).outcome.kind, 'done')
    assert.deepEqual(asked, [0, 1, 2, 2, 3])
  })

  it('begins again with the balances when the job ended before all parts of them were asked for', async () => {
    const provider = createTestProvider()
    const controller = new AbortController()
    provider.answerBalances = (state) => {
      controller.abort()
      return { balances: [], state: { part: 1 }, ...(state['part'] === undefined ? { isPartial: true } : {}) }
    }
    const ref = await connect(provider)
    const { outcome, run } = await read(ref, { signal: controller.signal })
    assert.deepEqual([outcome, run], [{ kind: 'wait', ms: 0 }, undefined])
    assert.equal((await read(ref)).outcome.kind, 'done')
    assert.equal(provider.balancesRead, 2)
  })

  it('has more when the allowance of the job ended first, and says where it continues', async () => {
    const provider = createTestProvider()
    provider.pageSize = 1
    fill(provider, 420)
    const ref = await connect(provider)
    const { outcome, run, hasProgressed } = await read(ref)
    assert.deepEqual([outcome.kind, hasProgressed], ['more', true])
    assert.ok(run !== undefined)
    let next = await read(ref, { run })
    for (let jobs = 0; next.outcome.kind === 'more' && jobs < 9; jobs += 1) next = await read(ref, { run: next.run })
    assert.equal(next.outcome.kind, 'done')
    assert.equal(next.run?.untilMs, run.untilMs)
  })

  it('has more after the balances when a person waits for them', async () => {
    const ref = await connect(createTestProvider())
    const { outcome, run } = await read(ref, { interactive: true })
    assert.deepEqual([outcome.kind, run?.stage], ['more', 'recent'])
  })

  it('waits when our own budget is used up, and starts over if it had not begun', async () => {
    const tiers = [{ capacity: 3, refillPerSecond: 1 / 1_000 }] as const
    const provider = createTestProvider({ budget: { buckets: [{ name: 'calls', scope: 'key', tiers }] } })
    fill(provider, 30)
    const ref = await connect(provider)
    const { outcome, run } = await read(ref)
    assert.ok(outcome.kind === 'wait' && outcome.ms > 1_000, JSON.stringify(outcome))
    // The verification, the balances and one page used up the budget.
    assert.ok(run !== undefined)
    assert.equal((await db.rows('select from raw_records where user_key = $1', [ref.userKey])).length, 2)
    const other = await read(
      await connect(
        createTestProvider({
          budget: { buckets: [{ name: 'calls', scope: 'key', tiers: [{ capacity: 1, refillPerSecond: 1 / 1_000 }] }] },
        }),
      ),
    )
    assert.deepEqual([other.outcome.kind, other.run], ['wait', undefined])
  })

  it('ends with a fault of the provider, and keeps the pages before it', async () => {
    const provider = createTestProvider()
    provider.pageSize = 1
    fill(provider, 9)
    provider.answer = ({ pageMark: position }, page) => {
      if (position === '4') throw new SourceError('invalid_credentials', 'no')
      return page
    }
    const ref = await connect(provider)
    const { outcome, hasProgressed } = await read(ref)
    assert.ok(outcome.kind === 'fault' && outcome.error.fault === 'invalid_credentials')
    assert.equal(hasProgressed, true)
    assert.equal((await db.rows('select from raw_records where user_key = $1', [ref.userKey])).length, 4)
  })

  it('ends with the fault of its own list, whatever else happened', async () => {
    const provider = createTestProvider()
    provider.answer = () => {
      throw new SourceError('data_hole', 'gone')
    }
    const { outcome } = await read(await connect(provider))
    assert.ok(outcome.kind === 'fault' && outcome.error.fault === 'data_hole')
  })

  it('has progressed while other lists have more to give, and not when only the hole is left', async () => {
    const provider = createTestProvider({ streams: [{ ...plainStream, partitioned: true }] })
    provider.pageSize = 1
    provider.partitions = ['A', 'B'].map((partition) => ({ stream: 'ledger', partition }))
    const nowMs = reader.clock.now()
    for (const [name, count] of [['A', 3] as const, ['B', 420] as const]) {
      const records = Array.from({ length: count }, (_, index) =>
        record(`${name}${index}`, nowMs - (index + 40) * dayMs),
      )
      provider.lists.set(`ledger/${name}`, records)
    }
    provider.answer = ({ partition, pageMark: position }, page) => {
      if (partition === 'A' && position !== null) throw new SourceError('data_hole', 'gone')
      return page
    }
    const ref = await connect(provider)
    const first = await read(ref)
    assert.deepEqual([first.outcome.kind, first.isRead, first.hasProgressed], ['fault', false, true])
    let last = first
    for (let jobs = 0; !last.isRead && jobs < 9; jobs += 1) last = await read(ref, { run: last.run })
    assert.deepEqual([last.outcome.kind, last.isRead, last.hasProgressed], ['fault', true, false])
  })

  it('is overtaken when another worker uses the key, and keeps nothing of its page', async () => {
    const provider = createTestProvider()
    provider.pageSize = 1
    fill(provider, 6)
    const ref = await connect(provider)
    provider.answer = async ({ pageMark: position }, page) => {
      // Another worker reserves nonces of the key while this one waits for its second page.
      if (position === '1') await db.execute('update key_nonces set high_water = high_water + 5000')
      return page
    }
    assert.equal((await read(ref)).outcome.kind, 'overtaken')
  })

  it('is overtaken when another worker has moved its bookmark', async () => {
    const provider = createTestProvider()
    provider.pageSize = 1
    fill(provider, 20)
    const ref = await connect(provider)
    provider.answer = async ({ pageMark: position }, page) => {
      if (position === '9') {
        // Pages are committed while the next ones are fetched, so the first commit may still be in progress.
        await until('a page is committed', async () => {
          const moved = await db.execute("update stream_bookmarks set position = '15' where user_key = $1", [
            ref.userKey,
          ])
          return moved > 0 ? true : undefined
        })
      }
      return page
    }
    assert.equal((await read(ref)).outcome.kind, 'overtaken')
    const [bookmark] = await db.rows<{ position: string }>(
      'select position from stream_bookmarks where user_key = $1',
      [ref.userKey],
    )
    assert.equal(bookmark?.position, '15')
  })

  it('fails as a whole, with nothing in progress afterwards, when the database is lost while a page is fetched', async () => {
    const provider = createTestProvider()
    provider.pageSize = 1
    fill(provider, 30)
    const ref = await connect(provider)
    let underWay = 0
    provider.answer = async ({ pageMark: position }, page) => {
      underWay += 1
      if (position === '5') await db.execute('alter table stream_bookmarks rename to lost_bookmarks')
      await new Promise((resolve) => setImmediate(resolve))
      underWay -= 1
      if (position === '6') throw new Error('and so is the provider')
      return page
    }
    await assert.rejects(read(ref))
    assert.equal(underWay, 0)
    await db.execute('alter table lost_bookmarks rename to stream_bookmarks')
    provider.answer = (_, page) => page
    assert.equal((await read(ref)).outcome.kind, 'done')
    assert.equal((await db.rows('select from raw_records where user_key = $1', [ref.userKey])).length, 30)
  })

  it('closes a window whose last page comes while the pages before it are being committed', async () => {
    const provider = createTestProvider()
    provider.pageSize = 1
    fill(provider, 3)
    const ref = await connect(provider)
    for (let run = 0; run < 3; run += 1) {
      assert.equal((await read(ref)).outcome.kind, 'done')
      await reader.moveClock(dayMs)
    }
    assert.deepEqual(await db.rows('select from stream_bookmarks where user_key = $1', [ref.userKey]), [])
  })

  it('ends with a fault when a page is followed by itself, or by an earlier one', async () => {
    for (const [first, second] of [
      ['A', 'A'],
      ['A', 'B'],
    ] as const) {
      const provider = createTestProvider()
      fill(provider, 2)
      provider.answer = ({ pageMark }, page) => ({ ...page, next: pageMark === first ? second : first })
      const ref = await connect(provider)
      const { outcome, hasProgressed } = await read(ref)
      assert.equal(outcome.kind === 'fault' && outcome.error.fault, 'unreadable_answer')
      assert.equal(hasProgressed, false, 'each further try comes later than the one before')
      assert.ok(provider.requests.length < 10, String(provider.requests.length))
      assert.equal((await listRaw(ref)).length, 2)
      // Records may have been missed, so the window begins again.
      assert.deepEqual(await db.rows('select from stream_bookmarks where user_key = $1', [ref.userKey]), [])
      provider.answer = (_, page) => page
      assert.equal((await read(ref)).outcome.kind, 'done')
    }
  })

  it('ends with a fault when pages with new marks repeat their records, also with one page to a job', async () => {
    const provider = createTestProvider()
    fill(provider, 100)
    const ref = await connect(provider)
    let job = new AbortController()
    provider.answer = async (request, page) => {
      if (provider.requests.length > 1) job.abort()
      // The provider ignores the mark.
      const records = provider.lists.get('ledger/') ?? []
      return { ...page, records, next: String(Number(request.pageMark ?? 0) + 1) }
    }
    let result = await read(ref, { signal: job.signal })
    for (let jobs = 0; result.outcome.kind === 'more' && jobs < 50; jobs += 1) {
      job = new AbortController()
      result = await read(ref, { run: result.run, signal: job.signal })
    }
    assert.equal(result.outcome.kind === 'fault' && result.outcome.error.fault, 'unreadable_answer')
    assert.equal((await listRaw(ref)).length, 100)
  })

  it('accepts the same page mark again when the connector has learned something, or moved its lasting mark', async () => {
    const provider = createTestProvider()
    for (const learn of [(step: number) => ({ state: { step } }), (step: number) => ({ lastingMark: String(step) })]) {
      let step = 0
      provider.answer = () => {
        step += 1
        return { records: [], next: step < 5 ? 'poll' : null, ...learn(step) }
      }
      assert.equal((await read(await connect(provider))).outcome.kind, 'done')
      assert.equal(step, 6, 'five pages of the last weeks, and one of the rest')
    }
  })

  it('accepts a walk that shows a long history twice, and a later one in which nothing is new', async () => {
    const provider = createTestProvider()
    const startMs = reader.clock.now()
    // The oldest may still change, so that the next run reads everything again.
    const records = Array.from({ length: 1_500 }, (_, at) =>
      record(`K${at}`, startMs - (at + 1) * 60_000, { pending: at === 1_499 }),
    )
    provider.lists.set('ledger/', records)
    provider.answer = ({ pageMark }) => {
      const from = Number(pageMark ?? 0)
      const page = records.slice(from % 1_500, (from % 1_500) + 100)
      return { records: page, next: from + 100 < 3_000 ? String(from + 100) : null }
    }
    const ref = await connect(provider)
    for (let run = 0; run < 2; run += 1) {
      assert.equal((await read(ref)).outcome.kind, 'done')
      await reader.moveClock(60_000)
    }
    assert.equal((await listRaw(ref)).length, 1_500)
  })
})
