import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { openBybitAccount, send, type BybitBody, type BybitTestAccount } from '../testing/bybit-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'
import { signatureOf } from './authentication.ts'

const nowMs = Date.UTC(2026, 10, 15)
let sandbox: Sandbox
let account: BybitTestAccount

before(async () => {
  sandbox = await startTestSandbox({ now: () => nowMs })
  account = await openBybitAccount(sandbox, 'default')
})
after(() => sandbox.close())

const codeOf = async (response: Promise<Response>): Promise<[status: number, retCode: number]> => {
  const answer = await response
  return [answer.status, ((await answer.json()) as BybitBody).retCode]
}
const path = '/v5/user/query-api'

// https://bybit-exchange.github.io/docs/v5/guide and …/docs/v5/error
describe('a call to Bybit', () => {
  it('is refused with 10004 when the signature or a parameter is changed', async () => {
    const query = 'accountType=UNIFIED&coin=BTC'
    const right = signatureOf(account.secret, `${nowMs}${account.apiKey}5000${query}`)
    const get = (asked: string, signature: string): Promise<Response> =>
      fetch(`${sandbox.urls.bybit}/v5/account/wallet-balance?${asked}`, {
        headers: {
          'x-bapi-api-key': account.apiKey,
          'x-bapi-timestamp': String(nowMs),
          'x-bapi-recv-window': '5000',
          'x-bapi-sign': signature,
        },
      })
    const flipped = right.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
    assert.deepEqual(await codeOf(get(query, flipped)), [200, 10004])
    assert.deepEqual(await codeOf(get('coin=BTC&accountType=UNIFIED', right)), [200, 10004])
    assert.deepEqual(await codeOf(get(query, right.toUpperCase())), [200, 10004], 'lower-case, says the document')
    assert.deepEqual(await codeOf(get(query, right)), [200, 0])
  })

  it('needs a time from recv_window before to less than a second ahead of the server', async () => {
    const at = (timestamp: number | string, recvWindow?: number): Promise<[number, number]> =>
      codeOf(send(sandbox, account, path, {}, { timestamp, ...(recvWindow !== undefined && { recvWindow }) }))
    assert.deepEqual(await at(nowMs - 5_000), [200, 0])
    assert.deepEqual(await at(nowMs - 5_001), [200, 10002])
    assert.deepEqual(await at(nowMs - 20_000, 20_000), [200, 0])
    assert.deepEqual(await at(nowMs + 999), [200, 0])
    assert.deepEqual(await at(nowMs + 1_000), [200, 10002])
    assert.deepEqual(await at('soon'), [200, 10002])
  })

  it('without key or signature is answered with HTTP 401', async () => {
    assert.equal((await fetch(`${sandbox.urls.bybit}${path}`)).status, 401)
  })

  it('with a key that is not known, was refused or revoked is 10003; with one that has expired 33004', async () => {
    const asked = (apiKey: string): Promise<[number, number]> =>
      codeOf(send(sandbox, { ...account, apiKey }, path, {}, { timestamp: nowMs }))
    assert.deepEqual(await asked('short'), [200, 10003])
    assert.deepEqual(await asked('Z'.repeat(18)), [200, 10003])
    const refused = await openBybitAccount(sandbox, 'invalid_credentials')
    assert.deepEqual(await codeOf(refused.call(path)), [200, 10003])
    const own = await openBybitAccount(sandbox, 'default', 'revoked')
    for (const [change, code] of [
      [{ revoked: true }, 10003],
      [{ revoked: false, expired: true }, 33004],
      [{ expired: false }, 0],
      [{ valid_until: new Date(nowMs).toISOString() }, 33004],
    ] as const) {
      await control(sandbox, 'POST', `accounts/${own.accountId}/key`, change)
      assert.deepEqual(await codeOf(own.call(path)), [200, code])
    }
  })

  it('from another address than the key is bound to is 10010', async () => {
    const bound = await openBybitAccount(sandbox, 'ip_not_allowed')
    assert.deepEqual(await codeOf(bound.call(path)), [200, 10010])
  })

  it('needs a permission of its group, except for the call about the key itself', async () => {
    const own = await openBybitAccount(sandbox, 'default', 'unread')
    await control(sandbox, 'POST', `accounts/${own.accountId}/key`, { permissions: ['readOnly', 'ExchangeHistory'] })
    assert.deepEqual(await codeOf(own.call(path)), [200, 0])
    assert.deepEqual(await codeOf(own.call('/v5/asset/exchange/query-convert-history')), [200, 0])
    for (const closed of ['/v5/account/transaction-log', '/v5/asset/deposit/query-record']) {
      assert.deepEqual(await codeOf(own.call(closed)), [200, 10005])
    }
  })

  it('of an unknown path or method is 404 with 10017', async () => {
    assert.deepEqual(await codeOf(account.call('/v5/order/create')), [404, 10017])
    assert.deepEqual(await codeOf(account.call('/v5/constructor')), [404, 10017])
    assert.deepEqual(await codeOf(fetch(`${sandbox.urls.bybit}${path}`, { method: 'POST' })), [404, 10017])
  })

  it('shows a key of 18 and a secret of 36 letters and digits, which differ for every account and work after a restart', async () => {
    const other = await openBybitAccount(sandbox, 'default', 'other')
    for (const { apiKey, secret } of [account, other]) {
      assert.match(apiKey, /^[A-Za-z0-9]{18}$/)
      assert.match(secret, /^[A-Za-z0-9]{36}$/)
    }
    assert.notEqual(account.apiKey, other.apiKey)
    const [next, stranger] = [
      await startTestSandbox({ now: () => nowMs }),
      await startTestSandbox({ now: () => nowMs, seed: 'another seed' }),
    ]
    try {
      assert.deepEqual(await codeOf(send(next, account, path, {}, { timestamp: nowMs })), [200, 0])
      assert.deepEqual(await codeOf(send(stranger, account, path, {}, { timestamp: nowMs })), [200, 10003])
    } finally {
      await Promise.all([next.close(), stranger.close()])
    }
  })
})
