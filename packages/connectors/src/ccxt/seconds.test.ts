/**
 * An exchange that is asked in seconds for trades that have milliseconds (gate.com, API v4: `from`, `to`, 1,000 rows). It
 * is not documented whether the end of a range includes the rest of its second.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs } from '@assay/core'
import type { Io, Page } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const rowsMax = 1_000
/** More than a page, three in a second, two of which stand on both sides of the end of a page. */
const times = Array.from({ length: 2_500 }, (_, index) => nowMs - dayMs - 500 - index * 333)

function toIo(isIn: (atMs: number, toSeconds: number) => boolean): Io {
  return {
    fetch: async (input) => {
      const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
      if (pathname.endsWith('/currency_pairs'))
        return Response.json([{ id: 'BTC_USDT', base: 'BTC', quote: 'USDT', fee: '0.2', precision: 1 }])
      if (!pathname.endsWith('/my_trades')) return Response.json([])
      const [from, to] = [Number(searchParams.get('from')), Number(searchParams.get('to'))]
      const found = times.filter((atMs) => atMs >= from * 1_000 && isIn(atMs, to)).slice(0, rowsMax)
      return Response.json(
        found.map((atMs) => ({
          ...{ id: String(atMs), create_time: String(Math.floor(atMs / 1_000)), create_time_ms: `${atMs}.000000` },
          ...{ currency_pair: 'BTC_USDT', side: 'sell', role: 'taker', order_id: '1' },
          ...{ price: '50000', amount: '1', fee: '1', fee_currency: 'USDT' },
        })),
      )
    },
    ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
  }
}

describe('trades within a second, at an exchange that is asked in seconds', () => {
  for (const [what, isIn] of [
    ['ends at its beginning', (atMs, to) => atMs <= to * 1_000],
    ['includes all of it', (atMs, to) => Math.floor(atMs / 1_000) <= to],
    ['excludes it', (atMs, to) => atMs < to * 1_000],
  ] as [string, (atMs: number, to: number) => boolean][]) {
    it(`are all read if a range ${what}`, async () => {
      const key = { type: 'api_key' as const, apiKey: 'account-k', secretKey: 's'.repeat(32) }
      const reader = createCcxtConnector('gate').open(key, toIo(isIn))
      const window = { unit: 'ms' as const, start: nowMs - 20 * dayMs, end: nowMs }
      const found = new Set<number>()
      let pageMark: string | null = null
      do {
        const request = { stream: 'trades', partition: '', window, pageMark, lastingMark: null, state: {} }
        const page: Page = await reader.fetchPage(request)
        for (const { occurredAtMs } of page.records) found.add(occurredAtMs)
        pageMark = page.next
      } while (pageMark !== null)
      assert.equal(found.size, times.length)
    })
  }
})
