import { coinGeckoBudget } from '@assay/connectors'
import type { SourceError } from '@assay/core'
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { pino } from 'pino'
import { testDatabase } from '../../../../test/postgres.ts'
import { createStillClock } from '../../../../test/still-clock.ts'
import { createMetering } from '../metering/index.ts'
import { createCoinGecko, type PriceSource } from './source.ts'

interface TestSource {
  /** These are two of the fleet's processes. */
  sources: [PriceSource, PriceSource]
  calls: string[]
  answerWith(status: number, headers?: Record<string, string>): void
  advance(ms: number): Promise<unknown>
}

async function open(t: Parameters<typeof testDatabase>[0]): Promise<TestSource> {
  const db = createStillClock().of((await testDatabase(t)).db)
  const clock = db.clock
  const calls: string[] = []
  let answer: [number, Record<string, string>] = [200, {}]
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    calls.push(request.url ?? '')
    response.writeHead(...answer).end('{"prices":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const newSource = (): PriceSource => {
    const log = pino({ level: 'silent' })
    const metering = createMetering({ db, random: () => 0.5, scaleWait: (ms) => ms, egress: 'main', log })
    const cost = coinGeckoBudget.budget.balances
    const lane = { connector: coinGeckoBudget, keyLane: '' }
    const budget = {
      take: (who: { interactive: boolean }) => metering.take(lane, cost, who),
      recordLimitError: (forMs: number) => metering.recordLimitError(lane, cost, forMs),
    }
    return createCoinGecko({ fetch, now: () => clock.now(), baseUrl, budget, scaleWait: (ms) => ms })
  }
  return {
    sources: [newSource(), newSource()],
    calls,
    answerWith: (status, headers = {}) => void (answer = [status, headers]),
    advance: (ms) => clock.advance(ms),
  }
}

const year = [Date.UTC(2025, 0, 1), Date.UTC(2025, 11, 31)] as const
const isLimited = (error: SourceError): boolean => error.fault === 'rate_limited'

describe('the price source', () => {
  it('that reports a rate limit is not called by any process for as long as it asks', async (t) => {
    const { sources, calls, answerWith, advance } = await open(t)
    const [one, other] = sources
    answerWith(429, { 'retry-after': '58' })
    await assert.rejects(one.fetchDaily('bitcoin', ...year), isLimited)
    answerWith(200)
    await assert.rejects(other.fetchDaily('bitcoin', ...year), isLimited)
    await assert.rejects(other.fetchCurrent(['bitcoin'], []), isLimited)
    assert.equal(calls.length, 1)
    await advance(59_000)
    assert.deepEqual(await other.fetchDaily('bitcoin', ...year), { answeredFromMs: year[0], prices: [] })
    assert.equal(calls.length, 2)
  })

  it('is called within its budget, counting each request, and our own limit is not taken for the source’s', async (t) => {
    const { sources, calls, advance } = await open(t)
    const [one, other] = sources
    // A dollar price and nine currencies are ten requests.
    const currencies = ['eur', 'gbp', 'chf', 'jpy', 'aud', 'cad', 'krw', 'inr', 'sek']
    await one.fetchDailyRates(currencies, ...year)
    await other.fetchDailyRates(currencies, ...year)
    await assert.rejects(one.fetchDailyRates(currencies, ...year), isLimited)
    // The background leaves a fifth of the 25 tokens in the bucket.
    assert.equal(calls.length, 20)
    // If it counted as the source's refusal, the bucket would be empty and its tier lower.
    await advance(60_000)
    await one.fetchDailyRates(currencies, ...year)
    assert.equal(calls.length, 30)
  })
})
