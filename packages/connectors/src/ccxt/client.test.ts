/**
 * What an exchange says reaches ccxt as data: none of it may change what all objects of the process share, or fill its
 * memory.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SourceError } from '@assay/core'
import type { Io } from '../kit/connector.ts'
import { exchanges } from './catalogue/exchanges.ts'
import type { ExchangeFacts } from './catalogue/facts.ts'
import { createCcxtClient } from './client.ts'

const execution = {
  symbol: 'BTCUSDT',
  orderId: 'o1',
  execId: 't1',
  side: 'Buy',
  execPrice: '100',
  execQty: '1',
  execTime: '1772452800000',
  execFee: '0.1',
  feeRate: '__proto__',
  feeCurrency: 'constructor',
  blockTradeId: 'my __proto__ note',
}

const instrument = {
  ...{ symbol: 'BTCUSDT', baseCoin: 'BTC', quoteCoin: 'USDT', status: 'Trading' },
  ...{ lotSizeFilter: { basePrecision: '0.000001' }, priceFilter: { tickSize: '0.01' } },
}

function findExchange(wanted: string): ExchangeFacts {
  const facts = exchanges.find(({ id }) => id === wanted)
  assert.ok(facts !== undefined)
  return facts
}

it('names of shared objects in an answer stay texts, and the record keeps them as they were sent', async () => {
  const answers = (url: string): object[] => (url.includes('/v5/execution/list') ? [execution] : [instrument])
  const io: Io = {
    fetch: async (input) =>
      new Response(
        JSON.stringify({
          retCode: 0,
          result: { list: answers(input instanceof Request ? input.url : input.toString()) },
          time: 1,
        }),
      ),
    now: () => 1_772_452_800_000,
    nextNonce: () => '1',
    baseUrl: undefined,
  }
  const client = createCcxtClient(findExchange('bybit'), { apiKey: 'k', secret: 's' }, io)
  const before = Reflect.ownKeys(Object.prototype).length
  const { rows } = await client.list('fetchMyTrades', undefined, undefined, undefined, {})
  const [trade] = rows
  assert.equal(Reflect.ownKeys(Object.prototype).length, before)
  assert.equal(Reflect.has({}, 'cost'), false)
  assert.deepEqual(JSON.parse(client.write(trade?.['info'])), execution)
})

it('a rate with the name of a method of all objects changes no method', async () => {
  const fill = { ...execution, feeRate: '__lookupGetter__' }
  const io: Io = {
    fetch: async (input) => {
      const isList = (input instanceof Request ? input.url : input.toString()).includes('/v5/execution/list')
      return Response.json({ retCode: 0, result: { list: [isList ? fill : instrument] }, time: 1 })
    },
    ...{ now: () => 1_772_452_800_000, nextNonce: () => '1', baseUrl: 'http://rate.test' },
  }
  const client = createCcxtClient(findExchange('bybit'), { apiKey: 'k', secret: 's' }, io)
  const { rows } = await client.list('fetchMyTrades', undefined, undefined, undefined, {})
  const [trade] = rows
  assert.deepEqual(JSON.parse(client.write(trade?.['info'])), fill)
  assert.equal(Object.hasOwn(Reflect.get({}, '__lookupGetter__') as object, 'cost'), false)
})

it('a row is kept without the mark of its page, which ccxt writes into it, so that it is one row on any page', async () => {
  const io: Io = {
    fetch: async (input) => {
      const isList = new URL(input instanceof Request ? input.url : input).pathname === '/v5/execution/list'
      const result = { nextPageCursor: '132766%3A2', list: [isList ? execution : instrument] }
      return Response.json({ retCode: 0, result, time: 1 })
    },
    ...{ now: () => 1_772_452_800_000, nextNonce: () => '1', baseUrl: 'http://marks.test' },
  }
  const client = createCcxtClient(findExchange('bybit'), { apiKey: 'k', secret: 's' }, io)
  const { rows, own } = await client.list('fetchMyTrades', undefined, undefined, undefined, {})
  assert.deepEqual(JSON.parse(client.write(rows.map(({ info }) => info))), [execution])
  assert.deepEqual(JSON.parse(client.write(own)), [execution])
})

it('where markets are listed only for a key, a refused key concerns its own user alone', async () => {
  const asked: (string | null)[] = []
  const both = Promise.withResolvers<undefined>()
  const io: Io = {
    async fetch(input, init) {
      const key = new Headers(init?.headers).get('apca-api-key-id')
      const url = input instanceof Request ? input.url : input.toString()
      if (!url.includes('/v2/assets')) return Response.json({ id: 'account', cash: '12', currency: 'USD' })
      // Both ask before either is answered.
      if (asked.push(key) === 2) both.resolve(undefined)
      await both.promise
      if (key !== 'good') return Response.json({ message: 'request is not authorized' }, { status: 401 })
      return Response.json([{ class: 'crypto', symbol: 'BTC/USD', status: 'active', tradable: true }])
    },
    ...{ now: () => 1_772_452_800_000, nextNonce: () => '1', baseUrl: 'http://markets-for-a-key.test' },
  }
  const open = (apiKey: string) => createCcxtClient(findExchange('alpaca'), { apiKey, secret: 's' }, io)
  const [refused, good] = await Promise.allSettled([open('wrong').listMarkets(), open('good').listMarkets()])
  assert.ok(refused.status === 'rejected' && refused.reason instanceof SourceError)
  assert.equal(good.status === 'fulfilled' && good.value.size, 1)
  assert.equal((await open('another').listMarkets()).size, 1, 'they are shared once they are there')
  assert.deepEqual(asked.toSorted(), ['good', 'wrong'])
})

it('a refusal of any length and wording is searched in an instant', async () => {
  const length = 2 ** 20
  const refuse = async (words: string): Promise<void> => {
    const io: Io = {
      fetch: async () => Response.json({ retCode: 99_999, retMsg: words.repeat(length / words.length), result: {} }),
      ...{ now: () => 1_772_452_800_000, nextNonce: () => '1', baseUrl: 'http://refusal.test' },
    }
    const client = createCcxtClient(findExchange('bybit'), { apiKey: 'k', secret: 's' }, io)
    await assert.rejects(client.ask('privateGetV5UserQueryApi'), SourceError)
  }
  const began = performance.now()
  for (const words of ['lack', 'api key', 'ip ', 'permission ', 'expired key ']) await refuse(words)
  assert.ok(performance.now() - began < 30_000)
})

it('ccxt never gets a list that would take gigabytes of memory: neither of markets, which are kept, nor of coins', async () => {
  let [marketCount, coinCount] = [20_001, 1]
  const io: Io = {
    fetch: async (input) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      if (!pathname.endsWith('/markets')) {
        return Response.json(Array.from({ length: coinCount }, (_, at) => ({ symbol: `C${at}`, available: '1' })))
      }
      return Response.json(
        Array.from({ length: marketCount }, (_, at) => ({ market: `C${at}-EUR`, base: `C${at}`, quote: 'EUR' })),
      )
    },
    now: () => 1_772_452_800_000,
    nextNonce: () => '1',
    baseUrl: 'http://long.test',
  }
  const client = createCcxtClient(findExchange('bitvavo'), { apiKey: 'k', secret: 's' }, io)
  const tooLong = (error: unknown): boolean => error instanceof SourceError && error.fault === 'unreadable_answer'
  await assert.rejects(client.listMarkets(), tooLong)
  marketCount = 3
  assert.equal((await client.listMarkets()).size, 3)
  coinCount = 50_001
  await assert.rejects(client.balances([{}]), tooLong)
  coinCount = 2
  assert.deepEqual((await client.balances([{}]))[0]?.['free'], { C0: '1', C1: '1' })
})

describe('a number with more digits than any amount', () => {
  const tooLong = (error: unknown): boolean => error instanceof SourceError && error.fault === 'unreadable_answer'
  const answering = (answer: (pathname: string) => unknown): Io => ({
    fetch: async (input) => Response.json(answer(new URL(input instanceof Request ? input.url : input).pathname)),
    now: () => 1_772_452_800_000,
    nextNonce: () => '1',
    baseUrl: 'http://digits.test',
  })

  for (const amount of ['1e100000', '1e-100000', '0x1e100000', '9'.repeat(100_000)]) {
    it(`is left alone by ccxt, which keeps its row without amounts: ${amount.slice(0, 12)}`, async () => {
      const market = { market: 'BTC-EUR', base: 'BTC', quote: 'EUR' }
      const trade = { id: 't', timestamp: 1_772_000_000_000, market: 'BTC-EUR', side: 'buy', amount, price: '2' }
      const io = answering((pathname) => (pathname.endsWith('/markets') ? [market] : [trade]))
      const client = createCcxtClient(findExchange('bitvavo'), { apiKey: 'k', secret: 's' }, io)
      const { rows } = await client.list('fetchMyTrades', 'BTC/EUR', undefined, undefined, {})
      assert.deepEqual(
        rows.map(({ info, amount: computed, cost }) => [info, computed, cost]),
        [[trade, undefined, undefined]],
      )
    })
  }

  it('is refused as the number of decimals, of which ccxt writes every zero', async () => {
    const currency = { symbol: 'eth', decimals: 3_000_000 }
    const transaction = {
      id: 1,
      timestamp: 1_772_000_000_000,
      amount: '1',
      type: 'deposit',
      status: 'success',
      currency,
    }
    const io = answering((pathname) =>
      pathname.endsWith('/transactionsOfUser') ? { ok: true, result: { transactions: [transaction] } } : { ok: true },
    )
    const client = createCcxtClient(findExchange('bitteam'), { apiKey: 'k', secret: 's' }, io)
    await assert.rejects(client.list('fetchDepositsWithdrawals', undefined, undefined, undefined, {}), tooLong)
  })
})
