/**
 * Lists of exchanges that answer for a limited range of time, and ccxt's part in it: Gate refuses more than 30 days
 * (gate.com, API v4), Bitget 30 (bitget.com/api-doc, unified accounts), Binance.US 90 (docs.binance.us). Of a longer
 * range at Binance.US, ccxt asks only for the beginning, and of one that begins before 2019 at KuCoin (kucoin.com/docs)
 * only the list of that time. P2B refuses more than a day (github.com/P2B-team/p2b-api-docs) and INDODAX more than seven
 * (github.com/btcid/indodax-official-api-docs); of LBank, ccxt asks for two days, whatever the range is.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs } from '@assay/core'
import type { Io, Page } from '../kit/connector.ts'
import { ccxtDefinitions } from './catalogue/definitions.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const times = [20, 60, 100, 400, 900, 1_500].map((days) => nowMs - days * dayMs)

interface Exchange {
  id: string
  list: string
  /** The exchange's parameters, what a second is in them (or dates, both included), and how many days they may span. */
  bounds: { start: string; end: string; second: number | 'dates'; daysMax: number; keptDays?: number }
  toRow(atMs: number): object
  wrap(rows: object[]): unknown
  path: string
  markets: (path: string) => unknown
  partition?: string
}

const binanceus = {
  id: 'binanceus',
  bounds: { start: 'startTime', end: 'endTime', second: 1_000, daysMax: 90 },
  wrap: (rows: object[]) => rows,
  markets: () => ({
    symbols: [{ symbol: 'BTCUSD', status: 'TRADING', baseAsset: 'BTC', quoteAsset: 'USD', filters: [] }],
  }),
}
const gate = {
  id: 'gate',
  bounds: { start: 'from', end: 'to', second: 1, daysMax: 30 },
  wrap: (rows: object[]) => rows,
  markets: (path: string) =>
    path.endsWith('/currency_pairs')
      ? [{ id: 'BTC_USDT', base: 'BTC', quote: 'USDT', fee: '0.2', amount_precision: 5, precision: 1 }]
      : [],
}
const bitget = {
  id: 'bitget',
  bounds: { start: 'startTime', end: 'endTime', second: 1_000, daysMax: 30 },
  wrap: (rows: object[]) => ({ code: '00000', data: rows }),
  markets: (path: string) => ({
    code: '00000',
    data: path.endsWith('/symbols')
      ? [{ symbol: 'BTCUSDT', baseCoin: 'BTC', quoteCoin: 'USDT', status: 'online', pricePrecision: '2' }]
      : [],
  }),
}
const kucoinMarket = {
  ...{ symbol: 'BTC-USDT', baseCurrency: 'BTC', quoteCurrency: 'USDT', market: 'USDS', enableTrading: true },
  ...{ baseIncrement: '0.001', quoteIncrement: '0.1', priceIncrement: '0.1', feeCurrency: 'USDT' },
}
const htxMarket = {
  ...{ symbol: 'btcusdt', 'base-currency': 'btc', 'quote-currency': 'usdt', state: 'online' },
  ...{ 'price-precision': 2, 'amount-precision': 6, 'value-precision': 8, 'symbol-partition': 'main' },
}
const poloniexMarket = {
  ...{ symbol: 'BTC_USDT', baseCurrencyName: 'BTC', quoteCurrencyName: 'USDT', state: 'NORMAL' },
  symbolTradeLimit: { priceScale: 2, quantityScale: 6, amountScale: 2 },
}
const bydfi = {
  id: 'bydfi',
  bounds: { start: 'startTime', end: 'endTime', second: 1_000, daysMax: 7 },
  wrap: (rows: object[]) => ({ code: 200, message: 'success', data: rows, success: true }),
  markets: () => ({
    ...{ code: 200, message: 'success', success: true },
    data: [{ symbol: 'BTC-USDT', baseAsset: 'BTC', marginAsset: 'USDT', quoteAsset: 'USDT', status: 'NORMAL' }],
  }),
}
const lbank = {
  id: 'lbank',
  markets: (path: string) => {
    const data = [{ symbol: 'btc_usdt', quantityAccuracy: '4', minTranQua: '0.0001', priceAccuracy: '2' }]
    return { result: true, data: path.endsWith('/accuracy.do') ? data : [], error_code: 0 }
  },
}
const indodaxMarket = { id: 'btcidr', traded_currency: 'btc', base_currency: 'idr', is_maintenance: 0 }
const seconds = (atMs: number): string => String(atMs / 1_000)

