/**
 * The generic connector against a server with Bitvavo's documented answers (docs.bitvavo.com: markets, balance, trades,
 * depositHistory, withdrawalHistory, account/history, and errors). Its pages have two rows, so that the walk shows.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { dayMs, hourMs, type Fault, NoAnswer, SourceError } from '@assay/core'
import type { ConnectorState, Io, Page, RawRecord, AccountReader, StoredRecord } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const secretKey = 'hunter2'.repeat(9)
const pageSize = 2

interface Row {
  timestamp: number
  [member: string]: unknown
}

/** Five fills of three orders; two of them share a millisecond. */
const trades: Row[] = [
  ['t1', 'o1', 'buy', '0.50000000', '40000.10'],
  ['t2', 'o1', 'buy', '0.25000000', '40000.20'],
  ['t3', 'o2', 'sell', '0.1', '45000'],
  ['t4', 'o2', 'sell', '0.000000000000000001', '45000'],
  ['t5', 'o3', 'buy', '1', '123456789012.123456789012345678'],
].map(([id, orderId, side, amount, price], index) => ({
  id,
  orderId,
  timestamp: nowMs - (20 - (index === 3 ? 2 : index)) * dayMs,
  market: 'BTC-EUR',
  side,
  amount,
  price,
  taker: true,
  fee: '0.02',
  feeCurrency: 'EUR',
  settled: true,
}))

// A number with more digits than a float holds, as no exchange promises never to send.
const deposits = `[{"timestamp":${nowMs - 25 * dayMs},"symbol":"BTC","amount":1154.629999999999999999,"txId":"aa","fee":"0","status":"completed"}]`
const withdrawals = JSON.stringify([
  {
    timestamp: nowMs - 3 * dayMs,
    symbol: 'BTC',
    amount: '0.5',
    address: 'bc1q',
    txId: 'bb',
    fee: '0.0001',
    status: 'completed',
  },
  {
    timestamp: nowMs - 2 * dayMs,
    symbol: 'BTC',
    amount: '0.1',
    address: 'bc1q',
    txId: '',
    fee: '0.0001',
    status: 'awaiting_processing',
  },
])
const history = [
  {
    transactionId: 'h1',
    executedAt: '2026-02-20T10:00:00.000Z',
    type: 'staking',
    receivedCurrency: 'ETH',
    receivedAmount: '0.001',
  },
  {
    transactionId: 'h2',
    executedAt: '2026-02-21T10:00:00.000Z',
    type: 'buy',
    receivedCurrency: 'BTC',
    receivedAmount: '0.5',
    sentCurrency: 'EUR',
    sentAmount: '1',
    feesCurrency: 'EUR',
    feesAmount: '0.1',
  },
]

let order: 'newest_first' | 'oldest_first' = 'newest_first'
let marketsFailure: { status: number; body: string } | undefined
let failure: { status: number; body: string; headers?: Record<string, string> } | undefined
const asked: string[] = []

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '', 'http://x')
  asked.push(url.pathname.replace('/v2/', ''))
  if (url.pathname === '/v2/markets') {
    return void response.writeHead(marketsFailure?.status ?? 200).end(marketsFailure?.body ?? JSON.stringify(markets))
  }
  const timestamp = String(request.headers['bitvavo-access-timestamp'])
  const signature = createHmac('sha256', secretKey)
    .update(`${timestamp}GET${request.url ?? ''}`)
    .digest('hex')
  if (request.headers['bitvavo-access-signature'] !== signature) return void response.writeHead(403).end(refusal(309))
  if (failure !== undefined) return void response.writeHead(failure.status, failure.headers).end(failure.body)
  response.end(bodies[url.pathname.replace('/v2/', '')]?.(url.searchParams))
}

const refusal = (errorCode: number, error = 'x'): string => JSON.stringify({ errorCode, error })
const markets = ['BTC-EUR', 'ETH-EUR', 'DOGE-USDC'].map((market) => ({
  market,
  status: 'trading',
  base: market.split('-')[0],
  quote: market.split('-')[1],
  pricePrecision: 5,
  minOrderInBaseAsset: '0.0001',
  minOrderInQuoteAsset: '5',
  orderTypes: ['market', 'limit'],
}))

