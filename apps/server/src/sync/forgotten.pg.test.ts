/**
 * Time that an exchange forgets while it is being read. MEXC keeps deposits for 90 days (mexc.com/api-docs, "Deposit
 * History") and gives them in ranges of seven: the whole engine reads them through the connector over ccxt.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadConnector, type Io } from '@assay/connectors'
import { getDefinition } from '@assay/connectors/catalog'
import { dayMs, hourMs, minuteMs, SourceError } from '@assay/core'
import { beginningMs } from './plan.ts'
import { createTestProvider, openReader, record, type TestProvider } from './test-provider.ts'

const keptMs = 90 * dayMs
const completed = 5
const restricted = 11

interface Deposit {
  atMs: number
  status: number
}

describe('an exchange that keeps deposits for 90 days', async () => {
  const reader = await openReader()
  const { db, clock } = reader
  const stream = getDefinition('mexc').streams.find(({ name }) => name === 'deposits')
  assert.ok(stream)
  const mexc = await loadConnector('mexc')

  const listKept = (deposits: readonly Deposit[]): Deposit[] =>
    deposits.filter(({ atMs }) => atMs >= clock.now() - keptMs)

  const connectMexc = (deposits: readonly Deposit[]): TestProvider => {
    const provider = reader.use(createTestProvider({ streams: [{ ...stream, cost: { calls: 1 } }] }))
    const market = { symbol: 'BTCUSDT', status: '1', baseAsset: 'BTC', quoteAsset: 'USDT', orderTypes: [] }
    const io: Io = {
      async fetch(input) {
        const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
        if (!pathname.endsWith('/capital/deposit/hisrec')) return Response.json({ symbols: [market] })
        const [start, end] = [Number(searchParams.get('startTime')), Number(searchParams.get('endTime'))]
        const rows = listKept(deposits).filter(({ atMs }) => start <= atMs && atMs <= end)
        const coin = { amount: '1', coin: 'BTC', network: 'BTC', address: 'x' }
        return Response.json(rows.map(({ atMs, status }) => ({ ...coin, status, txId: `${atMs}`, insertTime: atMs })))
      },
      ...{ now: () => clock.now(), nextNonce: () => '1', baseUrl: undefined },
    }
    const account = mexc.open({ type: 'api_key', apiKey: 'account-k', secretKey: 's'.repeat(32) }, io)
    provider.answer = async (request) => {
      const page = await account.fetchPage(request)
      const records = page.records.map(({ key, occurredAtMs, pending = false }) =>
        record(key, occurredAtMs, { pending }),
      )
      return { ...page, records }
    }
    return provider
  }

  it('keeps a deposit that MEXC still lists, and that is nearly too old to be asked for', async () => {
    const nowMs = Math.floor(clock.now())
    const deposits = [
      { atMs: nowMs - keptMs + 70 * minuteMs, status: restricted },
      { atMs: nowMs - 2 * dayMs, status: completed },
    ]
    connectMexc(deposits)
    const ref = await reader.connectTest()
    await reader.drain({ delayed: true })
    assert.equal((await reader.listAmounts(ref)).length, 2)
    for (let run = 0; run < 4; run += 1) {
      await reader.moveClock(15 * minuteMs)
      await reader.run(ref)
      assert.equal(listKept(deposits).length, 2)
      assert.equal((await reader.listAmounts(ref)).length, 2, `after ${run + 1} runs`)
    }
    assert.deepEqual(await db.rows('select from raw_records where retired_at is not null'), [])
  })

  it('has a hole for the time that was forgotten before it was read, and what it still has is read', async () => {
    const nowMs = Math.floor(clock.now())
    const ages = [2, 40, 55, 70, 85].map((days) => days * dayMs)
    const provider = connectMexc(ages.map((ageMs) => ({ atMs: nowMs - ageMs, status: completed })))
    const { answer } = provider
    // The first read ends in its second week, as when the key is withdrawn.
    let isAway = true
    provider.answer = (request, page) => {
      const weeks = (Number(request.pageMark?.split(':')[1] ?? nowMs) - (nowMs - keptMs)) / (7 * dayMs)
      if (isAway && weeks > 0.9 && weeks < 1.1) throw new SourceError('unreadable_answer', 'away')
      return answer(request, page)
    }
    const ref = await reader.connectTest()
    await reader.drain()
    const count = async (table: 'raw_records' | 'stream_bookmarks'): Promise<number> =>
      (await db.rows(`select from ${table} where user_key = $1::bigint`, [ref.userKey])).length
    assert.deepEqual([await count('stream_bookmarks'), await count('raw_records')], [1, 2])

    await reader.moveClock(28 * dayMs)
    isAway = false
    await reader.run(ref)
    const found = await reader.connections.find(ref, ref.connectionId)
    assert.deepEqual([found?.status_cause, await count('stream_bookmarks')], ['data_hole', 0])
    await reader.drain({ delayed: true })
    assert.equal((await reader.connections.find(ref, ref.connectionId))?.status, 'active')
    // MEXC has forgotten the fourth and the fifth, of which the fifth was read before.
    assert.equal((await reader.listAmounts(ref)).length, 4)
    const [coverage] = (await reader.sync.findCoverage(ref, ref.connectionId)) ?? []
    const reachMs = clock.now() - keptMs
    assert.deepEqual(
      coverage?.holes.map(({ startMs, cause, message }) => [startMs, cause, message]),
      [[beginningMs, 'data_hole', 'MEXC keeps deposits for 90 days.']],
    )
    assert.ok(Math.abs((coverage.holes[0]?.endMs ?? 0) - reachMs) < hourMs)
    assert.equal(coverage.windows.length, 1)
  })
})
