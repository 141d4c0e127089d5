/** Windows, bookmarks, lists and their cursors, on providers that the tests write. */
import { dayMs, hourMs, minuteMs, SourceError } from '@assay/core'
import type { Page, PageRequest } from '@assay/connectors'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordStatements } from '../db/test-statements.ts'
import type { ConnectionRef } from '../owner.ts'
import { createTestProvider, openReader, plainStream, record, type TestProvider } from './test-provider.ts'

describe('reading lists', async () => {
  const reader = await openReader()
  const { db } = reader

  /** This many records, an hour apart, the newest an hour ago. */
  function fill(provider: TestProvider, count: number, list = 'ledger/'): void {
    const nowMs = reader.clock.now()
    const records = Array.from({ length: count }, (_, index) => record(`K${index}`, nowMs - (index + 1) * hourMs))
    provider.lists.set(list, records)
  }
  const countRaw = async ({ userKey }: ConnectionRef): Promise<number> =>
    (await db.rows('select from raw_records where user_key = $1', [userKey])).length
  const listBookmarks = ({ userKey }: ConnectionRef): Promise<{ window_end: string; position: string }[]> =>
    db.rows('select window_end, position from stream_bookmarks where user_key = $1 order by window_end', [userKey])
  const find = async (ref: ConnectionRef): ReturnType<typeof reader.connections.find> =>
    reader.connections.find(ref, ref.connectionId)

  it('keeps new entries and balances coming while a long first history is being read', async () => {
    const provider = reader.use(createTestProvider())
    provider.pageSize = 1
    // The records are days apart: the last weeks fit into one job, and the years before take many.
    const startMs = reader.clock.now()
    provider.lists.set(
      'ledger/',
      Array.from({ length: 1_000 }, (_, index) => record(`K${index}`, startMs - (index + 1) * dayMs)),
    )
    const ref = await reader.connectTest()
    let jobs = 0
    // There is one job for the balances and one for pages; then the provider makes us wait.
    await reader.drain({ enough: async () => jobs++ === 2 })
    const before = await countRaw(ref)
    assert.ok(before >= 198 && before < 210, String(before))
    const [unfinished] = await listBookmarks(ref)
    assert.ok(unfinished !== undefined)

    await reader.moveClock(2 * hourMs)
    const newMs = reader.clock.now() - hourMs
    provider.lists.get('ledger/')?.push(record('new', newMs))
    jobs = 0
    const balances = provider.balancesRead
    await reader.drain({ enough: async () => jobs++ === 1 })
    assert.equal(provider.balancesRead, balances + 1)
    const shown = await db.rows('select from transactions where user_key = $1 and occurred_at = $2', [
      ref.userKey,
      new Date(newMs).toISOString(),
    ])
    assert.equal(shown.length, 1)
    // The first history continues where it was, and both meet.
    assert.equal((await find(ref))?.status, 'syncing')
    await reader.drain({ delayed: true })
    assert.equal((await find(ref))?.status, 'active')
    assert.equal(await countRaw(ref), 1_001)
    assert.deepEqual(await listBookmarks(ref), [])
    const [ledger] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.deepEqual([ledger?.windows.length, ledger?.holes], [1, []])
    const asked = provider.requests.filter(({ pageMark: position }) => position === unfinished.position)
    assert.ok(asked.length <= 2, `${asked.length} times the page at the bookmark`)
  })

  it('reads a list from its beginning again when the connector was mistaken about it', async () => {
    const provider = reader.use(createTestProvider())
    fill(provider, 3)
    provider.lists.get('ledger/')?.push(record('old', reader.clock.now() - 400 * dayMs))
    let isMistaken = true
    provider.answer = async (_, page) => (isMistaken ? { ...page, records: [] } : page)
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    assert.equal(await countRaw(ref), 0)
    isMistaken = false
    provider.answer = async ({ state }, page) =>
      'learned' in state ? page : { ...page, state: { learned: true }, isCorrected: true as const }
    await reader.moveClock(hourMs)
    await reader.run(ref)
    await reader.drain({ delayed: true })
    assert.equal(await countRaw(ref), 4)
    const asked = provider.requests.length
    await reader.moveClock(hourMs)
    await reader.run(ref)
    assert.ok(provider.requests.slice(asked).every(({ window }) => window.start > reader.clock.now() - 30 * dayMs))
  })

  it('does not read a list again and again when what is known of it changes with each walk', async () => {
    const provider = reader.use(createTestProvider())
    fill(provider, 3)
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    let walks = 0
    provider.answer = async ({ pageMark }, page) =>
      pageMark === null ? { ...page, state: { walks: (walks += 1) }, isCorrected: true as const } : page
    await reader.moveClock(hourMs)
    const hasFailed = async (): Promise<boolean> => (await find(ref))?.status_cause === 'unreadable_answer'
    // The next try reads everything as one window, and may come at once.
    await reader.run(ref, { enough: async () => walks > 30 || (await hasFailed()) })
    assert.ok(await hasFailed())
    assert.equal(walks, 2)
  })

  it('does not read an open window on when the connector was mistaken about its list', async () => {
    const provider = reader.use(createTestProvider())
    provider.pageSize = 1
    const startMs = reader.clock.now()
    const records = Array.from({ length: 300 }, (_, index) => record(`K${index}`, startMs - (index + 1) * dayMs))
    provider.lists.set('ledger/', records)
    const ref = await reader.connectTest()
    let jobs = 0
    await reader.drain({ enough: async () => jobs++ === 2 })
    const [unfinished] = await listBookmarks(ref)
    assert.ok(unfinished !== undefined)
    await reader.moveClock(2 * hourMs)
    provider.answer = async ({ state }, page) =>
      'learned' in state ? page : { ...page, state: { learned: true }, isCorrected: true as const }
    const asked = provider.requests.length
    await reader.drain({ delayed: true })
    const marks = provider.requests.slice(asked).map(({ pageMark, window }) => `${pageMark} ${window.end}`)
    assert.ok(!marks.includes(`${unfinished.position} ${unfinished.window_end}`))
    assert.equal(await countRaw(ref), 300)
    assert.equal((await find(ref))?.status, 'active')
  })

  it('gives each of many lists its turn, although the run lasts longer than the interval between runs', async () => {
    const provider = reader.use(createTestProvider({ streams: [{ ...plainStream, partitioned: true }] }))
    provider.partitions = Array.from({ length: 300 }, (_, index) => ({
      ...{ stream: 'ledger', partition: `opened by a stranger ${index}` },
    }))
    provider.partitions.push({ stream: 'ledger', partition: 'the last one' })
    provider.lists.set('ledger/the last one', [record('K', reader.clock.now() - dayMs)])
    const ref = await reader.connectTest()
    // One job reads 200 pages. The provider is so slow that a quarter of an hour passes with each.
    for (let round = 0; round < 3; round += 1) {
      let jobs = 0
      await reader.drain({ enough: async () => jobs++ === 1 })
      await reader.moveClock(16 * minuteMs)
    }
    assert.deepEqual(await reader.listAmounts(ref), ['1'])
  })

  it('reads the other lists when a provider has named some that cannot be stored, or one of them twice', async () => {
    const provider = reader.use(createTestProvider({ streams: [{ ...plainStream, partitioned: true }] }))
    const odd = ['a\0b', '\uD800', '\uD801', 'x'.repeat(5_000)]
    provider.partitions = ['A', 'A', ...odd, 'B'].map((partition) => ({ stream: 'ledger', partition }))
    for (const { partition } of provider.partitions) fill(provider, 1, `ledger/${partition}`)
    const ref = await reader.connectTest()
    await reader.drain()
    assert.deepEqual([(await find(ref))?.status, await countRaw(ref)], ['active', 2])
    assert.deepEqual(new Set(provider.requests.map(({ partition }) => partition)), new Set(['A', 'B']))
  })

  it('has a bookmark for each open window, and resumes the newest first', async () => {
    const provider = reader.use(createTestProvider())
    provider.pageSize = 1
    fill(provider, 450)
    const ref = await reader.connectTest()
    let jobs = 0
    await reader.drain({ enough: async () => jobs++ === 2 })
    await reader.moveClock(20 * 60_000)
    for (let index = 0; index < 250; index += 1) {
      provider.lists.get('ledger/')?.push(record(`N${index}`, reader.clock.now() - 60_000 - index))
    }
    jobs = 0
    await reader.drain({ enough: async () => jobs++ === 1 })
    const [older, newer] = await listBookmarks(ref)
    assert.ok(older !== undefined && newer !== undefined)
    provider.requests.length = 0
    await reader.drain({ delayed: true })
    assert.equal(await countRaw(ref), 700)
    const [first] = provider.requests
    assert.deepEqual([String(first?.window.end), first?.pageMark], [newer.window_end, newer.position])
    const rest = provider.requests.filter(({ window }) => String(window.end) === older.window_end)
    assert.equal(rest[0]?.pageMark, older.position)
    const endsOf = provider.requests.map(({ window }) => window.end)
    assert.deepEqual(
      endsOf,
      endsOf.toSorted((a, b) => b - a),
    )
  })

  it('reads lists that are discovered while others are read, in the same run', async () => {
    const streams = [{ ...plainStream, partitioned: true }] as const
    const provider = reader.use(createTestProvider({ streams }))
    provider.partitions = [{ stream: 'ledger', partition: 'A' }]
    provider.pageSize = 5
    for (const list of ['A', 'B', 'C']) fill(provider, 3, `ledger/${list}`)
    provider.answer = ({ partition }, page) => {
      if (partition !== 'A' || page.next !== null || provider.partitions.length > 1) return page
      provider.partitions = ['A', 'B', 'C'].map((one) => ({ stream: 'ledger', partition: one }))
      return { ...page, state: { known: 3 } }
    }
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    assert.equal((await find(ref))?.status, 'active')
    assert.equal(await countRaw(ref), 9)
    assert.deepEqual(provider.listings, [{}, { known: 3 }])
    assert.deepEqual(await db.rows('select state from connector_states where user_key = $1', [ref.userKey]), [
      { state: '{"known":3}' },
    ])
    const [all] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.deepEqual([all?.partitions, all?.windows.length], [{ count: 3, incomplete: 0 }, 1])
    const one = await reader.sync.findCoverage(ref, ref.connectionId, 'B')
    assert.deepEqual(one?.[0]?.partitions, { count: 1, incomplete: 0 })
    assert.deepEqual(await reader.sync.findCoverage(ref, ref.connectionId, 'D'), [])

    // A list that is no longer named keeps what was read of it, and is not read.
    provider.partitions = provider.partitions.slice(0, 2)
    provider.answer = (_, page) => page
    await reader.moveClock(hourMs)
    provider.requests.length = 0
    await reader.run(ref)
    assert.deepEqual([...new Set(provider.requests.map(({ partition }) => partition))], ['A', 'B'])
    assert.equal(await countRaw(ref), 9)
    const [later] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.deepEqual([later?.partitions, later?.holes], [{ count: 3, incomplete: 0 }, []])
  })

  it('reports as covered what was read in every list, and counts the incomplete lists', async () => {
    const streams = [{ ...plainStream, partitioned: true }] as const
    const provider = reader.use(createTestProvider({ streams }))
    provider.partitions = ['A', 'B'].map((partition) => ({ stream: 'ledger', partition }))
    provider.answer = ({ partition, window }, page) => {
      if (partition === 'B' && window.start < reader.clock.now() - 300 * dayMs) {
        throw new SourceError('data_hole', 'not that far back')
      }
      return page
    }
    const ref = await reader.connectTest()
    await reader.drain({ enough: async () => (await find(ref))?.status_cause === 'data_hole' })
    const [all] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.deepEqual(all?.partitions, { count: 2, incomplete: 1 })
    assert.equal(all.windows.length, 1)
    assert.ok((all.windows[0]?.startMs ?? 0) > reader.clock.now() - 100 * dayMs)
    const [complete] = (await reader.sync.findCoverage(ref, ref.connectionId, 'A')) ?? []
    assert.equal(complete?.partitions.incomplete, 0)
  })

  it('writes many small windows of a list together', async () => {
    const provider = reader.use(
      createTestProvider({ streams: [{ ...plainStream, windowMax: 10 * dayMs, retentionMs: 1_000 * dayMs }] }),
    )
    provider.lists.set(
      'ledger/',
      [10, 100, 500, 900].map((days) => record(`D${days}`, reader.clock.now() - days * dayMs)),
    )
    const ref = await reader.connectTest()
    const sent = await recordStatements(() => reader.drain({ delayed: true }))
    assert.ok(provider.requests.length > 90, String(provider.requests.length))
    // There are windows for the last weeks, the rest, and the hours since.
    const writes = sent.filter(({ text }) => text.includes('insert into covered_windows'))
    assert.ok(writes.length <= 3, String(writes.length))
    assert.equal(await countRaw(ref), 4)
    const [ledger] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.equal(ledger?.windows.length, 1)
  })

  it('keeps a lasting cursor after its window was closed, and hands it to the next', async () => {
    const provider = reader.use(createTestProvider())
    fill(provider, 3)
    provider.answer = (_, page) => {
      const [newest] = page.records
      return newest === undefined ? page : { ...page, lastingMark: newest.key }
    }
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    const { cursor } = await db.row<{ cursor: string }>('select cursor from partition_cursors where user_key = $1', [
      ref.userKey,
    ])
    await reader.moveClock(hourMs)
    provider.requests.length = 0
    await reader.run(ref)
    assert.equal(provider.requests[0]?.lastingMark, cursor)
  })

  it('reads windows of blocks up to the present height, again from the overlap, and shows them as times', async () => {
    const blocks = { ...plainStream, unit: 'block', windowMax: 100, overlap: 10 } as const
    const provider = reader.use(createTestProvider({ streams: [blocks] }))
    const atMs = (height: number): number => reader.clock.now() - (300 - height) * 60_000
    const startMs = reader.clock.now() - 300 * 60_000
    provider.height = { height: 250, atMs: atMs(250) }
    provider.lists.set(
      'ledger/',
      [5, 120, 249, 250].map((height) => record(`B${height}`, startMs + height * 60_000, { height })),
    )
    provider.answer = ({ window }, page) => ({
      ...page,
      times: { startMs: startMs + window.start * 60_000, endMs: startMs + window.end * 60_000 },
    })
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    assert.equal(await countRaw(ref), 4)
    const windows = [...new Set(provider.requests.map(({ window }) => `${window.unit} ${window.start}-${window.end}`))]
    assert.deepEqual(windows, ['block 151-251', 'block 51-151', 'block 0-51'])
    const [stream] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    assert.deepEqual(
      stream?.windows.map(({ endMs }) => endMs),
      [startMs + 251 * 60_000],
    )
    assert.deepEqual(stream.holes, [])
    provider.height = { height: 260, atMs: 0 }
    provider.requests.length = 0
    await reader.moveClock(hourMs)
    await reader.run(ref)
    assert.deepEqual([provider.requests[0]?.window.start, provider.requests[0]?.window.end], [241, 261])
  })

  describe('of blocks, after a height that was too high', () => {
    async function open(height: number) {
      const blocks = { ...plainStream, unit: 'block', overlap: 10 } as const
      const provider = reader.use(createTestProvider({ streams: [blocks] }))
      const startMs = reader.clock.now() - 1_000 * 60_000
      const add = (...heights: number[]): void => {
        const records = heights.map((at) => record(`B${at}`, startMs + at * 60_000, { height: at }))
        provider.lists.set('ledger/', [...(provider.lists.get('ledger/') ?? []), ...records])
      }
      provider.answer = ({ window }, page) => ({
        ...page,
        ...(page.next === null && { times: { startMs: startMs + window.start, endMs: Math.ceil(reader.clock.now()) } }),
      })
      add(5, 300)
      provider.height = { height, atMs: reader.clock.now() }
      const ref = await reader.connectTest()
      await reader.drain({ delayed: true })
      assert.equal(await countRaw(ref), 2)
      await reader.moveClock(hourMs)
      provider.requests.length = 0
      return { provider, ref, add }
    }
    const listStarts = ({ requests }: TestProvider) => new Set(requests.map(({ window }) => window.start))

    it('reads the whole list again, because it is not known for how long the height was wrong', async () => {
      const { provider, ref, add } = await open(5_000_000)
      add(310, 500)
      provider.height = { height: 500, atMs: reader.clock.now() }
      await reader.run(ref)
      assert.equal(await countRaw(ref), 4)
      assert.deepEqual(listStarts(provider), new Set([0]))
      const { end } = await db.row<{ end: string }>(
        'select max(window_end)::text as end from covered_windows where user_key = $1',
        [ref.userKey],
      )
      assert.equal(end, '501')
      provider.requests.length = 0
      provider.height = { height: 510, atMs: reader.clock.now() }
      await reader.run(ref)
      assert.deepEqual(listStarts(provider), new Set([491]))
    })

    it('keeps what was read if the server that answers now is late', async () => {
      const { provider, ref, add } = await open(500)
      add(501)
      provider.height = { height: 310, atMs: reader.clock.now(), isLate: true }
      await reader.run(ref)
      assert.deepEqual(listStarts(provider), new Set([301]))
      provider.height = { height: 510, atMs: reader.clock.now() }
      await reader.run(ref)
      assert.equal(await countRaw(ref), 3)
      assert.deepEqual(listStarts(provider), new Set([301, 491]))
    })

    it('reads the newest blocks again if the height was too high by a few', async () => {
      const { provider, ref, add } = await open(309)
      add(302)
      provider.height = { height: 302, atMs: reader.clock.now() }
      await reader.run(ref)
      assert.equal(await countRaw(ref), 3)
      assert.deepEqual(listStarts(provider), new Set([293]))
    })
  })

  it('of blocks reads what a provider has that is far behind its chain, and names the rest', async () => {
    const blocks = { ...plainStream, unit: 'block', overlap: 10 } as const
    const provider = reader.use(createTestProvider({ streams: [blocks] }))
    const startMs = Math.floor(reader.clock.now()) - 1_000 * 60_000
    const atMs = (height: number): number => startMs + height * 60_000
    provider.lists.set(
      'ledger/',
      [5, 300].map((height) => record(`B${height}`, atMs(height), { height })),
    )
    provider.answer = ({ window }, page) => ({
      ...page,
      ...(page.next === null && { times: { startMs: atMs(window.start), endMs: atMs(window.end) } }),
    })
    provider.height = { height: 200, atMs: reader.clock.now() }
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    provider.height = { height: 400, atMs: reader.clock.now(), behind: 'the index ends 600 blocks before the node' }
    const countFailures = async (): Promise<number> =>
      (await db.maybeRow<{ failures: number }>('select failures from sync_failures where user_key = $1', [ref.userKey]))
        ?.failures ?? 0
    // On a busy machine a retry is due before the drain has ended.
    const runUntil = (failures: number): Promise<void> =>
      reader.run(ref, { enough: async () => (await countFailures()) >= failures })
    await runUntil(1)
    assert.equal(await countRaw(ref), 2)
    const find = async () => {
      const [stream] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
      const row = await reader.connections.find(ref, ref.connectionId)
      return { cause: row?.status_cause, ends: stream?.windows.map(({ endMs }) => endMs), holes: stream?.holes ?? [] }
    }
    await runUntil(2)
    assert.equal(await countFailures(), 2)
    const late = await find()
    assert.deepEqual([late.cause, late.ends], ['data_hole', [atMs(401)]])
    assert.deepEqual(
      late.holes.map(({ startMs: fromMs, cause }) => [fromMs, cause]),
      [[atMs(401), 'data_hole']],
    )
    provider.height = { height: 1_000, atMs: reader.clock.now() }
    await reader.run(ref)
    const caughtUp = await find()
    assert.deepEqual([caughtUp.cause, caughtUp.ends, caughtUp.holes], [null, [atMs(1_001)], []])
  })

  it('starts each further read at the oldest record that may still change, however old it is', async () => {
    const provider = reader.use(createTestProvider())
    const nowMs = reader.clock.now()
    const held = record('held', nowMs - 100 * dayMs, { pending: true })
    provider.lists.set('ledger/', [held, record('other', nowMs - 101 * dayMs)])
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    const statusOf = async (): Promise<unknown> =>
      (
        await db.row<{ status: string }>(
          `select substring(document from '"status":"([a-z]*)"') as status from transactions
           where user_key = $1 order by occurred_at desc limit 1`,
          [ref.userKey],
        )
      ).status
    assert.equal(await statusOf(), 'pending')
    provider.lists.set('ledger/', [{ ...held, pending: false }, record('other', nowMs - 101 * dayMs)])
    await reader.moveClock(hourMs)
    provider.requests.length = 0
    await reader.run(ref)
    assert.equal(Math.min(...provider.requests.map(({ window }) => window.start)), held.occurredAtMs)
    assert.equal(await statusOf(), 'confirmed')
    // Nothing is pending any more, so the read goes back only to the overlap.
    await reader.moveClock(hourMs)
    provider.requests.length = 0
    await reader.run(ref)
    assert.ok(Math.min(...provider.requests.map(({ window }) => window.start)) > reader.clock.now() - 8 * dayMs)
  })

  it('fetches the next page while the last one is being committed, and keeps every page once', async () => {
    const provider = reader.use(createTestProvider())
    provider.pageSize = 3
    fill(provider, 100)
    let underWay = 0
    provider.answer = async (_: PageRequest, page: Page) => {
      underWay += 1
      assert.equal(underWay, 1, 'one call at a time: nonces have to arrive in their order')
      await new Promise((resolve) => setImmediate(resolve))
      underWay -= 1
      return page
    }
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    assert.equal(await countRaw(ref), 100)
    const positions = provider.requests.map(({ window, pageMark: position }) => `${window.start} ${position}`)
    assert.equal(new Set(positions).size, positions.length)
  })

  it('reads around a list whose responses cannot be parsed, and says so without blaming the connection', async () => {
    const streams = [plainStream, { ...plainStream, name: 'extra', required: false }] as const
    const provider = reader.use(createTestProvider({ streams }))
    fill(provider, 2)
    fill(provider, 2, 'extra/')
    provider.answer = ({ stream }, page) => {
      if (stream === 'extra') throw new SourceError('unreadable_answer', 'an unexpected shape')
      return page
    }
    const ref = await reader.connectTest()
    await reader.drain({ enough: async () => (await find(ref))?.status_cause !== null })
    const row = await find(ref)
    assert.equal(row?.status_cause, 'unreadable_answer')
    assert.doesNotMatch(row.status_message ?? '', /reach|answer(ed)? since/)
    assert.equal((await reader.listAmounts(ref)).length, 2)
    assert.deepEqual(await db.rows('select from circuits'), [])
    // This holds however often it happens, and for any number of keys.
    const others = [await reader.connectTest(), await reader.connectTest(), await reader.connectTest()]
    for (const other of [...others, ...others]) await reader.run(other)
    assert.deepEqual(await db.rows('select from circuits'), [])
    provider.answer = (_, page) => page
    await reader.run(ref)
    assert.equal((await find(ref))?.status, 'active')
  })

  it('reads around a window that the provider cannot return, and names it', async () => {
    const stream = { ...plainStream, windowMax: 10 * dayMs, retentionMs: 40 * dayMs, overlap: 0 }
    const provider = reader.use(createTestProvider({ streams: [stream] }))
    const lostMs = reader.clock.now() - 25 * dayMs
    provider.answer = ({ window, pageMark: position }, page) => {
      const isLost = window.start <= lostMs && lostMs < window.end
      // The failure appears only on its third page.
      if (isLost && position === '2') throw new SourceError('data_hole', 'gone')
      return isLost ? { records: [], next: position === null ? '1' : '2' } : page
    }
    const ref = await reader.connectTest()
    await reader.drain({ enough: async () => (await find(ref))?.status_cause === 'data_hole' })
    const [ledger] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    const untilMs = ledger?.windows.at(-1)?.endMs ?? 0
    assert.deepEqual(
      ledger?.windows.map(({ startMs, endMs }) => [(untilMs - startMs) / dayMs, (untilMs - endMs) / dayMs]),
      [
        [40, 30],
        [20, 0],
      ],
    )
    assert.deepEqual(await listBookmarks(ref), [])
  })
})