const bodies: Readonly<Record<string, (query: URLSearchParams) => string>> = {
  balance: () =>
    '[{"symbol":"BTC","available":"1.10","inOrder":"0.000000000000000001"},{"symbol":"ZQNT","available":"7","inOrder":"0"}]',
  trades(query) {
    const [start, end] = [Number(query.get('start')), Number(query.get('end'))]
    const within = trades.filter(
      ({ market, timestamp }) => market === query.get('market') && timestamp >= start && timestamp <= end,
    )
    const sorted = within.toSorted((a, b) =>
      order === 'newest_first' ? b.timestamp - a.timestamp : a.timestamp - b.timestamp,
    )
    return JSON.stringify(sorted.slice(0, pageSize))
  },
  depositHistory: () => deposits,
  withdrawalHistory: () => withdrawals,
  'account/history': () => JSON.stringify({ items: history, currentPage: 1, totalPages: 1, maxItems: 100 }),
}

const server = createServer({ keepAliveTimeout: 0 }, answer)
const connector = createCcxtConnector('bitvavo')
const window = { unit: 'ms' as const, start: nowMs - 90 * dayMs, end: nowMs }

function open(key = secretKey, laterMs = 0): AccountReader {
  const io: Io = {
    fetch: globalThis.fetch,
    now: () => nowMs + laterMs,
    nextNonce: () => '1',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  }
  return connector.open({ type: 'api_key', apiKey: 'k'.repeat(64), secretKey: key }, io)
}

async function walk(stream: string, partition = ''): Promise<{ records: RawRecord[]; last: Page; pages: number }> {
  const reader = open()
  const byKey = new Map<string, RawRecord>()
  let pageMark: string | null = null
  for (let pages = 1; ; pages += 1) {
    const page: Page = await reader.fetchPage({
      stream,
      partition,
      window,
      pageMark,
      lastingMark: null,
      state: {},
    })
    for (const record of page.records) byKey.set(record.key, record)
    pageMark = page.next
    if (pageMark === null) return { records: [...byKey.values()], last: page, pages }
    assert.ok(pages < 50, 'the walk does not end')
  }
}

async function derive(stream: string, partition = '') {
  const { records } = await walk(stream, partition)
  const stored = records.map((record): StoredRecord => ({ ...record, stream, partition }))
  const stories = Map.groupBy(stored, (record) => connector.linkKeys(record)[0])
  return [...stories.values()].flatMap((story) => connector.toTransactions(story, { addresses: new Set(), state: {} }))
}

const legs = (list: readonly { symbol: string; amount: string }[]): string[] =>
  list.map(({ symbol, amount }) => `${amount} ${symbol}`)

