import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayMs, isNegative, parseDecimal, sum, type Decimal } from '@assay/core'
import { toFixedText } from '../../core/units.ts'
import { decimals } from '../../spot/assets.ts'
import { advanceWorld, buildWorld, listOf, type World } from '../../spot/books.ts'
import { bitfinexScenarios, bybitScenarios, okxScenarios } from './index.ts'

/** After everything that a story has to tell. */
const endMs = Date.UTC(2031, 0, 1)
const stories = [
  ...new Set([bitfinexScenarios, bybitScenarios, okxScenarios].flatMap((list) => list.map(({ story }) => story))),
]
const written = stories.flatMap((story) =>
  (['fees within', 'fees apart'] as const).map((bookkeeping) => ({
    name: `${story.name}, ${bookkeeping}`,
    story,
    bookkeeping,
    world: buildWorld(story(), bookkeeping, endMs),
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
      assert.equal(
        JSON.stringify(buildWorld(story(), bookkeeping, endMs).rows, plain),
        JSON.stringify(world.rows, plain),
      )
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

describe('the account at OKX, of which three months are shown', () => {
  const story = okxScenarios[0]?.story() ?? { events: [] }
  const worldAt = (day: string): World => buildWorld(story, 'fees within', Date.parse(day))

  for (const day of ['2026-11-19', '2027-06-01', '2029-12-01']) {
    it(`has some hundreds of records of every kind in the three months before ${day}`, () => {
      const nowMs = Date.parse(day)
      const rows = worldAt(day).rows.filter(({ atMs }) => atMs > nowMs - 90 * dayMs && atMs <= nowMs)
      assert.ok(rows.length >= 300 && rows.length <= 400, `${rows.length}`)
      const kinds = new Set(rows.map(({ event }) => event.kind))
      for (const kind of ['trade', 'reward', 'charge', 'product', 'convert'] as const) assert.ok(kinds.has(kind), kind)
    })
  }

  it('shows nothing before its time, and then the same rows as an account that was opened later', () => {
    const early = worldAt('2027-01-01')
    assert.ok(early.rows.every(({ atMs }) => atMs <= Date.parse('2027-01-01')))
    assert.equal(advanceWorld(early, Date.parse('2027-01-01')), early)
    const later = worldAt('2027-02-01')
    assert.ok(later.rows.length > early.rows.length)
    const advanced = advanceWorld(early, Date.parse('2027-02-01'))
    for (const member of ['rows', 'pending', 'entries', 'balances', 'next'] as const) {
      assert.deepEqual(advanced[member], later[member], member)
    }
  })
})

it('the scenario large has exactly 50,000 trades of ten pairs', () => {
  const trades = listOf(worldOf('largeStory, fees within'), 'trade')
  assert.equal(trades.length, 50_000)
  assert.equal(new Set(trades.map(({ event }) => event.pair)).size, 10)
})
