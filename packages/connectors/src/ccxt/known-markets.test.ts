/**
 * Trades of pairs that come and go, against Bybit's documented answers (v5: market/instruments-info, execution/list).
 * Its lists are over all pairs, and the name of a pair does not show where its base ends.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { hourMs, type TransactionDraft } from '@assay/core'
import type { ConnectorState, Io, Page, StoredRecord } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'
import { listKnownMarkets } from './known-markets.ts'
import { parseTrade } from './records.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const window = { unit: 'ms' as const, start: nowMs - 24 * hourMs, end: nowMs }
const connector = createCcxtConnector('bybit')

const toInstrument = (base: string) => ({
  ...{ symbol: `${base}USDT`, baseCoin: base, quoteCoin: 'USDT', status: 'Trading' },
  ...{ lotSizeFilter: { basePrecision: '0.000001' }, priceFilter: { tickSize: '0.01' } },
})
const fill = {
  ...{ symbol: 'XYZUSDT', orderId: 'o1', execId: 't1', side: 'Buy', execPrice: '100', execQty: '2', execType: 'Trade' },
  ...{ execTime: String(nowMs - hourMs), execFee: '0.002', feeCurrency: 'XYZ', isMaker: false },
}

let listed: string[]
let fills: object[]
let isDown: boolean
let hosts = 0
beforeEach(() => {
  listed = ['BTC', 'XYZ']
  fills = [fill]
  isDown = false
  hosts += 1
})

/** The markets are shared by all sessions of a process and a host. */
function read(state: ConnectorState, process: string, laterMs = 0): Promise<Page> {
  const io: Io = {
    fetch: async (input) => {
      const isFills = (input instanceof Request ? input.url : input.toString()).includes('/v5/execution/list')
      if (isDown) return new Response('', { status: 503 })
      return Response.json({ retCode: 0, result: { list: isFills ? fills : listed.map(toInstrument) }, time: 1 })
    },
    ...{ now: () => nowMs + laterMs, nextNonce: () => '1', baseUrl: `http://${process}-${hosts}.test` },
  }
  const reader = connector.open({ type: 'api_key', apiKey: 'k', secretKey: 's' }, io)
  return reader.fetchPage({ stream: 'trades', partition: '', window, pageMark: null, lastingMark: null, state })
}

function derive(page: Page): TransactionDraft[] {
  const records = page.records
    .filter(({ unreadable }) => unreadable === undefined)
    .map((record): StoredRecord => ({ ...record, stream: 'trades', partition: '' }))
  const stories = Map.groupBy(records, (record) => connector.linkKeys(record)[0])
  return [...stories.values()].flatMap((story) => connector.toTransactions(story, { addresses: new Set(), state: {} }))
}

const keysOf = ({ records }: Page): string[] => records.map(({ key }) => key)
const legsOf = (page: Page): string[] =>
  derive(page).flatMap(({ inputs, outputs, fees }) =>
    [inputs, outputs, fees].map((legs) => legs.map(({ symbol, amount }) => `${amount} ${symbol}`).join()),
  )
const whole = ['2 XYZ', '200 USDT', '0.002 XYZ']

describe('a trade of a pair that is delisted', () => {
  it('stays as it was in a process that has seen the pair, also after a list that could not be loaded', async () => {
    const before = await read({}, 'old')
    assert.deepEqual(legsOf(before), whole)
    listed = ['BTC']
    isDown = true
    await assert.rejects(read({}, 'old', 2 * hourMs))
    isDown = false
    assert.deepEqual((await read({}, 'old', 2 * hourMs)).records, before.records)
    assert.deepEqual((await read({}, 'old', 4 * hourMs)).records, before.records)
  })

  it('stays as it was in a new process, because the account’s state has the pair', async () => {
    const before = await read({}, 'old')
    assert.ok(before.state !== undefined)
    listed = ['BTC']
    const after = await read(before.state, 'new')
    assert.deepEqual(after.records, before.records)
    assert.equal(after.state, undefined, 'nothing is learned again')
    assert.deepEqual((await read({}, 'new')).records[0]?.body.includes('"base"'), false, 'no other account learns it')
  })

  it('has the same key where the pair was never known, and gets its amounts once it is listed', async () => {
    listed = ['BTC']
    const unknown = await read({}, 'old')
    assert.deepEqual(
      derive(unknown).map(({ type, incomplete }) => [type, incomplete]),
      [['uncategorized', ['fees', 'inputs', 'outputs']]],
    )
    listed = ['BTC', 'XYZ']
    const known = await read({}, 'new')
    assert.deepEqual(keysOf(known), keysOf(unknown))
    assert.deepEqual(legsOf(known), whole)
    const [one, other] = [derive(unknown), derive(known)].map((drafts) => drafts.map(({ naturalKey }) => naturalKey))
    assert.deepEqual(one, other)
    // The fills of an order that were read before and after.
    const [late] = known.records
    assert.ok(late !== undefined)
    const both = { ...unknown, records: [...unknown.records, { ...late, key: 'late' }] }
    assert.deepEqual(
      derive(both).map(({ inputs }) => inputs.map(({ amount }) => amount)),
      [[], ['2']],
    )
  })

  it('has the same key when the exchange gives it no id', async () => {
    fills = [{ ...fill, execId: '' }]
    const known = await read({}, 'old')
    listed = ['BTC']
    assert.deepEqual(keysOf(await read({}, 'new')), keysOf(known))
  })

  it('has the same key while its row cannot be read', async () => {
    const readable = await read({}, 'old')
    fills = [{ ...fill, side: '' }]
    const page = await read({}, 'old')
    assert.ok(page.records[0]?.unreadable !== undefined)
    assert.deepEqual(keysOf(page), keysOf(readable))
  })

  it('follows the list again once it has the pair', async () => {
    const { state = {} } = await read({}, 'old')
    const [known] = (state as { markets: object[] }).markets
    const page = await read({ ...state, markets: [{ ...known, base: 'OLD', quote: 'NAME' }] }, 'new')
    assert.deepEqual(legsOf(page), whole)
    assert.deepEqual(page.state, state)
  })
})

