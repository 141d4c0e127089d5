/**
 * Exchanges with one endpoint for several lists: ccxt picks the rows of a list out of each page. Bitstamp's
 * `user_transactions` is read by offset (www.bitstamp.net/api), Hyperliquid's `userNonFundingLedgerUpdates` by time, the
 * oldest rows first, 500 at most (hyperliquid.gitbook.io, "Info endpoint"). WhiteBIT's `executed-history` groups the rows
 * of a page by market (docs.whitebit.com, "Query executed order history").
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs, minuteMs } from '@assay/core'
import type { AccountReader, Io, Page, PageRequest } from '../kit/connector.ts'
import { getFacts } from './catalogue/definitions.ts'
import { listReadLists } from './catalogue/lists.ts'
import { createCcxtClient } from './client.ts'
import { createCcxtConnector } from './connector.ts'
import { fetchPage } from './pages.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const window = { unit: 'ms' as const, start: nowMs - 400 * dayMs, end: nowMs }

/** `answer` gets the path and the body of a request. */
function toIo(answer: (path: string, body: string) => unknown): Io {
  return {
    fetch: async (input, init) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      return Response.json(answer(pathname, typeof init?.body === 'string' ? init.body : ''))
    },
    ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
  }
}

interface Walked {
  read: number
  calls: number
  isComplete: boolean
  cut: number
}

type PageReader = Pick<AccountReader, 'fetchPage'>

async function walk(reader: PageReader, stream: string, startMs = window.start): Promise<Walked> {
  const keys = new Set<string>()
  let pageMark: string | null = null
  for (let calls = 1; ; calls += 1) {
    const page: Page = await reader.fetchPage({
      ...{ stream, partition: '', window: { ...window, start: startMs }, pageMark, lastingMark: null, state: {} },
    })
    for (const { key } of page.records) keys.add(key)
    pageMark = page.next
    assert.ok(calls < 50, 'the walk does not end')
    if (pageMark !== null) continue
    const cut = [...keys].filter((key) => key.endsWith(':cut')).length
    return { read: keys.size - cut, calls, isComplete: page.complete !== undefined, cut }
  }
}

