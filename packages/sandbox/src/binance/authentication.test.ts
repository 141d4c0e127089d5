import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { openBinanceAccount, send, type BinanceTestAccount } from '../testing/binance-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'
import { fromBinanceKey, signatureOf } from './authentication.ts'

const nowMs = Date.UTC(2026, 10, 15)
let sandbox: Sandbox
let account: BinanceTestAccount

before(async () => {
  sandbox = await startTestSandbox({ now: () => nowMs })
  account = await openBinanceAccount(sandbox, 'default')
})
after(() => sandbox.close())

interface Refused {
  status: number
  code: number
  msg: string
}

async function refusalOf(response: Promise<Response>): Promise<Refused> {
  const answer = await response
  return { status: answer.status, ...((await answer.json()) as { code: number; msg: string }) }
}

const codeOf = async (response: Promise<Response>): Promise<[number, number]> => {
  const { status, code } = await refusalOf(response)
  return [status, code]
}

describe('a call to Binance', () => {
  // https://github.com/binance/binance-spot-api-docs/blob/master/rest-api.md, "SIGNED Endpoint Examples", HMAC keys
  it("is signed as in Binance's published example", () => {
    const secret = 'NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j'
    const payload =
      'symbol=LTCBTC&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=0.1&recvWindow=5000&timestamp=1499827319559'
    const expected = 'c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71'
    assert.equal(signatureOf(secret, payload), expected)
  })

  it('is refused with −1022 when the signature, a parameter or their order is changed', async () => {
    const query = `recvWindow=5000&timestamp=${nowMs}`
    const right = signatureOf(account.secret, query)
    const get = (text: string, signature: string): Promise<Response> =>
      fetch(`${sandbox.urls.binance}/api/v3/account?${text}&signature=${signature}`, {
        headers: { 'x-mbx-apikey': account.apiKey },
      })
    const flipped = right.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
    assert.deepEqual(await codeOf(get(query, flipped)), [400, -1022])
    assert.deepEqual(await codeOf(get(`${query}&omitZeroBalances=true`, right)), [400, -1022])
    assert.deepEqual(await codeOf(get(`timestamp=${nowMs}&recvWindow=5000`, right)), [400, -1022])
    assert.equal((await get(query, right)).status, 200)
    assert.equal((await get(query, right.toUpperCase())).status, 200, 'HMAC signatures are not case-sensitive')
  })

  it('takes parameters in the body of a POST, which is signed after the query', async () => {
    const query = `recvWindow=5000`
    const body = `timestamp=${nowMs}`
    const signature = signatureOf(account.secret, query + body)
    const response = await fetch(`${sandbox.urls.binance}/sapi/v1/asset/get-funding-asset?${query}`, {
      method: 'POST',
      headers: { 'x-mbx-apikey': account.apiKey, 'content-type': 'application/x-www-form-urlencoded' },
      body: `${body}&signature=${signature}`,
    })
    assert.deepEqual(await response.json(), [])
  })

  it('needs a timestamp within recvWindow, less than a second ahead, and a window of a minute at most', async () => {
    const at = (timestamp: string | number, more: Record<string, string | number> = {}): Promise<Response> =>
      send(sandbox, account, '/api/v3/account', { timestamp, ...more })
    assert.equal((await at(nowMs - 5_000)).status, 200)
    assert.deepEqual(await codeOf(at(nowMs - 5_001)), [400, -1021])
    assert.equal((await at(nowMs - 59_000, { recvWindow: 60_000 })).status, 200)
    assert.deepEqual(await codeOf(at(nowMs, { recvWindow: 60_001 })), [400, -1131])
    assert.equal((await at(nowMs + 999)).status, 200)
    const ahead = await refusalOf(at(nowMs + 1_000))
    assert.deepEqual([ahead.code, /1000ms ahead/.test(ahead.msg)], [-1021, true])
    assert.equal((await at(`${nowMs - 1}000`)).status, 200, 'microseconds are welcome')
    assert.deepEqual(await codeOf(at('soon')), [400, -1100])
  })

  it('needs both timestamp and signature', async () => {
    const headers = { 'x-mbx-apikey': account.apiKey }
    const unsigned = await refusalOf(fetch(`${sandbox.urls.binance}/api/v3/account?timestamp=${nowMs}`, { headers }))
    assert.deepEqual([unsigned.code, unsigned.msg.includes("'signature'")], [-1102, true])
    const timeless = await refusalOf(fetch(`${sandbox.urls.binance}/api/v3/account`, { headers }))
    assert.deepEqual([timeless.code, timeless.msg.includes("'timestamp'")], [-1102, true])
  })

  it('with a key of another format is −2014; with one that is not known −2015, and −2008 at the wallet', async () => {
    const ask = (apiKey: string, path: string): Promise<[number, number]> =>
      codeOf(send(sandbox, { ...account, apiKey }, path, { timestamp: nowMs }))
    for (const malformed of ['', 'short', `${account.apiKey}x`, account.apiKey.replace(/.$/, '+')]) {
      assert.deepEqual(await ask(malformed, '/api/v3/account'), [401, -2014], malformed)
      assert.deepEqual(await ask(malformed, '/sapi/v1/account/apiRestrictions'), [401, -2014], malformed)
    }
    const elsewhere = 'A'.repeat(64)
    assert.deepEqual(await ask(elsewhere, '/api/v3/account'), [401, -2015])
    assert.deepEqual(await ask(elsewhere, '/sapi/v1/account/apiRestrictions'), [400, -2008])
    const mistyped = account.apiKey.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'))
    assert.deepEqual(await ask(mistyped, '/api/v3/account'), [401, -2015])
    assert.equal(fromBinanceKey(mistyped), undefined)
  })

  it('of Binance.US, of a key that was revoked, and of one that has expired is not known', async () => {
    const foreign = await openBinanceAccount(sandbox, 'binance_us')
    assert.deepEqual(await codeOf(foreign.call('/api/v3/account')), [401, -2015])
    const own = await openBinanceAccount(sandbox, 'default', 'revoked')
    for (const change of [{ revoked: true }, { revoked: false, expired: true }]) {
      await control(sandbox, 'POST', `accounts/${own.accountId}/key`, change)
      assert.deepEqual(await codeOf(own.call('/api/v3/account')), [401, -2015])
    }
    await control(sandbox, 'POST', `accounts/${own.accountId}/key`, { expired: false })
    assert.equal((await own.call('/api/v3/account')).status, 200)
  })

  it('needs the right to read', async () => {
    const own = await openBinanceAccount(sandbox, 'default', 'unread')
    await control(sandbox, 'POST', `accounts/${own.accountId}/key`, { permissions: ['enableFutures'] })
    assert.deepEqual(await codeOf(own.call('/api/v3/account')), [401, -2015])
    assert.deepEqual(await codeOf(own.call('/sapi/v1/account/apiRestrictions')), [401, -2015])
  })

  it('of an unknown path or method is 404', async () => {
    for (const path of ['/api/v3/order', '/api/v3/constructor', '/sapi/v1/capital/withdraw/apply']) {
      assert.deepEqual(await codeOf(account.call(path)), [404, -5000])
    }
    const posted = fetch(`${sandbox.urls.binance}/api/v3/account`, { method: 'POST' })
    assert.deepEqual(await codeOf(posted), [404, -5000])
  })

  it('shows key and secret of 64 letters and digits, others for every account', async () => {
    const other = await openBinanceAccount(sandbox, 'default', 'other')
    for (const { apiKey, secret } of [account, other]) {
      assert.match(apiKey, /^[A-Za-z0-9]{64}$/)
      assert.match(secret, /^[A-Za-z0-9]{64}$/)
    }
    assert.notEqual(account.apiKey, other.apiKey)
  })
})
