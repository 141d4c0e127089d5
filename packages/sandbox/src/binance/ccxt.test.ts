/** The simulator as ccxt sees it: its own client, written by others against the real exchange, with other addresses. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import ccxt, { type binance as BinanceClient } from 'ccxt'
import type { Sandbox } from '../index.ts'
import { openBinanceAccount, type BinanceTestAccount } from '../testing/binance-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'

let sandbox: Sandbox
let account: BinanceTestAccount
let client: BinanceClient

function connect(key: { apiKey: string; secret: string }): BinanceClient {
  const made = new ccxt.binance({ apiKey: key.apiKey, secret: key.secret, enableRateLimit: false })
  const api = made.urls['api'] as Record<string, string>
  for (const [name, address] of Object.entries(api)) {
    api[name] = sandbox.urls.binance + new URL(address).pathname
  }
  return made
}

before(async () => {
  // ccxt stamps calls with this machine's time.
  sandbox = await startTestSandbox({ now: Date.now })
  account = await openBinanceAccount(sandbox, 'default', 'ccxt')
  client = connect(account)
  await client.loadMarkets()
})
after(() => sandbox.close())

describe('ccxt reads the market', () => {
  it('fetchTime, fetchStatus, fetchMarkets', async () => {
    assert.ok(Math.abs(((await client.fetchTime()) ?? 0) - Date.now()) < 60_000)
    assert.equal((await client.fetchStatus())['status'], 'ok')
    assert.equal(client.market('BTC/USDT')['active'], true)
    assert.equal(client.market('MATIC/USDT')['active'], false)
    assert.throws(() => client.market('LEND/USDT'), ccxt.BadSymbol)
  })
})

describe('ccxt reads the account', () => {
  it('fetchBalance: equals the computed balance, and the part in orders is not free', async () => {
    const { balances } = sandbox.controls.binance.readAccount(account.accountId)
    const read = (await client.fetchBalance()) as unknown as Record<'total' | 'used', Record<string, number>>
    for (const name of ['BTC', 'USDT', 'LDO', 'LDUSDT', 'LDLDO', 'PEPE']) {
      assert.equal(read.total[name], Number(balances[name]), name)
    }
    assert.equal(read.used['USDT'], 50)
  })

  it('fetchMyTrades', async () => {
    const trades = await client.fetchMyTrades('BTC/EUR')
    assert.equal(trades.length, 70)
    for (const { price = 0, amount = 0, cost } of trades) assert.ok(Math.abs(price * amount - (cost ?? 0)) < 1e-6)
    assert.deepEqual(trades.at(-1)?.fee?.currency, 'BTC')
  })

  it('fetchDeposits, fetchWithdrawals', async () => {
    const deposits = await client.fetchDeposits(undefined, Date.UTC(2021, 2, 1))
    assert.deepEqual(
      deposits.map((one) => [one.currency, one.amount, one.status]),
      [
        ['BTC', 0.3125, 'ok'],
        ['ETH', 4.20000001, 'ok'],
      ],
    )
    const [internal] = await client.fetchDeposits('USDT', Date.UTC(2021, 6, 1))
    assert.equal(internal?.internal, true)
    const withdrawals = await client.fetchWithdrawals(undefined, Date.UTC(2024, 2, 1))
    assert.deepEqual(
      withdrawals.map((one) => [one.currency, one.status, one.fee?.cost]),
      [
        ['USDT', 'ok', 0],
        ['BTC', 'canceled', 0.0004],
      ],
    )
  })

  // Two of these calls use up an account's weight for a minute, so each test that makes some has an account of its own.
  it('fetchDeposits of fiat money, with and without rows', async () => {
    const reader = connect(await openBinanceAccount(sandbox, 'default', 'fiat'))
    const rows = await reader.fetchDeposits('EUR', Date.UTC(2021, 2, 1), undefined, { until: Date.UTC(2021, 4, 30) })
    assert.deepEqual(
      rows.map((one) => [one.amount, one.status]),
      [
        [500, 'ok'],
        [500, 'ok'],
        [500, 'ok'],
      ],
    )
    const early = { until: Date.UTC(2019, 2, 1) }
    assert.deepEqual(await reader.fetchDeposits('EUR', Date.UTC(2019, 1, 1), undefined, early), [])
  })

  it('fetchMyDustTrades, fetchConvertTradeHistory', async () => {
    const reader = connect(await openBinanceAccount(sandbox, 'default', 'convert'))
    const dust = await reader.fetchMyDustTrades()
    assert.equal(dust.length, 3)
    const converts = await reader.fetchConvertTradeHistory(undefined, Date.UTC(2021, 3, 1), undefined, {
      until: Date.UTC(2021, 3, 30),
    })
    assert.deepEqual(
      converts.map((one) => [one['fromCurrency'], one['fromAmount'], one['toCurrency'], one['toAmount']]),
      [['EUR', 120, 'USDT', 132.0011]],
    )
  })
})

describe('errors are those of ccxt', () => {
  const once = (fault: object): Promise<unknown> =>
    control(sandbox, 'POST', 'providers/binance/faults', { ...fault, times: 1 })

  it('AuthenticationError for a key that is not known, and for one of another format', async () => {
    for (const scenario of ['invalid_credentials', 'binance_us']) {
      const refused = connect(await openBinanceAccount(sandbox, scenario))
      await assert.rejects(refused.privateGetAccount(), ccxt.AuthenticationError)
      // ccxt has a class for this one only at Binance's own address.
      await assert.rejects(refused.sapiGetAccountApiRestrictions(), /"code":-2008/)
    }
    const malformed = connect({ apiKey: 'short', secret: account.secret })
    await assert.rejects(malformed.privateGetAccount(), ccxt.AuthenticationError)
  })

  it('AuthenticationError for a wrong secret', async () => {
    const wrong = connect({ apiKey: account.apiKey, secret: 'f'.repeat(64) })
    await assert.rejects(wrong.privateGetAccount(), ccxt.AuthenticationError)
  })

  it('InvalidNonce for a clock that is wrong', async () => {
    await once({ kind: 'clock_skew', skew_ms: 600_000 })
    await assert.rejects(client.privateGetAccount(), ccxt.InvalidNonce)
  })

  it('BadSymbol for a symbol that is gone', async () => {
    await assert.rejects(client.privateGetMyTrades({ symbol: 'BUSDUSDT' }), ccxt.BadSymbol)
  })

  it('DDoSProtection for 429 and 418, ExchangeNotAvailable for an exchange that is away, −1008 for a busy one', async () => {
    for (const kind of ['rate_limited', 'http_429_retry_after', 'http_418']) {
      await once({ kind })
      await assert.rejects(client.privateGetAccount(), ccxt.DDoSProtection)
    }
    await once({ kind: 'down' })
    await assert.rejects(client.privateGetAccount(), ccxt.ExchangeNotAvailable)
    await once({ kind: 'service_unavailable' })
    await assert.rejects(client.privateGetAccount(), /"code":-1008/)
  })
})
