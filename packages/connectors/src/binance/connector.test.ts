/**
 * The connector against a server with one prepared answer. The formats are those of binance-spot-api-docs (rest-api.md,
 * errors.md) and developers.binance.com (docs/wallet, docs/convert, docs/simple_earn, docs/fiat); all values are
 * invented.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { dayMs, type Fault, NoAnswer, SourceError } from '@assay/core'
import type {
  ApiKeyCredentials,
  ConnectorState,
  Page,
  PageRequest,
  AccountReader,
  Balances,
  Window,
} from '../kit/connector.ts'
import { connector } from './connector.ts'

const credentials: ApiKeyCredentials = {
  type: 'api_key',
  // The key and the secret of the worked example in rest-api.md, "SIGNED Endpoint Examples".
  apiKey: 'vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A',
  secretKey: 'NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j',
}

interface Received {
  path: string
  params: URLSearchParams
  query: string
  headers: IncomingMessage['headers']
}
type Reply = { status?: number; headers?: Record<string, string>; body: unknown }

const received: Received[] = []
let answer: (request: Received) => Reply
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const url = new URL(request.url ?? '', 'http://localhost')
  const call = { path: url.pathname, params: url.searchParams, query: url.search.slice(1), headers: request.headers }
  received.push(call)
  const { status = 200, headers = {}, body } = answer(call)
  response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
})

const nowMs = Date.UTC(2026, 0, 15)
let reader: AccountReader

before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
after(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  received.length = 0
  reader = open()
})

function open(given: ApiKeyCredentials = credentials): AccountReader {
  return openAt(nowMs, given)
}

function openAt(atMs: number, given: ApiKeyCredentials = credentials): AccountReader {
  return connector.open(given, {
    fetch: globalThis.fetch,
    now: () => atMs,
    nextNonce: () => '1',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
}

const rights = { ipRestrict: false, createTime: 1698645219000, enableReading: true, enableFixReadOnly: true }

function answerBy(replies: Readonly<Record<string, Reply>>): void {
  answer = ({ path }) => {
    const name = Object.keys(replies).find((end) => path.endsWith(end))
    return name === undefined ? { status: 404, body: '' } : (replies[name] as Reply)
  }
}

async function faultOf(promise: Promise<unknown>): Promise<SourceError> {
  const error = await promise.then(
    () => assert.fail('no error was thrown'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof SourceError, String(error))
  return error
}

describe('a signed call', () => {
  it('is signed over everything that is sent, and carries the key only in a header', async () => {
    answerBy({ apiRestrictions: { body: { ...rights, enableReading: false } } })
    await reader.verify()
    const [{ query, headers }] = received as [Received]
    const [payload = '', signature] = query.split('&signature=')
    assert.equal(signature, createHmac('sha256', credentials.secretKey).update(payload).digest('hex'))
    assert.equal(new URLSearchParams(payload).get('timestamp'), String(nowMs))
    assert.equal(headers['x-mbx-apikey'], credentials.apiKey)
    assert.ok(!query.includes(credentials.apiKey))
  })

  it('that Binance rejects as too late or too early is repeated once, by Binance’s clock', async () => {
    const theirsMs = nowMs + 600_000
    answer = ({ path, params }) => {
      if (path === '/api/v3/time') return { body: { serverTime: theirsMs } }
      const isInTime = params.get('timestamp') === String(theirsMs)
      return isInTime ? { body: { ...rights, enableReading: false } } : { status: 400, body: { code: -1021, msg: 'x' } }
    }
    await reader.verify()
    await reader.verify()
    // Refused, time fetched, accepted; from then on the difference is known.
    assert.deepEqual(
      received.map(({ path }) => path.split('/').at(-1)),
      ['apiRestrictions', 'time', 'apiRestrictions', 'apiRestrictions'],
    )
  })

  it('with a key that cannot be Binance’s is not sent', async () => {
    for (const apiKey of ['short', `${credentials.apiKey}\n`, 'ü'.repeat(64)]) {
      assert.equal((await faultOf(open({ ...credentials, apiKey }).verify())).fault, 'invalid_credentials')
    }
    assert.equal(received.length, 0)
  })

  const errors: readonly (readonly [status: number, code: number, fault: Fault])[] = [
    [400, -1022, 'invalid_credentials'],
    [400, -2008, 'invalid_credentials'],
    [401, -2014, 'invalid_credentials'],
    [401, -1002, 'missing_permission'],
    [400, -1130, 'unreadable_answer'],
    [400, -1007, 'venue_down'],
    [503, -1008, 'venue_down'],
    [403, 0, 'rate_limited'],
    [429, -1003, 'rate_limited'],
  ]
  for (const [status, code, fault] of errors) {
    it(`HTTP ${status} with code ${code} is ${fault}`, async () => {
      answer = () => ({ status, body: code === 0 ? '<html></html>' : { code, msg: `key ${credentials.apiKey}` } })
      const error = await faultOf(reader.verify())
      assert.equal(error.fault, fault)
      // Binance counts the weight of an address.
      assert.equal(error.isOfAddress, fault === 'rate_limited')
      assert.equal(error instanceof NoAnswer, status >= 500)
      assert.ok(!error.message.includes(credentials.apiKey))
    })
  }

  it('−2015 under /api is investigated: the rights of the key show the cause', async () => {
    const rejected = { status: 401, body: { code: -2015, msg: 'x' } }
    answerBy({ account: rejected, apiRestrictions: { status: 400, body: { code: -2008, msg: 'x' } } })
    assert.equal((await faultOf(reader.fetchBalances({}))).fault, 'invalid_credentials')
    answerBy({ account: rejected, apiRestrictions: rejected })
    assert.equal((await faultOf(reader.fetchBalances({}))).fault, 'invalid_credentials')
    const { missing } = await reader.verify()
    assert.equal(missing[0], 'Enable Reading')
    assert.match(missing[1] ?? '', /trusted IPs/)
    answerBy({ account: rejected, apiRestrictions: { body: rights } })
    assert.equal((await faultOf(reader.fetchBalances({}))).fault, 'missing_permission')
  })

  it('429 and 418 give the time to wait', async () => {
    for (const status of [429, 418]) {
      answer = () => ({ status, headers: { 'Retry-After': '17' }, body: { code: -1003, msg: 'x' } })
      const { fault, retryAfterMs } = await faultOf(reader.verify())
      assert.deepEqual([fault, retryAfterMs], ['rate_limited', 17_000])
    }
    // Binance has sent 0, and bans an address that retries at once: the next full minute is the earliest.
    answer = () => ({ status: 429, headers: { 'Retry-After': '0' }, body: { code: -1003, msg: 'x' } })
    assert.equal((await faultOf(reader.verify())).retryAfterMs, 60_000)
  })
})

describe('the rights of a key', () => {
  it('the right to read is enough, and the account is identified by its number', async () => {
    const headers = { 'X-SAPI-USED-IP-WEIGHT-1M': '3' }
    answerBy({
      apiRestrictions: { headers, body: rights },
      account: { headers: { 'X-MBX-USED-WEIGHT-1M': '41' }, body: { balances: [], uid: 354937868 } },
    })
    const account = await reader.verify()
    assert.deepEqual([account.excess, account.missing], [[], []])
    assert.deepEqual(account.spent, [
      { bucket: 'sapi', used: 3 },
      { bucket: 'weight', used: 41 },
    ])
    const other = await open({ ...credentials, apiKey: credentials.apiKey.toLowerCase() }).verify()
    assert.deepEqual([other.fingerprint, other.fingerprintOf], [account.fingerprint, 'account'])
  })

  it('every other right is excessive, even an unknown one', async () => {
    answerBy({
      apiRestrictions: { body: { ...rights, enableWithdrawals: true, enableMargin: false, enableMoonTrading: true } },
      account: { body: { balances: [], uid: 1 } },
    })
    assert.deepEqual((await reader.verify()).excess, ['Enable Withdrawals', 'enableMoonTrading'])
  })

  it('an answer that names no rights is not a key without rights, and one without an account names none', async () => {
    for (const body of [{}, { code: '000001', success: false }, { message: 'busy' }]) {
      answerBy({ apiRestrictions: { body } })
      assert.equal((await faultOf(reader.verify())).fault, 'unreadable_answer')
      answerBy({ apiRestrictions: { body: rights }, account: { body } })
      assert.equal((await faultOf(reader.verify())).fault, 'unreadable_answer')
    }
  })

  it('a key without the right to read is reported, and no further call is made', async () => {
    answerBy({ apiRestrictions: { body: { ...rights, enableReading: false } } })
    assert.deepEqual((await reader.verify()).missing, ['Enable Reading'])
    assert.equal(received.length, 1)
  })
})

describe('balances', () => {
  it('count Simple Earn once, and Lido as Lido', async () => {
    answerBy({
      account: {
        body: {
          balances: [
            { asset: 'BTC', free: '0.10000000', locked: '0.02000000' },
            { asset: 'LDBTC', free: '0.50000000', locked: '0.00000000' },
            { asset: 'LDO', free: '7.00000000', locked: '0.00000000' },
            { asset: 'LDLDO', free: '3.00000000', locked: '0.00000000' },
            // This coin only has such a name and is not in Simple Earn.
            { asset: 'LDQX', free: '1.00000000', locked: '0.00000000' },
          ],
        },
      },
      'flexible/position': {
        body: {
          rows: [
            { asset: 'BTC', totalAmount: '0.50000001' },
            { asset: 'LDO', totalAmount: '3' },
          ],
          total: 2,
        },
      },
      'locked/position': { body: { rows: [{ asset: 'DOT', amount: '40.00000000' }], total: 1 } },
    })
    const { balances, state } = await reader.fetchBalances({})
    assert.deepEqual(
      balances.map(({ symbol, liquid, staked }) => [symbol, liquid, staked]),
      [
        ['BTC', '0.62000001', '0'],
        ['LDO', '10', '0'],
        ['LDQX', '1', '0'],
        ['DOT', '0', '40'],
      ],
    )
    assert.deepEqual(state, { assets: ['BTC', 'DOT', 'LDO', 'LDQX'], connectedAtMs: nowMs })
  })

  it('are in doubt while a part of Simple Earn is the collateral of a loan, whose coins are in the spot wallet', async () => {
    const readWith = async (collateralAmount: string): Promise<Balances> => {
      answerBy({
        account: { body: { balances: [{ asset: 'USDT', free: '700', locked: '0' }] } },
        'flexible/position': { body: { rows: [{ asset: 'BTC', totalAmount: '1', collateralAmount }], total: 1 } },
        'locked/position': { body: { rows: [], total: 0 } },
      })
      return reader.fetchBalances({})
    }
    const free = await readWith('0.00000000')
    assert.deepEqual([free.isInDoubt, free.unreadable], [undefined, undefined])
    const owing = await readWith('1.00000000')
    assert.deepEqual([owing.isInDoubt, owing.unreadable], [true, ['a loan against Simple Earn']])
    assert.deepEqual(owing.balances, free.balances)
  })

  it('with a code that cannot be an asset’s are left out and named, and the others are read', async () => {
    const long = `LD${'X'.repeat(400)}`
    answerBy({
      account: {
        body: {
          balances: [long, '', 'BTC'].map((asset) => ({ asset, free: '1', locked: '0' })),
        },
      },
      'flexible/position': { body: { rows: [{ asset: '', totalAmount: '1' }], total: 1 } },
      'locked/position': { body: { rows: [{ asset: 'DOT', amount: '40' }], total: 1 } },
    })
    const { balances, unreadable, state } = await reader.fetchBalances({})
    assert.deepEqual(
      balances.map(({ symbol }) => symbol),
      ['BTC', 'DOT'],
    )
    assert.deepEqual(unreadable, [`LD${'X'.repeat(38)}…`, 'an asset without a code'])
    assert.deepEqual(state?.['assets'], ['BTC', 'DOT'])
  })

  it('are not empty when Binance fails with HTTP 200', async () => {
    const replies = {
      account: { body: { balances: [] } },
      'flexible/position': { body: { rows: [], total: 0 } },
      'locked/position': { body: { rows: [], total: 0 } },
    }
    answerBy(replies)
    assert.deepEqual((await reader.fetchBalances({})).balances, [])
    for (const name of Object.keys(replies)) {
      for (const body of [{}, { message: 'busy' }, { code: '000001', rows: [], success: false }]) {
        answerBy({ ...replies, [name]: { body } })
        assert.equal((await faultOf(reader.fetchBalances({}))).fault, 'unreadable_answer')
      }
    }
  })
})

function request(stream: string, window: Window, more: Partial<PageRequest> = {}): PageRequest {
  return { stream, partition: '', window, pageMark: null, lastingMark: null, state: {}, ...more }
}

async function walk(first: PageRequest): Promise<Page[]> {
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
      answer = ({ path }) => ({
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
    answer = ({ params }) => {
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
    answer = () => ({ body: { list: [convertRow('1', { createTime: nowMs - 1 })], moreData: false } })
    const window: Window = { unit: 'ms', start: nowMs - dayMs, end: nowMs }
    const { state } = await reader.fetchPage(request('converts', window, { state: { assets: ['BTC'] } }))
    assert.deepEqual(state, { assets: ['BTC', 'EUR', 'USDT'] })
    const again = await reader.fetchPage(request('converts', window, { state: state ?? {} }))
    assert.equal(again.state, undefined)
  })

  it('keeps a row whose time cannot be right as unreadable', async () => {
    const window: Window = { unit: 'ms', start: Date.UTC(2026, 0, 1), end: nowMs }
    for (const insertTime of [0, Math.floor(nowMs / 1_000), nowMs + 2 * dayMs]) {
      answer = () => ({ body: [{ id: '1', coin: 'BTC', amount: '0.1', status: 1, insertTime }] })
      const { records } = await reader.fetchPage(request('deposits', window))
      assert.deepEqual(
        records.map(({ occurredAtMs, unreadable }) => [occurredAtMs, unreadable]),
        [[nowMs - 1, 'the time is out of range']],
      )
    }
  })

  it('keeps every digit, and a row that it cannot read', async () => {
    answer = () => ({
      body: '[{"id":"1","coin":"BTC","amount":"0.1","status":1,"insertTime":1767225600000},{"odd":1.50}]',
    })
    const window: Window = { unit: 'ms', start: Date.UTC(2026, 0, 1), end: nowMs }
    const { records } = await reader.fetchPage(request('deposits', window))
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
    answer = () => ({ body: { code: '000000', message: 'success', success: true } })
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
      answer = () => ({ body })
      assert.deepEqual(
        (await walk(request(stream, lastDay))).flatMap(({ records }) => records),
        [],
      )
    })
  }
  for (const [stream, body] of Object.entries(empty)) {
    it(`${stream}: only the documented answer without rows is an empty list`, async () => {
      answer = () => ({ body })
      assert.deepEqual(
        (await walk(request(stream, lastDay))).flatMap(({ records }) => records),
        [],
      )
      for (const [what, wrong] of odd) {
        answer = () => ({ body: wrong })
        const error = await faultOf(reader.fetchPage(request(stream, lastDay)))
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
    answer = ({ params }) => {
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
      answer = ({ params }) => {
        const ids = [...shown.keys()].filter((id) => id >= Number(params.get('fromId'))).toSorted((a, b) => a - b)
        return { body: ids.slice(0, Number(params.get('limit'))).map((id) => shown.get(id)) }
      }
    })

    /** Reads up to `end` as the engine does: from an hour, or a week, before the end of what was read. */
    async function run(end: number, lastingMark: string | null, before: number, behindMs = hourMs) {
      const start = lastingMark === null ? 0 : before - behindMs
      reader = openAt(end)
      received.length = 0
      const pages = await walk(request('trades', { unit: 'ms', start, end }, { ...pair, lastingMark }))
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
      const begun = await reader.fetchPage(request('trades', whole, pair))
      const newer = await run(firstEnd + 1, begun.lastingMark ?? null, firstEnd)
      assert.deepEqual(newer.asked, ['1001', '2001', '2501'])
      const rest = { ...pair, lastingMark: newer.mark, pageMark: begun.next }
      received.length = 0
      assert.deepEqual(await walk(request('trades', whole, rest)), [{ records: [], next: null }])
      assert.equal(received.length, 0)
      // The week of the first page is still read again.
      assert.deepEqual((await run(firstEnd + dayMs, newer.mark, firstEnd + 1, 7 * dayMs)).asked[0], '0')
    })

    it('do not lose the rest of a week that was read in part before the next window was read', async () => {
      for (let id = 1; id <= 2_500; id += 1) show(id, firstEnd - 3 * dayMs + id)
      const first = await run(firstEnd, null, 0)
      const week: Window = { unit: 'ms', start: firstEnd - 7 * dayMs, end: firstEnd + dayMs }
      const begun = await reader.fetchPage(request('trades', week, { ...pair, lastingMark: first.mark }))
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
    answer = () => ({ body: [{ ...one, id: 99_999, time: nowMs - 1 }] })
    const lastingMark = page.lastingMark ?? null
    const { records } = await reader.fetchPage(request('trades', sinceLaunch, { ...pair, lastingMark }))
    assert.deepEqual(
      records.map(({ key }) => key),
      ['99999'],
    )
  })

  it('of a pair that Binance no longer knows end, and the list is named only once in a rotation', async () => {
    answer = () => ({ status: 400, body: { code: -1121, msg: 'Invalid symbol.' } })
    const state = { assets: ['BNB', 'BTC'], connectedAtMs: nowMs }
    const page = await reader.fetchPage(request('trades', sinceLaunch, { ...pair, state }))
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

describe('the pairs to read', () => {
  const symbols = ['BTC/USDT', 'ETH/BTC', 'ETH/EUR', 'DOGE/USDT', 'XRP/EUR'].map((name) => {
    const [baseAsset = '', quoteAsset = ''] = name.split('/')
    return { symbol: `${baseAsset}${quoteAsset}`, status: 'BREAK', baseAsset, quoteAsset }
  })
  const namesOf = async (state: ConnectorState): Promise<string[]> =>
    ((await reader.listPartitions?.(state)) ?? []).map(({ partition }) => partition)

  beforeEach(() => answerBy({ exchangeInfo: { body: { symbols } } }))

  it('of an account without any asset are none, and cost no request', async () => {
    assert.deepEqual(await namesOf({}), [])
    assert.equal(received.length, 0)
  })

  it('are all that touch a seen asset while the connection is new', async () => {
    assert.deepEqual(await namesOf({ assets: ['BTC'], connectedAtMs: nowMs - 1 }), ['BTC/USDT', 'ETH/BTC'])
    assert.deepEqual(await namesOf({ assets: ['ETH', 'EUR'], connectedAtMs: nowMs }), ['ETH/BTC', 'ETH/EUR', 'XRP/EUR'])
    assert.equal(received.length, 1, 'a reader asks for the pairs once')
  })

  it('are later those of two seen assets, and every other one within four weeks', async () => {
    const turns = new Set<string>()
    for (let day = 0; day < 28; day += 1) {
      const later = openAt(nowMs + day * dayMs)
      const listed = (await later.listPartitions?.({ assets: ['BTC', 'USDT'], connectedAtMs: 0 })) ?? []
      assert.ok(listed.some(({ partition }) => partition === 'BTC/USDT'))
      for (const { partition } of listed) turns.add(partition)
    }
    assert.deepEqual([...turns].toSorted(), ['BTC/USDT', 'DOGE/USDT', 'ETH/BTC'])
  })

  it('include those of an asset that Binance no longer lists', async () => {
    const names = await namesOf({ assets: ['LEND', 'USDT'], connectedAtMs: 0 })
    assert.ok(names.includes('LEND/USDT'))
  })

  it('include one with stored trades that Binance no longer lists', async () => {
    const known = [
      { stream: 'trades', partition: 'ADA/BTC', lastingMark: '17@1' },
      { stream: 'trades', partition: 'SOL/BTC', lastingMark: '0@1' },
      { stream: 'trades', partition: 'BTC/USDT', lastingMark: '9@1' },
    ]
    const state = { assets: ['ADA', 'BTC', 'SOL', 'USDT'], connectedAtMs: 0 }
    const listed = ((await reader.listPartitions?.(state, known)) ?? []).map(({ partition }) => partition)
    assert.deepEqual(
      listed.filter((partition) => known.some((one) => one.partition === partition)),
      ['BTC/USDT', 'ADA/BTC', 'SOL/BTC'],
    )
    // SOL is in no pair and is guessed; ADA was guessed and known, and is named once.
    assert.equal(new Set(listed).size, listed.length)
    const withEth = { assets: ['BTC', 'ETH', 'XRP'], connectedAtMs: 0 }
    const kept = [{ stream: 'trades', partition: 'XRP/ETH', lastingMark: '3@1' }]
    assert.ok((await reader.listPartitions?.(withEth, kept))?.some(({ partition }) => partition === 'XRP/ETH'))
    assert.ok(!(await reader.listPartitions?.(withEth, []))?.some(({ partition }) => partition === 'XRP/ETH'))
  })
})

describe('two states that were learned at the same time', () => {
  it('are joined in either order, and one that adds nothing changes nothing', () => {
    const joined = connector.atOnce?.joinStates.bind(connector.atOnce)
    assert.ok(joined)
    const one = { assets: ['BTC', 'ETH'], lost: ['LEND/BTC'], connectedAtMs: nowMs }
    const other = { assets: ['BTC', 'SOL'], connectedAtMs: nowMs }
    const both = { assets: ['BTC', 'ETH', 'SOL'], lost: ['LEND/BTC'], connectedAtMs: nowMs }
    assert.deepEqual(joined(one, other), both)
    assert.deepEqual(joined(other, one), both)
    assert.deepEqual(joined(both, one), both)
  })
})
