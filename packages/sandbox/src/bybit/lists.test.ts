/** Windows, pages, retention and rate limits. */
import { dayMs } from '@assay/core'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { openBybitAccount, send, type BybitBody, type BybitTestAccount } from '../testing/bybit-client.ts'
import { startTestSandbox } from '../testing/kraken-client.ts'

const at = { nowMs: Date.UTC(2026, 10, 15) }
let sandbox: Sandbox
let account: BybitTestAccount
before(async () => {
  sandbox = await startTestSandbox({ pace: 'real', now: () => at.nowMs })
  account = await openBybitAccount(sandbox, 'default')
})
after(() => sandbox.close())

interface Page {
  list: Record<string, string>[]
  rows: Record<string, string>[]
  nextPageCursor: string
}

type Parameters = Record<string, string | number>

async function ask(path: string, parameters: Parameters, of = account): Promise<BybitBody<Page>> {
  at.nowMs += 1_000
  const response = await send(sandbox, of, path, parameters, { timestamp: at.nowMs })
  return (await response.json()) as BybitBody<Page>
}

const executions = '/v5/execution/list'
const log = '/v5/account/transaction-log'
const deposits = '/v5/asset/deposit/query-record'
const start = Date.UTC(2025, 2, 7)

describe('windows of Bybit', () => {
  // …/docs/v5/order/execution and …/docs/v5/account/transaction-log, "startTime"
  it('executions and the log: at most seven days; a single edge is completed to seven days, or to one', async () => {
    const counted = async (path: string, range: Parameters): Promise<number> =>
      (await ask(path, { category: 'spot', ...range })).result.list.length
    assert.equal(await counted(executions, { startTime: start }), 7)
    assert.equal(await counted(executions, { endTime: start + 7 * dayMs }), 7)
    assert.equal(await counted(executions, { startTime: start, endTime: start + 7 * dayMs }), 7)
    assert.equal(await counted(log, { startTime: start }), 6)
    assert.equal(await counted(log, { startTime: start, endTime: start + 7 * dayMs }), 14)
    assert.equal(await counted(executions, {}), 0)
    for (const path of [executions, log]) {
      const tooLong = { category: 'spot', startTime: start, endTime: start + 7 * dayMs + 1 }
      assert.equal((await ask(path, tooLong)).retCode, 10001)
    }
    assert.equal((await ask(executions, {})).retCode, 10001, 'the category is required')
  })

  // …/docs/v5/asset/deposit/deposit-record, "endTime - startTime should be less than 30 days"
  it('deposits and withdrawals: thirty days at most, the last thirty by default, and a start alone means until now', async () => {
    for (const path of [deposits, '/v5/asset/withdraw/query-record', '/v5/asset/deposit/query-internal-record']) {
      assert.equal((await ask(path, { startTime: start, endTime: start + 30 * dayMs })).retCode, 0)
      assert.equal((await ask(path, { startTime: start, endTime: start + 30 * dayMs + 1 })).retCode, 131002)
      assert.equal((await ask(path, { startTime: start })).retCode, 131002)
    }
    const { result } = await ask(deposits, {})
    assert.deepEqual(
      result.rows.map(({ coin, amount }) => [coin, amount]),
      [['ETH', '0.3']],
    )
  })

  it('the funding history: seven days in seconds, both edges or none', async () => {
    const path = '/v5/asset/fundinghistory'
    const from = start / 1000
    assert.equal((await ask(path, { createTimeFrom: from, createTimeTo: from + 7 * 86_400 })).retCode, 0)
    assert.equal((await ask(path, { createTimeFrom: from, createTimeTo: from + 7 * 86_400 + 1 })).retCode, 10001)
    assert.equal((await ask(path, { createTimeFrom: from })).retCode, 10001)
  })

  it('withdrawals within Bybit are listed only on request', async () => {
    const range = { startTime: Date.UTC(2026, 2, 1), endTime: Date.UTC(2026, 2, 30) }
    const path = '/v5/asset/withdraw/query-record'
    assert.equal((await ask(path, range)).result.rows.length, 0)
    assert.equal((await ask(path, { ...range, withdrawType: 1 })).result.rows.length, 1)
  })
})

