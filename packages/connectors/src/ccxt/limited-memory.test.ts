/**
 * Exchanges that refuse a range that begins before the time for which they keep a list, even by a second: Bybit ("Can't
 * query order earlier than 2 years", rotki/rotki#9388), Bitget ("param error time range illegal", ccxt/ccxt#21502), HTX
 * ("invalid-start-date", ccxt/ccxt#6512). A list is planned for that time, and asked for later.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs, hourMs } from '@assay/core'
import type { Io, Page } from '../kit/connector.ts'
import { ccxtDefinitions } from './catalogue/definitions.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')

interface Exchange {
  id: string
  partition: string
  keptDays: number
  path: string
  bounds: { start: string; end: string; daysMax: number }
  toRow(atMs: number): object
  wrap(rows: object[]): unknown
  refusal: { status: number; body: unknown }
  other: (path: string) => unknown
}

const exchanges: readonly Exchange[] = [
  {
    ...{ id: 'bybit', partition: '', keptDays: 730, path: '/v5/execution/list' },
    bounds: { start: 'startTime', end: 'endTime', daysMax: 7 },
    toRow: (atMs) => ({
      ...{ symbol: 'BTCUSDT', execId: String(atMs), orderId: '1', side: 'Buy', execTime: String(atMs) },
      ...{ execPrice: '50000', execQty: '1', execValue: '50000', execFee: '1', feeCurrency: 'BTC', execType: 'Trade' },
    }),
    wrap: (list) => ({ retCode: 0, retMsg: 'OK', result: { list, category: 'spot' } }),
    refusal: { status: 200, body: { retCode: 10001, retMsg: "Can't query order earlier than 2 years", result: {} } },
    other: () => ({
      ...{ retCode: 0, retMsg: 'OK' },
      result: {
        ...{ category: 'spot', unified: 1, uta: 1 },
        list: [
          {
            symbol: 'BTCUSDT',
            baseCoin: 'BTC',
            quoteCoin: 'USDT',
            status: 'Trading',
            lotSizeFilter: {},
            priceFilter: {},
          },
        ],
      },
    }),
  },
  {
    ...{ id: 'bitget', partition: 'BTC/USDT', keptDays: 90, path: '/trade/fills' },
    bounds: { start: 'startTime', end: 'endTime', daysMax: 30 },
    toRow: (atMs) => ({
      ...{
        symbol: 'BTCUSDT',
        tradeId: String(atMs),
        orderId: '1',
        side: 'buy',
        cTime: String(atMs),
        createdTime: String(atMs),
      },
      ...{ priceAvg: '50000', size: '1', amount: '50000', feeDetail: { feeCoin: 'BTC', totalFee: '-0.001' } },
    }),
    wrap: (data) => ({ code: '00000', msg: 'success', data }),
    refusal: { status: 400, body: { code: '43111', msg: 'param error time range illegal', data: null } },
    other: (path) =>
      path.endsWith('/account/settings')
        ? { code: '40084', msg: 'You are in Classic Account mode', data: null }
        : {
            code: '00000',
            data: path.endsWith('/symbols')
              ? [{ symbol: 'BTCUSDT', baseCoin: 'BTC', quoteCoin: 'USDT', status: 'online', pricePrecision: '2' }]
              : [],
          },
  },
  {
    ...{ id: 'htx', partition: '', keptDays: 120, path: '/order/matchresults' },
    bounds: { start: 'start-time', end: 'end-time', daysMax: 2 },
    toRow: (atMs) => ({
      ...{ id: atMs, 'trade-id': atMs, 'order-id': 1, symbol: 'btcusdt', type: 'buy-limit', 'created-at': atMs },
      ...{ price: '50000', 'filled-amount': '1', 'filled-fees': '0.001', 'fee-currency': 'btc', role: 'taker' },
    }),
    wrap: (data) => ({ status: 'ok', data }),
    refusal: { status: 200, body: { status: 'error', 'err-code': 'invalid-start-date', 'err-msg': 'illegal values' } },
    other: (path) => ({
      ...{ status: 'ok', code: 200 },
      data: path.endsWith('/common/symbols')
        ? [
            {
              ...{ symbol: 'btcusdt', 'base-currency': 'btc', 'quote-currency': 'usdt', state: 'online' },
              ...{ 'price-precision': 2, 'amount-precision': 6, 'value-precision': 8, 'symbol-partition': 'main' },
            },
          ]
        : [{ contract_code: 'BTC-USDT', symbol: 'BTC', contract_size: 1, price_tick: 1, contract_status: 1 }],
    }),
  },
]

/** Each answer takes a second. */
function toIo({ keptDays, path, bounds, toRow, wrap, refusal, other }: Exchange, times: readonly number[]): Io {
  let clockMs = nowMs
  return {
    fetch: async (input) => {
      clockMs += 1_000
      const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
      if (!pathname.endsWith(path)) return Response.json(other(pathname))
      const start = Number(searchParams.get(bounds.start))
      const end = Number(searchParams.get(bounds.end))
      const isRefused = start < clockMs - keptDays * dayMs || end - start > bounds.daysMax * dayMs || end < start
      if (isRefused) return Response.json(refusal.body, { status: refusal.status })
      return Response.json(wrap(times.filter((atMs) => start <= atMs && atMs <= end).map(toRow)))
    },
    ...{ now: () => clockMs, nextNonce: () => '1', baseUrl: undefined },
  }
}

async function walk(exchange: Exchange, times: readonly number[], firstMark: string | null = null): Promise<number[]> {
  const { id, partition } = exchange
  const { retentionMs } = ccxtDefinitions
    .find(({ metadata }) => metadata.provider_id === id)
    ?.streams.find(({ name }) => name === 'trades') ?? { retentionMs: null }
  assert.equal(retentionMs, exchange.keptDays * dayMs)
  const key = { type: 'api_key' as const, apiKey: 'account-k', secretKey: 's'.repeat(32), passphrase: 'p' }
  const io = toIo(exchange, times)
  const reader = createCcxtConnector(id).open(key, io)
  const window = { unit: 'ms' as const, start: nowMs - exchange.keptDays * dayMs, end: nowMs }
  const found = new Set<number>()
  let pageMark = firstMark
  do {
    const askedSinceMs = io.now() - exchange.keptDays * dayMs + hourMs
    const request = { stream: 'trades', partition, window, pageMark, lastingMark: null, state: {} }
    const page: Page = await reader.fetchPage(request)
    for (const { occurredAtMs, unreadable } of page.records) if (unreadable === undefined) found.add(occurredAtMs)
    // Records that it was not asked for, and still has, are not missing.
    if (page.next === null) assert.deepEqual(page.complete, { ...window, start: askedSinceMs })
    pageMark = page.next
  } while (pageMark !== null)
  return [...found].toSorted((a, b) => b - a)
}

describe('a list that an exchange keeps for a limited time', () => {
  for (const exchange of exchanges) {
    const oldestMs = nowMs - exchange.keptDays * dayMs
    const times = [nowMs - dayMs, nowMs - 30 * dayMs, oldestMs + dayMs, oldestMs + 2 * hourMs]

    it(`is asked for no more than the exchange still has: ${exchange.id}`, async () => {
      assert.deepEqual(await walk(exchange, times), times)
    })

    it(`goes on where the exchange has forgotten the piece that was being read: ${exchange.id}`, async () => {
      const endMs = oldestMs + dayMs
      const mark = ['before', oldestMs - hourMs, endMs, oldestMs - 1, oldestMs - 1, 0, 0, 0].join(':')
      assert.deepEqual(await walk(exchange, times, mark), times)
    })
  }
})
