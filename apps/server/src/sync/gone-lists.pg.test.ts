/**
 * Lists that the provider no longer knows or has never given, and accounts without any list: what coverage reports, and
 * that nothing waits for them.
 */
import type { Stream } from '@assay/connectors'
import { dayMs, hourMs, minuteMs, parseDecimal, SourceError, zero } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConnectionRef } from '../owner.ts'
import { createTestProvider, openReader, plainStream, record, type TestProvider } from './test-provider.ts'

describe('a list that the provider no longer knows', async () => {
  const reader = await openReader()
  const { db } = reader

  async function open(): Promise<{ provider: TestProvider; ref: ConnectionRef }> {
    const streams = [{ ...plainStream, partitioned: true }] as const
    const provider = reader.use(createTestProvider({ streams }))
    provider.partitions = ['A', 'B'].map((partition) => ({ stream: 'ledger', partition }))
    const nowMs = reader.clock.now()
    for (const name of ['A', 'B']) {
      const records = Array.from({ length: 5 }, (_, index) => record(`${name}${index}`, nowMs - (index + 1) * hourMs))
      provider.lists.set(`ledger/${name}`, records)
    }
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    return { provider, ref }
  }
  const loseB = (provider: TestProvider): void => {
    provider.answer = ({ partition }, page) =>
      partition === 'B' ? { records: [], next: null, isGone: true, state: { lost: ['B'] } } : page
  }
  async function findCoverage(ref: ConnectionRef) {
    const [ledger] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.ok(ledger)
    return ledger
  }
  const countRaw = async ({ userKey }: ConnectionRef): Promise<number> =>
    (await db.rows('select from raw_records where user_key = $1', [userKey])).length

  it('is a hole with its name, from where it was last read, and the others are up to date', async () => {
    const { provider, ref } = await open()
    const before = await findCoverage(ref)
    assert.deepEqual(before.holes, [])
    await reader.moveClock(hourMs)
    loseB(provider)
    provider.lists.get('ledger/A')?.push(record('A-new', reader.clock.now() - 60_000))
    provider.requests.length = 0
    await reader.run(ref)
    const row = await reader.connections.find(ref, ref.connectionId)
    assert.deepEqual([row?.status, row?.status_cause], ['active', null])
    assert.equal(await countRaw(ref), 11)
    // One request is enough: the provider does not know the list, whichever window is requested.
    assert.equal(provider.requests.filter(({ partition }) => partition === 'B').length, 1)
    const { windows, holes, partitions } = await findCoverage(ref)
    assert.ok((windows.at(-1)?.endMs ?? 0) > (before.windows.at(-1)?.endMs ?? Infinity))
    assert.deepEqual(partitions, { count: 2, incomplete: 1 })
    assert.deepEqual(
      holes.map(({ startMs, cause }) => [startMs, cause]),
      [[before.windows.at(-1)?.endMs, 'data_hole']],
    )
    assert.match(holes[0]?.message ?? '', /no longer knows B\. .* after \d{4}-\d\d-\d\d cannot be read/)
    // The history of the other lists is still complete.
    const { hole, gone } = await reader.sync.findCompleteness(ref)
    assert.equal(hole, undefined)
    // The balances do not add up, so something may be missing with the list.
    assert.deepEqual([row?.proof_grade, gone.map(({ goneList }) => goneList)], ['open', ['B']])
    assert.deepEqual(await db.rows('select state from connector_states where user_key = $1', [ref.userKey]), [
      { state: '{"lost":["B"]}' },
    ])
  })

  it('stays named when the connector no longer asks for it, and a run finds nothing new', async () => {
    const { provider, ref } = await open()
    loseB(provider)
    await reader.moveClock(hourMs)
    await reader.run(ref)
    provider.partitions = provider.partitions.slice(0, 1)
    await reader.moveClock(hourMs)
    await reader.run(ref)
    const { holes, partitions } = await findCoverage(ref)
    assert.deepEqual([holes.length, partitions.incomplete], [1, 1])
    assert.match(holes[0]?.message ?? '', /no longer knows B/)
    // Nothing of it was read since, so the hole goes on.
    const nowMs = reader.clock.now()
    await reader.moveClock(hourMs)
    assert.ok(((await findCoverage(ref)).holes[0]?.endMs ?? 0) >= nowMs + hourMs)
  })

  it('is read from where it was when the provider knows it again', async () => {
    const { provider, ref } = await open()
    loseB(provider)
    await reader.moveClock(hourMs)
    await reader.run(ref)
    provider.answer = (_, page) => page
    provider.lists.get('ledger/B')?.push(record('B-late', reader.clock.now() - 30 * 60_000))
    await reader.moveClock(hourMs)
    await reader.run(ref)
    assert.equal(await countRaw(ref), 11)
    const { holes, partitions } = await findCoverage(ref)
    assert.deepEqual([holes, partitions], [[], { count: 2, incomplete: 0 }])
  })

  it('keeps the pages that came before it was gone', async () => {
    const { provider, ref } = await open()
    await reader.moveClock(hourMs)
    const nowMs = reader.clock.now()
    for (let index = 0; index < 8; index += 1)
      provider.lists.get('ledger/B')?.push(record(`N${index}`, nowMs - 60_000 - index))
    provider.answer = ({ partition, pageMark: position }, page) =>
      partition === 'B' && position === '6' ? { records: [], next: null, isGone: true } : page
    await reader.run(ref)
    assert.equal(await countRaw(ref), 16)
    assert.deepEqual(await db.rows('select from stream_bookmarks where user_key = $1', [ref.userKey]), [])
    assert.equal((await findCoverage(ref)).holes.length, 1)
  })
})

