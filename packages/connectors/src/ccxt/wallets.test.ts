/** Exchanges whose accounts keep coins in several places, of which ccxt reads one unless it is told otherwise. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Io } from '../kit/connector.ts'
import { createCcxtConnector } from './connector.ts'

const market = {
  ...{ market: 'BTC-EUR', status: 'trading', base: 'BTC', quote: 'EUR', pricePrecision: 5 },
  ...{ minOrderInBaseAsset: '0.0001', minOrderInQuoteAsset: '5', orderTypes: ['market', 'limit'] },
}

it('Bitvavo: a code that cannot be an asset’s is left out and named, and neither the check nor the rest fails', async () => {
  const long = 'X'.repeat(400)
  const io: Io = {
    fetch: async (input) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      const held = [long, 'BTC'].map((symbol) => ({ symbol, available: '1', inOrder: '0' }))
      return Response.json(pathname.endsWith('/balance') ? held : [market])
    },
    ...{ now: () => Date.parse('2026-03-02T12:00:00Z'), nextNonce: () => '1', baseUrl: undefined },
  }
  const key = { type: 'api_key' as const, apiKey: 'account-k', secretKey: 's'.repeat(32) }
  const reader = createCcxtConnector('bitvavo').open(key, io)
  assert.ok((await reader.verify()).fingerprint)
  const { balances, unreadable, state } = await reader.fetchBalances({})
  assert.deepEqual(
    balances.map(({ symbol, liquid }) => [symbol, String(liquid)]),
    [['BTC', '1']],
  )
  assert.deepEqual(unreadable, [`${'X'.repeat(40)}…`])
  assert.deepEqual(state?.['assets'], ['BTC'])
})

/** docs.whitebit.com/concepts/balances: "deposits arrive in Main, trading requires Trade or Collateral". */
it('WhiteBIT: coins that were deposited and not moved to the trade balance are held too', async () => {
  const answers: Readonly<Record<string, unknown>> = {
    '/api/v4/main-account/balance': { BTC: { main_balance: '0.5' }, USDT: { main_balance: '0' } },
    '/api/v4/trade-account/balance': {
      BTC: { available: '0.1', freeze: '0.02' },
      USDT: { available: '100', freeze: '0' },
    },
    '/api/v4/public/markets': [
      {
        name: 'BTC_USDT',
        stock: 'BTC',
        money: 'USDT',
        type: 'spot',
        stockPrec: '6',
        moneyPrec: '2',
        tradesEnabled: true,
      },
    ],
  }
  const io: Io = {
    fetch: async (input) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      return Response.json(answers[pathname] ?? {})
    },
    ...{ now: () => Date.parse('2026-03-02T12:00:00Z'), nextNonce: () => '1', baseUrl: undefined },
  }
  const key = { type: 'api_key' as const, apiKey: 'account-k', secretKey: 's'.repeat(32) }
  const { balances } = await createCcxtConnector('whitebit').open(key, io).fetchBalances({})
  assert.deepEqual(
    balances.map(({ symbol, liquid }) => [symbol, String(liquid)]),
    [
      ['BTC', '0.62'],
      ['USDT', '100'],
    ],
  )
})

/** docs.bitfinex.com, rest-auth-wallets: [type, currency, balance, unsettled interest, available balance]. */
it('Bitfinex: a coin that moves from one wallet to another is held once, because one answer has all wallets', async () => {
  let moves = 0
  const pair = ['BTCUSD', [null, null, null, '0.00004', '2000', null, null, null, 0, 0]]
  const io: Io = {
    fetch: async (input) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      if (pathname.endsWith('/wallets')) {
        moves += 1
        return Response.json([
          [moves === 1 ? 'exchange' : 'funding', 'BTC', 1, 0, 1],
          ['exchange', 'USD', 5, 0, 5],
        ])
      }
      if (pathname.includes('pub:info:pair')) return Response.json([[pair]])
      return Response.json(pathname.includes('pub:list:pair') ? [['BTCUSD']] : [[]])
    },
    ...{ now: () => Date.parse('2026-03-02T12:00:00Z'), nextNonce: () => '1', baseUrl: undefined },
  }
  const key = { type: 'api_key' as const, apiKey: 'account-k', secretKey: 's'.repeat(32) }
  const { balances } = await createCcxtConnector('bitfinex').open(key, io).fetchBalances({})
  assert.deepEqual(
    balances.map(({ symbol, liquid }) => [symbol, String(liquid)]),
    [
      ['BTC', '1'],
      ['USD', '5'],
    ],
  )
})