describe('pages of Bybit', () => {
  it('follow the cursor until a page is empty, and show every row once', async () => {
    const range = { category: 'spot', startTime: start, endTime: start + 7 * dayMs, limit: 4 }
    const whole = (await ask(log, { ...range, limit: 50 })).result.list
    const seen: Record<string, string>[] = []
    let cursor = ''
    do {
      const { result } = await ask(log, { ...range, ...(cursor !== '' && { cursor }) })
      assert.ok(result.list.length <= 4)
      seen.push(...result.list)
      cursor = result.nextPageCursor
    } while (cursor !== '')
    assert.deepEqual(seen, whole)
    const times = seen.map(({ transactionTime }) => Number(transactionTime))
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
      'newest first',
    )
    assert.equal((await ask(log, { ...range, cursor: 'elsewhere' })).retCode, 10001)
  })

  it('of deposits have a cursor too', async () => {
    const range = { startTime: Date.UTC(2025, 7, 5), endTime: Date.UTC(2025, 7, 31), limit: 1 }
    const coins: (string | undefined)[] = []
    let cursor = ''
    do {
      const { result } = await ask(deposits, { ...range, ...(cursor !== '' && { cursor }) })
      coins.push(...result.rows.map(({ coin, amount }) => `${amount} ${coin}`))
      cursor = result.nextPageCursor
    } while (cursor !== '')
    assert.deepEqual(coins, ['7.25 LTC', '12.5 LTC', '1000 USDT'])
  })
})

describe('the retention of Bybit', () => {
  // "It supports up to 2 years worth of data"
  it('drops trades older than two years, only in the scenario forgotten', async () => {
    const forgetful = await openBybitAccount(sandbox, 'forgotten')
    const counted = async (startTime: number): Promise<number> =>
      (await ask(executions, { category: 'spot', startTime }, forgetful)).result.list.length
    assert.equal(await counted(Date.UTC(2024, 9, 31)), 0)
    assert.equal(await counted(start), 7)
    const range = { startTime: Date.UTC(2022, 4, 1), endTime: Date.UTC(2022, 4, 30) }
    assert.equal((await ask(deposits, range, forgetful)).result.rows.length, 1, 'deposits are kept')
  })
})

// https://bybit-exchange.github.io/docs/v5/rate-limit
describe('limits of Bybit', () => {
  const call = (of: BybitTestAccount, path: string): Promise<Response> =>
    send(sandbox, of, path, {}, { timestamp: at.nowMs })

  it('are reported in headers, and are counted for each endpoint and account', async () => {
    at.nowMs += 60_000
    const path = '/v5/user/query-api'
    for (let left = 9; left >= 0; left -= 1) {
      const { headers } = await call(account, path)
      assert.deepEqual([headers.get('x-bapi-limit'), headers.get('x-bapi-limit-status')], ['10', String(left)])
      assert.equal(headers.get('x-bapi-limit-reset-timestamp'), String(at.nowMs))
    }
    const refused = await call(account, path)
    assert.equal(refused.status, 200)
    assert.equal(refused.headers.get('x-bapi-limit-reset-timestamp'), String(at.nowMs + 1_000))
    assert.equal(((await refused.json()) as BybitBody).retCode, 10006)
    const codeOf = async (of: BybitTestAccount, other: string): Promise<number> =>
      ((await (await call(of, other)).json()) as BybitBody).retCode
    assert.equal(await codeOf(account, '/v5/account/info'), 0)
    assert.equal(await codeOf(await openBybitAccount(sandbox, 'default', 'other'), path), 0)
    at.nowMs += 1_000
    assert.equal(await codeOf(account, path), 0)
  })

  it('rate_limited: allows two calls of an endpoint; large: has no limit', async () => {
    const poor = await openBybitAccount(sandbox, 'rate_limited')
    const codes: number[] = []
    for (let count = 0; count < 3; count += 1) {
      codes.push(((await (await call(poor, '/v5/account/info')).json()) as BybitBody).retCode)
    }
    assert.deepEqual(codes, [0, 0, 10006])
    const robot = await openBybitAccount(sandbox, 'large')
    assert.equal((await call(robot, '/v5/account/info')).headers.get('x-bapi-limit'), null)
  })

  it('of an address are 600 calls in five seconds, then HTTP 403 for ten minutes', async () => {
    const own = await startTestSandbox({ pace: 'real', now: () => at.nowMs })
    try {
      const statusOf = async (): Promise<number> => {
        const response = await fetch(`${own.urls.bybit}/v5/market/time`)
        await response.text()
        return response.status
      }
      for (let count = 0; count < 600; count += 1) assert.equal(await statusOf(), 200)
      assert.equal(await statusOf(), 403)
      at.nowMs += 599_999
      assert.equal(await statusOf(), 403)
      at.nowMs += 1
      assert.equal(await statusOf(), 200)
    } finally {
      await own.close()
    }
  })
})