const exchanges: readonly Exchange[] = [
  {
    ...binanceus,
    ...{ list: 'deposits', path: '/capital/deposit/hisrec' },
    toRow: (atMs) => ({ id: `d${atMs}`, amount: '1', coin: 'BTC', status: 1, txId: `0x${atMs}`, insertTime: atMs }),
  },
  {
    ...binanceus,
    ...{ list: 'withdrawals', path: '/capital/withdraw/history' },
    toRow: (atMs) => {
      const applyTime = new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')
      return { id: `w${atMs}`, amount: '1', transactionFee: '0.1', coin: 'BTC', status: 6, applyTime }
    },
  },
  ...['deposits', 'withdrawals'].map((list) => ({
    ...gate,
    ...{ list, path: `/wallet/${list}` },
    toRow: (atMs: number) => {
      return {
        id: `d${atMs}`,
        timestamp: seconds(atMs),
        currency: 'BTC',
        amount: '1',
        txid: `0x${atMs}`,
        status: 'DONE',
      }
    },
  })),
  {
    ...gate,
    ...{ list: 'ledger', path: '/spot/account_book' },
    toRow: (atMs) => ({ id: String(atMs), time: atMs, currency: 'BTC', change: '1', balance: '1', type: 'interest' }),
  },
  {
    id: 'kucoin',
    ...{ list: 'ledger', path: '/accounts/ledgers' },
    bounds: { start: 'startAt', end: 'endAt', second: 1_000, daysMax: 1, keptDays: 365 },
    wrap: (rows) => ({ code: '200000', data: { items: rows } }),
    markets: (path) => ({ code: '200000', data: path.endsWith('/symbols') ? [kucoinMarket] : [] }),
    toRow: (atMs) => {
      return { id: String(atMs), currency: 'BTC', amount: '1', fee: '0', balance: '1', bizType: 'x', createdAt: atMs }
    },
  },
  {
    id: 'htx',
    ...{ list: 'ledger', path: '/account/ledger' },
    bounds: { start: 'startTime', end: 'endTime', second: 1_000, daysMax: 10, keptDays: 180 },
    wrap: (rows) => ({ code: 200, data: rows }),
    markets: (path) => {
      const data = path.endsWith('/accounts') ? [{ id: 1, type: 'spot' }] : [htxMarket]
      return { status: 'ok', code: 200, data }
    },
    toRow: (atMs) => {
      return {
        accountId: 1,
        currency: 'btc',
        transactAmt: '1',
        transactType: 'rebate',
        transactId: atMs,
        transactTime: atMs,
      }
    },
  },
  {
    id: 'poloniex',
    ...{ list: 'trades', path: '/trades' },
    bounds: { start: 'startTime', end: 'endTime', second: 1_000, daysMax: 7 },
    wrap: (rows) => rows,
    markets: (path) => (path.endsWith('/markets') ? [poloniexMarket] : { code: 200, data: [] }),
    toRow: (atMs) => ({
      ...{ id: String(atMs), symbol: 'BTC_USDT', orderId: '1', side: 'BUY', matchRole: 'TAKER', createTime: atMs },
      ...{ price: '50000', quantity: '1', amount: '50000', feeCurrency: 'USDT', feeAmount: '1' },
    }),
  },
  {
    id: 'p2b',
    ...{ list: 'trades', path: '/market_deal_history', partition: 'BTC/USDT' },
    bounds: { start: 'startTime', end: 'endTime', second: 1, daysMax: 1, keptDays: 90 },
    wrap: (deals) => ({ success: true, errorCode: '', message: '', result: { total: deals.length, deals } }),
    markets: () => ({ success: true, result: [{ name: 'BTC_USDT', stock: 'BTC', money: 'USDT' }] }),
    toRow: (atMs) => ({
      ...{ deal_id: atMs, deal_time: atMs / 1_000, deal_order_id: 1, side: 'sell', role: 'taker' },
      ...{ price: '50000', amount: '1', deal: '50000', deal_fee: '1' },
    }),
  },
  {
    ...lbank,
    ...{ list: 'trades', path: '/transaction_history.do', partition: 'BTC/USDT' },
    bounds: { start: 'start_date', end: 'end_date', second: 'dates', daysMax: 2, keptDays: 90 },
    wrap: (data) => ({ result: true, data, error_code: 0 }),
    toRow: (atMs) => ({
      ...{ txUuid: String(atMs), orderUuid: '1', tradeType: 'sell_market', dealTime: atMs },
      ...{ dealQuantity: 1, dealPrice: 50_000, dealVolumePrice: 50_000, tradeFee: 1 },
    }),
  },
  {
    ...lbank,
    ...{ list: 'deposits', path: '/deposit_history.do' },
    bounds: { start: 'startTime', end: 'endTime', second: 1_000, daysMax: 90 },
    wrap: (depositOrders) => ({ result: true, data: { depositOrders, page_length: 20 }, error_code: 0 }),
    toRow: (atMs) => ({ insertTime: atMs, amount: 1, networkName: 'btc', txId: `x${atMs}`, coin: 'btc', status: '2' }),
  },
  {
    ...bydfi,
    ...{ list: 'trades', path: '/history_trade', bounds: { ...bydfi.bounds, keptDays: 182 } },
    toRow: (atMs) => ({
      ...{ orderId: String(atMs), symbol: 'BTC-USDT', time: String(atMs), side: 'BUY' },
      ...{ dealPrice: '50000', dealVolume: '1', fee: '0' },
    }),
  },
  ...['deposit', 'withdraw'].map((name) => ({
    ...bydfi,
    ...{ list: name === 'deposit' ? 'deposits' : 'withdrawals', path: `/${name}_records`, partition: 'BTC' },
    toRow: (atMs: number) => {
      return { orderId: String(atMs), asset: 'BTC', amount: '1', status: 'SUCCESS', createTime: atMs }
    },
  })),
  {
    id: 'indodax',
    ...{ list: 'transfers', path: '/tapi' },
    bounds: { start: 'start', end: 'end', second: 'dates', daysMax: 7 },
    wrap: (rows) => {
      return { success: 1, return: { withdraw: { idr: rows.slice(1), eth: [] }, deposit: { btc: rows.slice(0, 1) } } }
    },
    markets: () => [indodaxMarket],
    toRow: (atMs) => ({ status: 'success', amount: '1', success_time: seconds(atMs), deposit_id: String(atMs) }),
  },
  {
    id: 'bingx',
    ...{ list: 'trades', path: '/trade/myTrades', partition: 'BTC/USDT' },
    bounds: { start: 'startTime', end: 'endTime', second: 1_000, daysMax: 1, keptDays: 90 },
    wrap: (fills) => ({ code: 0, msg: '', data: { fills } }),
    markets: (path) => {
      const symbols = path.endsWith('/common/symbols')
        ? [{ symbol: 'BTC-USDT', status: 1, tickSize: 1, stepSize: 1 }]
        : []
      return { code: 0, msg: '', data: { symbols } }
    },
    toRow: (atMs) => ({
      ...{ symbol: 'BTC-USDT', id: atMs, orderId: 1, time: atMs, isBuyer: true, isMaker: false },
      ...{ price: '50000', qty: '1', quoteQty: '50000', commission: -1, commissionAsset: 'USDT' },
    }),
  },
  {
    ...bitget,
    ...{ list: 'deposits', path: '/deposit-records' },
    toRow: (atMs) => ({ orderId: String(atMs), coin: 'BTC', size: '1', status: 'success', cTime: String(atMs) }),
  },
]

