import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDecimal, subtract, sum, isNegative, type Decimal } from '@assay/core'
import { toFixedText } from '../../core/units.ts'
import { getAsset } from '../../kraken/assets.ts'
import { buildWorld, type World } from '../../kraken/history.ts'
import { krakenScenarios } from './index.ts'

const worlds = new Map(
  [...new Set(krakenScenarios.map(({ story }) => story))].map((story) => [story, buildWorld(story())]),
)

function worldOf(name: string): World {
  const scenario = krakenScenarios.find((one) => one.name === name)
  const world = scenario && worlds.get(scenario.story)
  assert.ok(world)
  return world
}

function fingerprint(world: World): string {
  const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)
  return JSON.stringify([world.ledger.rows, world.trades.rows, world.deposits.rows, world.withdrawals.rows], plain)
}

describe('every scenario of Kraken', () => {
  it('is one that the contract names, "odd" or "reality"', () => {
    const names = 'default empty large invalid_credentials can_trade rate_limited down revoked_later flaky odd reality'
    assert.deepEqual(
      krakenScenarios.map((scenario) => scenario.name),
      names.split(' '),
    )
  })

  for (const [story, world] of worlds) {
    it(`${story.name}: balances are the exact sum of the entries, computed with the product’s decimals`, () => {
      const moves = new Map<string, Decimal[]>()
      for (const row of world.ledger.rows) {
        const change = subtract(parseDecimal(row.amount), parseDecimal(row.fee))
        const known = moves.get(row.code)
        if (known === undefined) moves.set(row.code, [change])
        else known.push(change)
        assert.equal(isNegative(parseDecimal(row.balance)), false)
      }
      const reckoned = Object.fromEntries([...moves].map(([code, changes]) => [code, sum(changes)]))
      const held = [...world.balances].map(([code, units]) => [
        code,
        parseDecimal(toFixedText(units, getAsset(code).decimals)),
      ])
      assert.deepEqual(reckoned, Object.fromEntries(held))
    })

    it(`${story.name}: building it twice gives the same bytes`, () => {
      assert.equal(fingerprint(buildWorld(story())), fingerprint(world))
    })
  }
})

describe('the scenario default', () => {
  const world = worldOf('default')
  const rows = world.ledger.rows

  it('has 300 to 600 transactions between March 2021 and October 2026', () => {
    const references = new Set(rows.map((row) => `${row.reference.letter}${row.reference.number}`))
    assert.ok(references.size >= 300 && references.size <= 600, `${references.size}`)
    const dates = rows.map((row) => new Date(row.atTicks / 10).toISOString().slice(0, 7))
    assert.deepEqual([dates[0], dates.at(-1)], ['2021-03', '2026-10'])
  })

  it('has every kind of entry that a reader has to understand, and one it cannot', () => {
    const kinds = new Set(rows.map((row) => row.type))
    for (const kind of [
      ...[
        'deposit',
        'withdrawal',
        'trade',
        'spend',
        'receive',
        'transfer',
        'staking',
        'earn',
        'conversion',
        'adjustment',
      ],
      ...['margin', 'rollover', 'settled', 'invite bonus', 'custodytransfer', 'quantumsettlement'],
    ]) {
      assert.ok(kinds.has(kind), kind)
    }
    const suffixes = new Set(rows.map((row) => row.code.split('.')[1]))
    for (const suffix of ['S', 'F', 'M', 'B', 'P', 'HOLD']) assert.ok(suffixes.has(suffix), suffix)
  })

  it('has dust without value, and fees without an amount', () => {
    assert.ok(rows.some((row) => row.subtype === 'dustsweeping' && /^0\.0+$/.test(row.amount)))
    assert.ok(rows.some((row) => /^0\.0+$/.test(row.amount) && row.change < 0n))
  })
})

it('the scenario odd has a code that no list has, and amounts from 1e-18 to twelve digits', () => {
  const { rows } = worldOf('odd').ledger
  const amounts = new Set(rows.map((row) => row.amount))
  for (const amount of [
    '0.000000000000000001',
    '123456789012.123456789012345678',
    '0.0000000001',
    '98765432109.8765432101',
  ]) {
    assert.ok(amounts.has(amount), amount)
  }
  assert.ok(rows.some((row) => !getAsset(row.code).listed))
})

it('the scenario large has exactly 100,000 entries', () => {
  assert.equal(worldOf('large').ledger.rows.length, 100_000)
})
