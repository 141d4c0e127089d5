import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { SourceError } from '@assay/core'
import { fetchCurrentPrices, fetchDailyPrices, fetchDailyRates, type PriceIo } from './prices.ts'

const asked: URL[] = []
interface Answer {
  status?: number
  headers?: Record<string, string>
  body: string
}
let answer: Answer | ((url: URL) => Answer)
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const url = new URL(request.url ?? '', 'http://loopback')
  asked.push(url)
  const { status = 200, headers, body } = typeof answer === 'function' ? answer(url) : answer
  response.writeHead(status, headers).end(body)
})

let io: PriceIo
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  io = { fetch: globalThis.fetch, now: () => 0, baseUrl }
})
after(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => void (asked.length = 0))

const day = 86_400_000
const monday = Date.UTC(2026, 2, 2)

describe('current prices', () => {
  it('every digit is kept, and what has no price is not in the map', async () => {
    answer = {
      body:
        '{"bitcoin":{"usd":64000.123456789012345678},"shiba-inu":{"usd":1e-18},"pepe":{"usd":1.20E-7},' +
        '"worthless":{"usd":0},"broken":{"usd":-64000.5},"dead":{},"gone":{"usd":null}}',
    }
    const ids = ['bitcoin', 'shiba-inu', 'pepe', 'worthless', 'broken', 'dead', 'gone', 'nobody', 'constructor']
    const { coins } = await fetchCurrentPrices(io, ids, [])
    assert.deepEqual(
      [...coins],
      [
        ['bitcoin', '64000.123456789012345678'],
        ['shiba-inu', '0.000000000000000001'],
        ['pepe', '0.00000012'],
        ['worthless', '0'],
      ],
    )
    assert.equal(asked[0]?.pathname, '/api/v3/simple/price')
    assert.equal(asked[0]?.searchParams.get('precision'), 'full')
  })

  it('a price that is not of the last day is none: CoinGecko keeps the last one of a coin that is no longer traded', async () => {
    const [fresh, old] = [monday - day, monday - day - 1_000].map((ms) => ms / 1_000)
    answer = {
      body:
        `{"bitcoin":{"usd":90000,"eur":80000,"last_updated_at":${fresh}},` +
        `"ftx-token":{"usd":25,"last_updated_at":${old}},"unsaid":{"usd":3,"last_updated_at":null}}`,
    }
    const { coins, currencies } = await fetchCurrentPrices(
      { ...io, now: () => monday },
      ['bitcoin', 'ftx-token', 'unsaid'],
      ['eur'],
    )
    assert.deepEqual([...coins.keys(), ...currencies.keys()], ['bitcoin', 'unsaid', 'eur'])
    assert.equal(asked[0]?.searchParams.get('include_last_updated_at'), 'true')
  })

  it('many ids are asked in batches, each once', async () => {
    answer = { body: '{}' }
    const ids = Array.from({ length: 250 }, (_, index) => `coin-${index}`)
    await fetchCurrentPrices(io, ids, [])
    assert.equal(asked.length, 3)
    assert.deepEqual(
      asked.flatMap((url) => url.searchParams.get('ids')?.split(',') ?? []),
      ids,
    )
  })

  it('an empty list of ids makes no request', async () => {
    assert.equal((await fetchCurrentPrices(io, [], [])).coins.size, 0)
    assert.equal(asked.length, 0)
  })

  it('currencies come with the coins in one request, as dollars for one unit, rounded half to even', async () => {
    answer = {
      body: '{"bitcoin":{"usd":90000,"eur":80000,"jpy":13500000.7,"chf":0,"gbp":null},"ethereum":{"usd":3000}}',
    }
    const prices = await fetchCurrentPrices(io, ['ethereum'], ['eur', 'jpy', 'chf', 'gbp', 'aud'])
    assert.deepEqual([...prices.coins], [['ethereum', '3000']])
    assert.deepEqual(
      [...prices.currencies],
      [
        ['eur', '1.125'],
        ['jpy', '0.006666666321'],
      ],
    )
    assert.equal(asked.length, 1)
    assert.equal(asked[0]?.searchParams.get('vs_currencies'), 'usd,eur,jpy,chf,gbp,aud')
  })
})

