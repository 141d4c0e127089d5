/**
 * The simulator as ccxt sees it: its own client, written by others against the real exchange, with nothing changed but
 * the address. ccxt reads the machine's clock, so this sandbox does too.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import ccxt, { type coinbase as CoinbaseClient } from 'ccxt'
import type { Sandbox } from '../index.ts'
import { outsideTransfers } from '../scenarios/coinbase/outside.ts'
import { mint, openSignIn, startCoinbase, type ApiKey, type Minted } from '../testing/coinbase-client.ts'
import { control } from '../testing/kraken-client.ts'

let sandbox: Sandbox
let minted: Minted
let client: CoinbaseClient

function connect({ name, secret }: ApiKey): CoinbaseClient {
  return new ccxt.coinbase({
    apiKey: name,
    secret,
    urls: { api: { rest: sandbox.urls.coinbase } },
    enableRateLimit: false,
  })
}

before(async () => {
  ;({ sandbox } = await startCoinbase({ now: Date.now }))
  minted = await mint(sandbox, 'odd', 'ccxt')
  client = connect(minted.ecdsa)
  await client.loadMarkets()
})
after(() => sandbox.close())

describe('ccxt reads the market', () => {
  it('fetchTime, fetchCurrencies, fetchMarkets and the fee tier', async () => {
    assert.ok(Math.abs(((await client.fetchTime()) ?? 0) - Date.now()) < 60_000)
    assert.equal(client.currency('SOL')['id'], 'SOL')
    assert.equal(client.market('BTC/USD')['id'], 'BTC-USD')
    assert.equal(client.market('BTC/USD')['taker'], 0.006)
  })
})

describe('ccxt reads the account', () => {
  it('fetchAccounts: every wallet that can be traded, by the id that v2 uses', async () => {
    const accounts = await client.fetchAccounts()
    const { wallets } = (await control(sandbox, 'GET', `accounts/${minted.accountId}/state`)) as {
      wallets: { id: string }[]
    }
    const ids = new Set(wallets.map(({ id }) => id))
    assert.ok(accounts.length >= 12)
    assert.ok(accounts.every(({ id }) => ids.has(id ?? '')))
  })

  it('fetchBalance by v2: the sum of the wallets of a currency, staked ones too', async () => {
    const { balances } = (await control(sandbox, 'GET', `accounts/${minted.accountId}/state`)) as {
      balances: Record<string, string>
    }
    const { total } = (await client.fetchBalance()) as unknown as { total: Record<string, number> }
    for (const code of ['SOL', 'ETH2', 'USDC', 'EUR', 'PEPE', 'ZQNT'])
      assert.equal(total[code], Number(balances[code]), code)
  })

  it('fetchBalance by v3: what can be traded', async () => {
    const { total } = (await client.fetchBalance({ v3: true })) as unknown as { total: Record<string, number> }
    assert.ok((total['SOL'] ?? 0) > 0 && !('ETH2' in total))
  })

  it('fetchLedger: every page of a wallet, in and out, with network fees', async () => {
    const entries = await client.fetchLedger('BTC', undefined, undefined, { paginate: true })
    const { transactions } = (await control(sandbox, 'GET', `accounts/${minted.accountId}/state`)) as {
      transactions: { account_id: string; amount: { currency: string }; resource_path: string }[]
    }
    const wallet = (await client.fetchAccounts()).find(({ code }) => code === 'BTC')?.id
    assert.equal(entries.length, transactions.filter(({ account_id }) => account_id === wallet).length)
    assert.deepEqual(new Set(entries.map(({ direction }) => direction)), new Set(['in', 'out']))
    assert.ok(entries.some(({ fee }) => fee?.cost === 0.0001))
  })

  it('fetchWithdrawals of coins: amount, fee, hash and address', async () => {
    const withdrawals = await client.fetchWithdrawals('BTC', undefined, 100, { currencyType: 'crypto' })
    const sent = withdrawals.find(({ datetime }) => datetime?.startsWith('2021-03-19') === true)
    assert.deepEqual([sent?.status, sent?.currency, sent?.fee?.cost], ['ok', 'BTC', 0.0001])
    assert.equal(sent?.txid, outsideTransfers.bitcoinOut.hash)
    assert.equal(sent?.address, outsideTransfers.bitcoinOut.address)
  })

  it('fetchDeposits, fetchWithdrawals of money', async () => {
    const withdrawals = await client.fetchWithdrawals('EUR')
    assert.deepEqual(
      withdrawals.map(({ amount, status, type }) => [amount, status, type]),
      [
        [400, 'ok', 'withdrawal'],
        [250.15, 'ok', 'withdrawal'],
      ],
    )
    const deposits = await client.fetchDeposits('EUR', undefined, 100)
    assert.deepEqual(new Set(deposits.map(({ status }) => status)), new Set(['ok', 'failed', 'pending']))
  })

  it('fetchMyTrades: price × amount = cost, and the fee is in the quote', async () => {
    const trades = await client.fetchMyTrades('SOL/USD')
    assert.equal(trades.length, 3)
    for (const { price, amount, cost, fee } of trades) {
      assert.ok(Math.abs((price ?? 0) * (amount ?? 0) - (cost ?? 0)) < 0.001)
      assert.equal(fee?.currency, 'USD')
    }
  })

  it('with an Ed25519 key and with a token from a sign-in', async () => {
    const user = (await client.v2PrivateGetUser()) as { data: { id: string } }
    const other = (await connect(minted.ed25519).v2PrivateGetUser()) as { data: { id: string } }
    assert.equal(other.data.id, user.data.id)
    const { access_token: token } = await openSignIn(sandbox).signIn('odd:ccxt')
    const signedIn = new ccxt.coinbase({
      token,
      urls: { api: { rest: sandbox.urls.coinbase } },
      enableRateLimit: false,
    })
    const me = (await signedIn.v2PrivateGetUser()) as { data: { id: string } }
    assert.equal(me.data.id, user.data.id)
  })
})

describe('errors are those of ccxt', () => {
  const once = (fault: object): Promise<unknown> =>
    control(sandbox, 'POST', 'providers/coinbase/faults', { ...fault, times: 1 })

  it('AuthenticationError for a key that is not known, and for a wrong secret', async () => {
    const refused = connect((await mint(sandbox, 'invalid_credentials')).ecdsa)
    await assert.rejects(refused.v3PrivateGetBrokerageKeyPermissions(), ccxt.AuthenticationError)
    const { secret } = (await mint(sandbox, 'default', 'another')).ecdsa
    await assert.rejects(connect({ name: minted.ecdsa.name, secret }).v2PrivateGetAccounts(), ccxt.AuthenticationError)
  })

  it('AuthenticationError for a missing scope of v2, PermissionDenied for one of v3', async () => {
    const poor = await mint(sandbox, 'default', 'poor')
    await control(sandbox, 'POST', `accounts/${poor.accountId}/key`, { permissions: [] })
    await assert.rejects(connect(poor.ecdsa).v2PrivateGetAccounts(), ccxt.AuthenticationError)
    await assert.rejects(connect(poor.ecdsa).v3PrivateGetBrokerageAccounts(), ccxt.PermissionDenied)
  })

  it('RateLimitExceeded, and ExchangeNotAvailable for an exchange that is away', async () => {
    for (const kind of ['rate_limited', 'http_429']) {
      await once({ kind })
      await assert.rejects(client.v2PrivateGetAccounts(), ccxt.RateLimitExceeded)
    }
    for (const kind of ['down', 'http_5xx']) {
      await once({ kind })
      await assert.rejects(client.v2PrivateGetAccounts(), ccxt.ExchangeNotAvailable)
    }
  })
})
