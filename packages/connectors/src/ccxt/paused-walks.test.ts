/**
 * Walks that wait between their pages, for budgets or during an outage, while the exchange forgets the oldest rows of
 * the window. OKX gives three months in one piece (`fills-history`: at most 100 rows, `begin` and `end`), and Bybit two
 * years in pieces of seven days (`execution/list`). Both are also asked as exchanges that begin with the oldest row, and
 * are stricter here than they say: they refuse a start that they have forgotten.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs, hourMs, minuteMs, SourceError } from '@assay/core'
import type { Io, Page, Window } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const pageSize = 100
const orders = ['newest first', 'oldest first'] as const

interface Exchange {
  id: string
  partition?: string
  /** How far back a window begins. */
  askedMs: number
  keptMs: number
  path: string
  bounds: { start: string; end: string }
  toRow(atMs: number): object
  wrap(rows: object[]): object
  refusal: object
  other(params: URLSearchParams, path: string): object
}

const okx: Exchange = {
  ...{
    id: 'okx',
    askedMs: 90 * dayMs,
    keptMs: 90 * dayMs,
    path: '/fills-history',
    bounds: { start: 'begin', end: 'end' },
  },
  toRow: (atMs) => ({
    ...{ instType: 'SPOT', instId: 'BTC-USDT', tradeId: String(atMs), billId: String(atMs), ordId: '1', execType: 'T' },
    ...{ side: 'buy', fillPx: '50000', fillSz: '0.001', feeCcy: 'BTC', fee: '-0.000001', ts: String(atMs) },
  }),
  wrap: (data) => ({ code: '0', msg: '', data }),
  refusal: { code: '51000', msg: 'Parameter begin error', data: [] },
  other: (params) => ({
    code: '0',
    data:
      params.get('instType') === 'SPOT'
        ? [
            {
              ...{ instType: 'SPOT', instId: 'BTC-USDT', baseCcy: 'BTC', quoteCcy: 'USDT', state: 'live' },
              ...{ tickSz: '0.1', lotSz: '0.00000001', minSz: '0.00001', lever: '10', listTime: '1' },
            },
          ]
        : [],
  }),
}

const bybit: Exchange = {
  ...{ id: 'bybit', askedMs: 730 * dayMs, keptMs: 730 * dayMs },
  ...{ path: '/v5/execution/list', bounds: { start: 'startTime', end: 'endTime' } },
  toRow: (atMs) => ({
    ...{ symbol: 'BTCUSDT', execId: String(atMs), orderId: '1', side: 'Buy', execTime: String(atMs) },
    ...{ execPrice: '50000', execQty: '1', execValue: '50000', execFee: '1', feeCurrency: 'BTC', execType: 'Trade' },
  }),
  wrap: (list) => ({ retCode: 0, retMsg: 'OK', result: { list, category: 'spot' } }),
  refusal: { retCode: 10001, retMsg: "Can't query order earlier than 2 years", result: {} },
  other: () => ({
    ...{ retCode: 0, retMsg: 'OK' },
    result: {
      ...{ category: 'spot', unified: 1, uta: 1 },
      list: [
        {
          ...{ symbol: 'BTCUSDT', baseCoin: 'BTC', quoteCoin: 'USDT', status: 'Trading' },
          ...{ lotSizeFilter: {}, priceFilter: {} },
        },
      ],
    },
  }),
}

/** Asked for ninety days of trades only because a pair takes a call for each day. */
const bingx: Exchange = {
  ...{ id: 'bingx', partition: 'BTC/USDT', askedMs: 90 * dayMs, keptMs: Infinity },
  ...{ path: '/trade/myTrades', bounds: { start: 'startTime', end: 'endTime' } },
  toRow: (atMs) => ({
    ...{ symbol: 'BTC-USDT', id: atMs, orderId: 1, time: atMs, isBuyer: true, isMaker: false },
    ...{ price: '50000', qty: '1', quoteQty: '50000', commission: -1, commissionAsset: 'USDT' },
  }),
  wrap: (fills) => ({ code: 0, msg: '', data: { fills } }),
  refusal: { code: 100400, msg: 'startTime must be before endTime' },
  other: (_, path) => ({
    ...{ code: 0, msg: '' },
    data: {
      symbols: path.endsWith('/common/symbols') ? [{ symbol: 'BTC-USDT', status: 1, tickSize: 1, stepSize: 1 }] : [],
    },
  }),
}

/** Between two ages, at equal distances, newest first. */
function listTimes(count: number, youngestMs: number, oldestMs: number): number[] {
  return Array.from(
    { length: count },
    (_, at) => nowMs - youngestMs - Math.floor((at * (oldestMs - youngestMs)) / count),
  )
}

interface Pauses {
  order: (typeof orders)[number]
  /** How long the walk waits after a page, by the number of the page. */
  pauseAfter(page: number): number
}

interface Walked {
  found: ReadonlySet<number>
  calls: number
  complete: Window | undefined
  /** From when on the exchange had its rows when the last page was asked for. */
  keptSinceMs: number
}

