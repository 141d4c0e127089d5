import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkFlags, createShares, readFlags } from './shares.ts'

describe('the providers that take long to answer', () => {
  it('have half of the places together, however many they are', () => {
    const shares = createShares(4, () => ['okx', 'bybit', 'gate'])
    shares.take(checkFlags('okx'))
    assert.deepEqual(shares.listFull(), [])
    shares.take(checkFlags('bybit'))
    assert.deepEqual(shares.listFull(), [...readFlags('okx'), ...readFlags('bybit'), ...readFlags('gate')])
    shares.leave(checkFlags('okx'))
    assert.deepEqual(shares.listFull(), [])
  })

  it('leave their half to others: a job of a provider that answers does not count', () => {
    const shares = createShares(4, () => ['okx', 'bybit'])
    for (const flags of [readFlags('kraken'), readFlags('kraken'), readFlags('okx')]) shares.take(flags)
    assert.deepEqual(shares.listFull(), [])
  })
})
