import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { SourceError } from '@assay/core'
import { fetchCurrentPrices, fetchDailyPrices, type PriceIo } from './prices.ts'

const asked: URL[] = []
let answer: { status?: number; headers?: Record<string, string>; body: string }
const server = createServer((request, response) => {
  asked.push(new URL(request.url ?? '', 'http://loopback'))
  response.writeHead(answer.status ?? 200, answer.headers).end(answer.body)
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
      body: '{"bitcoin":{"usd":64000.123456789012345678},"shiba-inu":{"usd":1e-18},"dead":{},"gone":{"usd":null}}',
    }
    const prices = await fetchCurrentPrices(io, ['bitcoin', 'shiba-inu', 'dead', 'gone', 'nobody'])
    assert.deepEqual(
      [...prices],
      [
        ['bitcoin', '64000.123456789012345678'],
        ['shiba-inu', '0.000000000000000001'],
      ],
    )
    assert.equal(asked[0]?.pathname, '/api/v3/simple/price')
    assert.equal(asked[0]?.searchParams.get('precision'), 'full')
  })

  it('many ids are asked in batches, each once', async () => {
    answer = { body: '{}' }
    const ids = Array.from({ length: 250 }, (_, index) => `coin-${index}`)
    await fetchCurrentPrices(io, ids)
    assert.equal(asked.length, 3)
    assert.deepEqual(
      asked.flatMap((url) => url.searchParams.get('ids')?.split(',') ?? []),
      ids,
    )
  })

  it('no ids, no request', async () => {
    assert.equal((await fetchCurrentPrices(io, [])).size, 0)
    assert.equal(asked.length, 0)
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
    assert.deepEqual(await fetchDailyPrices(io, 'bitcoin', monday, monday + 2 * day), [
      { dayMs: monday, price: '64000.1' },
      { dayMs: monday + day, price: '66000.5' },
    ])
    assert.equal(asked[0]?.pathname, '/api/v3/coins/bitcoin/market_chart/range')
    assert.equal(asked[0]?.searchParams.get('from'), String(monday / 1000))
  })

  it('an id cannot leave its place in the path', async () => {
    answer = { body: '{"prices":[]}' }
    await fetchDailyPrices(io, '../../ping?', monday, monday + day)
    assert.equal(asked[0]?.pathname, '/api/v3/coins/..%2F..%2Fping%3F/market_chart/range')
  })
})

describe('failures', () => {
  const failures: [string, typeof answer, string, number?][] = [
    ['too many requests', { status: 429, headers: { 'retry-after': '58' }, body: '{}' }, 'rate_limited', 58_000],
    ['beyond the free year', { status: 401, body: '{"error":{"status":{"error_code":10012}}}' }, 'data_hole'],
    ['an unknown coin', { status: 404, body: '{"error":"coin not found"}' }, 'data_hole'],
    ['a bad gateway', { status: 502, body: '<html>' }, 'venue_down'],
    ['HTML', { body: '<html>' }, 'venue_down'],
    ['another shape', { body: '{"prices":"none"}' }, 'venue_down'],
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
