/** What people see first in the sandbox: an account that a person could have, in which no single asset is nearly everything. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { toUnits } from '../core/units.ts'
import type { Sandbox } from '../index.ts'
import { coins, currencies } from '../market/coins.ts'
import { dayOf, priceInUsd } from '../market/series.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'

interface State {
  balances?: Record<string, string>
  accounts?: { currency: string | { code: string }; balance: string | { amount: string } }[]
}

const decimals = 18
const day = dayOf(Date.UTC(2026, 10, 1))
const priced = new Map([...coins, ...currencies].map((coin) => [coin.symbol.toUpperCase(), priceInUsd(coin, day)]))

/** Kraken's old codes and wallets, Coinbase's staked ether, Binance's Simple Earn. */
const renamed: Readonly<Record<string, string>> = {
  ...{ XXBT: 'BTC', XBT: 'BTC', XETH: 'ETH', XXRP: 'XRP', XLTC: 'LTC', XXDG: 'DOGE', ZEUR: 'EUR', ZUSD: 'USD' },
  ...{ ETH2: 'ETH', LDBTC: 'BTC', LDUSDT: 'USDT', LDLDO: 'LDO' },
}

function symbolOf(code: string): string {
  const [plain = ''] = code.replace(/^locked /, '').split('.')
  return renamed[plain] ?? plain
}

function listHeld({ balances, accounts }: State): [string, string][] {
  if (balances !== undefined) return Object.entries(balances)
  return (accounts ?? []).map(({ currency, balance }) => [
    typeof currency === 'string' ? currency : currency.code,
    typeof balance === 'string' ? balance : balance.amount,
  ])
}

describe('the default account', () => {
  let sandbox: Sandbox
  before(async () => {
    sandbox = await startTestSandbox()
  })
  after(() => sandbox.close())

  for (const provider of ['kraken', 'coinbase', 'binance', 'bybit', 'okx', 'bitfinex']) {
    it(`at ${provider} has several assets, and at most 40 % in one`, async () => {
      const wish = { provider_id: provider, scenario: 'default', account: 'believable' }
      const { account_id: id } = (await control(sandbox, 'POST', 'accounts', wish)) as { account_id: string }
      const state = (await control(sandbox, 'GET', `accounts/${id}/state`)) as State
      const values = new Map<string, bigint>()
      for (const [code, amount] of listHeld(state)) {
        const symbol = symbolOf(code)
        const value = (priced.get(symbol) ?? 0n) * toUnits(amount, decimals)
        values.set(symbol, (values.get(symbol) ?? 0n) + value)
      }
      const total = [...values.values()].reduce((sum, value) => sum + value, 0n)
      const shares = [...values].map(([symbol, value]) => ({ symbol, percent: Number((value * 100n) / total) }))
      assert.ok(shares.filter(({ percent }) => percent >= 1).length >= 5, JSON.stringify(shares))
      assert.deepEqual(
        shares.filter(({ percent }) => percent >= 40),
        [],
      )
    })
  }
})