describe('the connector over ccxt', () => {
  before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  after(() => void server.close())
  beforeEach(() => {
    failure = undefined
    marketsFailure = undefined
    order = 'newest_first'
    asked.length = 0
  })

  it('balances are exact sums, and an asset that is not identified with certainty stays the exchange’s own', async () => {
    const { balances, state } = await open().fetchBalances({})
    assert.deepEqual(
      balances.map(({ assetId, liquid }) => [assetId, liquid]),
      [
        ['crypto:bitcoin', '1.100000000000000001'],
        ['bitvavo:ZQNT', '7'],
      ],
    )
    assert.deepEqual(state, { connectedAtMs: nowMs, assets: ['BTC', 'ZQNT'] })
  })

  for (const direction of ['newest_first', 'oldest_first'] as const) {
    it(`every trade is found when the exchange tells the ${direction.replace('_', ' ')}, two at a time`, async () => {
      order = direction
      const { records, last } = await walk('trades', 'BTC/EUR')
      assert.deepEqual(records.map(({ key }) => key.split('#')[1]).toSorted(), ['t1', 't2', 't3', 't4', 't5'])
      assert.deepEqual(last.complete, window)
      assert.deepEqual(last.state ?? { assets: ['BTC', 'EUR'] }, { assets: ['BTC', 'EUR'] })
    })
  }

  it('the fills of an order are one transaction, to the last digit', async () => {
    const drafts = await derive('trades', 'BTC/EUR')
    assert.deepEqual(
      drafts
        .toSorted((a, b) => a.occurredAtMs - b.occurredAtMs)
        .map(({ inputs, outputs, fees, providerReference }) => [
          providerReference,
          legs(inputs),
          legs(outputs),
          legs(fees),
        ]),
      [
        ['o1', ['0.75 BTC'], ['30000.1 EUR'], ['0.04 EUR']],
        ['o2', ['4500.000000000000045 EUR'], ['0.100000000000000001 BTC'], ['0.04 EUR']],
        ['o3', ['1 BTC'], ['123456789012.123456789012345678 EUR'], ['0.02 EUR']],
      ],
    )
  })

  it('a record keeps the exchange’s own row, every digit of it', async () => {
    const { records } = await walk('deposits')
    assert.ok(records[0]?.body.endsWith(`"info":${deposits.slice(1, -1)}}`), records[0]?.body)
    const [draft] = await derive('deposits')
    assert.deepEqual(
      [draft?.type, legs(draft?.inputs ?? []), draft?.hash],
      ['receive', ['1154.629999999999999999 BTC'], 'aa'],
    )
  })

  it('a deposit without a time is kept as unreadable, and the others of its page are read', async () => {
    const deposit = { id: 1, order_id: 'D1', currency_code: 'JPY', amount: 10_000, status: 'COMPLETED' }
    const dated = { ...deposit, id: 2, order_id: 'D2', event_date: '2026-02-20T10:00:00.000' }
    const io: Io = {
      fetch: async (input) => {
        const { pathname } = new URL(input instanceof Request ? input.url : input)
        const market = { product_code: 'BTC_JPY', market_type: 'Spot' }
        return Response.json(pathname.endsWith('/getcoinins') ? [deposit, dated] : [market])
      },
      ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
    }
    const reader = createCcxtConnector('bitflyer').open({ type: 'api_key', apiKey: 'k', secretKey }, io)
    const request = { stream: 'deposits', partition: '', window, pageMark: null, lastingMark: null, state: {} }
    const { records } = await reader.fetchPage(request)
    assert.deepEqual(
      records.map(({ unreadable, body }) => [unreadable, body.includes('"D1"')]).toSorted(),
      [
        [undefined, false],
        [': timestamp: missing', true],
      ].toSorted(),
    )
  })

  it('markets that the exchange calls unknown are an unreadable answer, and no symbol is given up', async () => {
    const io: Io = {
      fetch: async () => new Response(refusal(203, 'symbol parameter is required.'), { status: 400 }),
      ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: 'http://unknown.test' },
    }
    const reader = connector.open({ type: 'api_key', apiKey: 'k', secretKey }, io)
    const request = { stream: 'trades', partition: 'BTC/EUR', window, pageMark: null, lastingMark: null, state: {} }
    await assert.rejects(
      reader.fetchPage(request),
      (error) => error instanceof SourceError && error.fault === 'unreadable_answer',
    )
  })

  it('a withdrawal has its fee beside it; a pending one is read again', async () => {
    const { records } = await walk('withdrawals')
    assert.deepEqual(records.map(({ pending }) => pending ?? false).toSorted(), [false, true])
    const drafts = await derive('withdrawals')
    assert.deepEqual(
      drafts.map(({ status, outputs, fees, toAddress }) => [status, legs(outputs), legs(fees), toAddress]),
      [
        ['confirmed', ['0.5 BTC'], ['0.0001 BTC'], 'bc1q'],
        ['pending', ['0.1 BTC'], ['0.0001 BTC'], 'bc1q'],
      ],
    )
  })

  describe('a transfer without an id', () => {
    const keysOf = async (stream: string, rows: readonly object[]): Promise<string[]> => {
      failure = { status: 200, body: JSON.stringify(rows) }
      return (await walk(stream)).records.map(({ key }) => key).toSorted()
    }
    const transfer = { timestamp: nowMs - dayMs, symbol: 'BTC', amount: '0.5', fee: '0' }

    it('that is a withdrawal keeps its key when it is sent and gets a hash', async () => {
      const waiting = [0, 1].map((index) => {
        return { ...transfer, timestamp: transfer.timestamp + index, address: 'bc1q', status: 'awaiting_processing' }
      })
      const sent = waiting.map((row, index) => ({ ...row, status: 'completed', txId: `tx${index}` }))
      const keys = await keysOf('withdrawals', waiting)
      assert.equal(keys.length, 2)
      assert.deepEqual(await keysOf('withdrawals', sent), keys)
    })

    it('is not lost beside an equal one, in one transaction or in two, of one moment or of two', async () => {
      const toRow = (txId: string, laterMs: number): object => {
        return { ...transfer, timestamp: transfer.timestamp + laterMs, txId, status: 'completed' }
      }
      const rows = [toRow('tx1', 0), toRow('tx1', 0), toRow('tx1', 1_000), toRow('tx2', 0)]
      const keys = await keysOf('deposits', rows)
      assert.equal(new Set(keys).size, 4)
      assert.deepEqual(await keysOf('deposits', rows), keys)
      assert.equal((await keysOf('withdrawals', [toRow('tx1', 0), toRow('tx2', 0)])).length, 2)
    })
  })

  it('the ledger adds what no other list has, and counts no trade twice', async () => {
    const drafts = await derive('ledger')
    assert.equal((await walk('ledger')).records.length, 2)
    assert.deepEqual(
      drafts.map(({ type, category, inputs }) => [type, category, legs(inputs)]),
      [['input_only', 'staking_reward', ['0.001 ETH']]],
    )
  })

  it('symbols are those of assets that were seen, and a delisted one affects no other', async () => {
    const reader = open()
    const state: ConnectorState = { assets: ['BTC', 'EUR'], connectedAtMs: nowMs - 30 * dayMs }
    const partitions = (await reader.listPartitions?.(state)) ?? []
    assert.ok(partitions.some(({ partition }) => partition === 'BTC/EUR'))
    assert.ok(!partitions.some(({ partition }) => partition === 'DOGE/USDC'))
    const request = { stream: 'trades', window, pageMark: null, lastingMark: null, state }
    assert.deepEqual(await reader.fetchPage({ ...request, partition: 'LUNA/EUR' }), {
      records: [],
      next: null,
      isGone: true,
      state: { ...state, lost: { 'LUNA/EUR': { refusals: 1, atMs: nowMs } } },
    })
  })

  for (const [name, hours, given] of [
    ['without any market', 2, { status: 200, body: '[]' }],
    ['that is refused', 4, { status: 401, body: refusal(305, 'No active API key found.') }],
  ] as const) {
    it(`a list of markets ${name} concerns neither a key nor a symbol, and is asked for again`, async () => {
      marketsFailure = given
      // The list is kept for an hour.
      const reader = open(secretKey, hours * hourMs)
      const request = { stream: 'trades', window, pageMark: null, lastingMark: null, state: {} }
      await assert.rejects(reader.fetchPage({ ...request, partition: 'BTC/EUR' }), { fault: 'unreadable_answer' })
      marketsFailure = undefined
      assert.equal((await reader.fetchPage({ ...request, partition: 'BTC/EUR' })).records.length, pageSize)
    })
  }

  const faults: [string, NonNullable<typeof failure>, Fault][] = [
    ['an unknown key', { status: 403, body: refusal(305, 'No active API key found.') }, 'invalid_credentials'],
    [
      'a right that is missing',
      { status: 403, body: refusal(311, 'This key does not allow showing account information.') },
      'missing_permission',
    ],
    [
      'a refusal that ccxt does not know',
      { status: 400, body: refusal(9999, "API key doesn't exist") },
      'invalid_credentials',
    ],
    [
      'a missing right that ccxt does not know',
      { status: 400, body: refusal(9998, "This API key doesn't have permission to use this function") },
      'missing_permission',
    ],
    [
      'another address',
      { status: 403, body: refusal(307, 'This key does not allow access from this IP.') },
      'ip_not_allowed',
    ],
    ['too many calls', { status: 429, body: refusal(110, 'x'), headers: { 'retry-after': '7' } }, 'rate_limited'],
    [
      'an unknown key that is refused with HTTP 500',
      { status: 500, body: refusal(305, 'No active API key found.') },
      'invalid_credentials',
    ],
    ['HTTP 500 without an explanation', { status: 500, body: '' }, 'venue_down'],
    ['HTTP 500 with a refusal that ccxt does not know', { status: 500, body: refusal(9999) }, 'unreadable_answer'],
    ['an account that is frozen', { status: 200, body: refusal(9999, 'Account frozen') }, 'unreadable_answer'],
    ['the same with HTTP 403', { status: 403, body: refusal(9999, 'Account frozen') }, 'unreadable_answer'],
    ['a gateway’s page with HTTP 403', { status: 403, body: '<html>' }, 'venue_down'],
    [
      'a gateway’s page with HTTP 401',
      { status: 401, body: '<html>\r\n<head><title>401 Authorization Required</title></head>\r\n' },
      'venue_down',
    ],
    ['a refusal without a word', { status: 401, body: '' }, 'invalid_credentials'],
    ['HTTP 511, which a gateway writes', { status: 511, body: '' }, 'venue_down'],
    ['an error of its server', { status: 503, body: '' }, 'venue_down'],
    ['a page for browsers', { status: 200, body: '<html>' }, 'venue_down'],
    ['a refusal in plain text', { status: 401, body: 'Unauthorized' }, 'invalid_credentials'],
    ['half of a refusal', { status: 401, body: refusal(304, 'Request timed out').slice(0, 20) }, 'unreadable_answer'],
    ['half of the JSON', { status: 200, body: '[{"symbol":"BT' }, 'unreadable_answer'],
  ]
  for (const [name, given, expected] of faults) {
    it(`${name} is ${expected}`, async () => {
      failure = given
      await assert.rejects(open().fetchBalances({}), (error) => {
        assert.ok(error instanceof SourceError, String(error))
        assert.deepEqual([error.fault, error.retryAfterMs], [expected, expected === 'rate_limited' ? 7_000 : undefined])
        assert.equal(error instanceof NoAnswer, expected === 'venue_down')
        assert.doesNotMatch(error.message, /hunter2|kkkk/)
        return true
      })
    })
  }

  it('an account of which ccxt names assets without amounts is not one without balances', async () => {
    const io: Io = {
      fetch: async () => Response.json({ status: 'maintenance' }),
      ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: 'http://bit2c.test' },
    }
    const reader = createCcxtConnector('bit2c').open({ type: 'api_key', apiKey: 'k', secretKey }, io)
    await assert.rejects(reader.fetchBalances({}), { fault: 'unreadable_answer' })
  })

  it('an exchange that says it is away has answered', async () => {
    failure = { status: 404, body: '{}' }
    await assert.rejects(open().fetchBalances({}), (error) => {
      return error instanceof SourceError && error.fault === 'venue_down' && !(error instanceof NoAnswer)
    })
  })

  for (const body of [
    '{"message":"Service temporarily unavailable, please try again later"}',
    '{"error":"internal error","status":"error"}',
    '{"error":{"code":503,"message":"try again"}}',
    '{"message":"upstream failed","data":null}',
    '{"message":"upstream failed","errors":[]}',
    '{"Message":"Internal server error"}',
    '{"status":"error"}',
    '{"message":"Account not found"}',
    '{"msg":"request unsuccessful"}',
    '{"message":"The request was not successful, try again"}',
    '{"success":false,"code":503,"message":"Service temporarily unavailable","data":[]}',
  ]) {
    it(`${body} under HTTP 200 is neither an empty list nor an account without balances`, async () => {
      failure = { status: 200, body }
      const request = { stream: 'trades', partition: 'BTC/EUR', window, pageMark: null, lastingMark: null, state: {} }
      await assert.rejects(open().fetchPage(request), { fault: 'unreadable_answer' })
      await assert.rejects(open().fetchBalances({}), { fault: 'unreadable_answer' })
    })
  }

  for (const body of [
    '[]',
    '{"message":"success","data":null}',
    '{"code":0,"msg":"ok"}',
    '{"msg":"No data"}',
    '{"msg":"succ","data":null}',
    '{"message":"Records not found"}',
    '{"error":[]}',
  ]) {
    it(`${body} is an empty list`, async () => {
      failure = { status: 200, body }
      const request = { stream: 'trades', partition: 'BTC/EUR', window, pageMark: null, lastingMark: null, state: {} }
      assert.deepEqual((await open().fetchPage(request)).records, [])
    })
  }

  it('a status that ccxt does not know moves nothing', async () => {
    const drafts = connector.toTransactions(
      ['fail', 'processing', '10011', 'ok'].map((status, index): StoredRecord => {
        const ccxt = { id: String(index), timestamp: nowMs, currency: 'BTC', amount: '1', status }
        return {
          stream: 'deposits',
          partition: '',
          key: String(index),
          occurredAtMs: nowMs,
          body: JSON.stringify({ ccxt }),
        }
      }),
      { addresses: new Set(), state: {} },
    )
    assert.deepEqual(
      drafts.map(({ status }) => status),
      ['failed', 'pending', 'pending', 'confirmed'],
    )
  })

  it('a rebate is in the list of trades as a fee below zero, and is not counted again from the ledger', () => {
    const record = (stream: string, ccxt: object): StoredRecord => {
      return { stream, partition: '', key: '1', occurredAtMs: nowMs, body: JSON.stringify({ ccxt }) }
    }
    const derived = (one: StoredRecord) => connector.toTransactions([one], { addresses: new Set(), state: {} })
    const told = { id: '1', timestamp: nowMs, type: 'rebate', direction: 'in', currency: 'EUR', amount: '0.012' }
    assert.deepEqual(derived(record('ledger', told)), [])
    const sold = {
      symbol: 'BTC/EUR',
      side: 'sell',
      amount: '1',
      price: '100',
      fee: { currency: 'EUR', cost: '-0.012' },
    }
    const [draft] = derived(record('trades', { id: '1', timestamp: nowMs, ...sold }))
    assert.deepEqual([legs(draft?.inputs ?? []), draft?.fees], [['100.012 EUR'], []])
  })

  for (const [told, own] of Object.entries({
    'a word': { ownType: 'CURRENCY_SELL' },
    'a sentence that ccxt mistakes for a trade': {
      ownText: 'Conversion of 100.0 UST to 99.0911 UDC on wallet exchange',
    },
  })) {
    it(`both sides of a conversion that a ledger links by ${told} are one transaction`, () => {
      const body = (id: string, amount: string, currency: string): string =>
        JSON.stringify({ ccxt: { id, timestamp: nowMs, type: 'trade', ...own, currency, amount } })
      const records = [body('1', '-100', 'USDT'), body('2', '99.0911', 'USDC')].map((text, index): StoredRecord => ({
        stream: 'ledger',
        partition: '',
        key: String(index),
        occurredAtMs: nowMs,
        body: text,
      }))
      assert.equal(new Set(records.map((record) => connector.linkKeys(record)[0])).size, 1)
      const [draft] = connector.toTransactions(records, { addresses: new Set(), state: {} })
      assert.deepEqual(
        [draft?.category, legs(draft?.inputs ?? []), legs(draft?.outputs ?? [])],
        ['convert', ['99.0911 USDC'], ['100 USDT']],
      )
    })
  }

  it('a wrong secret is refused by the signature', async () => {
    await assert.rejects(open('wrong').verify(), (error: SourceError) => error.fault === 'invalid_credentials')
  })

  it('the markets are loaded once for all sessions', async () => {
    await open().fetchBalances({})
    await open().fetchBalances({})
    assert.deepEqual(asked, ['balance', 'balance'])
  })

  // The last ones, because each leaves a list of markets from the future behind.
  it('a symbol that was refused is asked for again after pauses that double, and always once it was answered for', async () => {
    let state: ConnectorState = { assets: ['BTC', 'EUR'], connectedAtMs: nowMs - 30 * dayMs }
    let laterMs = 0
    const isNamed = async (ms: number): Promise<boolean | undefined> =>
      (await open(secretKey, ms).listPartitions?.(state))?.some(({ partition }) => partition === 'BTC/EUR')
    const read = async (): Promise<Page> => {
      const request = { stream: 'trades', partition: 'BTC/EUR', window, pageMark: null, lastingMark: null, state }
      const page = await open(secretKey, laterMs).fetchPage(request)
      state = page.state ?? state
      return page
    }
    failure = { status: 400, body: refusal(203, 'symbol parameter is required.') }
    for (const hours of [1, 2, 4, 8, 16, 32, 64, 128, 256, 336, 336]) {
      assert.equal((await read()).isGone, true)
      assert.equal(await isNamed(laterMs + hours * hourMs - 1), false, `less than ${hours} hours`)
      laterMs += hours * hourMs
      assert.equal(await isNamed(laterMs), true, `${hours} hours`)
    }
    failure = undefined
    assert.equal((await read()).records.length, pageSize)
    assert.deepEqual(state['lost'], {})
    assert.equal(await isNamed(laterMs), true)
    assert.deepEqual((await read()).state, undefined)
  })

  it('a pair that a newer list of markets lacks is neither named nor asked for where each pair has its list', async () => {
    await open().fetchBalances({})
    marketsFailure = { status: 200, body: JSON.stringify(markets.slice(1)) }
    const reader = open(secretKey, 1_000 * dayMs)
    const state: ConnectorState = { assets: ['BTC', 'ETH', 'EUR'], connectedAtMs: nowMs }
    assert.deepEqual(
      (await reader.listPartitions?.(state))?.map(({ partition }) => partition),
      ['ETH/EUR'],
    )
    const request = { stream: 'trades', partition: 'BTC/EUR', window, pageMark: null, lastingMark: null, state }
    assert.equal((await reader.fetchPage(request)).isGone, true)
  })
})
