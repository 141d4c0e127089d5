import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildWorld, toTicks, withEntries } from './history.ts'
import { deposit, entries, leg, sell, withdrawal, type StoryEvent } from './story.ts'

function build(...events: StoryEvent[]): ReturnType<typeof buildWorld> {
  return buildWorld({ events, strategies: [] })
}

const salary = deposit('2024-01-01 10:00:00', 'ZEUR', '100', 'SEPA')

describe('a history', () => {
  it('is booked in order of time, whatever the order of the scenario', () => {
    const world = build(withdrawal('2024-01-02 10:00:00', 'ZEUR', '60', 'SEPA', { fee: '1' }), salary)
    assert.deepEqual(
      world.ledger.rows.map((row) => [row.type, row.amount, row.fee, row.balance]),
      [
        ['deposit', '100.0000', '0.0000', '100.0000'],
        ['withdrawal', '-60.0000', '1.0000', '39.0000'],
      ],
    )
  })

  it('that spends more than the account holds cannot be built', () => {
    assert.throws(
      () => build(salary, withdrawal('2024-01-02 10:00:00', 'ZEUR', '100', 'SEPA', { fee: '1' })),
      /ZEUR would be -1\.0000/,
    )
    assert.throws(() => build(withdrawal('2023-12-31 10:00:00', 'ZEUR', '1', 'SEPA'), salary), /would be -1/)
  })

  it('books both sides of a trade under the id of the trade, the fee on the quote', () => {
    const coins = deposit('2024-01-01 09:00:00', 'XXBT', '1', 'Bitcoin', { network: 'Bitcoin' })
    const world = build(coins, sell('2024-01-03 10:00:00.1234', 'XXBTZEUR', { volume: '0.5', price: '40000.1' }))
    const [, base, quote] = world.ledger.rows
    assert.deepEqual([base?.code, base?.amount, base?.fee], ['XXBT', '-0.5000000000', '0.0000000000'])
    assert.deepEqual(
      [quote?.code, quote?.amount, quote?.fee, quote?.balance],
      ['ZEUR', '20000.0500', '52.0001', '19948.0499'],
    )
    assert.deepEqual(base?.reference, { letter: 'T', number: world.trades.rows[0]?.number })
    assert.deepEqual(quote?.reference, base?.reference)
    assert.equal(base?.atTicks, toTicks('2024-01-03 10:00:00.1234'))
  })

  it('gives each side of a legacy staking move its own reference', () => {
    const coins = deposit('2024-01-01 09:00:00', 'DOT', '5', 'Polkadot')
    const move = entries('2024-01-02 09:00:00', 'transfer', [leg('-5 DOT'), leg('5 DOT.S', { delayS: 4 })], {
      references: 'each',
    })
    const [, out, back] = build(coins, move).ledger.rows
    assert.notDeepEqual(out?.reference, back?.reference)
    assert.equal((back?.atTicks ?? 0) - (out?.atTicks ?? 0), 40_000)
  })

  it('with a backdated entry has later balances rewritten, and is refused where one would be negative', () => {
    const world = build(salary, withdrawal('2024-01-05 10:00:00', 'ZEUR', '40', 'SEPA'))
    const at = toTicks('2024-01-03 00:00:00')
    const later = withEntries(world, { type: 'adjustment', legs: [leg('-50 ZEUR')] }, at)
    assert.deepEqual(
      later.ledger.rows.map((row) => row.balance),
      ['100.0000', '50.0000', '10.0000'],
    )
    assert.equal(later.balances.get('ZEUR'), 100_000n)
    assert.throws(() => withEntries(world, { type: 'adjustment', legs: [leg('-70 ZEUR')] }, at), RangeError)
    assert.deepEqual(
      world.ledger.rows.map((row) => row.balance),
      ['100.0000', '60.0000'],
      'the shared history is untouched',
    )
  })
})