describe('a list of which nothing could be read yet', async () => {
  const reader = await openReader()

  async function open(): Promise<{ provider: TestProvider; ref: ConnectionRef }> {
    const streams = ['coins', 'tokens'].map((name) => ({
      ...plainStream,
      ...({ name, unit: 'block', partitioned: true, overlap: 0 } as const),
    }))
    const provider = reader.use(createTestProvider({ streams: streams as [Stream, Stream] }))
    const nowMs = reader.clock.now()
    provider.height = { height: 100, atMs: nowMs }
    provider.partitions = streams.flatMap(({ name: stream }) =>
      ['A', 'B', 'C'].map((partition) => ({ stream, partition })),
    )
    provider.lists.set('coins/A', [record('A1', nowMs - hourMs, { height: 50 })])
    provider.lists.set('tokens/C', [record('C1', nowMs - hourMs, { height: 60 })])
    provider.answer = ({ window }, page) => ({
      ...page,
      ...(page.next === null && { times: { startMs: window.start + 1, endMs: Math.ceil(reader.clock.now()) } }),
    })
    provider.answerBalances = () => ({
      balances: [
        { assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Bitcoin', liquid: parseDecimal('2'), staked: zero },
      ],
    })
    provider.answerHeight = (partition) => {
      if (partition !== 'B') return provider.height
      throw new SourceError('data_hole', 'no answer', { unread: ['Basel'] })
    }
    return { provider, ref: await reader.connectTest() }
  }
  const find = async (ref: ConnectionRef) => {
    const row = await reader.connections.find(ref, ref.connectionId)
    assert.ok(row)
    return row
  }
  const coverageOf = async (ref: ConnectionRef) => (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []

  it('is named, the other lists are read, and the balances do not count as proved', async () => {
    const { ref } = await open()
    await reader.drain()
    assert.deepEqual(await reader.listAmounts(ref), ['1', '1'])
    const row = await find(ref)
    assert.deepEqual([row.status, row.status_cause, row.proof_grade], ['syncing', 'data_hole', null])
    const [issue] = await reader.connections.listIssues(ref)
    assert.match(issue?.message ?? '', /“Basel” could not be read/)
    for (const { holes, partitions } of await coverageOf(ref)) {
      assert.equal(partitions.count, 3)
      assert.match(holes[0]?.message ?? '', /Basel/)
    }
  })

  it('is asked for again with the balances; then it is read, and the balances are proved', async () => {
    const { provider, ref } = await open()
    // One run: on a busy machine the pause before the next one may be over already.
    await reader.drain({ enough: async () => provider.balancesRead > 0 })
    assert.equal(provider.balancesRead, 1)
    const { answerHeight } = provider
    provider.answerHeight = (partition) => (provider.balancesRead > 1 ? provider.height : answerHeight(partition))
    await reader.drain({ delayed: true })
    const { status, proof_grade: grade } = await find(ref)
    assert.deepEqual([status, grade], ['active', 'proved'])
    assert.deepEqual(
      (await coverageOf(ref)).flatMap(({ holes }) => holes),
      [],
    )
  })

  it('is not missed once the provider stops naming it', async () => {
    const { provider, ref } = await open()
    await reader.drain()
    provider.partitions = provider.partitions.filter(({ partition }) => partition !== 'B')
    await reader.moveClock(hourMs)
    await reader.drain({ delayed: true })
    const { status, proof_grade: grade } = await find(ref)
    assert.deepEqual([status, grade], ['active', 'proved'])
    for (const { holes, partitions } of await coverageOf(ref)) {
      assert.deepEqual([holes, partitions.count], [[], 2])
    }
  })
})

const balanceOf = (amount: string) => ({
  balances: [{ assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Bitcoin', liquid: parseDecimal(amount), staked: zero }],
})

describe('a list that the provider cannot give', async () => {
  const reader = await openReader()
  /** A block a minute. */
  const heightAt = (ms: number): number => Math.floor(ms / minuteMs)
  const judge = async (ref: ConnectionRef): Promise<unknown> => {
    await reader.moveClock(hourMs)
    await reader.run(ref)
    // Balances are judged once the lists have passed them.
    await reader.moveClock(hourMs)
    await reader.run(ref)
    const page = await reader.proof.list(ref, ref.connectionId, { limit: 10, after: undefined })
    return [page?.summary.grade, page?.rows.map(({ observed, causes }) => [observed, causes.map(({ cause }) => cause)])]
  }

  for (const unit of ['ms', 'block'] as const) {
    it(`does not let an earlier verdict stand (windows in ${unit})`, async () => {
      const provider = reader.use(createTestProvider({ streams: [{ ...plainStream, unit, partitioned: true }] }))
      provider.partitions = [{ stream: 'ledger', partition: 'A' }]
      const nowMs = reader.clock.now()
      provider.answerHeight = () => ({ height: heightAt(reader.clock.now()), atMs: Math.floor(reader.clock.now()) })
      provider.lists.set('ledger/A', [record('A1', nowMs - hourMs, { height: heightAt(nowMs - hourMs) })])
      provider.answer = ({ window, partition }, page) => {
        if (partition === 'B') throw new SourceError('data_hole', 'its first owner is not known')
        const times = { startMs: window.start * minuteMs, endMs: Math.ceil(reader.clock.now()) }
        return { ...page, ...(unit === 'block' && page.next === null && { times }) }
      }
      provider.answerBalances = () => balanceOf('1')
      const ref = await reader.connectTest()
      await reader.drain({ delayed: true })
      assert.deepEqual(await judge(ref), ['proved', [['1', []]]])
      provider.partitions = [...provider.partitions, { stream: 'ledger', partition: 'B' }]
      provider.answerBalances = () => balanceOf('0.25')
      assert.deepEqual(await judge(ref), ['proved', [['1', []]]], 'it may pass')
      for (let failures = 2; failures < 8; failures += 1) await reader.run(ref)
      assert.deepEqual(await judge(ref), ['explained', [['0.25', ['coverage_hole']]]])
    })
  }
})

describe('a difference that has no cause', async () => {
  const reader = await openReader()

  it('stays one when the newest blocks cannot be given for hours: the hole begins where reading ended', async () => {
    const streams = [{ ...plainStream, unit: 'block', overlap: 64, partitioned: true }] as const
    const provider = reader.use(createTestProvider({ streams: streams as unknown as [Stream] }))
    provider.partitions = [{ stream: 'ledger', partition: 'A' }]
    const heightAt = (ms: number): number => Math.floor(ms / minuteMs)
    const nowMs = reader.clock.now()
    provider.answerHeight = () => ({ height: heightAt(reader.clock.now()), atMs: Math.floor(reader.clock.now()) })
    provider.lists.set('ledger/A', [record('A1', nowMs - hourMs, { height: heightAt(nowMs - hourMs) })])
    let isBehind = false
    provider.answer = ({ window }, page) => {
      if (isBehind) throw new SourceError('data_hole', 'these blocks are not indexed yet')
      const times = { startMs: window.start * minuteMs, endMs: Math.ceil(reader.clock.now()) }
      return { ...page, ...(page.next === null && { times }) }
    }
    provider.answerBalances = () => balanceOf('0.25')
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    const runs = async (count: number): Promise<string | null | undefined> => {
      for (let run = 0; run < count; run += 1) {
        await reader.moveClock(hourMs)
        await reader.run(ref)
      }
      return (await reader.connections.find(ref, ref.connectionId))?.proof_grade
    }
    assert.equal(await runs(24), 'open')
    isBehind = true
    assert.equal(await runs(12), 'open')
    isBehind = false
    assert.equal(await runs(2), 'open')
  })
})

describe('known records that a provider no longer shows', async () => {
  const reader = await openReader()

  it('are asked for at growing intervals, and the balances are judged without them', async () => {
    const provider = reader.use(createTestProvider({ streams: [{ ...plainStream, overlap: 7 * dayMs }] }))
    const nowMs = reader.clock.now()
    provider.pageSize = 50
    const all = Array.from({ length: 10 }, (_, index) => record(`A${index}`, nowMs - dayMs - index * hourMs))
    provider.lists.set('ledger/', all)
    provider.answer = ({ window }, page) => ({ ...page, ...(page.next === null && { complete: window }) })
    provider.answerBalances = () => balanceOf('10')
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    const find = async () => reader.connections.find(ref, ref.connectionId)
    for (let run = 0; run < 2; run += 1) {
      await reader.moveClock(hourMs)
      await reader.run(ref)
    }
    assert.equal((await find())?.proof_grade, 'proved')
    provider.lists.set('ledger/', all.slice(0, 5))
    provider.answerBalances = () => balanceOf('5')
    const pausesMs: number[] = []
    for (let run = 0; run < 10; run += 1) {
      await reader.moveClock(hourMs)
      await reader.run(ref)
      pausesMs.push(Date.parse((await find())?.next_sync_at ?? '') - reader.clock.now())
    }
    assert.ok((pausesMs[5] ?? 0) > 8 * (pausesMs[0] ?? 0), pausesMs.join())
    const row = await find()
    assert.deepEqual([row?.status_cause, row?.proof_grade], ['data_hole', 'explained'])
  })
})

describe('a record that cannot be understood', async () => {
  const reader = await openReader()

  async function open(
    openToStrangers: boolean,
    { held = '2', rebasing = [] }: { held?: string; rebasing?: string[] } = {},
  ): Promise<{ provider: TestProvider; ref: ConnectionRef; nowMs: number }> {
    const streams = [{ ...plainStream, ...(openToStrangers && { openToStrangers }) }] as const
    const provider = reader.use(createTestProvider({ streams, rebasing }))
    const nowMs = reader.clock.now()
    const strange = { ...record('S', nowMs - 2 * dayMs), unreadable: 'a token of a stranger' }
    provider.lists.set('ledger/', [record('A', nowMs - 10 * dayMs), strange, record('B', nowMs - dayMs)])
    provider.answerBalances = () => balanceOf(held)
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    return { provider, ref, nowMs }
  }
  const judge = async (ref: ConnectionRef): Promise<unknown> => {
    for (let run = 0; run < 2; run += 1) {
      await reader.moveClock(hourMs)
      await reader.run(ref)
    }
    const { hole } = await reader.sync.findCompleteness(ref)
    return [(await reader.connections.find(ref, ref.connectionId))?.proof_grade, hole?.records]
  }

  it('ends the history of values, also where everything adds up: two of them may cancel out', async () => {
    const { ref } = await open(false)
    assert.deepEqual(await judge(ref), ['proved', 1])
  })

  it('does not end it in a list that strangers write to where everything adds up, and does where it does not', async () => {
    const { provider, ref, nowMs } = await open(true)
    assert.deepEqual(await judge(ref), ['proved', undefined])
    const [ledger] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.deepEqual(
      ledger?.holes.map(({ startMs, records }) => [startMs, records]),
      [[Math.floor(nowMs - 2 * dayMs), 1]],
    )
    provider.answerBalances = () => balanceOf('3')
    assert.deepEqual(await judge(ref), ['open', 1])
  })

  it('does not end it there where what is held has only grown, and does where records may be missing', async () => {
    const rebasing = ['crypto:bitcoin']
    const { provider, ref } = await open(true, { held: '2.5', rebasing })
    // It has grown since the beginning, so the record lies in the interval of the difference.
    assert.deepEqual(await judge(ref), ['explained', undefined])
    provider.answerBalances = () => balanceOf('2.6')
    assert.deepEqual(await judge(ref), ['explained', undefined])
    provider.answerBalances = () => balanceOf('1.5')
    assert.deepEqual(await judge(ref), ['explained', 1])
    const { ref: closed } = await open(false, { held: '2.5', rebasing })
    assert.deepEqual(await judge(closed), ['explained', 1])
  })
})

describe('coins that a network credits without a transaction in any list', async () => {
  const reader = await openReader()

  /** The grade and the causes on a network, before and after these balances. */
  async function judge(partition: string, ...held: string[]): Promise<unknown[]> {
    const streams = [{ ...plainStream, partitioned: true }] as const
    const provider = reader.use(createTestProvider({ streams, unlistedCredits: { A: 'crypto:bitcoin' } }))
    provider.partitions = [{ stream: 'ledger', partition }]
    provider.lists.set(`ledger/${partition}`, [record('R', reader.clock.now() - 10 * dayMs)])
    provider.answerBalances = () => balanceOf('1')
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    const grades: unknown[] = []
    for (const amount of held) {
      provider.answerBalances = () => balanceOf(amount)
      for (let run = 0; run < 2; run += 1) {
        await reader.moveClock(hourMs)
        await reader.run(ref)
      }
      const { rows, summary } = (await reader.proof.list(ref, ref.connectionId, { limit: 9, after: undefined })) ?? {}
      grades.push([summary?.grade, rows?.flatMap(({ causes }) => causes.map((one) => `${one.cause} ${one.amount}`))])
    }
    return grades
  }

  it('are explained: any stranger can send some, and so can the wallet’s owner from another chain', async () => {
    assert.deepEqual(await judge('A', '1', '1.000000000000000001', '6'), [
      ['proved', []],
      ['explained', ['unlisted_credit 0.000000000000000001']],
      ['explained', ['unlisted_credit 5']],
    ])
  })

  it('do not explain coins that have left, nor coins on another network', async () => {
    assert.deepEqual(await judge('A', '0.5'), [['open', ['unexplained -0.5']]])
    assert.deepEqual(await judge('B', '1.5'), [['open', ['unexplained 0.5']]])
  })
})

describe('an account that has no list', async () => {
  const reader = await openReader()

  it('is read without a hole, and read again', async () => {
    reader.use(createTestProvider({ streams: [{ ...plainStream, partitioned: true }] }))
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    for (const round of ['the first run', 'a run that finds nothing', 'another']) {
      const row = await reader.connections.find(ref, ref.connectionId)
      assert.deepEqual([row?.status, row?.status_cause], ['active', null], round)
      const [ledger] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
      assert.deepEqual([ledger?.holes, ledger?.windows.length], [[], 1], round)
      assert.equal((await reader.sync.findCompleteness(ref)).hole, undefined, round)
      await reader.moveClock(hourMs)
      await reader.run(ref)
    }
  })
})
