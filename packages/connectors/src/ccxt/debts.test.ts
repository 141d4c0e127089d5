/** What an account owes is not a holding, whether or not the exchange counts it among the balances. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Balances, Io, StoredRecord } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const nowMs = Date.parse('2026-03-02T12:00:00Z')

async function readBalances(providerId: string, answer: (path: string) => unknown): Promise<Balances> {
  const io: Io = {
    fetch: async (input) => Response.json(answer(new URL(input instanceof Request ? input.url : input).pathname)),
    ...{ now: () => nowMs, nextNonce: () => '1', baseUrl: undefined },
  }
  const key = { type: 'api_key' as const, apiKey: `${providerId}-k`, secretKey: 's'.repeat(32), passphrase: 'p' }
  return createCcxtConnector(providerId).open(key, io).fetchBalances({})
}

const toHeld = ({ balances }: Balances): string[][] => balances.map(({ symbol, liquid }) => [symbol, liquid])

const instrument = {
  ...{ symbol: 'BTCUSDT', baseCoin: 'BTC', quoteCoin: 'USDT', status: 'Trading' },
  ...{ lotSizeFilter: { basePrecision: '0.000001' }, priceFilter: { tickSize: '0.01' } },
}

/**
 * bybit-exchange.github.io/docs/v5/account/wallet-balance: "equity = walletBalance - spotBorrow + unrealisedPnl + Asset
 * Option Value", and "borrowAmount = spot liabilities + derivatives liabilities".
 */
function answerBybit(coin: readonly object[]) {
  return (path: string): unknown => {
    switch (path) {
      case '/v5/market/instruments-info':
        return { retCode: 0, result: { list: [instrument] } }
      case '/v5/user/query-api':
        return { retCode: 0, result: { unified: 0, uta: 1, readOnly: 1, userID: 7 } }
      case '/v5/account/info':
        return { retCode: 0, result: { unifiedMarginStatus: 6 } }
      case '/v5/account/wallet-balance':
        return { retCode: 0, result: { list: [{ accountType: 'UNIFIED', coin }] } }
      case '/v5/asset/transfer/query-account-coins-balance':
        return { retCode: 0, result: { balance: [{ coin: 'USDT', walletBalance: '5', transferBalance: '5' }] } }
      default:
        return { retCode: 0, result: { list: [] } }
    }
  }
}

const coinOf = (coin: string, walletBalance: string, spotBorrow: string, borrowAmount = spotBorrow) => ({
  ...{ coin, walletBalance, spotBorrow, borrowAmount, accruedInterest: '0.01', availableToWithdraw: '', locked: '0' },
  ...{ totalPositionIM: '0', totalOrderIM: '0' },
})

const pair = {
  ...{ id: 'BTC_USDT', base: 'BTC', quote: 'USDT', fee: '0.2', trade_status: 'tradable' },
  ...{ amount_precision: 4, precision: 2 },
}

/** www.gate.com/docs/developers/apiv4, "Get unified account information". */
function answerGate(borrowed: string) {
  return (path: string): unknown => {
    if (path.endsWith('/spot/currency_pairs')) return [pair]
    if (path.endsWith('/account/detail')) return { key: { mode: 2 } }
    if (!path.endsWith('/unified/accounts')) return []
    const balance = { freeze: '0', negative_liab: '0', equity: '1' }
    return {
      balances: { BTC: { ...balance, available: '1', borrowed: '0' }, USDT: { ...balance, available: '80', borrowed } },
    }
  }
}

describe('coins that were borrowed', () => {
  it('Bybit: are deducted where the balance includes them, and those that were spent leave less than nothing', async () => {
    const read = await readBalances(
      'bybit',
      answerBybit([coinOf('BTC', '1', '0'), coinOf('USDT', '80000', '80000.5'), coinOf('ETH', '0.25', '1.5')]),
    )
    assert.deepEqual(toHeld(read), [
      ['BTC', '1'],
      // The funding wallet has five more.
      ['USDT', '4.5'],
      ['ETH', '-1.25'],
    ])
    assert.equal(read.isInDoubt, undefined)
  })

  it('Bybit: are not what a loss on contracts owes, which the balance already lacks', async () => {
    const read = await readBalances('bybit', answerBybit([coinOf('BTC', '1', '0'), coinOf('USDC', '-60', '0', '60')]))
    assert.deepEqual(toHeld(read), [
      ['BTC', '1'],
      ['USDC', '-60'],
      ['USDT', '5'],
    ])
  })

  it('Bybit: leave the balances in doubt only beside a debt, where it says nothing of what was borrowed', async () => {
    const readWith = (borrowAmount: string): Promise<Balances> =>
      readBalances('bybit', answerBybit([{ ...coinOf('BTC', '1', '', borrowAmount), accruedInterest: '0' }]))
    const free = await readWith('0')
    assert.deepEqual(
      [free.isInDoubt, toHeld(free)],
      [
        undefined,
        [
          ['BTC', '1'],
          ['USDT', '5'],
        ],
      ],
    )
    assert.deepEqual((await readWith('')).isInDoubt, undefined)
    assert.deepEqual((await readWith('2')).isInDoubt, true)
  })

  it('Gate: leave the balances in doubt, because it does not say whether they contain them', async () => {
    const read = await readBalances('gate', answerGate('80'))
    assert.deepEqual([read.isInDoubt, read.unreadable], [true, ['borrowed USDT']])
    const free = await readBalances('gate', answerGate('0'))
    assert.deepEqual([free.isInDoubt, free.unreadable, toHeld(free).length], [undefined, undefined, 2])
  })
})

it('Bybit: entries of its ledger that lend or take back coins move nothing, and those of interest do', () => {
  const connector = createCcxtConnector('bybit')
  const derive = (ownType: string, amount: string, direction: 'in' | 'out'): string[][] => {
    const entry = { id: '1', timestamp: nowMs, currency: 'USDT', type: ownType, ownType, amount, direction }
    const body = JSON.stringify({ ccxt: entry })
    const record: StoredRecord = { stream: 'ledger', partition: '', key: '1', occurredAtMs: nowMs, body }
    return connector
      .toTransactions([record], { addresses: new Set(), state: {} })
      .map(({ type, inputs, outputs }) => [type, ...[...inputs, ...outputs].map((leg) => String(leg.amount))])
  }
  for (const borrowed of ['BORROW', 'MANUAL_LOANS_BORROW', 'AUTO_LOANS_BORROW']) {
    assert.deepEqual(derive(borrowed, '80000', 'in'), [], borrowed)
  }
  for (const repaid of ['REPAY', 'MANUAL_LOANS_REPAY', 'AUTO_LOANS_REPAY']) {
    assert.deepEqual(derive(repaid, '80000', 'out'), [], repaid)
  }
  assert.deepEqual(derive('INTEREST', '0.5', 'out'), [['output_only', '0.5']])
  // A crypto loan is a product of its own, and no balance has its debt.
  assert.deepEqual(derive('LOANS_BORROW_FUNDS', '10', 'in'), [['uncategorized', '10']])
})
