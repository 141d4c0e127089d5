/** The simulator as ccxt sees it: its own client, written by others against the real exchange, with other addresses. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Decimal } from '@assay/core'
import ccxt, { type bitfinex as BitfinexClient } from 'ccxt'
import type { Sandbox } from '../index.ts'
import { openBitfinexAccount, type BitfinexKey, type BitfinexTestAccount } from '../testing/bitfinex-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'
import { decimalOf, movedBy, totals } from '../testing/spot-sums.ts'

let sandbox: Sandbox
let account: BitfinexTestAccount
let client: BitfinexClient
let ledger: { id?: string; currency?: string; amount: unknown; after: unknown; row: unknown[] }[]

function connect(key: BitfinexKey): BitfinexClient {
  // `number: String` lets ccxt give every digit instead of binary floats.
  const made = new ccxt.bitfinex({ ...key, enableRateLimit: false, number: String })
  made.urls['api'] = { v1: sandbox.urls.bitfinex, public: sandbox.urls.bitfinex, private: sandbox.urls.bitfinex }
  return made
}

before(async () => {
  sandbox = await startTestSandbox({ now: Date.now })
  account = await openBitfinexAccount(sandbox, 'default', 'ccxt')
  client = connect(account)
  await client.loadMarkets()
  const read = await client.fetchLedger(undefined, Date.UTC(2025, 0, 1), 2500)
  ledger = read.map((one) => ({
    ...(one as unknown as (typeof ledger)[number]),
    row: (one.info as { result: unknown[] }).result,
  }))
})
after(() => sandbox.close())

const changesOf = (rows: typeof ledger): Record<string, Decimal> =>
  totals(rows.map(({ currency = '', amount }) => [currency, decimalOf(amount)]))

/** What ccxt says is held, in every digit. */
async function held(type: string): Promise<Record<string, Decimal>> {
  const { total } = (await client.fetchBalance({ type })) as unknown as { total: Record<string, string> }
  return Object.fromEntries(Object.entries(total).map(([asset, amount]) => [asset, decimalOf(amount)]))
}

const ofWallet = (wallet: string): typeof ledger => ledger.filter(({ row }) => row[2] === wallet)

describe('ccxt reads the market', () => {
  it('fetchStatus, loadMarkets', async () => {
    assert.equal((await client.fetchStatus())['status'], 'ok')
    assert.equal(client.market('BTC/USDT')['id'], 'tBTCUST')
    assert.equal(client.market('DOGE/USDT')['id'], 'tDOGE:UST')
  })
})

describe('ccxt reads the account', () => {
  it('fetchLedger: its sum is the balance of each wallet, and every entry has the balance after it', async () => {
    assert.equal(new Set(ledger.map(({ id }) => id)).size, ledger.length)
    for (const wallet of ['exchange', 'funding']) {
      const now = await held(wallet)
      assert.deepEqual(changesOf(ofWallet(wallet)), now, wallet)
      const oldestFirst = ofWallet(wallet).toSorted((a, b) => Number(a.row[0]) - Number(b.row[0]))
      const last = oldestFirst.map(({ currency = '', after: balance }) => [currency, decimalOf(balance)] as const)
      assert.deepEqual(Object.fromEntries(last), now, wallet)
    }
  })

  it('fetchBalance: both wallets together equal the computed balance, and the part in orders is not free', async () => {
    const { balances } = sandbox.controls.bitfinex.readAccount(account.accountId)
    const read = totals([...Object.entries(await held('exchange')), ...Object.entries(await held('funding'))])
    for (const [asset, amount] of Object.entries(balances)) assert.deepEqual(read[asset], decimalOf(amount), asset)
    const { used } = (await client.fetchBalance()) as unknown as { used: Record<string, string> }
    assert.deepEqual([used['USDT'], used['BTC']], ['50', '0.001'])
  })

  it('fetchMyTrades: price times amount is the cost, and the ledger moved by amount, cost and fee', async () => {
    const trades = await client.fetchMyTrades(undefined, Date.UTC(2025, 0, 1), 1000)
    assert.equal(trades.length, 174)
    const traded = ledger.filter(({ row }) => /^(Exchange|Trading) /.test(String(row[8])))
    assert.deepEqual(movedBy(trades), changesOf(traded))
  })

  it('fetchDepositsWithdrawals: with hash, address and fee', async () => {
    const rows = await client.fetchDepositsWithdrawals(undefined, undefined, 1000)
    assert.equal(rows.filter(({ type }) => type === 'deposit').length, 35)
    const withdrawals = rows.filter(({ type }) => type === 'withdrawal')
    assert.deepEqual(
      withdrawals.map((one) => [one.currency, one.amount, one.fee?.cost, one.status]),
      [
        ['BTC', '0.15', '0.0002', 'ok'],
        ['ETH', '1.5', '0.0016', 'ok'],
        ['USDC', '500', '4', 'ok'],
        ['USDT', '100', '0', 'ok'],
        ['BTC', '0.2', '0.0002', 'canceled'],
        ['XRP', '300', '0.25', 'failed'],
        ['BTC', '0.02', '0.0002', 'pending'],
      ],
    )
    assert.match(withdrawals[1]?.txid ?? '', /^0x[0-9a-f]{64}$/)
    assert.match(withdrawals[1]?.addressTo ?? '', /^0x[0-9a-f]{40}$/)
    const amounts = rows.map(({ amount }) => String(amount))
    for (const amount of ['987654321.098765', '0.00000001']) assert.ok(amounts.includes(amount), amount)
  })
})

describe('errors are those of ccxt', () => {
  const once = (fault: object): Promise<unknown> =>
    control(sandbox, 'POST', 'providers/bitfinex/faults', { ...fault, times: 1 })

  it('AuthenticationError for a key that is not known and for a wrong secret', async () => {
    const refused = connect(await openBitfinexAccount(sandbox, 'invalid_credentials'))
    await assert.rejects(refused.privatePostAuthRWallets(), ccxt.AuthenticationError)
    const wrong = connect({ apiKey: account.apiKey, secret: 'f'.repeat(43) })
    await assert.rejects(wrong.privatePostAuthRWallets(), ccxt.AuthenticationError)
  })

  it('RateLimitExceeded for too many calls, ExchangeNotAvailable for an exchange that is away or in trouble', async () => {
    await once({ kind: 'rate_limited' })
    await assert.rejects(client.privatePostAuthRWallets(), ccxt.RateLimitExceeded)
    for (const kind of ['down', 'service_unavailable']) {
      await once({ kind })
      await assert.rejects(client.privatePostAuthRWallets(), ccxt.ExchangeNotAvailable)
    }
  })
})