describe('a list by offset that shares its endpoint', () => {
  const market = {
    ...{
      name: 'BTC/USD',
      market_symbol: 'btcusd',
      url_symbol: 'btcusd',
      base_currency: 'BTC',
      counter_currency: 'USD',
    },
    ...{ base_decimals: 8, counter_decimals: 2, instant_order_counter_decimals: 2, minimum_order: '10.0 USD' },
    ...{ minimum_order_value: '10', trading: 'Enabled', instant_and_market_orders: 'Enabled', market_type: 'SPOT' },
    description: 'Bitcoin / U.S. dollar',
  }
  const toDatetime = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').replace('Z', '000')
  const own = {
    deposit: { type: '0', usd: '100.00', btc: '0.0', fee: '0.0' },
    trade: { type: '2', usd: '-10.00', btc: '0.0001', btc_usd: '100000', fee: '0.01' },
  }

  /** `kinds`: the rows from the oldest to the newest. `oldestAt`: where the oldest one is listed instead of at the end. */
  function open(kinds: readonly (keyof typeof own)[], oldestAt = kinds.length - 1): AccountReader {
    const sorted = kinds
      .map((kind, index) => {
        const datetime = toDatetime(nowMs - 100 * dayMs + index * minuteMs)
        return { id: index + 1, order_id: index + 1, datetime, ...own[kind] }
      })
      .toReversed()
    const rows = sorted.slice(0, -1).toSpliced(oldestAt, 0, ...sorted.slice(-1))
    const io = toIo((path, body) => {
      if (!path.includes('user_transactions')) return [market]
      const asked = new URLSearchParams(body)
      const offset = Number(asked.get('offset'))
      return rows.slice(offset, offset + Number(asked.get('limit')))
    })
    return createCcxtConnector('bitstamp').open({ type: 'api_key', apiKey: 'k', secretKey: 's'.repeat(32) }, io)
  }
  const times = <T>(count: number, kind: T): T[] => Array.from({ length: count }, () => kind)

  for (const [list, other, stream] of [
    ['deposit', 'trade', 'transfers'],
    ['trade', 'deposit', 'trades'],
  ] as const) {
    it(`is read behind pages that have only rows of another (${stream})`, async () => {
      const reader = open([...times(2, list), ...times(2_100, other)])
      assert.deepEqual(await walk(reader, stream), { read: 2, calls: 4, isComplete: true, cut: 0 })
    })

    it(`ends where everything is older than the window (${stream})`, async () => {
      const reader = open([...times(9_000, other), ...times(2, list), ...times(100, other)])
      const newestMs = nowMs - 100 * dayMs + 9_101 * minuteMs
      const walked = await walk(reader, stream, newestMs - dayMs)
      assert.deepEqual(walked, { read: 2, calls: 3, isComplete: true, cut: 0 })
    })

    it(`ends there also where the pages have no other rows (${stream})`, async () => {
      const reader = open(times(9_000, list))
      const newestMs = nowMs - 100 * dayMs + 8_999 * minuteMs
      assert.equal((await walk(reader, stream, newestMs - 500 * minuteMs)).calls, 2)
    })

    it(`goes on behind a row that is listed too early (${stream})`, async () => {
      const reader = open(times(2_500, list), 1_000)
      const walked = await walk(reader, stream, nowMs - 100 * dayMs + minuteMs)
      assert.deepEqual(walked, { read: 2_499, calls: 4, isComplete: true, cut: 0 })
    })

    it(`costs a call for each page of the endpoint (${stream})`, async () => {
      const reader = open([...times(2, list), ...times(900, other), ...times(2, list), ...times(900, other)])
      assert.deepEqual(await walk(reader, stream), { read: 4, calls: 3, isComplete: true, cut: 0 })
    })
  }
})

describe('a list by offset whose pages are grouped by market', () => {
  const names = ['ADA_USDT', 'BTC_USDT', 'ZEC_USDT']
  const toMarket = (name: string) => ({
    ...{ name, stock: name.split('_')[0], money: 'USDT', stockPrec: '6', moneyPrec: '2', feePrec: '4' },
    ...{ makerFee: '0.1', takerFee: '0.1', minAmount: '0.001', minTotal: '5', tradesEnabled: true, type: 'spot' },
  })
  const list = (name: string, count: number, fromMs: number) =>
    Array.from({ length: count }, (_, index) => ({ name, time: fromMs / 1_000 + index * 60 }))
  /** From the oldest to the newest. */
  const trades = [
    ...list('ZEC_USDT', 10, nowMs - 350 * dayMs),
    ...list('ADA_USDT', 10, nowMs - 300 * dayMs),
    ...list('BTC_USDT', 130, nowMs - dayMs),
  ].map((trade, index) => ({ ...trade, id: index + 1, orderId: index + 1 }))
  const own = { clientOrderId: '', side: 'sell', role: 2, amount: '1', price: '2', deal: '2', fee: '0.01' }

  for (const [order, rows] of [
    ['oldest', trades],
    ['newest', trades.toReversed()],
  ] as const) {
    it(`is read to its end, because the order of the pages is not documented (${order} first)`, async () => {
      const io = toIo((path, body) => {
        if (!path.includes('executed-history')) return path.includes('markets') ? names.map(toMarket) : {}
        const { offset, limit = 50 } = JSON.parse(body) as { offset: number; limit?: number }
        const page = rows.slice(offset, offset + limit).map((row) => ({ ...row, ...own }))
        return Object.fromEntries(
          names
            .map((name) => [name, page.filter((row) => row.name === name)] as const)
            .filter(([, ofMarket]) => ofMarket.length > 0),
        )
      })
      const key = { type: 'api_key' as const, apiKey: 'k', secretKey: 's'.repeat(32) }
      const reader = createCcxtConnector('whitebit').open(key, io)
      const walked = await walk(reader, 'trades', nowMs - 2 * dayMs)
      // Two pages of 100 rows at most, and an empty one.
      assert.deepEqual(walked, { read: 130, calls: 3, isComplete: true, cut: 0 })
    })
  }
})