async function walk(exchange: Exchange, times: readonly number[], { order, pauseAfter }: Pauses): Promise<Walked> {
  const { id, partition = '', askedMs, keptMs, path, bounds, toRow, wrap, refusal, other } = exchange
  let clockMs = nowMs
  let calls = 0
  const io: Io = {
    async fetch(input) {
      const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
      if (!pathname.endsWith(path)) return Response.json(other(searchParams, pathname))
      calls += 1
      const [start, end] = [Number(searchParams.get(bounds.start)), Number(searchParams.get(bounds.end))]
      if (start < clockMs - keptMs || end < start) return Response.json(refusal)
      const rows = times.filter((atMs) => start <= atMs && atMs <= end)
      const ordered = order === 'newest first' ? rows : rows.toReversed()
      return Response.json(wrap(ordered.slice(0, pageSize).map(toRow)))
    },
    ...{ now: () => clockMs, nextNonce: () => '1', baseUrl: undefined },
  }
  const key = { type: 'api_key' as const, apiKey: 'account-k', secretKey: 's'.repeat(32), passphrase: 'p' }
  const reader = createCcxtConnector(id).open(key, io)
  const window = { unit: 'ms' as const, start: nowMs - askedMs, end: nowMs }
  const found = new Set<number>()
  let pageMark: string | null = null
  for (let pages = 1; ; pages += 1) {
    const keptSinceMs = clockMs - keptMs
    const request = { stream: 'trades', partition, window, pageMark, lastingMark: null, state: {} }
    const page: Page = await reader.fetchPage(request)
    for (const { occurredAtMs, unreadable } of page.records) if (unreadable === undefined) found.add(occurredAtMs)
    pageMark = page.next
    if (pageMark === null) return { found, calls, complete: page.complete, keptSinceMs }
    clockMs += 250 + pauseAfter(pages)
    assert.ok(pages < 1_000, 'the walk does not end')
  }
}

describe('a walk that waits between its pages', () => {
  it('has every row when it has waited for an hour after each hundred pages', async () => {
    const times = listTimes(20_000, dayMs, 89 * dayMs)
    const pauseAfter = (page: number): number => (page % 100 === 0 ? hourMs : 0)
    const { found, calls } = await walk(okx, times, { order: 'newest first', pauseAfter })
    assert.equal(found.size, times.length)
    assert.ok(calls <= times.length / pageSize + 5, `${calls} calls`)
  })

  const exchanges = [
    { exchange: okx, times: listTimes(2_000, dayMs, 89 * dayMs), callsMax: 30 },
    // A hundred pieces, and two calls more for each one with rows.
    { exchange: bybit, times: listTimes(2_000, 710 * dayMs, 729 * dayMs), callsMax: 140 },
  ]
  for (const { exchange, times, callsMax } of exchanges) {
    for (const order of orders) {
      for (const [every, pauseMs] of [
        [1, 31 * minuteMs],
        [3, 5 * hourMs],
        [1, 23 * hourMs],
      ] as const) {
        const told = `${exchange.id}, ${order}, ${pauseMs / minuteMs} minutes after ${every}`
        it(`continues where it was, with what the exchange still has (${told})`, async () => {
          // As long as there are rows: later pieces would take weeks.
          const pauseAfter = (page: number): number => (page <= 30 && page % every === 0 ? pauseMs : 0)
          const { found, calls, complete, keptSinceMs } = await walk(exchange, times, { order, pauseAfter })
          const isLost = (atMs: number): boolean => atMs >= keptSinceMs + hourMs && !found.has(atMs)
          assert.deepEqual(times.filter(isLost), [])
          assert.ok(calls <= callsMax, `${calls} calls`)
          assert.deepEqual(complete, { unit: 'ms', start: keptSinceMs + hourMs, end: nowMs })
        })
      }
    }
  }
})

describe('a walk that is resumed weeks later', () => {
  const times = listTimes(2_000, dayMs, 89.5 * dayMs)
  const once = (after: number, pauseMs: number) => (page: number) => (page === after ? pauseMs : 0)
  const isDataHole = (error: unknown): boolean => error instanceof SourceError && error.fault === 'data_hole'

  for (const [order, after, days] of [
    ['newest first', 5, 28],
    ['newest first', 5, 100],
    ['oldest first', 5, 28],
    ['oldest first', 15, 100],
  ] as const) {
    it(`is a hole where the exchange forgot days that were not read (${order}, ${days} days after ${after})`, async () => {
      await assert.rejects(walk(okx, times, { order, pauseAfter: once(after, days * dayMs) }), isDataHole)
    })
  }

  it('is a hole where the exchange forgot all of it before anything was read', async () => {
    await assert.rejects(
      walk(bybit, listTimes(200, dayMs, 10 * dayMs), { order: 'newest first', pauseAfter: once(1, 731 * dayMs) }),
      isDataHole,
    )
  })

  it('has everything where the exchange forgets nothing and only we ask for no more', async () => {
    const { found } = await walk(bingx, times, { order: 'newest first', pauseAfter: once(5, 28 * dayMs) })
    assert.equal(found.size, times.length)
  })

  for (const [order, after, days] of [
    // The oldest of them, or all but the newest of them, had been read.
    ['oldest first', 15, 28],
    ['newest first', 21, 28],
    // All of them had been read. That the exchange also forgot what came after the window is the next window's hole.
    ['newest first', 21, 100],
  ] as const) {
    it(`continues where everything that the exchange forgot had been read (${order}, ${days} days)`, async () => {
      const { found, calls } = await walk(okx, times, { order, pauseAfter: once(after, days * dayMs) })
      assert.equal(found.size, times.length)
      assert.ok(calls <= 30, `${calls} calls`)
    })
  }
})
