import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { control, openAccount, send, startTestSandbox, type KrakenBody } from '../testing/kraken-client.ts'
import { signatureOf } from './authentication.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await startTestSandbox()
})
after(() => sandbox.close())

async function errorOf(response: Promise<Response>): Promise<string | undefined> {
  const answer = await response
  assert.equal(answer.status, 200, 'Kraken reports errors inside HTTP 200')
  return ((await answer.json()) as KrakenBody).error[0]
}

describe('a call to Kraken', () => {
  it("is signed as in Kraken's published example", () => {
    const secret = 'kQH5HW/8p1uGOVjbgWA7FunAmGO8lsSUXNsu3eow76sz84Q18fWxnyRzBHCd3pd5nE9qa99HAZtuZuj6F1huXg=='
    const body = 'nonce=1616492376594&ordertype=limit&pair=XBTUSD&price=37500&type=buy&volume=1.25'
    const expected = '4/dpxb3iT4tp/ZCVEwSnEsLxx0bqyhLpdfOpc6fn7OR8+UClSV5n9E6aSS8MPtnRfp32bAb0nmbRn6H8ndwLUQ=='
    assert.equal(signatureOf(secret, '/0/private/AddOrder', '1616492376594', body).toString('base64'), expected)
  })

  it('is refused when one bit of the signature, a byte of the body, or the path is changed', async () => {
    const { apiKey, secret } = await openAccount(sandbox, 'default', 'flip')
    const path = '/0/private/Balance'
    const right = signatureOf(secret, path, '1', 'nonce=1')
    const flipped = Buffer.from(right)
    flipped[40] = (flipped[40] ?? 0) ^ 1
    const post = (sign: Buffer, to = path, body = 'nonce=1'): Promise<Response> => {
      const headers = { 'api-key': apiKey, 'api-sign': sign.toString('base64') }
      return fetch(sandbox.urls.kraken + to, { method: 'POST', headers, body })
    }
    assert.equal(await errorOf(post(flipped)), 'EAPI:Invalid signature')
    assert.equal(await errorOf(post(right, path, 'nonce=1&x=1')), 'EAPI:Invalid signature')
    assert.equal(await errorOf(post(right, '/0/private/BalanceEx')), 'EAPI:Invalid signature')
    assert.equal(await errorOf(post(Buffer.alloc(0))), 'EAPI:Invalid signature')
    assert.equal(await errorOf(post(right)), undefined, 'and refused calls spend no nonce')
  })

  it('accepts JSON as well as a form', async () => {
    const { apiKey, secret } = await openAccount(sandbox, 'default', 'json')
    const body = JSON.stringify({ nonce: '5', ofs: 3 })
    const sign = signatureOf(secret, '/0/private/Ledgers', '5', body).toString('base64')
    const headers = { 'api-key': apiKey, 'api-sign': sign, 'content-type': 'application/json' }
    const response = await fetch(`${sandbox.urls.kraken}/0/private/Ledgers`, { method: 'POST', headers, body })
    assert.deepEqual(((await response.json()) as KrakenBody).error, [])
  })

  it('needs a nonce above the last one', async () => {
    const key = await openAccount(sandbox, 'default', 'nonce')
    const withNonce = (nonce: string): Promise<string | undefined> => errorOf(send(sandbox, key, 'Balance', { nonce }))
    assert.equal(await withNonce('1794740000000'), undefined)
    assert.equal(await withNonce('1794740000000'), 'EAPI:Invalid nonce')
    assert.equal(await withNonce('1794739999999'), 'EAPI:Invalid nonce')
    assert.equal(await withNonce('soon'), 'EAPI:Invalid nonce')
    assert.equal(await withNonce('18446744073709551616'), 'EAPI:Invalid nonce')
    assert.equal(await withNonce('1794740000001'), undefined)
  })

  it('needs a key that exists, is not revoked and not expired', async () => {
    const known = await openAccount(sandbox, 'default', 'key')
    assert.equal(
      await errorOf(send(sandbox, { ...known, apiKey: 'A'.repeat(56) }, 'Balance', { nonce: '1' })),
      'EAPI:Invalid key',
    )
    for (const change of [{ revoked: true }, { revoked: false, expired: true }]) {
      await control(sandbox, 'POST', `accounts/${known.accountId}/key`, change)
      assert.deepEqual((await known.ask('Balance')).error, ['EAPI:Invalid key'])
    }
    await control(sandbox, 'POST', `accounts/${known.accountId}/key`, { expired: false })
    assert.deepEqual((await known.ask('Balance')).error, [])
  })

  it('needs the permission of its method, and GetApiKeyInfo needs none', async () => {
    const account = await openAccount(sandbox, 'default', 'permission')
    const needs = {
      'query-funds': ['Balance', 'BalanceEx', 'DepositStatus', 'Earn/Allocations'],
      'query-ledger': ['Ledgers', 'WithdrawStatus'],
      'query-closed-trades': ['TradesHistory'],
      'withdraw-funds': ['WithdrawStatus'],
    }
    const all = new Set(Object.values(needs).flat())
    for (const [permission, methods] of Object.entries(needs)) {
      await control(sandbox, 'POST', `accounts/${account.accountId}/key`, { permissions: [permission] })
      for (const method of all) {
        const expected = methods.includes(method) ? [] : ['EGeneral:Permission denied']
        assert.deepEqual((await account.ask(method)).error, expected, `${method} with ${permission}`)
      }
      const info = (await account.ask('GetApiKeyInfo')).result as { permissions: string[] }
      assert.deepEqual(info.permissions, [permission])
    }
  })

  it('is unknown for any other method, and for property names that every object has', async () => {
    const account = await openAccount(sandbox, 'default', 'unknown')
    for (const method of ['AddOrder', 'Withdraw', 'constructor', '']) {
      assert.deepEqual((await account.ask(method)).error, ['EGeneral:Unknown method'])
    }
  })
})

