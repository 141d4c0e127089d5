import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isNegative, parseDecimal, sum, type Decimal } from '@assay/core'
import { toFixedText } from '../../core/units.ts'
import { decimals } from '../../spot/assets.ts'
import { buildWorld, listOf, type World } from '../../spot/books.ts'
import { bitfinexScenarios, bybitScenarios, okxScenarios } from './index.ts'

const stories = [...new Set(bybitScenarios.map(({ story }) => story))]
const written = stories.flatMap((story) =>
  (['fees within', 'fees apart'] as const).map((bookkeeping) => ({
    name: `${story.name}, ${bookkeeping}`,
    story,
    bookkeeping,
    world: buildWorld(story(), bookkeeping),
  })),
)

const toDecimal = (units: bigint): Decimal => parseDecimal(toFixedText(units, decimals))

/** By wallet and asset, with the decimals of the product. */
function summed(world: World): Record<string, Decimal> {
  const changes = new Map<string, Decimal[]>()
  for (const { wallet, asset, change } of [...world.entries.funding, ...world.entries.trading]) {
    const known = changes.get(`${wallet} ${asset}`)
    if (known === undefined) changes.set(`${wallet} ${asset}`, [toDecimal(change)])
    else known.push(toDecimal(change))
  }
  return Object.fromEntries([...changes].map(([name, list]) => [name, sum(list)]))
}

describe('every scenario of the spot exchanges', () => {
  it('is one that the contract names, or one of two extra ones', () => {
    const names = 'default empty large invalid_credentials can_trade rate_limited down revoked_later flaky'
    for (const scenarios of [bybitScenarios, okxScenarios]) {
      assert.deepEqual(
        scenarios.map(({ name }) => name),
        [...names.split(' '), 'ip_not_allowed', 'forgotten'],
      )
    }
    assert.equal(bitfinexScenarios.map(({ name }) => name).join(' '), names)
  })

  for (const { name, world } of written) {
    it(`${name}: balances are the exact sum of the entries, and the last entry tells each`, () => {
      const held: Record<string, Decimal> = {}
      const last: Record<string, Decimal> = {}
      for (const wallet of ['funding', 'trading'] as const) {
        for (const [asset, units] of world.balances[wallet]) held[`${wallet} ${asset}`] = toDecimal(units)
        for (const { asset, after } of world.entries[wallet]) last[`${wallet} ${asset}`] = toDecimal(after)
      }
      assert.deepEqual(summed(world), held)
      assert.deepEqual(last, held)
      assert.ok(Object.values(held).every((amount) => !isNegative(amount)))
    })
  }

  it('is the same to the byte when it is built twice', () => {
    const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)
    for (const { story, bookkeeping, world } of written.filter(({ world: { rows } }) => rows.length < 1_000)) {
      assert.equal(JSON.stringify(buildWorld(story(), bookkeeping).rows, plain), JSON.stringify(world.rows, plain))
    }
  })

  it('holds the same balances, whichever way fees are booked', () => {
    for (const story of stories) {
      const [one, other] = written.filter((candidate) => candidate.story === story)
      assert.deepEqual(one?.world.balances, other?.world.balances)
    }
  })
})

function worldOf(name: string): World {
  const world = written.find((one) => one.name === name)?.world
  assert.ok(world)
  return world
}

describe('the scenario default', () => {
  const world = worldOf('defaultStory, fees within')

  it('has some 270 records between January 2025 and October 2026, of every kind', () => {
    assert.ok(world.rows.length >= 260 && world.rows.length <= 280, `${world.rows.length}`)
    const months = world.rows.map((row) => new Date(row.atMs).toISOString().slice(0, 7))
    assert.deepEqual([months[0], months.at(-1)], ['2025-01', '2026-10'])
    const kinds = [...world.lists.keys()].sort()
    assert.deepEqual(kinds, ['convert', 'deposit', 'reward', 'trade', 'transfer', 'withdrawal'])
  })

  it('has a tiny amount, a big one, a rebate, and costs that are exactly price times quantity', () => {
    const amounts = new Set(world.rows.map(({ event }) => ('amount' in event ? event.amount : '')))
    for (const amount of ['0.00000001', '987654321.098765']) assert.ok(amounts.has(amount), amount)
    const trades = listOf(world, 'trade')
    assert.equal(trades.filter(({ event }) => event.fee.startsWith('-')).length, 2)
    const scaled = (text: string): bigint => {
      const [whole = '', fraction = ''] = text.split('.')
      return BigInt(whole + fraction.padEnd(decimals, '0'))
    }
    for (const { event } of trades) {
      assert.equal(scaled(event.price) * scaled(event.qty), scaled(event.cost) * 10n ** BigInt(decimals))
    }
  })
})

it('the scenario large has exactly 50,000 trades of ten pairs', () => {
  const trades = listOf(worldOf('largeStory, fees within'), 'trade')
  assert.equal(trades.length, 50_000)
  assert.equal(new Set(trades.map(({ event }) => event.pair)).size, 10)
})
