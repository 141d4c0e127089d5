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
function answerBybit(equities: readonly (string | undefined)[], funding: readonly object[] = []) {
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
    '/v5/asset/transfer/query-account-coins-balance': { balance: funding },
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
    const funded = answerBybit(['3', '8'], [{ coin: 'BTC', transferBalance: '1', walletBalance: '1', bonus: '' }])
    const inFunding = await readBalances('bybit', funded)
    assert.deepEqual(inFunding.balances.map(({ symbol, liquid }) => [symbol, String(liquid)])[0], ['BTC', '4'])
    assert.equal(inFunding.mayHaveLost, undefined, 'the funding wallet has no contracts')
  })

  it('Bitfinex: may be those of the margin wallet, while it holds anything', async () => {
    const read = (wallets: unknown[][]): Promise<Balances> => readBalances('bitfinex', answerBitfinex(wallets))
    const exchange = ['exchange', 'BTC', 1, 0, 1]
    assert.equal((await read([exchange, ['margin', 'BTC', 0, 0, 0]])).mayHaveLost, undefined)
    assert.equal((await read([exchange, ['margin', 'BTC', 0.5, 0, 0.5]])).mayHaveLost, true)
  })
})
