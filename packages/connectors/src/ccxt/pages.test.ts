/**
 * Walks by time over bursts: a market order that meets a hundred others is filled within one or two milliseconds, and
 * its fills do not fit into a page. The server answers as OKX documents `fills-history` (at most 100 rows, `begin` and
 * `end`), and also as exchanges do that exclude the bounds or begin with the oldest row.
 */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { dayMs } from '@assay/core'
import type { AccountReader, Page } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')
const burstMs = nowMs - 10 * dayMs
const window = { unit: 'ms' as const, start: nowMs - 89 * dayMs, end: nowMs }
const pageSize = 100

interface Exchange {
  order: 'newest first' | 'oldest first'
  bounds: 'included' | 'excluded'
  /** How many rows an answer has, by the number of the answer. */
  rowsAt?: (answer: number) => number
  /** The side of a fill, by its number. */
  sideOf?: (id: number) => string
}

const exchanges: Exchange[] = (['newest first', 'oldest first'] as const).flatMap((order) =>
  (['included', 'excluded'] as const).map((bounds) => ({ order, bounds })),
)

/** `burst`: how many fills there are in each millisecond of it. Before and after it there are some pages of fills. */
function listFills(burst: readonly number[]): number[] {
  const quiet = [80, 70, 60, 50, 40, 30, 20, 9, 8, 7].flatMap((days) =>
    Array.from({ length: 25 }, (_, index) => nowMs - days * dayMs - index * 1_000),
  )
  return [...quiet, ...burst.flatMap((count, index) => Array.from({ length: count }, () => burstMs + index))].toSorted()
}

const market = {
  ...{ instType: 'SPOT', instId: 'BTC-USDT', baseCcy: 'BTC', quoteCcy: 'USDT', state: 'live', listTime: '1' },
  ...{ tickSz: '0.1', lotSz: '0.00000001', minSz: '0.00001', lever: '10' },
}

async function serve(t: TestContext, fills: readonly number[], exchange: Exchange): Promise<Server> {
  const { order, bounds, rowsAt = () => pageSize, sideOf = () => 'buy' } = exchange
  let answers = 0
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    const begin = Number(searchParams.get('begin') ?? 0)
    const end = Number(searchParams.get('end') ?? Infinity)
    const rows = fills
      .map((ts, index) => ({ ts, id: String(index) }))
      .filter(({ ts }) => (bounds === 'included' ? ts >= begin && ts <= end : ts > begin && ts < end))
    const isFills = !pathname.endsWith('/instruments')
    if (isFills) answers += 1
    const page = (order === 'newest first' ? rows.toReversed() : rows).slice(0, rowsAt(answers))
    const toFill = ({ ts, id }: { ts: number; id: string }) => ({
      ...{ instType: 'SPOT', instId: 'BTC-USDT', tradeId: id, billId: id, ordId: '1', execType: 'T' },
      side: sideOf(Number(id)),
      ...{ fillPx: '50000', fillSz: '0.001', feeCcy: 'BTC', fee: '-0.000001', ts: String(ts), fillTime: String(ts) },
    })
    const isSpot = searchParams.get('instType') === 'SPOT'
    const data = isFills ? page.map(toFill) : isSpot ? [market] : []
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ code: '0', msg: '', data }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return server
}

function open(server: Server): AccountReader {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const key = { type: 'api_key' as const, apiKey: 'k'.repeat(32), secretKey: 's'.repeat(32), passphrase: 'p' }
  return createCcxtConnector('okx').open(key, {
    fetch: globalThis.fetch,
    now: () => nowMs,
    nextNonce: () => '1',
    baseUrl,
  })
}

/** How many trades were read, how the walk ended, and the moments that were not read to their end. */
async function walk(reader: AccountReader): Promise<{ read: number; end: Page['complete']; cut?: number[] }> {
  const cut = new Set<number>()
  const keys = new Set<string>()
  let pageMark: string | null = null
  for (let pages = 1; ; pages += 1) {
    const request = { stream: 'trades', partition: '', window, pageMark, lastingMark: null, state: {} }
    const page: Page = await reader.fetchPage(request)
    for (const { key, occurredAtMs } of page.records) {
      if (key.endsWith(':cut')) cut.add(occurredAtMs)
      else keys.add(key)
    }
    pageMark = page.next
    if (pageMark === null) return { read: keys.size, end: page.complete, ...(cut.size > 0 && { cut: [...cut] }) }
    assert.ok(pages < 50, 'the walk does not end')
  }
}

describe('a burst of trades', () => {
  for (const exchange of exchanges) {
    const told = `${exchange.order}, bounds ${exchange.bounds}`
    for (const burst of [[60, 60], [99, 99], [99, 1], [1, 99], [40, 40, 40, 40], [99]]) {
      it(`of ${burst.join(' and ')} in neighbouring milliseconds hides nothing (${told})`, async (t) => {
        const fills = listFills(burst)
        assert.deepEqual(await walk(open(await serve(t, fills, exchange))), { read: fills.length, end: window })
      })
    }

    it(`with more rows of one millisecond than a page has is reported, and everything else is read (${told})`, async (t) => {
      const fills = listFills([130])
      const walked = await walk(open(await serve(t, fills, exchange)))
      // Without an end: of that moment, what is known and was not shown may still be there.
      assert.deepEqual(walked, { read: fills.length - (130 - pageSize), end: undefined, cut: [burstMs] })
    })
  }
})

describe('an answer that is shorter than a page', () => {
  for (const short of [1, 2, 3]) {
    it(`does not end the walk while there are older rows (the ${short}. one)`, async (t) => {
      const fills = listFills([10, 10])
      const rowsAt = (answer: number): number => (answer === short ? 30 : pageSize)
      const server = await serve(t, fills, { order: 'newest first', bounds: 'included', rowsAt })
      assert.deepEqual(await walk(open(server)), { read: fills.length, end: window })
    })
  }
})

describe('rows that cannot be read', () => {
  it('do not hide the rows behind them when they fill a page', async (t) => {
    const fills = listFills([10])
    const sideOf = (id: number): string => (id >= 100 ? '' : 'buy')
    const server = await serve(t, fills, { order: 'newest first', bounds: 'included', sideOf })
    assert.deepEqual(await walk(open(server)), { read: fills.length, end: window })
  })
})
