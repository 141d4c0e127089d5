import assert from 'node:assert/strict'
import { get } from 'node:http'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { openBinanceAccount, send, type BinanceTestAccount } from '../testing/binance-client.ts'
import { startTestSandbox } from '../testing/kraken-client.ts'

// https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md, "LIMITS"; weights in
// https://github.com/binance/binance-api-swagger/blob/master/spot_api.yaml

const at = { nowMs: Date.UTC(2026, 10, 15) }
let sandbox: Sandbox
before(async () => {
  sandbox = await startTestSandbox({ pace: 'real', now: () => at.nowMs })
})
after(() => sandbox.close())

function nextMinute(): void {
  at.nowMs = (Math.floor(at.nowMs / 60_000) + 1) * 60_000
}

/** Eighty of these fill a minute of /sapi. */
const heavy = '/sapi/v1/simple-earn/flexible/position'
const heavyMax = 80

const ask = (
  account: BinanceTestAccount,
  path: string,
  parameters: Record<string, string | number> = {},
): Promise<Response> => send(sandbox, account, path, { timestamp: at.nowMs, ...parameters })

describe('request weights', () => {
  it('are reported in headers, together for /api and separately for each endpoint of /sapi', async () => {
    nextMinute()
    const account = await openBinanceAccount(sandbox, 'default')
    const headers = async (path: string, parameters = {}): Promise<(string | null)[]> => {
      const response = await ask(account, path, parameters)
      assert.equal(response.status, 200)
      return ['x-mbx-used-weight-1m', 'x-sapi-used-ip-weight-1m', 'x-sapi-used-uid-weight-1m'].map((name) =>
        response.headers.get(name),
      )
    }
    assert.deepEqual(await headers('/api/v3/account'), ['20', null, null])
    assert.deepEqual(await headers('/api/v3/myTrades', { symbol: 'BTCUSDT' }), ['40', null, null])
    assert.deepEqual(await headers('/sapi/v1/capital/deposit/hisrec'), [null, '1', null])
    assert.deepEqual(await headers('/sapi/v1/simple-earn/flexible/position'), [null, '150', null])
    assert.deepEqual(await headers('/sapi/v1/capital/withdraw/history'), [null, null, '18000'])
    assert.deepEqual(await headers('/sapi/v1/fiat/orders', { transactionType: 0 }), [null, null, '90000'])
  })

  it('are counted by address, whichever key is used, and begin again with the next minute', async () => {
    nextMinute()
    const [one, other] = [
      await openBinanceAccount(sandbox, 'default', 'one'),
      await openBinanceAccount(sandbox, 'default', 'other'),
    ]
    for (let call = 0; call < heavyMax; call += 1) assert.equal((await ask(one, heavy)).status, 200)
    at.nowMs += 45_000
    const refused = await ask(other, heavy)
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '15'])
    assert.match(await refused.text(), /"code":-1003,"msg":"Too much request weight used; current limit is 12000/)
    assert.equal((await ask(other, '/api/v3/account')).status, 200, '/api has a counter of its own')
    at.nowMs += 15_000
    assert.equal((await ask(other, heavy)).status, 200)
  })

  it('of an account are its own: two fiat calls fill a minute', async () => {
    nextMinute()
    const [one, other] = [
      await openBinanceAccount(sandbox, 'default', 'fiat one'),
      await openBinanceAccount(sandbox, 'default', 'fiat other'),
    ]
    const fiat = async (account: BinanceTestAccount): Promise<number> =>
      (await ask(account, '/sapi/v1/fiat/orders', { transactionType: 0 })).status
    assert.deepEqual([await fiat(one), await fiat(one), await fiat(one)], [200, 200, 429])
    assert.equal(await fiat(other), 200)
  })
})

describe('continuing after 429', () => {
  it('is answered with 418 for two minutes, the next time for four, and does not affect another address', async () => {
    const own = await startTestSandbox({ pace: 'real', now: () => at.nowMs })
    try {
      const account = await openBinanceAccount(own, 'default', 'spammer')
      const call = (): Promise<Response> => send(own, account, heavy, { timestamp: at.nowMs })
      const spam = async (): Promise<Response> => {
        nextMinute()
        for (let count = 0; count < heavyMax; count += 1) assert.equal((await call()).status, 200)
        for (let count = 0; count < 5; count += 1) assert.equal((await call()).status, 429)
        return call()
      }
      const banned = await spam()
      assert.deepEqual([banned.status, banned.headers.get('retry-after')], [418, '120'])
      assert.match(await banned.text(), new RegExp(`IP banned until ${at.nowMs + 120_000}`))
      at.nowMs += 119_999
      assert.equal((await call()).status, 418)
      const url = `${own.urls.binance}/api/v3/time`
      const elsewhere = await new Promise((resolve, reject) => {
        get(url, { localAddress: '127.0.0.2' }, (response) => resolve(response.resume().statusCode)).on('error', reject)
      })
      assert.equal(elsewhere, 200)
      at.nowMs += 1
      assert.equal((await call()).status, 200)
      assert.equal((await spam()).headers.get('retry-after'), '240')
    } finally {
      await own.close()
    }
  })
})

describe('the limits of scenarios', () => {
  it('rate_limited: allows a sixth, only for its own account', async () => {
    nextMinute()
    const poor = await openBinanceAccount(sandbox, 'rate_limited')
    for (let call = 0; call < 50; call += 1) assert.equal((await ask(poor, '/api/v3/account')).status, 200)
    assert.equal((await ask(poor, '/api/v3/account')).status, 429)
    const rich = await openBinanceAccount(sandbox, 'default')
    assert.equal((await ask(rich, '/api/v3/account')).status, 200)
    nextMinute()
    assert.equal((await ask(poor, '/api/v3/account')).status, 200)
  })

  it('large: has no limit', async () => {
    nextMinute()
    const robot = await openBinanceAccount(sandbox, 'large')
    for (let call = 0; call < 4; call += 1) {
      const response = await ask(robot, '/sapi/v1/fiat/orders', { transactionType: 0 })
      assert.deepEqual([response.status, response.headers.get('x-sapi-used-uid-weight-1m')], [200, null])
    }
  })

  it('pass a hundred times faster at the fast pace', async () => {
    const fast = await startTestSandbox({ now: () => at.nowMs })
    try {
      nextMinute()
      const poor = await openBinanceAccount(fast, 'rate_limited')
      const call = async (): Promise<number> =>
        (await send(fast, poor, '/api/v3/account', { timestamp: at.nowMs })).status
      for (let count = 0; count < 50; count += 1) assert.equal(await call(), 200)
      assert.equal(await call(), 429)
      at.nowMs += 600
      assert.equal(await call(), 200)
    } finally {
      await fast.close()
    }
  })
})
