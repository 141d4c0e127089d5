/**
 * An exchange whose accounts are of several kinds, which keep their wallet and their trades in different places. KuCoin's
 * spot account is `trade`, or a high-frequency one, `trade_hf` (docs.kucoin.com/spot-hf), or a unified one
 * (www.kucoin.com/docs-new/rest/ua, "Get Account Mode", "Get Account (UTA)", "Get Trade History").
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs } from '@assay/core'
import type { AccountReader, ConnectorState, Io, Page, StoredRecord } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const window = { unit: 'ms' as const, start: nowMs - 1_000 * dayMs, end: nowMs }
const connector = createCcxtConnector('kucoin')

type Kind = 'classic' | 'high frequency' | 'unified'

const market = {
  ...{ symbol: 'BTC-USDT', baseCurrency: 'BTC', quoteCurrency: 'USDT', market: 'USDS', enableTrading: true },
  ...{ baseIncrement: '0.001', quoteIncrement: '0.1', priceIncrement: '0.1', feeCurrency: 'USDT' },
}
const contract = {
  ...{ symbol: 'XBTUSDTM', rootSymbol: 'USDT', type: 'FFWCSX', baseCurrency: 'XBT', quoteCurrency: 'USDT' },
  ...{ settleCurrency: 'USDT', lotSize: 1, tickSize: 0.1, multiplier: 0.001, status: 'Open', isInverse: false },
}
const trade = { symbol: 'BTC-USDT', price: '50000', size: '0.1', fee: '5', feeCurrency: 'USDT' }
const toFill = (id: string, createdAt: number) => {
  return { ...trade, id, tradeId: id, orderId: `o${id}`, side: 'buy', liquidity: 'taker', funds: '5000', createdAt }
}
/** Trades that were made before the account was moved, and since. */
const [former, moved] = [toFill('1', nowMs - 900 * dayMs), toFill('2', nowMs - 30 * dayMs)]
const execution = {
  ...{ ...trade, tradeId: '3', orderId: 'o3', side: 'BUY', orderType: 'MARKET', liquidityRole: 'TAKER', value: '5000' },
  executionTime: (nowMs - 20 * dayMs) * 1_000_000,
}

function toBalance(currency: string, balance: string): object {
  return { currency, equity: balance, balance, hold: '0', available: balance, liability: '0' }
}

/** What `api/v1/accounts` has for an account, by type. The wallet for deposits is `main` for all kinds. */
const held: Record<Kind, Record<string, string>> = {
  classic: { main: '1', trade: '2' },
  'high frequency': { main: '1', trade_hf: '4' },
  unified: {},
}

function answer(kind: Kind, path: string, query: URLSearchParams, former: readonly object[]): unknown {
  const type = query.get('type')
  switch (path) {
    case '/api/v2/symbols':
      return [market]
    case '/api/ua/v1/account/mode':
      return { selfAccountMode: kind === 'unified' ? 'UNIFIED' : 'CLASSIC' }
    case '/api/v1/accounts':
      return Object.entries(held[kind])
        .filter(([name]) => type === null || type === name)
        .flatMap(([type, balance]) => [
          { id: type, currency: 'BTC', type, balance, available: balance, holds: '0' },
          { id: `${type}-usdt`, currency: 'USDT', type, balance: '10', available: '10', holds: '0' },
        ])
    case '/api/ua/v1/account/balance':
      return { accounts: query.get('accountType') === 'FUNDING' ? [{ currencies: [toBalance('BTC', '1')] }] : [] }
    case '/api/ua/v1/unified/account/balance':
      return { accounts: [{ currencies: [toBalance('BTC', '8'), toBalance('USDT', '10')] }] }
    case '/api/v1/account-overview':
      return { currency: 'USDT', accountEquity: '16', availableBalance: '16' }
    case '/api/v1/contracts/active':
      return [contract]
    case '/api/v1/fills':
      return { items: inRange(query, former) }
    case '/api/v1/hf/fills':
      assert.equal(query.get('symbol'), 'BTC-USDT')
      return { items: kind === 'high frequency' ? inRange(query, [moved]) : [] }
    case '/api/ua/v1/unified/order/execution':
      assert.equal(query.get('symbol'), 'BTC-USDT')
      return { items: inRange(query, [{ ...execution, createdAt: nowMs - 20 * dayMs }]) }
    default:
      return {}
  }
}

