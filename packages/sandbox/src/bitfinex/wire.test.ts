/** Every answer, place by place, against Bitfinex's documents; who may call; and how much. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { openBitfinexAccount, send, type BitfinexTestAccount } from '../testing/bitfinex-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'

const at = { nowMs: Date.UTC(2026, 10, 15) }
let sandbox: Sandbox
let account: BitfinexTestAccount
before(async () => {
  sandbox = await startTestSandbox({ pace: 'real', now: () => at.nowMs })
  account = await openBitfinexAccount(sandbox, 'default')
})
after(() => sandbox.close())

type CellShape = 'number' | 'string' | 'null' | 'null or string' | RegExp

/** The same number of places, and in each what the document says. */
function assertPlaces(row: unknown, places: readonly CellShape[]): void {
  assert.ok(Array.isArray(row))
  assert.equal(row.length, places.length)
  for (const [index, place] of places.entries()) {
    const value: unknown = row[index]
    if (place instanceof RegExp) assert.match(String(value), place, `place ${index}`)
    else assert.ok(place.split(' or ').includes(value === null ? 'null' : typeof value), `place ${index}`)
  }
}

const code = /^[A-Z]{3,4}$/

describe('the answers of Bitfinex', () => {
  it('reference/key-permissions: scope, read, write', async () => {
    const rows = (await account.ask('permissions')) as [string, number, number][]
    for (const row of rows) assertPlaces(row, [/^[a-z_]+$/, /^[01]$/, /^[01]$/])
    const names = 'account history orders positions funding settings wallets withdraw ui_withdraw bfxpay'
    assert.equal(rows.map(([scope]) => scope).join(' '), names)
    assert.ok(rows.every(([, , write]) => write === 0))
    const rich = await openBitfinexAccount(sandbox, 'can_trade')
    const writable = ((await rich.ask('permissions')) as [string, number, number][]).filter(
      ([, , write]) => write === 1,
    )
    assert.deepEqual(
      writable.map(([scope]) => scope),
      ['orders', 'funding', 'wallets', 'withdraw'],
    )
  })

  it('reference/rest-auth-info-user: the number of the user comes first', async () => {
    const state = (await control(sandbox, 'GET', `accounts/${account.accountId}/state`)) as {
      public_account_id: string
    }
    const info = await account.ask('info/user')
    assert.deepEqual([info.length, String(info[0])], [55, state.public_account_id])
  })

  it('reference/rest-auth-wallets', async () => {
    for (const row of await account.ask('wallets')) {
      assertPlaces(row, [/^(exchange|funding)$/, code, 'number', /^0$/, 'number', 'string', 'null'])
    }
  })

  it('reference/rest-auth-ledgers', async () => {
    const rows = await account.ask('ledgers/hist', { limit: 2500 })
    for (const row of rows) {
      const description = / on wallet (exchange|funding)$/
      const [time, amounts] = [/^\d{13}$/, 'number'] as const
      assertPlaces(row, ['number', code, /^(exchange|funding)$/, time, 'null', amounts, amounts, 'null', description])
    }
    assert.equal((await account.ask('ledgers/hist')).length, 25)
    const tether = (await account.ask('ledgers/UST/hist', { limit: 2500 })) as unknown[][]
    assert.ok(tether.length > 0 && tether.every((row) => row[1] === 'UST'))
    const fees = (await account.ask('ledgers/hist', { limit: 2500, category: 201 })) as unknown[][]
    assert.equal(fees.length, 172)
    assert.match(
      String(fees[0]?.[8]),
      /^Trading fees for [\d.]+ [A-Z]+ \([A-Z:]+\) @ [\d.]+ on BFX \(0\.1%\) on wallet/,
    )
  })

  it('reference/rest-auth-trades, in both orders', async () => {
    const rows = (await account.ask('trades/hist', { limit: 2500 })) as unknown[][]
    assert.equal(rows.length, 174)
    for (const row of rows) {
      const type = /^EXCHANGE (LIMIT|MARKET)$/
      const head: CellShape[] = ['number', /^t[A-Z:]+$/, /^\d{13}$/, 'number', 'number', 'number', type, 'number']
      assertPlaces(row, [...head, /^-?1$/, 'number', code, 'number'])
    }
    const oldest = (await account.ask('trades/hist', { limit: 2, sort: 1 })) as unknown[][]
    assert.deepEqual(oldest, rows.slice(-2).reverse())
    assert.equal((await account.ask('trades/tDOGE:UST/hist')).length, 1)
  })

  it('reference/rest-auth-movements: 22 places, and an exponent for a tiny amount', async () => {
    const response = await account.call('movements/hist', { limit: 1000 })
    const text = await response.text()
    assert.match(text, /,1e-8,/)
    for (const row of JSON.parse(text) as unknown[]) {
      const [none, time, status] = ['null', /^\d{13}$/, /^(COMPLETED|PENDING|CANCELED|FAILURE)$/] as const
      const head: CellShape[] = ['number', code, /^[A-Z]+$/, none, none, time, time, none, none, status, none, none]
      const tail: CellShape[] = ['number', 'number', none, none, 'string', none, none, none, 'null or string', none]
      assertPlaces(row, [...head, ...tail])
    }
    const range = { start: Date.UTC(2025, 2, 1), end: Date.UTC(2025, 2, 31) }
    assert.equal((await account.ask('movements/hist', range)).length, 3)
    assert.equal((await account.ask('movements/DOT/hist', range)).length, 1)
  })
})

