/** Which requests read a list of Binance, and what is kept of the answers. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { dayMs } from '@assay/core'
import type { Page, PageRequest, Window } from '../kit/connector.ts'
import { faultOf, nowMs, useBinance } from './test-binance.ts'

const binance = useBinance()
const { received, answerBy, openAt } = binance

function request(stream: string, window: Window, more: Partial<PageRequest> = {}): PageRequest {
  return { stream, partition: '', window, pageMark: null, lastingMark: null, state: {}, ...more }
}

async function walk(first: PageRequest, reader = binance.reader): Promise<Page[]> {
  const pages: Page[] = []
  let pageMark = first.pageMark
  do {
    const page = await reader.fetchPage({ ...first, pageMark })
    pages.push(page)
    pageMark = page.next
  } while (pageMark !== null)
  return pages
}

const sinceLaunch: Window = { unit: 'ms', start: 0, end: nowMs }

describe('a list that is read by time', () => {
  const widest: Readonly<Record<string, number>> = {
    deposits: 90 * dayMs - 1,
    withdrawals: 90 * dayMs - 1,
    converts: 30 * dayMs,
    dividends: 180 * dayMs,
    earn_flexible: 30 * dayMs,
    earn_locked: 30 * dayMs,
  }
  for (const [stream, widestMs] of Object.entries(widest)) {
    it(`${stream}: every piece is as narrow as Binance requires, and the pieces leave no gap`, async () => {
      binance.answer = ({ path }) => ({
        body: path.includes('capital') ? [] : path.includes('convert') ? { list: [], moreData: false } : { rows: [] },
      })
      const pages = await walk(request(stream, sinceLaunch))
      const edges = received.map(
        ({ params }) => [Number(params.get('startTime')), Number(params.get('endTime'))] as const,
      )
      for (const [index, [start, end]] of edges.entries()) {
        assert.ok(end - start <= widestMs, `${end - start} ms`)
        if (index > 0) assert.equal(start, (edges[index - 1]?.[1] ?? 0) + 1)
      }
      assert.equal(edges.at(-1)?.[1], nowMs - 1)
      assert.deepEqual(pages.at(-1)?.complete, sinceLaunch)
    })
  }

  it('from before the exchange existed costs no request', async () => {
    const window: Window = { unit: 'ms', start: 0, end: Date.UTC(2016, 0, 1) }
    assert.deepEqual(await walk(request('deposits', window)), [{ records: [], next: null, complete: window }])
    assert.equal(received.length, 0)
  })

  it('that has no pages is halved until every piece fits into one answer', async () => {
    const times = Array.from({ length: 1_300 }, (_, index) => nowMs - 20 * dayMs + index * 60_000)
    binance.answer = ({ params }) => {
      const [start, end] = [Number(params.get('startTime')), Number(params.get('endTime'))]
      const inside = times.filter((time) => start <= time && time <= end)
      const list = inside.slice(0, 1_000).map((createTime) => convertRow(String(createTime), { createTime }))
      return { body: { list, moreData: inside.length > 1_000 } }
    }
    const pages = await walk(request('converts', { unit: 'ms', start: nowMs - 25 * dayMs, end: nowMs }))
    const keys = new Set(pages.flatMap(({ records }) => records.map(({ key }) => key)))
    assert.equal(keys.size, times.length)
  })

  it('learns the assets that it names', async () => {
    binance.answer = () => ({ body: { list: [convertRow('1', { createTime: nowMs - 1 })], moreData: false } })
    const window: Window = { unit: 'ms', start: nowMs - dayMs, end: nowMs }
    const { state } = await binance.reader.fetchPage(request('converts', window, { state: { assets: ['BTC'] } }))
    assert.deepEqual(state, { assets: ['BTC', 'EUR', 'USDT'] })
    const again = await binance.reader.fetchPage(request('converts', window, { state: state ?? {} }))
    assert.equal(again.state, undefined)
  })

  it('keeps a row whose time cannot be right as unreadable', async () => {
    const window: Window = { unit: 'ms', start: Date.UTC(2026, 0, 1), end: nowMs }
    for (const insertTime of [0, Math.floor(nowMs / 1_000), nowMs + 2 * dayMs]) {
      binance.answer = () => ({ body: [{ id: '1', coin: 'BTC', amount: '0.1', status: 1, insertTime }] })
      const { records } = await binance.reader.fetchPage(request('deposits', window))
      assert.deepEqual(
        records.map(({ occurredAtMs, unreadable }) => [occurredAtMs, unreadable]),
        [[nowMs - 1, 'the time is out of range']],
      )
    }
  })

  it('keeps every digit, and a row that it cannot read', async () => {
    binance.answer = () => ({
      body: '[{"id":"1","coin":"BTC","amount":"0.1","status":1,"insertTime":1767225600000},{"odd":1.50}]',
    })
    const window: Window = { unit: 'ms', start: Date.UTC(2026, 0, 1), end: nowMs }
    const { records } = await binance.reader.fetchPage(request('deposits', window))
    assert.deepEqual(
      records.map(({ key, body, unreadable }) => [key.length < 64 ? key : 'hash', body, unreadable === undefined]),
      [
        ['1', '{"id":"1","coin":"BTC","amount":"0.1","status":1,"insertTime":1767225600000}', true],
        ['hash', '{"odd":1.50}', false],
      ],
    )
  })

  const lastDay: Window = { unit: 'ms', start: nowMs - dayMs, end: nowMs }

  it('of fiat payments may come without `data`', async () => {
    binance.answer = () => ({ body: { code: '000000', message: 'success', success: true } })
    assert.deepEqual(
      (await walk(request('fiat_buys', lastDay))).map(({ records }) => records),
      [[]],
    )
  })

  // The documented answers, without rows.
  const rows = { rows: [], total: 0 }
  const fiat = { code: '000000', message: 'success', data: [], total: 0, success: true }
  const empty: Readonly<Record<string, unknown>> = {
    deposits: [],
    withdrawals: [],
    converts: { list: [], startTime: 0, endTime: 1, limit: 1_000, moreData: false },
    dividends: rows,
    dust: { total: 0, userAssetDribblets: [] },
    earn_flexible: rows,
    earn_locked: rows,
    fiat_buys: fiat,
    fiat_sells: fiat,
    fiat_deposits: fiat,
    fiat_withdrawals: fiat,
  }
  const failed = { code: '000001', message: 'System busy', messageDetail: null, data: null, success: false }
  const odd: readonly (readonly [what: string, body: object])[] = [
    ['a failure of Binance’s web API', failed],
    ['a failure beside empty lists', { ...failed, data: [], list: [], rows: [], userAssetDribblets: [] }],
    ['an error of the REST API with HTTP 200', { code: -1, msg: 'busy' }],
    ['a message of a gateway', { message: 'Service temporarily unavailable' }],
    ['a message of a gateway beside an empty list', { status: 503, message: 'Service unavailable', data: [] }],
    ['an empty object', {}],
    ['null for a list', { data: null, list: null, rows: null, userAssetDribblets: null }],
  ]
  for (const [stream, body] of Object.entries({
    converts: { list: null, startTime: 0, endTime: 1, limit: 1_000, moreData: false },
    dividends: { rows: null, total: 0 },
    dust: { total: 0, userAssetDribblets: null },
    earn_locked: { total: 0 },
  })) {
    it(`${stream}: a list that is null beside its count of none is empty`, async () => {
      binance.answer = () => ({ body })
      assert.deepEqual(
        (await walk(request(stream, lastDay))).flatMap(({ records }) => records),
        [],
      )
    })
  }
  for (const [stream, body] of Object.entries(empty)) {
    it(`${stream}: only the documented answer without rows is an empty list`, async () => {
      binance.answer = () => ({ body })
      assert.deepEqual(
        (await walk(request(stream, lastDay))).flatMap(({ records }) => records),
        [],
      )
      for (const [what, wrong] of odd) {
        binance.answer = () => ({ body: wrong })
        const error = await faultOf(binance.reader.fetchPage(request(stream, lastDay)))
        assert.equal(error.fault, 'unreadable_answer', what)
        assert.doesNotMatch(error.message, /busy/)
      }
    })
  }
})

function convertRow(orderId: string, more: object): object {
  const amounts = { fromAsset: 'EUR', fromAmount: '20', toAsset: 'USDT', toAmount: '21.5' }
  return { orderId, orderStatus: 'SUCCESS', ...amounts, ...more }
}

describe('trades', () => {
  const trades = Array.from({ length: 2_300 }, (_, index) => ({
    symbol: 'BNBBTC',
    id: 28_457 + index * 3,
    orderId: 100_234,
    price: '4.00000100',
    qty: '12.00000000',
    quoteQty: '48.000012',
    commission: '10.10000000',
    commissionAsset: 'BNB',
    time: Date.UTC(2025, 0, 1) + index,
    isBuyer: true,
  }))
  const pair = { partition: 'BNB/BTC' }

  beforeEach(() => {
    binance.answer = ({ params }) => {
      assert.equal(params.get('symbol'), 'BNBBTC')
      const from = Number(params.get('fromId'))
      return { body: trades.filter(({ id }) => id >= from).slice(0, Number(params.get('limit'))) }
    }
  })

  it('are read by id, each once, and the lasting mark outlives the window', async () => {
    const pages = await walk(request('trades', sinceLaunch, pair))
    assert.equal(new Set(pages.flatMap(({ records }) => records.map(({ key }) => key))).size, trades.length)
    const lastingMark = pages.at(-1)?.lastingMark ?? null
    received.length = 0
    const newer: Window = { unit: 'ms', start: nowMs, end: nowMs + dayMs }
    assert.deepEqual((await walk(request('trades', newer, { ...pair, lastingMark }))).length, 1)
    assert.equal(received[0]?.params.get('fromId'), String(28_457 + 2_299 * 3 + 1))
    // Everything before the time of the last reading is already stored.
    await walk(request('trades', { ...sinceLaunch, end: nowMs - dayMs }, { ...pair, lastingMark }))
    assert.equal(received.length, 1)
  })

  describe('that Binance shows late', () => {
    const hourMs = dayMs / 24
    const firstEnd = nowMs + 12 * hourMs
    const shown = new Map<number, object>()
    const show = (id: number, time: number): void => void shown.set(id, { ...trades[0], id, time })

    beforeEach(() => {
      shown.clear()
      binance.answer = ({ params }) => {
        const ids = [...shown.keys()].filter((id) => id >= Number(params.get('fromId'))).toSorted((a, b) => a - b)
        return { body: ids.slice(0, Number(params.get('limit'))).map((id) => shown.get(id)) }
      }
    })

    /** Reads up to `end` as the engine does: from an hour, or a week, before the end of what was read. */
    async function run(end: number, lastingMark: string | null, before: number, behindMs = hourMs) {
      const start = lastingMark === null ? 0 : before - behindMs
      received.length = 0
      const pages = await walk(request('trades', { unit: 'ms', start, end }, { ...pair, lastingMark }), openAt(end))
      const keys = pages.flatMap(({ records }) => records.map(({ key }) => key))
      const asked = received.map(({ params }) => params.get('fromId'))
      return { keys, asked, mark: pages.at(-1)?.lastingMark ?? null, complete: pages.at(-1)?.complete }
    }

    it('are found by the next run, with one request, if they are less than an hour old', async () => {
      show(100, firstEnd - 30 * dayMs)
      const first = await run(firstEnd, null, 0)
      show(104, firstEnd + 1)
      const second = await run(firstEnd + 2, first.mark, firstEnd)
      assert.deepEqual([second.keys, second.asked], [['104'], ['101', '105']])
      show(103, firstEnd + 1)
      const third = await run(firstEnd + 3, second.mark, firstEnd + 2)
      assert.deepEqual([third.keys, third.asked], [['103', '104'], ['101']])
      // A walk by ids does not show its window: a trade that it lacks was not withdrawn.
      assert.equal(third.complete, undefined)
      // What is older than an hour is not read again.
      const later = await run(firstEnd + 2 * hourMs, third.mark, firstEnd + 3)
      const last = await run(firstEnd + 2 * hourMs + 1, later.mark, firstEnd + 2 * hourMs)
      assert.deepEqual([last.keys, last.asked], [[], ['105']])
    })

    it('are found after a first read that lacked them', async () => {
      show(7, firstEnd - 30 * dayMs)
      show(104, firstEnd - 1)
      const first = await run(firstEnd, null, 0)
      show(103, firstEnd - 1)
      assert.deepEqual((await run(firstEnd + 1, first.mark, firstEnd)).keys, ['103', '104'])
    })

    it('are found by the first run of a day, with one request, if they are less than a week old', async () => {
      for (const day of [30, 20, 6, 4]) show(100 - day, firstEnd - day * dayMs)
      const first = await run(firstEnd, null, 0)
      show(104, firstEnd + hourMs)
      const second = await run(firstEnd + 4 * hourMs, first.mark, firstEnd)
      const third = await run(firstEnd + 5 * hourMs, second.mark, firstEnd + 4 * hourMs)
      assert.deepEqual(third.asked, ['105'])
      show(103, firstEnd + hourMs)
      show(95, firstEnd - 5 * dayMs)
      const fourth = await run(firstEnd + dayMs, third.mark, firstEnd + 5 * hourMs, 7 * dayMs)
      assert.deepEqual([fourth.keys, fourth.asked], [['94', '95', '96', '103', '104'], ['81']])
      // Days later the week has moved on.
      const fifth = await run(firstEnd + 8 * dayMs, fourth.mark, firstEnd + dayMs, 7 * dayMs)
      const sixth = await run(firstEnd + 9 * dayMs, fifth.mark, firstEnd + 8 * dayMs, 7 * dayMs)
      assert.deepEqual([sixth.keys, sixth.asked], [[], ['105']])
    })

    it('cost no more than the pages that a week of trades fills, and an hour is not a week', async () => {
      for (let id = 1; id <= 2_500; id += 1) show(id, firstEnd - 3 * dayMs + id)
      const first = await run(firstEnd, null, 0)
      assert.deepEqual(first.asked, ['0', '1001', '2001', '2501'])
      assert.deepEqual((await run(firstEnd + 1, first.mark, firstEnd)).asked, ['2501'])
      const week = await run(firstEnd + dayMs, first.mark, firstEnd, 7 * dayMs)
      assert.deepEqual([week.keys.length, week.asked], [2_500, ['0', '1001', '2001']])
      assert.deepEqual((await run(firstEnd + dayMs + 1, week.mark, firstEnd + dayMs)).asked, ['2501'])
    })

    it('do not make a long first history begin again when it takes several jobs', async () => {
      for (let id = 1; id <= 2_500; id += 1) show(id, firstEnd - 3 * dayMs + id)
      const whole: Window = { unit: 'ms', start: 0, end: firstEnd }
      const begun = await binance.reader.fetchPage(request('trades', whole, pair))
      const newer = await run(firstEnd + 1, begun.lastingMark ?? null, firstEnd)
      assert.deepEqual(newer.asked, ['1001', '2001', '2501'])
      const rest = { ...pair, lastingMark: newer.mark, pageMark: begun.next }
      received.length = 0
      assert.deepEqual(await walk(request('trades', whole, rest), openAt(firstEnd + 1)), [{ records: [], next: null }])
      assert.equal(received.length, 0)
      // The week of the first page is still read again.
      assert.deepEqual((await run(firstEnd + dayMs, newer.mark, firstEnd + 1, 7 * dayMs)).asked[0], '0')
    })

    it('do not lose the rest of a week that was read in part before the next window was read', async () => {
      for (let id = 1; id <= 2_500; id += 1) show(id, firstEnd - 3 * dayMs + id)
      const first = await run(firstEnd, null, 0)
      const week: Window = { unit: 'ms', start: firstEnd - 7 * dayMs, end: firstEnd + dayMs }
      const begun = await binance.reader.fetchPage(request('trades', week, { ...pair, lastingMark: first.mark }))
      const newer = await run(week.end + 1, begun.lastingMark ?? null, week.end)
      assert.deepEqual(newer.asked, ['1001', '2001'])
    })
  })

  it('are read although the clock was ahead when the list was last read', async () => {
    const ahead = openAt(nowMs + 30 * dayMs)
    const all = { ...sinceLaunch, end: nowMs + 30 * dayMs }
    let page = await ahead.fetchPage(request('trades', all, pair))
    while (page.next !== null) page = await ahead.fetchPage(request('trades', all, { ...pair, pageMark: page.next }))
    const [one] = trades
    binance.answer = () => ({ body: [{ ...one, id: 99_999, time: nowMs - 1 }] })
    const lastingMark = page.lastingMark ?? null
    const { records } = await binance.reader.fetchPage(request('trades', sinceLaunch, { ...pair, lastingMark }))
    assert.deepEqual(
      records.map(({ key }) => key),
      ['99999'],
    )
  })

  it('of a pair that Binance no longer knows end, and the list is named only once in a rotation', async () => {
    binance.answer = () => ({ status: 400, body: { code: -1121, msg: 'Invalid symbol.' } })
    const state = { assets: ['BNB', 'BTC'], connectedAtMs: nowMs }
    const page = await binance.reader.fetchPage(request('trades', sinceLaunch, { ...pair, state }))
    assert.deepEqual(page, { records: [], next: null, isGone: true, state: { ...state, lost: ['BNB/BTC'] } })
    const listedOn = async (day: number): Promise<boolean> => {
      answerBy({ exchangeInfo: { body: { symbols: [{ symbol: 'BNBBTC', baseAsset: 'BNB', quoteAsset: 'BTC' }] } } })
      const listed = (await openAt(nowMs + day * dayMs).listPartitions?.(page.state ?? {})) ?? []
      return listed.length > 0
    }
    const days = await Promise.all(Array.from({ length: 28 }, (_, day) => listedOn(day)))
    assert.equal(days.filter(Boolean).length, 1)
  })
})
