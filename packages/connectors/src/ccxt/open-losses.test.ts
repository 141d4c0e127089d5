/** Losses on open contracts are booked when these are closed. Until then some exchanges' balances still have them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Balances, Io } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

async function readBalances(providerId: string, answer: (path: string, url: URL) => unknown): Promise<Balances> {
  const io: Io = {
    fetch: async (input) => {
      const url = new URL(input instanceof Request ? input.url : input)
      return Response.json(answer(url.pathname, url))
    },
    ...{ now: () => Date.parse('2026-03-02T12:00:00Z'), nextNonce: () => '1', baseUrl: undefined },
  }
  const secretKey = Buffer.from('s'.repeat(32)).toString('base64')
  const key = { type: 'api_key' as const, apiKey: `${providerId}-k`, secretKey, passphrase: 'p' }
  return createCcxtConnector(providerId).open(key, io).fetchBalances({})
}

/**
 * bybit-exchange.github.io/docs/v5/account/wallet-balance: "equity = walletBalance - spotBorrow + unrealisedPnl + Asset
 * Option Value". The first two are 5 and 2 here.
 */
function answerBybit(equities: readonly (string | undefined)[]) {
  const coin = equities.map((equity, at) => ({
    ...{ coin: ['BTC', 'USDT'][at], walletBalance: '5', spotBorrow: '2', borrowAmount: '2', accruedInterest: '0' },
    ...{ availableToWithdraw: '', locked: '0', totalPositionIM: '0', totalOrderIM: '0', unrealisedPnl: '0', equity },
  }))
  const instrument = {
    ...{ symbol: 'BTCUSDT', baseCoin: 'BTC', quoteCoin: 'USDT', status: 'Trading' },
    ...{ lotSizeFilter: { basePrecision: '0.000001' }, priceFilter: { tickSize: '0.01' } },
  }
  const answers: Readonly<Record<string, object>> = {
    '/v5/market/instruments-info': { list: [instrument] },
    '/v5/user/query-api': { unified: 0, uta: 1, readOnly: 1, userID: 7 },
    '/v5/account/info': { unifiedMarginStatus: 6 },
    '/v5/account/wallet-balance': { list: [{ accountType: 'UNIFIED', coin }] },
    '/v5/asset/transfer/query-account-coins-balance': { balance: [] },
  }
  return (path: string): unknown => ({ retCode: 0, result: answers[path] ?? { list: [] } })
}

/** docs.bitfinex.com, rest-auth-wallets: [type, currency, balance, unsettled interest, available balance]. */
function answerBitfinex(wallets: readonly unknown[][]) {
  return (path: string): unknown => {
    if (path.endsWith('/wallets')) return wallets
    if (path.includes('pub:info:pair'))
      return [[['BTCUSD', [null, null, null, '0.00004', '2000', null, null, null, 0, 0]]]]
    return path.includes('pub:list:pair') ? [['BTCUSD']] : [[]]
  }
}

/** www.gate.com/docs/developers/apiv4: "List spot trading accounts" and "Get unified account information". */
function answerGate(isUnified: boolean) {
  const pair = {
    ...{ id: 'BTC_USDT', base: 'BTC', quote: 'USDT', fee: '0.2', trade_status: 'tradable' },
    ...{ amount_precision: 4, precision: 2 },
  }
  return (path: string): unknown => {
    if (path.endsWith('/spot/currency_pairs')) return [pair]
    if (path.endsWith('/account/detail')) return { key: { mode: isUnified ? 2 : 1 } }
    if (path.endsWith('/spot/accounts')) return [{ currency: 'BTC', available: '1', locked: '0' }]
    if (path.endsWith('/unified/accounts')) return { balances: { BTC: { available: '1', freeze: '0', borrowed: '0' } } }
    return []
  }
}

/** docs.alpaca.markets, "Get account" and "All open positions". The account has 10000 dollars of its own. */
function answerAlpaca(cash: string, shortValue: string) {
  const values = { long_market_value: '0', short_market_value: shortValue, position_market_value: shortValue }
  const pair = {
    ...{ class: 'crypto', symbol: 'BTC/USD', status: 'active' },
    ...{ tradable: true, price_increment: '1' },
  }
  const answers: Readonly<Record<string, unknown>> = {
    '/v2/assets': [pair],
    '/v2/account': { currency: 'USD', cash, equity: '10000', ...values },
    '/v2/positions': [{ symbol: 'AAPL', qty: '-100', qty_available: '-100', market_value: shortValue }],
  }
  return (path: string): unknown => answers[path]
}

/** github.com/bitbankinc/bitbank-api-docs, "Fetch user assets" and "Get all pairs info". */
function answerBitbank(amount: string) {
  const asset = { asset: 'btc', onhand_amount: amount, free_amount: amount, locked_amount: '0' }
  const pair = { ...{ name: 'btc_jpy', base_asset: 'btc', quote_asset: 'jpy', is_enabled: true }, price_digits: 0 }
  return (path: string): unknown => ({
    success: 1,
    data: path.endsWith('/user/assets') ? { assets: [asset] } : { pairs: [pair] },
  })
}

describe('losses of open contracts', () => {
  it('Bybit: are not in the balances, and show beside them', async () => {
    const mayHaveLost = async (...equities: (string | undefined)[]): Promise<boolean | undefined> =>
      (await readBalances('bybit', answerBybit(equities))).mayHaveLost
    assert.equal(await mayHaveLost('3', ''), undefined)
    assert.equal(await mayHaveLost('3', '8'), undefined, 'a profit that is not booked takes nothing away')
    assert.equal(
      await mayHaveLost('6', '2.99999999'),
      true,
      'options that were sold may have no loss, and owe their worth',
    )
    assert.equal(await mayHaveLost('3', undefined), true)
    const read = await readBalances('bybit', answerBybit(['2.5']))
    assert.deepEqual([read.isInDoubt, read.unreadable], [undefined, undefined], 'the sums are right')
  })

  it('Bitfinex: may be those of the margin wallet, while it holds anything', async () => {
    const read = (wallets: unknown[][]): Promise<Balances> => readBalances('bitfinex', answerBitfinex(wallets))
    const exchange = ['exchange', 'BTC', 1, 0, 1]
    assert.equal((await read([exchange, ['margin', 'BTC', 0, 0, 0]])).mayHaveLost, undefined)
    assert.equal((await read([exchange, ['margin', 'BTC', 0.5, 0, 0.5]])).mayHaveLost, true)
  })

  it('Alpaca: are what has to be paid for shares that were sold short, whose price is in the cash', async () => {
    const owning = await readBalances('alpaca', answerAlpaca('10000', '0'))
    assert.deepEqual([owning.mayHaveLost, owning.balances.map(({ liquid }) => liquid)], [undefined, ['10000']])
    const owing = await readBalances('alpaca', answerAlpaca('30000', '-20000'))
    assert.deepEqual([owing.mayHaveLost, owing.balances.map(({ liquid }) => liquid)], [true, ['30000']])
  })

  it('Bitbank: may be those of margin positions, of which the assets say nothing', async () => {
    assert.equal((await readBalances('bitbank', answerBitbank('0'))).mayHaveLost, undefined)
    assert.equal((await readBalances('bitbank', answerBitbank('1'))).mayHaveLost, true)
  })

  it('Gate: may be in the one wallet of a unified account', async () => {
    assert.equal((await readBalances('gate', answerGate(false))).mayHaveLost, undefined)
    assert.equal((await readBalances('gate', answerGate(true))).mayHaveLost, true)
  })
})