describe('a call to Bitfinex', () => {
  const errorOf = async (response: Promise<Response>): Promise<unknown[]> => {
    const answer = await response
    return [answer.status, ...((await answer.json()) as unknown[]).slice(1)]
  }

  it('needs a signature over path, nonce and body', async () => {
    const own = await openBitfinexAccount(sandbox, 'default', 'signed')
    assert.deepEqual(await errorOf(send(sandbox, { ...own, secret: 'x' }, 'wallets', {}, '9')), [
      ...[500, 10100, 'apikey: digest invalid'],
    ])
    const refused = await openBitfinexAccount(sandbox, 'invalid_credentials')
    assert.deepEqual(await errorOf(refused.call('wallets')), [500, 10100, 'apikey: invalid'])
    const unknown = { ...own, apiKey: 'A'.repeat(43) }
    assert.deepEqual(await errorOf(send(sandbox, unknown, 'wallets', {}, '9')), [500, 10100, 'apikey: invalid'])
    for (const { apiKey, secret } of [own, account]) {
      assert.match(apiKey, /^[A-Za-z0-9]{43}$/)
      assert.match(secret, /^[A-Za-z0-9]{43}$/)
    }
  })

  it('needs a nonce that rises with every call', async () => {
    const own = await openBitfinexAccount(sandbox, 'default', 'nonce')
    const asked = (nonce: string): Promise<Response> => send(sandbox, own, 'wallets', {}, nonce)
    assert.equal((await asked('1700000000000')).status, 200)
    for (const small of ['1700000000000', '1699999999999']) {
      assert.deepEqual(await errorOf(asked(small)), [500, 10114, 'nonce: small'])
    }
    assert.equal((await asked('1700000000001')).status, 200)
    assert.deepEqual(await errorOf(asked('9007199254740992')), [500, 10114, 'nonce: invalid'])
  })

  it('needs the right to read, a known path and valid parameters', async () => {
    const own = await openBitfinexAccount(sandbox, 'default', 'unread')
    await control(sandbox, 'POST', `accounts/${own.accountId}/key`, { permissions: ['wallets:read'] })
    assert.equal((await own.call('wallets')).status, 200)
    assert.deepEqual(await errorOf(own.call('ledgers/hist')), [500, 10001, 'api_key: permission invalid'])
    assert.equal((await own.call('permissions')).status, 200)
    assert.deepEqual(await errorOf(account.call('orders/hist')), [404, 404, 'path: invalid'])
    assert.deepEqual(await errorOf(account.call('ledgers/hist', { limit: 2501 })), [500, 10020, 'limit: invalid'])
    assert.deepEqual(await errorOf(fetch(`${sandbox.urls.bitfinex}/v2/conf/pub:nothing`)), [
      ...[500, 10020, 'config: invalid'],
    ])
  })

  it('is refused with 429 past 45 a minute, for each endpoint and account', async () => {
    const own = await openBitfinexAccount(sandbox, 'default', 'often')
    for (let call = 0; call < 45; call += 1) assert.equal((await own.call('wallets')).status, 200)
    assert.deepEqual(await errorOf(own.call('wallets')), [429, 11010, 'ratelimit: error'])
    assert.equal((await own.call('permissions')).status, 200)
    at.nowMs += 60_000
    assert.equal((await own.call('wallets')).status, 200)
    const poor = await openBitfinexAccount(sandbox, 'rate_limited')
    const statuses = [await poor.call('wallets'), await poor.call('wallets'), await poor.call('wallets')]
    assert.deepEqual(
      statuses.map(({ status }) => status),
      [200, 200, 429],
    )
  })
})