describe('numbers that an exchange gives more than once', () => {
  it('of trades: those of two markets and one moment are two trades', async () => {
    fills = [fill, { ...fill, symbol: 'BTCUSDT', orderId: 'o2', feeCurrency: 'BTC' }]
    const page = await read({}, 'old')
    assert.equal(new Set(keysOf(page)).size, 2)
    assert.equal(new Set(derive(page).map(({ naturalKey }) => naturalKey)).size, 2)
  })

  it('of orders: those of two markets are two transactions', async () => {
    fills = [fill, { ...fill, symbol: 'BTCUSDT', execId: 't2', feeCurrency: 'BTC' }]
    const page = await read({}, 'old')
    assert.deepEqual(legsOf(page), [...whole, '2 BTC', '200 USDT', '0.002 BTC'])
    assert.equal(new Set(derive(page).map(({ naturalKey }) => naturalKey)).size, 2)
  })

  it('of trades in lists by pair: those of two lists are two transactions', async () => {
    const [record] = (await read({}, 'old')).records
    assert.ok(record !== undefined)
    const stored = ['XYZ/USDT', 'BTC/USDT'].map((partition) => ({ ...record, stream: 'trades', partition }))
    assert.equal(new Set(stored.map((one) => connector.linkKeys(one)[0])).size, 2)
    const drafts = stored.flatMap((one) => connector.toTransactions([one], { addresses: new Set(), state: {} }))
    assert.equal(new Set(drafts.map(({ naturalKey }) => naturalKey)).size, 2)
  })
})

it('a delisted pair and a listed contract of the same id keep their trades, as at XT', async () => {
  const xt = createCcxtConnector('xt')
  const names = (base: string) => ({ symbol: `${base}_usdt`, state: 'ONLINE', pricePrecision: 2, quantityPrecision: 6 })
  const coin = (base: string): object => ({ ...names(base), baseCurrency: base, quoteCurrency: 'usdt', filters: [] })
  const contract = {
    ...{ ...names('xyz'), baseCoin: 'xyz', quoteCoin: 'usdt', contractSize: '0.0001', isOpenApi: true },
    ...{ underlyingType: 'U_BASED', productType: 'perpetual' },
  }
  const trade = {
    ...{ symbol: 'xyz_usdt', tradeId: '1', orderId: '2', orderSide: 'BUY', bizType: 'SPOT', time: nowMs - hourMs },
    ...{ price: '100', quantity: '2', quoteQty: '200', fee: '0.2', feeCurrency: 'usdt', takerMaker: 'TAKER' },
  }
  const ofContract = {
    ...{ symbol: 'xyz_usdt', execId: '3', orderId: '4', orderSide: 'BUY', positionSide: 'LONG', price: '100' },
    ...{ quantity: '13', fee: '0.02', feeCoin: 'usdt', timestamp: nowMs - hourMs },
  }
  const bases = ['btc', 'xyz']
  const readXt = (state: ConnectorState): Promise<Page> => {
    const io: Io = {
      fetch: async (input) => {
        const url = input instanceof Request ? input.url : input.toString()
        if (url.includes('/trade'))
          return Response.json({ rc: 0, mc: 'SUCCESS', result: { items: [trade, ofContract] } })
        if (url.includes('/public/symbol/list')) return Response.json({ returnCode: 0, result: [contract] })
        return Response.json({ rc: 0, mc: 'SUCCESS', result: { symbols: bases.map(coin) } })
      },
      ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: `http://xt-${bases.length}.test` },
    }
    const reader = xt.open({ type: 'api_key', apiKey: 'k', secretKey: 's' }, io)
    return reader.fetchPage({ stream: 'trades', partition: '', window, pageMark: null, lastingMark: null, state })
  }
  const toLegs = ({ records }: Page): unknown =>
    xt
      .toTransactions(
        records.map((record) => ({ ...record, stream: 'trades', partition: '' })),
        { addresses: new Set(), state: {} },
      )
      .map(({ inputs, outputs }) => [inputs, outputs].map((legs) => legs.map(({ symbol, amount }) => [symbol, amount])))
  const symbolsOf = ({ records }: Page): string[] => records.map(({ body }) => parseTrade(body).symbol)
  const before = await readXt({})
  bases.pop()
  const after = await readXt(before.state ?? {})
  assert.deepEqual(toLegs(after), toLegs(before))
  assert.equal(JSON.stringify(toLegs(before)), '[[[["XYZ","2"]],[["USDT","200"]]],[[],[]]]')
  assert.deepEqual([before, after].map(symbolsOf), [
    ['XYZ/USDT', 'XYZ/USDT:USDT'],
    ['XYZ/USDT', 'XYZ/USDT:USDT'],
  ])
  // Contracts expire every day, and their fills move no coin: they would only fill the account's state.
  assert.deepEqual(
    listKnownMarkets(before.state ?? {}).map(({ symbol }) => symbol),
    ['XYZ/USDT'],
  )
})