describe('the call counter', () => {
  const at = { nowMs: Date.UTC(2026, 10, 15) }
  let still: Sandbox
  before(async () => {
    still = await startTestSandbox({ pace: 'real', now: () => at.nowMs })
  })
  after(() => still.close())

  it('holds 20, history counting twice, and falls by one every two seconds', async () => {
    const account = await openAccount(still, 'default')
    const errors = async (method: string): Promise<string[]> => (await account.ask(method)).error
    for (let call = 0; call < 9; call += 1) assert.deepEqual(await errors('Ledgers'), [])
    assert.deepEqual(await errors('Balance'), [])
    assert.deepEqual(await errors('Ledgers'), ['EAPI:Rate limit exceeded'])
    assert.deepEqual(await errors('Balance'), [])
    assert.deepEqual(await errors('Balance'), ['EAPI:Rate limit exceeded'])
    at.nowMs += 2_000
    assert.deepEqual(await errors('TradesHistory'), ['EAPI:Rate limit exceeded'])
    assert.deepEqual(await errors('Balance'), [])
    await control(still, 'POST', 'clock', { offset_ms: 40_000 })
    for (let call = 0; call < 10; call += 1) assert.deepEqual(await errors('Ledgers'), [])
  })

  it('is separate for each key', async () => {
    const [one, other] = [await openAccount(still, 'default', 'one'), await openAccount(still, 'default', 'other')]
    for (let call = 0; call < 11; call += 1) await one.ask('Ledgers')
    assert.deepEqual((await one.ask('Ledgers')).error, ['EAPI:Rate limit exceeded'])
    assert.deepEqual((await other.ask('Ledgers')).error, [])
  })

  it('is a hundred times quicker at the fast pace, and smaller in the scenario rate_limited', async () => {
    const fast = await startTestSandbox({ now: () => at.nowMs })
    try {
      const account = await openAccount(fast, 'rate_limited')
      assert.deepEqual((await account.ask('Ledgers')).error, [])
      assert.deepEqual((await account.ask('Ledgers')).error, [])
      assert.deepEqual((await account.ask('Ledgers')).error, ['EAPI:Rate limit exceeded'])
      at.nowMs += 61
      assert.deepEqual((await account.ask('Ledgers')).error, [])
    } finally {
      await fast.close()
    }
  })

  it('is absent in the scenario large', async () => {
    const account = await openAccount(still, 'large')
    for (let call = 0; call < 40; call += 1) assert.deepEqual((await account.ask('GetApiKeyInfo')).error, [])
  })
})