function toIo({ bounds, toRow, wrap, path, markets }: Exchange): Io {
  const { start, end, second, daysMax } = bounds
  const toMs = (text: string | null): number =>
    second === 'dates' ? Date.parse(text ?? '') : (Number(text) * 1_000) / second
  return {
    fetch: async (input, init) => {
      const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
      if (!pathname.endsWith(path)) return Response.json(markets(pathname))
      const asked = init?.body === undefined ? searchParams : readBody(init.body as string)
      const fromMs = toMs(asked.get(start))
      const toIncludedMs = toMs(asked.get(end)) + (second === 'dates' ? dayMs - 1 : 0)
      assert.ok(fromMs > 0 && toIncludedMs > 0)
      if (toIncludedMs - fromMs > daysMax * dayMs)
        return Response.json({ code: -1127, label: 'INVALID_PARAM_VALUE' }, { status: 400 })
      return Response.json(wrap(times.filter((atMs) => fromMs <= atMs && atMs <= toIncludedMs).map(toRow)))
    },
    ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
  }
}

function readBody(body: string): URLSearchParams {
  return new URLSearchParams(body.startsWith('{') ? (JSON.parse(body) as Record<string, string>) : body)
}

async function walk(
  id: string,
  stream: string,
  io: Io,
  sinceMs = Date.UTC(2009, 0, 1),
  partition = '',
): Promise<number[]> {
  const key = { type: 'api_key' as const, apiKey: 'account-k', secretKey: 's'.repeat(32), passphrase: 'p' }
  const reader = createCcxtConnector(id).open(key, io)
  const window = { unit: 'ms' as const, start: sinceMs, end: nowMs }
  const found = new Set<number>()
  let pageMark: string | null = null
  do {
    const request = { stream, partition, window, pageMark, lastingMark: null, state: {} }
    const page: Page = await reader.fetchPage(request)
    for (const { occurredAtMs, unreadable } of page.records) if (unreadable === undefined) found.add(occurredAtMs)
    pageMark = page.next
  } while (pageMark !== null)
  return [...found].toSorted((a, b) => b - a)
}

