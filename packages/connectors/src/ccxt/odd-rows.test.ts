/**
 * Rows that ccxt leaves out or fails at: without a time, with a time in another unit, or with a number that it cannot
 * compute with. Bitvavo's `trades` are a list by symbol (docs.bitvavo.com), Hyperliquid's
 * `userNonFundingLedgerUpdates` is one endpoint for several lists (hyperliquid.gitbook.io, "Info endpoint").
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs, hourMs } from '@assay/core'
import { loadExchange } from '../kit/ccxt.ts'
import type { AccountReader, Io, Page } from '../kit/connector.ts'
import type { Row } from './answers.ts'
import { getFacts } from './catalogue/definitions.ts'
import { createCcxtClient } from './client.ts'
import { createCcxtConnector } from './connector.ts'
import { keepOddRows } from './odd-rows.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const window = { unit: 'ms' as const, start: nowMs - 90 * dayMs, end: nowMs }
const atMs = nowMs - 10 * dayMs

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

function fetchPage(reader: AccountReader, stream: string, partition = '', within = window): Promise<Page> {
  return reader.fetchPage({ stream, partition, window: within, pageMark: null, lastingMark: null, state: {} })
}

const market = {
  ...{
    market: 'BTC-EUR',
    status: 'trading',
    base: 'BTC',
    quote: 'EUR',
    pricePrecision: 5,
    minOrderInBaseAsset: '0.0001',
  },
  ...{ minOrderInQuoteAsset: '5', orderTypes: ['market', 'limit'] },
}
const trade = {
  ...{ id: 't1', orderId: 'o1', timestamp: atMs, market: 'BTC-EUR', side: 'buy', amount: '0.01', price: '50000' },
  ...{ taker: true, fee: '0.5', feeCurrency: 'EUR', settled: true },
}

function openBitvavo(lists: Readonly<Record<string, unknown>>): AccountReader {
  const io = toIo((path) => (path.endsWith('/markets') ? [market] : (lists[path.split('/').at(-1) ?? ''] ?? [])))
  return createCcxtConnector('bitvavo').open({ type: 'api_key', apiKey: 'k', secretKey: 's'.repeat(32) }, io)
}

const fetchTrades = (trades: readonly unknown[], within = window): Promise<Page> =>
  fetchPage(openBitvavo({ trades }), 'trades', 'BTC/EUR', within)

function idsOf({ records }: Page, isWanted: 'readable' | 'unreadable'): unknown[] {
  return records
    .filter(({ unreadable }) => (unreadable === undefined) === (isWanted === 'readable'))
    .map(({ body }) => (JSON.parse(body) as { info: { id: unknown } }).info.id)
    .toSorted()
}

const times = {
  'is missing': undefined,
  'is null': null,
  'is 0': 0,
  'is in seconds': atMs / 1_000,
  'is in microseconds': atMs * 1_000,
  'is years ahead': nowMs + 900 * dayMs,
}

describe('a row whose time', () => {
  for (const [what, timestamp] of Object.entries(times)) {
    it(`${what} is kept as unreadable, and the rest of its page is read`, async () => {
      const page = await fetchTrades([trade, { ...trade, id: 't2', timestamp }])
      assert.deepEqual([idsOf(page, 'readable'), idsOf(page, 'unreadable')], [['t1'], ['t2']])
      const odd = page.records.find(({ unreadable }) => unreadable !== undefined)
      assert.equal(odd?.occurredAtMs, window.end - 1)
      assert.match(odd.unreadable ?? '', /time/)
    })

    it(`${what} is one record, whichever window shows it`, async () => {
      const shown = [window, { ...window, start: window.end - hourMs, end: window.end + hourMs }]
      const pages = await Promise.all(shown.map((within) => fetchTrades([{ ...trade, timestamp }], within)))
      const keys = pages.map(({ records }) => records.map(({ key, body, unreadable }) => [key, body, unreadable]))
      assert.equal(keys[0]?.length, 1)
      assert.deepEqual(keys[0], keys[1])
    })
  }

  it('is not known does not let its window tell that a known record is gone', async () => {
    const reader = openBitvavo({ trades: [{ ...trade, timestamp: null }] })
    const page = await fetchPage(reader, 'trades', 'BTC/EUR')
    assert.deepEqual([page.next, page.complete, page.records.length], [null, undefined, 1])
  })

  it('lies before or after the window is left to the window that it belongs to', async () => {
    const outside = [window.start - 1, window.end, window.end + hourMs]
    const page = await fetchTrades(outside.map((timestamp, index) => ({ ...trade, id: `t${index}`, timestamp })))
    assert.deepEqual(page.records, [])
  })

  it('is at the edge of the window is read', async () => {
    const inside = [window.start, window.end - 1]
    const page = await fetchTrades(inside.map((timestamp, index) => ({ ...trade, id: `t${index}`, timestamp })))
    assert.deepEqual(idsOf(page, 'readable'), ['t0', 't1'])
  })
})

describe('a row without a time', () => {
  it('of another market does not count', async () => {
    const page = await fetchTrades([trade, { ...trade, id: 't2', market: 'ETH-EUR', timestamp: null }])
    assert.deepEqual([idsOf(page, 'readable'), idsOf(page, 'unreadable')], [['t1'], []])
  })

  it('is not made of an error', async () => {
    const reader = openBitvavo({ trades: { error: { code: 1, message: 'try again later' } } })
    await assert.rejects(fetchPage(reader, 'trades', 'BTC/EUR'), { fault: 'unreadable_answer' })
  })

  it('is not made of the members of an answer without a list', async () => {
    const reader = openBitvavo({ trades: { paging: { total: 0 }, links: {} } })
    const { records } = await fetchPage(reader, 'trades', 'BTC/EUR')
    assert.deepEqual(records, [])
  })
})

describe('a row without a time where one endpoint has several lists', () => {
  const meta = [
    {
      tokens: ['USDC', 'PURR'].map((name, index) => {
        return { name, szDecimals: 8, weiDecimals: 8, index, tokenId: `0x${index}` }
      }),
      universe: [{ name: 'PURR/USDC', tokens: [1, 0], index: 0, isCanonical: true }],
    },
    [{ dayNtlVlm: '1', markPx: '0.1', midPx: '0.1', prevDayPx: '0.1' }],
  ]
  const rows = [
    { time: atMs, hash: '0x1', delta: { type: 'deposit', usdc: '1.0' } },
    { hash: '0x2', delta: { type: 'withdraw', usdc: '1.0', nonce: 1, fee: '0.1' } },
    { hash: '0x3', delta: { type: 'accountClassTransfer', usdc: '1.0', toPerp: true } },
  ]
  const io = toIo((_, body) => (body.includes('userNonFundingLedgerUpdates') ? rows : meta))
  const facts = getFacts('hyperliquid')
  const client = createCcxtClient(facts, { walletAddress: `0x${'1'.repeat(40)}` }, io)

  for (const [call, expected] of [
    ['fetchDeposits', '0x1'],
    ['fetchWithdrawals', '0x2'],
  ] as const) {
    it(`counts only for its own list (${call})`, async () => {
      const { rows: read } = await client.list(call, undefined, window.start, undefined, {})
      const hashes = read.map(({ info }) => (info as { hash: string }).hash)
      assert.deepEqual(hashes, [expected])
    })
  }
})

describe('a row with a number that ccxt cannot compute with', () => {
  for (const amount of ['NaN', '0,01', 'Infinity', '1e100000']) {
    it(`is kept as unreadable, and the rest of its page is read: ${amount}`, async () => {
      const page = await fetchTrades([trade, { ...trade, id: 't2', amount }])
      assert.deepEqual([idsOf(page, 'readable'), idsOf(page, 'unreadable')], [['t1'], ['t2']])
    })
  }

  it('is kept where deposits and withdrawals are one list', async () => {
    const currency = { symbol: 'eth', decimals: 18 }
    const row = { id: 1, timestamp: atMs, amount: '1', type: 'deposit', status: 'success', currency }
    const odd = { ...row, id: 2, amount: 'NaN', type: 'withdraw' }
    const io = toIo((path) =>
      path.endsWith('/transactionsOfUser')
        ? { ok: true, result: { transactions: [row, odd] } }
        : { ok: true, result: { pairs: [{ name: 'eth_usdt', active: true, settings: {} }] } },
    )
    const key = { type: 'api_key' as const, apiKey: 'k', secretKey: 's'.repeat(32) }
    const page = await fetchPage(createCcxtConnector('bitteam').open(key, io), 'transfers')
    assert.deepEqual([idsOf(page, 'readable'), idsOf(page, 'unreadable')], [[1], [2]])
  })

  it('fails its page where ccxt leaves it out, because it may belong to the list', async () => {
    const exchange = new (await loadExchange('bitvavo'))({ number: String })
    const unparsed = keepOddRows(exchange)
    const own = { ...trade, amount: 'NaN' }
    const row = exchange.parseTrade(own) as unknown as Row
    assert.equal(row['info'], own)
    unparsed.assertIn([row])
    assert.throws(() => unparsed.assertIn([]), SyntaxError)
    unparsed.clear()
    unparsed.assertIn([])
  })
})

describe('a transfer without an id', () => {
  const deposit = { timestamp: atMs, symbol: 'BTC', amount: '0.1', txId: 'aa', fee: '0', status: 'completed' }

  it('is one record, however many zeros its amount ends with', async () => {
    const pages = await Promise.all(
      ['0.1', '0.10000000', '1e-1'].map((amount) =>
        fetchPage(openBitvavo({ depositHistory: [{ ...deposit, amount }] }), 'deposits'),
      ),
    )
    assert.equal(new Set(pages.map(({ records }) => records[0]?.key)).size, 1)
  })
})

describe('a list of both deposits and withdrawals', () => {
  const types = { Deposit: 'deposit', Withdrawal: 'withdrawal', AdminCredit: 'deposit', AdminDebit: undefined }
  for (const [type, category] of Object.entries(types)) {
    it(`has ${category === undefined ? 'an unreadable row' : `a ${category}`} for the type ${type}`, async () => {
      const row = { type, status: 'Complete', timestampms: atMs, eid: 7, currency: 'BTC', amount: '0.5' }
      const io = toIo((path) => (path.endsWith('/transfers') ? [row] : path.endsWith('/symbols') ? ['btcusd'] : []))
      const key = { type: 'api_key' as const, apiKey: 'account-k', secretKey: 's'.repeat(32) }
      const connector = createCcxtConnector('gemini')
      const { records } = await fetchPage(connector.open(key, io), 'transfers')
      const [record] = records
      assert.ok(record !== undefined)
      if (category === undefined) return assert.match(record.unreadable ?? '', /^type: /)
      const stored = { ...record, stream: 'transfers', partition: '' }
      const facts = { addresses: new Set<string>(), state: {} }
      assert.deepEqual(
        connector.toTransactions([stored], facts).map((draft) => draft.category),
        [category],
      )
    })
  }
})

describe('a transfer', () => {
  const key = { type: 'api_key' as const, apiKey: 'k', secretKey: 's'.repeat(32) }
  const symbols = {
    ETHUSDT: {
      ...{ type: 'spot', base_currency: 'ETH', quote_currency: 'USDT', status: 'working', quantity_increment: '0.1' },
      ...{ tick_size: '0.1', take_rate: '0.1', make_rate: '0.1', fee_currency: 'USDT' },
    },
  }
  const sent = {
    ...{ id: 1, created_at: new Date(atMs).toISOString(), status: 'PENDING', type: 'WITHDRAW', subtype: 'BLOCKCHAIN' },
    native: { tx_id: 'a', index: 1, currency: 'ETH', amount: '1', fee: '0', address: 'x', hash: null },
  }
  const fetchSent = (row: object): Promise<Page> => {
    const io = toIo((path) => (path.includes('/transactions') ? [row] : path.includes('/symbol') ? symbols : {}))
    return fetchPage(createCcxtConnector('hitbtc').open(key, io), 'withdrawals')
  }
  const toLines = ({ records }: Page): unknown[] => records.map(({ pending, unreadable }) => unreadable ?? pending)

  it('is read by its own time, whatever the time of its last change is', async () => {
    for (const updated_at of [new Date(atMs).toISOString(), '0001-01-01T00:00:00.000Z', null]) {
      assert.deepEqual(toLines(await fetchSent({ ...sent, updated_at })), [true])
    }
  })

  it('without a time is left out until it is finished', async () => {
    for (const status of ['PENDING', 'FAILED']) {
      assert.deepEqual(toLines(await fetchSent({ ...sent, status, created_at: null })), [])
    }
    assert.equal(toLines(await fetchSent({ ...sent, status: 'SUCCESS', created_at: null })).length, 1)
    assert.equal(toLines(await fetchSent({ ...sent, status: 'COMPLETED', created_at: null })).length, 1)
  })

  it('has the time of its last change where it has no other', async () => {
    const updated_at = new Date(atMs).toISOString()
    assert.deepEqual(toLines(await fetchSent({ ...sent, created_at: null, updated_at })), [true])
  })

  it('has the network that the exchange names where ccxt does not know it', async () => {
    const exchange = new (await loadExchange('htx'))({ number: String })
    assert.throws(() => exchange.networkIdToCode('usdterc20', 'USDT'), TypeError)
    keepOddRows(exchange)
    assert.equal(exchange.networkIdToCode('usdterc20', 'USDT'), 'usdterc20')
  })
})