// The connector leaves these lists of Hyperliquid out, but another exchange may have such an endpoint.
describe('a list by time that shares its endpoint', () => {
  const facts = getFacts('hyperliquid')
  const lists = listReadLists(facts, {})
  const meta = [
    {
      tokens: ['USDC', 'PURR'].map((name, index) => ({
        name,
        szDecimals: 8,
        weiDecimals: 8,
        index,
        tokenId: `0x${index}`,
      })),
      universe: [{ name: 'PURR/USDC', tokens: [1, 0], index: 0, isCanonical: true }],
    },
    [{ dayNtlVlm: '1', markPx: '0.1', midPx: '0.1', prevDayPx: '0.1' }],
  ]
  interface Update {
    time: number | undefined
    type: string
  }

  function open(updates: readonly Update[]): PageReader {
    const rows = updates.map(({ time, type }, index) => {
      return { ...(time !== undefined && { time }), hash: `0x${index}`, delta: { type, usdc: '1.0' } }
    })
    const io = toIo((_, body) => {
      const { type, startTime, endTime } = JSON.parse(body) as { type: string; startTime: number; endTime: number }
      if (type !== 'userNonFundingLedgerUpdates') return meta
      const isAsked = ({ time = startTime }: { time?: number }): boolean => time >= startTime && time <= endTime
      return rows.filter(isAsked).slice(0, 500)
    })
    const client = createCcxtClient(facts, { walletAddress: `0x${'1'.repeat(40)}` }, io)
    return {
      async fetchPage(request: PageRequest) {
        const list = lists.find(({ stream }) => stream === request.stream)
        assert.ok(list)
        return fetchPage(client, list, request, nowMs)
      },
    }
  }
  const startMs = nowMs - 50 * dayMs
  const list = (count: number, type: string, fromMs = startMs, stepMs = minuteMs): Update[] =>
    Array.from({ length: count }, (_, index) => ({ time: fromMs + index * stepMs, type }))

  it('is read behind pages that have only rows of another', async () => {
    const reader = open([...list(1_200, 'accountClassTransfer'), ...list(2, 'deposit', nowMs - 10 * dayMs)])
    const { read, isComplete } = await walk(reader, 'deposits')
    assert.deepEqual([read, isComplete], [2, true])
  })

  it('costs one call where it has no rows and the page has room for more', async () => {
    const reader = open(list(20, 'accountClassTransfer'))
    assert.deepEqual(await walk(reader, 'deposits'), { read: 0, calls: 1, isComplete: true, cut: 0 })
  })

  it('is not called complete behind rows of others whose times are not known', async () => {
    for (const count of [40, 499]) {
      const untimed = list(count, 'accountClassTransfer').map((update) => ({ ...update, time: undefined }))
      const { read, isComplete } = await walk(open([...untimed, ...list(1, 'deposit')]), 'deposits')
      assert.deepEqual([read, isComplete], [1, false])
    }
  })

  it('has no hole where all rows of a moment fit into a page', async () => {
    const reader = open(list(60, 'accountClassTransfer', startMs, 0))
    const { read, cut } = await walk(reader, 'ledger')
    assert.deepEqual([read, cut], [60, 0])
  })

  it('has a hole where the rows of a moment fill a page, and is not called complete', async () => {
    const burst = list(520, 'accountClassTransfer', startMs, 0)
    const reader = open([...burst, ...list(3, 'accountClassTransfer', nowMs - dayMs)])
    const { read, isComplete, cut } = await walk(reader, 'ledger')
    assert.deepEqual([read, isComplete, cut], [503, false, 1])
  })
})
