import { parseDecimal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leaveOutUnreadable } from './balances.ts'

const held = (code: string, amount = '1') => ({ code, amount: parseDecimal(amount) })

describe('balances', () => {
  it('are kept, whatever their codes are', () => {
    const all = ['BTC', '1000SATS', 'BRK.Bx', 'ÄÖ:Ü', '__proto__', 'X'.repeat(290)].map((code) => held(code))
    assert.deepEqual(leaveOutUnreadable('kraken', all), { readable: all })
  })

  it('whose codes are empty or longer than an id of an asset are left out and named', () => {
    const long = `A\u001b[31m${'B'.repeat(100_000)}`
    assert.deepEqual(leaveOutUnreadable('kraken', [held('BTC'), held(''), held(long), held(long), held('ETH')]), {
      readable: [held('BTC'), held('ETH')],
      unreadable: ['an asset without a code', `A\ufffd[31m${'B'.repeat(34)}…`],
    })
  })

  it('of nothing are not missed', () => {
    assert.deepEqual(leaveOutUnreadable('kraken', [held('', '0'), held('BTC')]), { readable: [held('BTC')] })
  })

  it('are named as far as a person reads', () => {
    const many = Array.from({ length: 50 }, (_, index) => held(`${index} ${'X'.repeat(300)}`))
    assert.equal(leaveOutUnreadable('kraken', many).unreadable?.length, 10)
  })
})
