import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'
import { openOkxAccount, send, type OkxBody, type OkxKey, type OkxTestAccount } from '../testing/okx-client.ts'
import { uuid } from '../testing/shape.ts'
import { signatureOf } from './authentication.ts'

const at = { nowMs: Date.UTC(2026, 10, 15) }
let sandbox: Sandbox
let account: OkxTestAccount

before(async () => {
  sandbox = await startTestSandbox({ now: () => at.nowMs })
  account = await openOkxAccount(sandbox, 'default')
})
after(() => sandbox.close())

const codeOf = async (response: Promise<Response>): Promise<[status: number, code: string]> => {
  // No limit is reached here: the clock moves on with every call.
  at.nowMs += 1_000
  const answer = await response
  return [answer.status, ((await answer.json()) as OkxBody).code]
}
const path = '/api/v5/account/config'
const asked = (key: Partial<OkxKey> = {}, sentMs = at.nowMs): Promise<[number, string]> =>
  codeOf(send(sandbox, { ...account, ...key }, path, {}, sentMs))

// https://www.okx.com/docs-v5/en/#overview-rest-authentication and …/#error-code-rest-api-public
describe('a call to OKX', () => {
  it('is refused with 50113 when the signature or a parameter is changed', async () => {
    const get = (query: string, signed: string): Promise<[number, string]> => {
      const timestamp = new Date(at.nowMs).toISOString()
      const headers = {
        'ok-access-key': account.apiKey,
        'ok-access-passphrase': account.passphrase,
        'ok-access-timestamp': timestamp,
        'ok-access-sign': signatureOf(account.secret, `${timestamp}GET/api/v5/account/balance?${signed}`),
      }
      return codeOf(fetch(`${sandbox.urls.okx}/api/v5/account/balance?${query}`, { headers }))
    }
    assert.deepEqual(await get('ccy=BTC', 'ccy=BTC'), [200, '0'])
    assert.deepEqual(await get('ccy=BTC', 'ccy=ETH'), [401, '50113'])
    assert.deepEqual(await asked({ secret: 'F'.repeat(32) }), [401, '50113'])
  })

  it('needs a time of thirty seconds around the server, in ISO 8601 with milliseconds', async () => {
    // The clock has moved on by a second when the call arrives.
    assert.deepEqual(await asked({}, at.nowMs - 29_000), [200, '0'])
    assert.deepEqual(await asked({}, at.nowMs - 29_001), [401, '50102'])
    assert.deepEqual(await asked({}, at.nowMs + 31_001), [401, '50102'])
    const headers = { 'ok-access-key': account.apiKey, 'ok-access-passphrase': 'x', 'ok-access-sign': 'x' }
    for (const timestamp of ['1763164800', '2026-11-15 00:00:00']) {
      const response = fetch(sandbox.urls.okx + path, { headers: { ...headers, 'ok-access-timestamp': timestamp } })
      assert.deepEqual(await codeOf(response), [401, '50112'])
    }
  })

  it('needs all four headers', async () => {
    const all = ['key', 'passphrase', 'sign', 'timestamp']
    for (const [index, code] of ['50103', '50104', '50106', '50107'].entries()) {
      const headers = Object.fromEntries(all.filter((_, at) => at !== index).map((name) => [`ok-access-${name}`, 'x']))
      assert.deepEqual(await codeOf(fetch(sandbox.urls.okx + path, { headers })), [401, code])
    }
  })

  it('with a wrong passphrase is 50105, with a malformed key 50111, with an unknown or revoked one 50119', async () => {
    assert.deepEqual(await asked({ passphrase: 'Forgotten-1!' }), [401, '50105'])
    assert.deepEqual(await asked({ apiKey: 'short' }), [401, '50111'])
    const mistyped = account.apiKey.replace(/^./, (digit) => (digit === 'a' ? 'b' : 'a'))
    assert.deepEqual(await asked({ apiKey: mistyped }), [200, '50119'])
    assert.deepEqual(await asked(await openOkxAccount(sandbox, 'invalid_credentials')), [200, '50119'])
    const own = await openOkxAccount(sandbox, 'default', 'revoked')
    for (const [change, code] of [
      [{ revoked: true }, '50119'],
      [{ revoked: false, expired: true }, '50119'],
      [{ expired: false }, '0'],
    ] as const) {
      await control(sandbox, 'POST', `accounts/${own.accountId}/key`, change)
      assert.deepEqual(await asked(own), [200, code])
    }
  })

  it('from another address than the key is bound to is 50110, and without the right to read 50120', async () => {
    assert.deepEqual(await asked(await openOkxAccount(sandbox, 'ip_not_allowed')), [401, '50110'])
    const own = await openOkxAccount(sandbox, 'default', 'unread')
    await control(sandbox, 'POST', `accounts/${own.accountId}/key`, { permissions: ['trade'] })
    assert.deepEqual(await asked(own), [200, '50120'])
  })

  it('of an unknown path is 404, and with another method 405', async () => {
    for (const unknown of ['/api/v5/trade/order', '/api/v5/constructor']) {
      assert.deepEqual(await codeOf(fetch(sandbox.urls.okx + unknown)), [404, '404'])
    }
    assert.deepEqual(await codeOf(fetch(sandbox.urls.okx + path, { method: 'POST' })), [405, '50115'])
  })

  it('shows a key like a UUID, a secret of 32 digits and a passphrase, known after a restart', async () => {
    assert.match(account.apiKey, uuid)
    assert.match(account.secret, /^[0-9A-F]{32}$/)
    assert.match(account.passphrase, /^.{8,32}$/)
    assert.notEqual(account.apiKey, (await openOkxAccount(sandbox, 'default', 'other')).apiKey)
    const now = (): number => at.nowMs
    const [next, stranger] = [await startTestSandbox({ now }), await startTestSandbox({ now, seed: 'another seed' })]
    try {
      assert.deepEqual(await codeOf(send(next, account, path, {}, at.nowMs)), [200, '0'])
      assert.deepEqual(await codeOf(send(stranger, account, path, {}, at.nowMs)), [200, '50119'])
    } finally {
      await Promise.all([next.close(), stranger.close()])
    }
  })
})