/** At most seven days, from the start on. */
function inRange(query: URLSearchParams, rows: readonly object[]): object[] {
  const start = Number(query.get('startAt'))
  const end = Math.min(Number(query.get('endAt')), start + 7 * dayMs)
  return (rows as { createdAt: number }[]).filter(({ createdAt }) => createdAt >= start && createdAt <= end)
}

function open(kind: Kind, fills: readonly object[] = [former], through = connector): AccountReader {
  const io: Io = {
    fetch: async (input) => {
      const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
      return Response.json({ code: '200000', data: answer(kind, pathname, searchParams, fills) })
    },
    ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
  }
  return through.open({ type: 'api_key', apiKey: 'account-k', secretKey: 's'.repeat(32), passphrase: 'p' }, io)
}

async function readTrades(reader: AccountReader): Promise<StoredRecord[]> {
  const { state = {} }: { state?: ConnectorState } = await reader.fetchBalances({})
  const lists = (await reader.listPartitions?.(state, [])) ?? []
  const found = new Map<string, StoredRecord>()
  for (const { stream, partition } of lists.filter((list) => list.stream === 'trades')) {
    let pageMark: string | null = null
    do {
      const page: Page = await reader.fetchPage({ stream, partition, window, pageMark, lastingMark: null, state })
      for (const record of page.records) found.set(`${partition} ${record.key}`, { ...record, stream, partition })
      pageMark = page.next
    } while (pageMark !== null)
  }
  return [...found.values()]
}

/** The orders, and how much each has bought. */
function derive(records: readonly StoredRecord[]): [string | null, string][] {
  const orders = Map.groupBy(records, (record) => connector.linkKeys(record)[0])
  return [...orders.values()]
    .flatMap((of) => connector.toTransactions(of, { addresses: new Set(), state: {} }))
    .map(({ providerReference = null, inputs }) => [
      providerReference,
      inputs.map(({ amount }) => String(amount)).join(),
    ])
}

describe('the holdings of an account', () => {
  for (const [kind, bitcoin, tether] of [
    ['classic', '3', '20'],
    ['high frequency', '5', '20'],
    ['unified', '9', '10'],
  ] as const) {
    it(`are those of its spot wallet and of its main one: ${kind}`, async () => {
      const { balances } = await open(kind).fetchBalances({})
      assert.deepEqual(
        balances.map(({ symbol, liquid }) => [symbol, String(liquid)]),
        [
          ['BTC', bitcoin],
          ['USDT', tether],
        ],
      )
    })
  }
})

describe('the trades of an account', () => {
  for (const [kind, orders] of [
    ['classic', ['o1']],
    ['high frequency', ['o1', 'o2']],
    ['unified', ['o1', 'o3']],
  ] as const) {
    it(`are read from all places that have some: ${kind}`, async () => {
      const trades = derive(await readTrades(open(kind)))
      assert.deepEqual(trades.map(([order]) => order).toSorted(), orders)
    })
  }

  it('count once if two places have them', async () => {
    const records = await readTrades(open('high frequency', [former, moved]))
    assert.equal(records.length, 3)
    const trades = derive(records)
    assert.deepEqual(trades.toSorted(), [
      ['o1', '0.1'],
      ['o2', '0.1'],
    ])
    assert.deepEqual(derive(records.toReversed()).toSorted(), trades.toSorted())
  })
})

describe('the futures wallet of an account', () => {
  const futures = createCcxtConnector('kucoinfutures')
  const openFutures = (kind: Kind): AccountReader => open(kind, [], futures)

  it('is read for an account that has one', async () => {
    const reader = openFutures('classic')
    await reader.verify()
    const { balances } = await reader.fetchBalances({})
    assert.deepEqual(
      balances.map(({ symbol, liquid }) => [symbol, String(liquid)]),
      [['USDT', '16']],
    )
  })

  it('is not connected for a unified account, whose wallet the connection to KuCoin reads', async () => {
    const refused = { fault: 'invalid_credentials', reason: 'unified_account' }
    await assert.rejects(openFutures('unified').verify(), refused)
  })

  it('is empty when the account has become a unified one, and has none of its trades', async () => {
    const reader = openFutures('unified')
    const { balances, state = {} } = await reader.fetchBalances({})
    assert.deepEqual(balances, [])
    const request = { stream: 'trades', partition: '', window, pageMark: null, lastingMark: null, state }
    const { records } = await reader.fetchPage(request)
    assert.deepEqual(records, [])
  })
})
