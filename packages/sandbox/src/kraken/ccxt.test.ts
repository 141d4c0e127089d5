/**
 * The simulator as ccxt sees it: its own client, written by others against the real exchange, with nothing changed but
 * the address and the (overridable, says its manual) source of nonces.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import ccxt, { type kraken as KrakenClient } from 'ccxt'
import type { Sandbox } from '../index.ts'
import { control, openAccount, startTestSandbox, type TestAccount } from '../testing/kraken-client.ts'

let sandbox: Sandbox
let account: TestAccount
let client: KrakenClient
let nonce = Date.now()

function connect(key: { apiKey: string; secret: string }): KrakenClient {
  const urls = { api: { public: sandbox.urls.kraken, private: sandbox.urls.kraken } }
  const made = new ccxt.kraken({ apiKey: key.apiKey, secret: key.secret, urls, enableRateLimit: false })
  made.nonce = () => (nonce += 1)
  return made
}

before(async () => {
  sandbox = await startTestSandbox()
  account = await openAccount(sandbox, 'default', 'ccxt')
  client = connect(account)
  await client.loadMarkets()
})
after(() => sandbox.close())

describe('ccxt reads the market', () => {
  it('fetchTime, fetchStatus', async () => {
    const time = await client.fetchTime()
    assert.equal(new Date(time ?? 0).toISOString().slice(0, 10), '2026-11-15')
    assert.equal((await client.fetchStatus())['status'], 'ok')
  })

  it('fetchCurrencies, fetchMarkets: old and new codes become the usual symbols', () => {
    assert.equal(client.currency('BTC')['id'], 'XXBT')
    assert.equal(client.currency('DOGE')['id'], 'XXDG')
    assert.equal(client.market('BTC/USD')['id'], 'XXBTZUSD')
    assert.equal(client.market('ADA/EUR')['id'], 'ADAEUR')
    assert.equal(client.market('DOGE/USD')['id'], 'XDGUSD')
  })

  it('fetchTicker', async () => {
    const ticker = await client.fetchTicker('BTC/USD')
    assert.equal(ticker.last, Number((ticker.info as { c: string[] }).c[0]))
    assert.ok((ticker.last ?? 0) > 10_000)
  })
})

describe('ccxt reads the account', () => {
  it('fetchBalance: every code equals the computed balance', async () => {
    const { balances } = (await control(sandbox, 'GET', `accounts/${account.accountId}/state`)) as {
      balances: Record<string, string>
    }
    const { total } = (await client.fetchBalance()) as unknown as { total: Record<string, number> }
    assert.equal(Object.keys(total).length, Object.keys(balances).length)
    assert.equal(total['BTC'], Number(balances['XXBT']))
    assert.equal(total['DOT.B'], Number(balances['DOT.B']))
  })

  it('fetchLedger: fifty entries, in and out, with fees', async () => {
    const entries = await client.fetchLedger()
    assert.equal(entries.length, 50)
    const older = await client.fetchLedger(undefined, undefined, undefined, { ofs: 100, type: 'trade' })
    assert.deepEqual(new Set(older.map((entry) => entry.direction)), new Set(['in', 'out']))
    assert.ok(older.some((entry) => (entry.fee?.cost ?? 0) > 0))
  })

  it('fetchMyTrades', async () => {
    const trades = await client.fetchMyTrades()
    assert.equal(trades.length, 50)
    for (const trade of trades) {
      assert.ok(trade.symbol !== undefined && trade.price !== undefined && trade.amount !== undefined)
      assert.ok(Math.abs(trade.price * trade.amount - (trade.cost ?? 0)) < 0.001)
    }
  })

  it('fetchDeposits, fetchWithdrawals', async () => {
    const deposits = await client.fetchDeposits('BTC')
    assert.deepEqual(
      deposits.map((deposit) => [deposit.amount, deposit.status]),
      [
        [0.0315, 'ok'],
        [0.4125, 'ok'],
      ],
    )
    const withdrawals = await client.fetchWithdrawals()
    assert.equal(withdrawals.length, 12)
    assert.equal(withdrawals.filter((withdrawal) => withdrawal.status === 'failed').length, 2)
  })
})

describe('ccxt reads the scenario reality', () => {
  it('fetchBalance, fetchLedger, fetchWithdrawals: odd codes, lost references and withdrawals on hold', async () => {
    const odd = await openAccount(sandbox, 'reality', 'ccxt')
    const reader = connect(odd)
    const { balances } = sandbox.controls.kraken.readAccount(odd.accountId)
    const { total } = (await reader.fetchBalance()) as unknown as { total: Record<string, number> }
    assert.equal(Object.keys(total).length, Object.keys(balances).length)
    // ccxt writes a code that /Assets does not name in capitals.
    assert.equal(total['TSLAX.T'], Number(balances['TSLAx.T']))
    const earned = await reader.fetchLedger(undefined, undefined, undefined, { type: 'earn' })
    assert.equal(earned.filter((entry) => entry.referenceId === 'Unknown').length, 5)
    const withdrawals = await reader.fetchWithdrawals()
    assert.deepEqual(
      withdrawals.map((withdrawal) => withdrawal.status),
      ['pending', 'pending', 'failed', 'ok'],
    )
  })
})

describe('errors are those of ccxt', () => {
  const once = (fault: object): Promise<unknown> =>
    control(sandbox, 'POST', 'providers/kraken/faults', { ...fault, times: 1 })

  it('AuthenticationError for a key that is not known', async () => {
    const refused = connect(await openAccount(sandbox, 'invalid_credentials'))
    await assert.rejects(refused.privatePostGetApiKeyInfo(), ccxt.AuthenticationError)
  })

  it('ExchangeError "Invalid signature" for a wrong secret', async () => {
    const other = await openAccount(sandbox, 'default', 'another')
    const wrong = connect({ apiKey: account.apiKey, secret: other.secret })
    await assert.rejects(wrong.privatePostBalance(), /EAPI:Invalid signature/)
  })

  it('InvalidNonce for a nonce used again', async () => {
    const replaying = connect(account)
    replaying.nonce = () => nonce
    await replaying.privatePostBalance().catch(() => undefined)
    await assert.rejects(replaying.privatePostBalance(), ccxt.InvalidNonce)
  })

  it('PermissionDenied for a right the key lacks', async () => {
    const poor = await openAccount(sandbox, 'default', 'poor')
    await control(sandbox, 'POST', `accounts/${poor.accountId}/key`, { permissions: ['query-funds'] })
    await assert.rejects(connect(poor).privatePostLedgers(), ccxt.PermissionDenied)
  })

  it('DDoSProtection for the call counter, RateLimitExceeded for 429, DDoSProtection for 418', async () => {
    await once({ kind: 'rate_limited' })
    await assert.rejects(client.privatePostBalance(), ccxt.DDoSProtection)
    await once({ kind: 'http_429' })
    await assert.rejects(client.privatePostBalance(), ccxt.RateLimitExceeded)
    await once({ kind: 'http_418' })
    await assert.rejects(client.privatePostBalance(), ccxt.DDoSProtection)
  })

  it('ExchangeNotAvailable for an exchange that is away or busy', async () => {
    for (const fault of [{ kind: 'down' }, { kind: 'http_5xx', status: 502 }, { kind: 'service_unavailable' }]) {
      await once(fault)
      await assert.rejects(client.privatePostBalance(), ccxt.ExchangeNotAvailable)
    }
  })

  it('none at all for a connection that breaks in the middle of a body: ECONNRESET comes out as it is', async () => {
    await once({ kind: 'reset' })
    await assert.rejects(client.privatePostLedgers(), { code: 'ECONNRESET' })
  })

  // fetchLedger turns this into an empty list, which looks like the end of the history.
  it('none at all for JSON that ends early or a page instead of it: the answer is text', async () => {
    for (const kind of ['truncated_json', 'html']) {
      await once({ kind })
      assert.equal(typeof (await client.privatePostLedgers()), 'string')
      await once({ kind })
      assert.deepEqual(await client.fetchLedger(), [])
    }
  })
})