describe('daily prices', () => {
  it('are the first of each day in the range, whatever the step', async () => {
    const points = [
      [monday - 1, '9'],
      [monday, '64000.10'],
      [monday + 3_600_000, '65000'],
      [monday + day + 137, '66000.5'],
      [monday + 2 * day, '1'],
    ]
    answer = {
      body: `{"prices":[${points.map(([time, price]) => `[${time},${price}]`).join(',')}],"total_volumes":[]}`,
    }
    const { answeredFromMs, prices } = await fetchDailyPrices(io, 'bitcoin', monday, monday + 2 * day)
    assert.equal(answeredFromMs, monday)
    assert.deepEqual(prices, [
      { dayMs: monday, price: '64000.1' },
      { dayMs: monday + day, price: '66000.5' },
    ])
    assert.equal(asked[0]?.pathname, '/api/v3/coins/bitcoin/market_chart/range')
    assert.equal(asked[0]?.searchParams.get('from'), String(monday / 1000))
    assert.equal(asked[0]?.searchParams.get('interval'), 'daily')
  })

  it('are requested again within the free year when the plan refuses older days', async () => {
    const now = Date.UTC(2026, 10, 15, 12)
    const first = Date.UTC(2025, 10, 17)
    answer = (url) =>
      Number(url.searchParams.get('from')) * 1000 < now - 365 * day
        ? { status: 401, body: '{"error":{"status":{"error_code":10012}}}' }
        : { body: `{"prices":[[${first},64000]]}` }
    const answered = await fetchDailyPrices({ ...io, now: () => now }, 'bitcoin', Date.UTC(2021, 0, 1), now)
    // Earlier days were refused, which the caller learns: they do not count as days without a price.
    assert.deepEqual(answered, { answeredFromMs: first, prices: [{ dayMs: first, price: '64000' }] })
    assert.deepEqual(
      asked.map((url) => Number(url.searchParams.get('from')) * 1000),
      [Date.UTC(2021, 0, 1), first],
    )
  })

  it("are requested with the operator's key, which no URL carries", async () => {
    answer = { body: '{"prices":[]}' }
    const seen: Headers[] = []
    const fetchKeyed: typeof fetch = (input, init) => {
      seen.push(new Headers(init?.headers))
      return io.fetch(input, init)
    }
    const keyed = { ...io, fetch: fetchKeyed, priceKey: { plan: 'pro', key: 'k-1' } } as const
    await fetchDailyPrices(keyed, 'bitcoin', monday, monday + day)
    assert.equal(seen[0]?.get('x-cg-pro-api-key'), 'k-1')
    assert.ok(!String(asked[0]).includes('k-1'))
  })

  it('an id cannot leave its place in the path', async () => {
    answer = { body: '{"prices":[]}' }
    await fetchDailyPrices(io, '../../ping?', monday, monday + day)
    assert.equal(asked[0]?.pathname, '/api/v3/coins/..%2F..%2Fping%3F/market_chart/range')
  })
})

describe('daily rates of currencies', () => {
  const chart = (points: readonly (readonly [number, string | null])[]): Answer => ({
    body: `{"prices":[${points.map(([time, price]) => `[${time},${price}]`).join(',')}]}`,
  })

  it('are bitcoin in dollars by bitcoin in the currency, of one moment, to twelve decimals', async () => {
    answer = (url) => {
      const inDollars = [monday, monday + day, monday + 2 * day, monday + 3 * day].map(
        (time) => [time, '90000'] as const,
      )
      const inEuros = [
        [monday, '80000'],
        // If the times were hours apart, bitcoin's own move would look like the euro's.
        [monday + day + 3 * 3_600_000, '81000'],
        [monday + 2 * day, null],
        [monday + 3 * day + 250, '70000.000000001'],
      ] as const
      const quotes: Record<string, Answer> = { usd: chart(inDollars), eur: chart(inEuros), gbp: chart([]) }
      return quotes[url.searchParams.get('vs_currency') ?? ''] ?? { status: 422, body: '{}' }
    }
    const { prices: rates } = await fetchDailyRates(io, ['eur', 'gbp'], monday, monday + 4 * day)
    assert.deepEqual(rates.get('eur'), [
      { dayMs: monday, price: '1.125' },
      { dayMs: monday + 3 * day, price: '1.285714285714' },
    ])
    assert.deepEqual(rates.get('gbp'), [])
    assert.deepEqual(
      asked.map((url) => `${url.pathname} ${url.searchParams.get('vs_currency')}`),
      ['usd', 'eur', 'gbp'].map((currency) => `/api/v3/coins/bitcoin/market_chart/range ${currency}`),
    )
  })
})

describe('failures', () => {
  const failures: [string, Answer, string, number?][] = [
    ['too many requests', { status: 429, headers: { 'retry-after': '58' }, body: '{}' }, 'rate_limited', 58_000],
    ['beyond the free year', { status: 401, body: '{"error":{"status":{"error_code":10012}}}' }, 'missing_permission'],
    ['an unknown coin', { status: 404, body: '{"error":"coin not found"}' }, 'data_hole'],
    ['a bad gateway', { status: 502, body: '<html>' }, 'venue_down'],
    ['HTML', { body: '<html>' }, 'venue_down'],
    ['another shape', { body: '{"prices":"none"}' }, 'unreadable_answer'],
  ]
  for (const [name, reply, expected, retryAfterMs] of failures) {
    it(`${name} is ${expected}, never an empty history`, async () => {
      answer = reply
      await assert.rejects(fetchDailyPrices(io, 'bitcoin', monday, monday + day), (error: SourceError) => {
        assert.deepEqual([error.fault, error.retryAfterMs], [expected, retryAfterMs])
        return true
      })
    })
  }
})
