import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'

const now = Date.UTC(2026, 10, 15, 12)
let sandbox: Sandbox
before(async () => {
  let nowMs = now
  sandbox = await startTestSandbox({ now: () => (nowMs += 100) })
})
after(() => sandbox.close())

async function get(path: string, of = sandbox): Promise<{ status: number; text: string; retryAfter: string | null }> {
  const response = await fetch(`${of.urls.coingecko}/api/v3/${path}`)
  return { status: response.status, text: await response.text(), retryAfter: response.headers.get('retry-after') }
}

describe('simple/price', () => {
  it('silently omits unknown ids', async () => {
    const { status, text } = await get('simple/price?ids=bitcoin,no-such-coin,ethereum&vs_currencies=usd')
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(JSON.parse(text) as object), ['bitcoin', 'ethereum'])
    assert.equal((await get('simple/price?ids=no-such-coin&vs_currencies=usd')).text, '{}')
  })

  it('writes small prices with an exponent of two digits', async () => {
    const { text } = await get('simple/price?ids=pepe,shiba-inu,flow&vs_currencies=usd,eur')
    assert.match(text, /"pepe":\{"usd":[1-9]\.\d+e-06,"eur":[1-9]\.\d+e-06\}/)
    assert.match(text, /"flow":\{"usd":0\.\d+,/)
  })

  it('quotes in every listed currency, each at its own rate', async () => {
    const names = JSON.parse((await get('simple/supported_vs_currencies')).text) as string[]
    assert.ok(names.length >= 22 && names.includes('jpy'))
    const { text } = await get(`simple/price?ids=bitcoin&vs_currencies=${names.join(',')}`)
    const { bitcoin } = JSON.parse(text) as { bitcoin: Record<string, number> }
    assert.deepEqual(Object.keys(bitcoin), names)
    assert.equal(new Set(Object.values(bitcoin)).size, names.length)
    assert.ok(Number(bitcoin['jpy']) > 100 * Number(bitcoin['usd']))
  })

  it('requires both parameters', async () => {
    assert.equal((await get('simple/price?ids=bitcoin')).status, 422)
    assert.equal((await get('simple/price?vs_currencies=usd')).status, 422)
  })
})

describe('coins/{id}/market_chart/range', () => {
  const range = 'vs_currency=usd&from=1704067200&to=1704412800'

  it('has one point a day at midnight, both edges included, the same in every process', async () => {
    const { text } = await get(`coins/bitcoin/market_chart/range?${range}`)
    const { prices } = JSON.parse(text) as { prices: [number, number][] }
    assert.deepEqual(
      prices.map(([ms]) => new Date(ms).toISOString()),
      [1, 2, 3, 4, 5].map((day) => `2024-01-0${day}T00:00:00.000Z`),
    )
    const other = await startTestSandbox({ seed: 'another' })
    try {
      assert.equal((await get(`coins/bitcoin/market_chart/range?${range}`, other)).text, text)
    } finally {
      await other.close()
    }
    assert.equal(
      (await get('coins/bitcoin/market_chart/range?vs_currency=usd&from=2024-01-01&to=2024-01-05')).text,
      text,
    )
  })

  it('reaches from 2020 to today and no further', async () => {
    const { text } = await get('coins/bitcoin/market_chart/range?vs_currency=usd&from=0&to=4102444800')
    const { prices } = JSON.parse(text) as { prices: [number, number][] }
    assert.equal(prices[0]?.[0], Date.UTC(2020, 0, 1))
    assert.equal(prices.at(-1)?.[0], Date.UTC(2026, 10, 15))
    assert.equal(prices.length, (Date.UTC(2026, 10, 15) - Date.UTC(2020, 0, 1)) / 86_400_000 + 1)
    assert.ok(prices.every(([, price]) => price > 1_000 && price < 200_000))
    const before = await get('coins/bitcoin/market_chart/range?vs_currency=usd&from=1546300800&to=1548979200')
    assert.deepEqual(JSON.parse(before.text), { prices: [], market_caps: [], total_volumes: [] })
  })

  it('refuses a coin that the list does not have, and a currency as a coin', async () => {
    assert.equal((await get(`coins/no-such-coin/market_chart/range?${range}`)).status, 404)
    assert.equal((await get(`coins/usd/market_chart/range?${range}`)).status, 404)
    const list = JSON.parse((await get('coins/list')).text) as { id: string }[]
    assert.ok(list.length >= 40 && list.some(({ id }) => id === 'bitcoin'))
  })
})

describe('its limit', () => {
  it('is 30 calls a minute, then 429 with Retry-After and CoinGecko’s body', async () => {
    const still = await startTestSandbox({ pace: 'real', now: () => now })
    try {
      for (let call = 0; call < 30; call += 1) assert.equal((await get('ping', still)).status, 200)
      const refused = await get('ping', still)
      assert.deepEqual([refused.status, refused.retryAfter], [429, '2'])
      assert.equal((JSON.parse(refused.text) as { status: { error_code: number } }).status.error_code, 429)
      await control(still, 'POST', 'clock', { offset_ms: 2_000 })
      assert.equal((await get('ping', still)).status, 200)
    } finally {
      await still.close()
    }
  })

  it('can be simulated like every other fault', async () => {
    await control(sandbox, 'POST', 'providers/coingecko/faults', { kind: 'rate_limited', times: 1 })
    assert.equal((await get('ping')).status, 429)
    assert.equal((await get('ping')).status, 200)
  })
})