describe('a list that is answered for a limited range', () => {
  for (const exchange of exchanges) {
    it(`is read as far back as it goes: ${exchange.list} of ${exchange.id}`, async () => {
      const { id, list, bounds, partition } = exchange
      const sinceMs = bounds.keptDays === undefined ? undefined : nowMs - bounds.keptDays * dayMs
      const kept = times.filter((atMs) => atMs >= (sinceMs ?? 0))
      assert.deepEqual(await walk(id, list, toIo(exchange), sinceMs, partition), kept)
    })
  }
})

describe('a list of which we read less than the exchange may have', () => {
  for (const id of ['bingx', 'lbank', 'p2b']) {
    it(`is not said to be forgotten by the exchange: ${id}`, () => {
      const definition = ccxtDefinitions.find(({ metadata }) => metadata.provider_id === id)
      const trades = definition?.streams.find(({ name }) => name === 'trades')
      assert.match(trades?.providerLimit ?? '', /is asked only for trades of the last 90 days/)
    })
  }
})

describe('an answer with a list for each currency', () => {
  it('shows the currency of its rows, which ccxt leaves out: transfers of indodax', async () => {
    const row = { status: 'success', amount: '2', fee: '1', success_time: seconds(nowMs - dayMs) }
    const io: Io = {
      fetch: async (input) => {
        const { pathname } = new URL(input instanceof Request ? input.url : input)
        const deposit = { btc: [{ ...row, deposit_id: '1' }], idr: [] }
        const withdraw = { idr: [{ ...row, withdraw_id: '2' }] }
        return Response.json(
          pathname.endsWith('/tapi') ? { success: 1, return: { withdraw, deposit } } : [indodaxMarket],
        )
      },
      ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
    }
    const connector = createCcxtConnector('indodax')
    const reader = connector.open({ type: 'api_key', apiKey: 'account-k', secretKey: 's'.repeat(32) }, io)
    const window = { unit: 'ms' as const, start: nowMs - 2 * dayMs, end: nowMs }
    const asked = { stream: 'transfers', partition: '' }
    const { records } = await reader.fetchPage({ ...asked, window, pageMark: null, lastingMark: null, state: {} })
    const drafts = connector.toTransactions(
      records.map((record) => ({ ...record, ...asked })),
      { addresses: new Set(), state: {} },
    )
    const moved = drafts.map(({ type, inputs = [], outputs = [], fees = [] }) => {
      return [type, ...[...inputs, ...outputs, ...fees].map(({ symbol, amount }) => `${amount} ${symbol}`)]
    })
    assert.deepEqual(moved, [
      ['send', '2 IDR', '1 IDR'],
      ['receive', '2 BTC'],
    ])
  })
})

