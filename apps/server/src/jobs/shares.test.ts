import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { checkFlags, createShares, readFlags, webhookFlags } from './shares.ts'

describe('the providers that take long to answer', () => {
  it('have half of the places together, however many they are', () => {
    const shares = createShares(4, () => ['okx', 'bybit', 'gate'])
    shares.take(checkFlags('okx'))
    assert.deepEqual(shares.listFull(), [])
    shares.take(checkFlags('bybit'))
    const slow = [...readFlags('okx'), ...readFlags('bybit'), ...readFlags('gate'), 'slow webhook']
    assert.deepEqual(shares.listFull(), slow)
    shares.leave(checkFlags('okx'))
    assert.deepEqual(shares.listFull(), [])
    shares.take(webhookFlags(true))
    assert.deepEqual(new Set(shares.listFull()), new Set(slow), 'a receiver that takes long counts with them')
  })

  it('leave their half to others: a job of a provider that answers does not count', () => {
    const shares = createShares(4, () => ['okx', 'bybit'])
    for (const flags of [readFlags('kraken'), readFlags('kraken'), readFlags('okx')]) shares.take(flags)
    assert.deepEqual(shares.listFull(), [])
  })
})
