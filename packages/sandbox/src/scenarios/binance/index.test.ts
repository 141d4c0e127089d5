import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isNegative, parseDecimal, subtract, sum, type Decimal } from '@assay/core'
import { describeRow } from '../../binance/controls.ts'
import { buildWorld, type World } from '../../binance/history.ts'
import { findSymbol } from '../../binance/api/symbols.ts'
import { toFixedText } from '../../core/units.ts'
import { binanceScenarios } from './index.ts'

const worlds = new Map(
  [...new Set(binanceScenarios.map(({ story }) => story))].map((story) => [story, buildWorld(story())]),
)

function worldOf(name: string): World {
  const scenario = binanceScenarios.find((one) => one.name === name)
  const world = scenario && worlds.get(scenario.story)
  assert.ok(world)
  return world
}

/** What each wire answer moves, computed from its own fields with the decimals of the product. */
function movesOfAnswer(kind: string, body: Record<string, string>): [asset: string, change: Decimal][] {
  const text = (name: string): string => body[name] ?? ''
  const plus = (asset: string, name: string): [string, Decimal] => [text(asset), parseDecimal(text(name))]
  const minus = (asset: string, name: string): [string, Decimal] => [
    text(asset),
    subtract(parseDecimal('0'), parseDecimal(text(name))),
  ]
  if (kind === 'trade') {
    const symbol = findSymbol(text('symbol'))
    const names = { ...body, base: symbol?.base ?? '', quote: symbol?.quote ?? '' }
    const move = (asset: 'base' | 'quote', name: string, gained: boolean): [string, Decimal] => {
      const amount = parseDecimal(text(name))
      return [names[asset], gained ? amount : subtract(parseDecimal('0'), amount)]
    }
    const bought = (body['isBuyer'] as unknown) === true
    return [move('base', 'qty', bought), move('quote', 'quoteQty', !bought), minus('commissionAsset', 'commission')]
  }
  const status = body['status'] as unknown
  if (kind === 'deposit') return status === 1 || status === 6 ? [plus('coin', 'amount')] : []
  if (kind === 'withdrawal') {
    const calledOff = status === 1 || status === 3 || status === 5
    return calledOff ? [] : [minus('coin', 'amount'), minus('coin', 'transactionFee')]
  }
  if (kind === 'convert') return [minus('fromAsset', 'fromAmount'), plus('toAsset', 'toAmount')]
  if (kind === 'dividend') {
    // A reward that is shown once more.
    if (body['enInfo'] === 'Flexible') return []
    return [(body['direction'] as unknown) === 1 ? plus('asset', 'amount') : minus('asset', 'amount')]
  }
  if (kind === 'reward') return ['rewards' in body ? plus('asset', 'rewards') : plus('asset', 'amount')]
  return movesOfMoney(kind, body, plus, minus)
}

type Mover = (asset: string, name: string) => [string, Decimal]

function movesOfMoney(kind: string, body: Record<string, string>, plus: Mover, minus: Mover): [string, Decimal][] {
  if (kind === 'payment') {
    if (body['status'] !== 'Completed') return []
    if (!('paymentMethod' in body))
      return [minus('cryptoCurrency', 'obtainAmount'), plus('fiatCurrency', 'sourceAmount')]
    const bought = plus('cryptoCurrency', 'obtainAmount')
    return body['paymentMethod'] === 'Cash Balance' ? [minus('fiatCurrency', 'sourceAmount'), bought] : [bought]
  }
  if (kind === 'dust') {
    const details = body['userAssetDribbletDetails'] as unknown as Record<string, string>[]
    return details.flatMap((detail): [string, Decimal][] => [
      [detail['fromAsset'] ?? '', subtract(parseDecimal('0'), parseDecimal(detail['amount'] ?? ''))],
      ['BNB', parseDecimal(detail['transferedAmount'] ?? '')],
    ])
  }
  return []
}

describe('every scenario of Binance', () => {
  it('is one that the contract names, or one of two extra ones', () => {
    const names = 'default empty large invalid_credentials can_trade rate_limited down revoked_later flaky'
    assert.deepEqual(
      binanceScenarios.map((scenario) => scenario.name),
      [...names.split(' '), 'binance_us', 'delisted'],
    )
  })

  for (const [story, world] of worlds) {
    it(`${story.name}: all wallets together are the exact sum of the wire answers`, () => {
      const moves = new Map<string, Decimal[]>()
      for (const row of world.rows) {
        const { event } = row
        const body = describeRow('binance.test.account', row) as Record<string, string>
        const found = event.kind === 'fiatOrder' ? fiatMoves(event.direction, body) : movesOfAnswer(event.kind, body)
        for (const [asset, change] of found) {
          const known = moves.get(asset)
          if (known === undefined) moves.set(asset, [change])
          else known.push(change)
        }
      }
      const totals = new Map<string, bigint>()
      for (const wallet of world.balances.values()) {
        for (const [asset, units] of wallet) totals.set(asset, (totals.get(asset) ?? 0n) + units)
      }
      const reckoned = Object.fromEntries([...moves].map(([asset, changes]) => [asset, sum(changes)]))
      const held = [...totals].map(([asset, units]) => [asset, parseDecimal(toFixedText(units, 8))])
      assert.deepEqual(reckoned, Object.fromEntries(held))
      assert.ok(Object.values(reckoned).every((total) => !isNegative(total)))
    })

    it(`${story.name}: building it twice gives the same bytes`, () => {
      const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)
      assert.equal(JSON.stringify(buildWorld(story()).rows, plain), JSON.stringify(world.rows, plain))
    })
  }
})

function fiatMoves(direction: string, body: Record<string, string>): [string, Decimal][] {
  if (body['status'] !== 'Successful') return []
  const amount = parseDecimal(body['amount'] ?? '')
  const taken = subtract(subtract(parseDecimal('0'), amount), parseDecimal(body['totalFee'] ?? ''))
  return [[body['fiatCurrency'] ?? '', direction === 'deposit' ? amount : taken]]
}

describe('the scenario default', () => {
  const { rows } = worldOf('default')

  it('has 300 to 600 records between March 2021 and October 2026, of every kind', () => {
    assert.ok(rows.length >= 300 && rows.length <= 600, `${rows.length}`)
    const months = rows.map((row) => new Date(row.atMs).toISOString().slice(0, 7))
    assert.deepEqual([months[0], months.at(-1)], ['2021-03', '2026-10'])
    const kinds = new Set(rows.map(({ event }) => ('product' in event ? `${event.kind} ${event.product}` : event.kind)))
    for (const kind of [
      ...['trade', 'deposit', 'withdrawal', 'convert', 'fiatOrder', 'payment', 'dividend', 'dust'],
      ...['subscription flexible', 'subscription locked', 'redemption flexible', 'redemption locked'],
      ...['reward flexible', 'reward locked'],
    ]) {
      assert.ok(kinds.has(kind), kind)
    }
  })

  it('has an amount as small and one as big as eight decimals go', () => {
    const amounts = new Set(rows.map(({ event }) => ('amount' in event ? event.amount : '')))
    for (const amount of ['0.00000001', '987654321.87654321']) assert.ok(amounts.has(amount), amount)
  })
})

it('the scenario large has exactly 100,000 trades of 40 symbols', () => {
  const trades = worldOf('large').rows.filter(({ event }) => event.kind === 'trade')
  assert.equal(trades.length, 100_000)
  assert.equal(new Set(trades.map(({ event }) => (event.kind === 'trade' ? event.symbol : ''))).size, 40)
})