describe('a list whose beginning another endpoint has', () => {
  const atMs = [...times, Date.parse('2019-02-18T00:00:00Z'), Date.parse('2018-06-01')]
  const toRow = (at: number) => ({ currency: 'BTC', status: 'SUCCESS', amount: '1', fee: '0', walletTxId: `x${at}` })
  /** As KuCoin answers: the former list has seconds, and ends where the present one begins. */
  const io: Io = {
    fetch: async (input) => {
      const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
      const start = Number(searchParams.get('startAt'))
      const end = Number(searchParams.get('endAt'))
      const [now, former] = [atMs.slice(0, -1), atMs.slice(-1)]
      const items = pathname.includes('/hist-')
        ? former.filter((at) => at >= start * 1_000).map((at) => ({ ...toRow(at), createAt: at / 1_000 }))
        : now
            .filter((at) => start <= at && at <= end)
            .map((at) => ({ ...toRow(at), id: String(at), createdAt: at, updatedAt: at }))
      const isList = /deposits|withdrawals/.test(pathname)
      return Response.json({
        code: '200000',
        data: isList ? { items } : pathname.endsWith('/symbols') ? [kucoinMarket] : [],
      })
    },
    ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
  }
  for (const list of ['deposits', 'withdrawals']) {
    it(`is read from both: ${list} of kucoin`, async () => {
      assert.deepEqual(await walk('kucoin', list, io), atMs)
    })
  }
})

describe('a list without pages', () => {
  it('is asked for as many rows as it gives: transfers of gemini', async () => {
    const atMs = Array.from({ length: 30 }, (_, index) => nowMs - (index + 1) * dayMs)
    const io: Io = {
      fetch: async (input, init) => {
        const { pathname } = new URL(input instanceof Request ? input.url : input)
        if (!pathname.endsWith('/transfers')) return Response.json(pathname.endsWith('/symbols') ? ['btcusd'] : [])
        const payload = new Headers(init?.headers).get('X-GEMINI-PAYLOAD') ?? ''
        const asked = JSON.parse(Buffer.from(payload, 'base64').toString()) as { limit_transfers?: number }
        const rows = atMs.map((timestampms, eid) => {
          return { type: 'Deposit', status: 'Complete', timestampms, eid, currency: 'BTC', amount: '1' }
        })
        return Response.json(rows.slice(0, asked.limit_transfers ?? 10))
      },
      ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
    }
    assert.deepEqual(await walk('gemini', 'transfers', io), atMs)
  })
})

describe('the lists of a futures wallet', () => {
  for (const id of ['binanceusdm', 'binancecoinm']) {
    it(`have no transfers of the spot wallet, which has a connection of its own: ${id}`, () => {
      const definition = ccxtDefinitions.find(({ metadata }) => metadata.provider_id === id)
      assert.deepEqual(definition?.streams.map(({ name }) => name).toSorted(), ['ledger', 'trades'])
    })
  }
})
