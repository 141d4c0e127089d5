/** What people see first in the sandbox: a realistic account that no single asset dominates. */
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

/** Whole numbers of the smallest unit. A contract is identified by its address: another one may use the same name. */
interface EvmState {
  networks: { balances: { asset: string; decimals: number; balance: string }[] }[]
}
interface SolanaState {
  accounts: { lamports: string; token?: { mint: string; amount: string; decimals: number } }[]
}

const contracts: Readonly<Record<string, string>> = {
  native: 'ETH',
  '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48': 'USDC',
  '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913': 'USDC',
  '0x056fd409e1d7a124bd7017459dfea2f387b6d5cd': 'GUSD',
  '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2': 'WETH',
  '0x4200000000000000000000000000000000000006': 'WETH',
  EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v: 'USDC',
  Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB: 'USDT',
  DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263: 'BONK',
  JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN: 'JUP',
  '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo': 'PYUSD',
}

const decimals = 18
const day = dayOf(Date.UTC(2026, 10, 1))
const priced = new Map([...coins, ...currencies].map((coin) => [coin.symbol.toUpperCase(), priceInUsd(coin, day)]))

/** Kraken's old codes and wallets, Coinbase's staked ether, Binance's Simple Earn. */
const renamed: Readonly<Record<string, string>> = {
  ...{ XXBT: 'BTC', XBT: 'BTC', XETH: 'ETH', XXRP: 'XRP', XLTC: 'LTC', XXDG: 'DOGE', ZEUR: 'EUR', ZUSD: 'USD' },
  ...{ ETH2: 'ETH', LDBTC: 'BTC', LDUSDT: 'USDT', LDLDO: 'LDO' },
}

/** A wallet on two chains of one coin. */
const few: ReadonlySet<string> = new Set(['evm'])

function symbolOf(code: string): string {
  const [plain = ''] = code.replace(/^locked /, '').split('.')
  return renamed[plain] ?? plain
}

type Held = readonly [symbol: string, units: bigint]

function scale(units: string, from: number): bigint {
  return (BigInt(units) * 10n ** BigInt(decimals)) / 10n ** BigInt(from)
}

const readers: Readonly<Record<string, (state: never) => Held[]>> = {
  evm: ({ networks }: EvmState) =>
    networks.flatMap((network) =>
      network.balances.map((one): Held => [contracts[one.asset] ?? '', scale(one.balance, one.decimals)]),
    ),
  solana: ({ accounts }: SolanaState) =>
    accounts.flatMap(({ lamports, token }): Held[] => [
      ['SOL', scale(lamports, 9)],
      ...(token === undefined ? [] : [[contracts[token.mint] ?? '', scale(token.amount, token.decimals)] as const]),
    ]),
}

function readExchange(state: State): Held[] {
  return listHeld(state).map(([code, amount]) => [symbolOf(code), toUnits(amount, decimals)])
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

  for (const provider of ['kraken', 'coinbase', 'binance', 'bybit', 'okx', 'bitfinex', 'evm', 'solana']) {
    it(`at ${provider} has several assets, and at most 40 % in one`, async () => {
      const wish = { provider_id: provider, scenario: 'default', account: 'believable' }
      const { account_id: id } = (await control(sandbox, 'POST', 'accounts', wish)) as { account_id: string }
      const state = await control(sandbox, 'GET', `accounts/${id}/state`)
      const values = new Map<string, bigint>()
      for (const [symbol, units] of (readers[provider] ?? readExchange)(state as never)) {
        values.set(symbol, (values.get(symbol) ?? 0n) + (priced.get(symbol) ?? 0n) * units)
      }
      const total = [...values.values()].reduce((sum, value) => sum + value, 0n)
      const shares = [...values].map(([symbol, value]) => ({ symbol, percent: Number((value * 100n) / total) }))
      assert.ok(
        shares.filter(({ percent }) => percent >= 1).length >= (few.has(provider) ? 4 : 5),
        JSON.stringify(shares),
      )
      assert.deepEqual(
        shares.filter(({ percent }) => percent >= 40),
        [],
      )
    })
  }
})
