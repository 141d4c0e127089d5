/** Cross rates against the simulated market, which has its own exchange rates and shares no code with the connector. */
import { fetchCurrentPrices, fetchDailyRates } from '@assay/connectors'
import { getAsset, type Decimal } from '@assay/core'
import { startSandbox } from '@assay/sandbox'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { toUnits } from '../../../../packages/sandbox/src/core/units.ts'
import { dayOf, findCoin, priceDecimals, priceInUsd } from '../../../../packages/sandbox/src/market/series.ts'
import { findQuote } from './source.ts'

const codes = 'EUR GBP CAD JPY CHF AUD NZD SEK NOK DKK PLN CZK SGD HKD AED BRL MXN KRW TRY INR ZAR'.split(' ')
const currencies = codes.map((code) => {
  const quote = findQuote(getAsset(`fiat:${code.toLowerCase()}`))
  assert.ok(quote && 'currency' in quote, code)
  return quote.currency
})

let sandbox: Awaited<ReturnType<typeof startSandbox>>
before(async () => {
  sandbox = await startSandbox({ seed: 'test', pace: 'fast', log: () => undefined })
})
after(() => sandbox.close())

/** Bitcoin's price has seven digits in most currencies: a millionth is the best possible precision. */
function assertClose(currency: string, rate: Decimal | undefined, day: number): void {
  const coin = findCoin(currency)
  assert.ok(coin && rate !== undefined, currency)
  const expected = priceInUsd(coin, day)
  const difference = toUnits(rate, priceDecimals) - expected
  const size = difference < 0n ? -difference : difference
  assert.ok(size * 1_000_000n <= 2n * expected, `${currency} on day ${day}: ${rate}`)
}

describe('the rate of every currency', () => {
  it('equals the market’s own, now and on every day, whether requested together or one by one', async () => {
    let requests = 0
    const counted: typeof fetch = (input, init) => {
      requests += 1
      return fetch(input, init)
    }
    const io = { fetch: counted, now: Date.now, baseUrl: sandbox.urls.coingecko }
    const now = await fetchCurrentPrices(io, [], currencies)
    assert.equal(requests, 1)
    for (const currency of currencies) assertClose(currency, now.currencies.get(currency), dayOf(Date.now()))

    const fromMs = Date.UTC(2021, 2, 1)
    const { prices: rates } = await fetchDailyRates(io, currencies, fromMs, Date.UTC(2021, 5, 1))
    assert.equal(requests, 1 + 1 + currencies.length)
    for (const currency of currencies) {
      const days = rates.get(currency) ?? []
      assert.equal(days.length, 92, currency)
      for (const { dayMs, price } of days) assertClose(currency, price, dayOf(dayMs))
    }
  })
})
