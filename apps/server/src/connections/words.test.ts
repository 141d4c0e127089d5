import { faults } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeFault, describeRefusal, describeWait, toErrorItem } from './words.ts'

describe('the text of a fault for the user', () => {
  for (const fault of faults) {
    it(`of ${fault} is a sentence about the provider, and a second one says what to do`, () => {
      const { message, fix } = describeFault(fault, 'Kraken', ['Funds permissions - Withdraw'])
      assert.match(message, /^[A-Z].*\.$/)
      assert.match(fix ?? '', /^[A-Z].*\.$/)
      assert.match(message + (fix ?? ''), /Kraken/)
      assert.doesNotMatch(message, /undefined|_/)
    })
  }

  it('differs for every fault', () => {
    const messages = faults.map((fault) => describeFault(fault, 'Kraken').message)
    assert.equal(new Set(messages).size, faults.length)
  })

  it('names every right to remove or add as the provider’s own page does', () => {
    for (const fault of ['excess_permission', 'missing_permission'] as const) {
      const { message, fix } = describeFault(fault, 'Kraken', ['Withdraw', 'Create & modify orders'])
      for (const text of [message, fix ?? '']) assert.match(text, /“Withdraw”, “Create & modify orders”/)
    }
  })

  it('is a complete sentence even when the rights are unknown', () => {
    assert.equal(describeFault('excess_permission', 'Kraken').message, 'This key can do more than read.')
    assert.equal(
      describeFault('missing_permission', 'Kraken').message,
      'This key may not read everything that is needed.',
    )
  })

  it('ends with the start and end of the fault in UTC, as far as they are known', () => {
    const sinceMs = Date.UTC(2026, 10, 15, 14, 5, 30)
    const nextTryMs = Date.UTC(2026, 10, 15, 23, 59, 59, 999)
    assert.equal(
      describeWait({ sinceMs, nextTryMs }),
      ' It has not answered since 2026-11-15 14:05:30 UTC. It is tried again at 2026-11-15 23:59:59 UTC.',
    )
    assert.equal(describeWait({ nextTryMs }), ' It is tried again at 2026-11-15 23:59:59 UTC.')
    assert.equal(describeWait({}), '')
  })

  it('is sent with its cause and provider', () => {
    const item = toErrorItem('key_expired', { id: 'kraken', name: 'Kraken' })
    assert.deepEqual(item, {
      cause: 'key_expired',
      provider_id: 'kraken',
      message: 'This key has expired at Kraken.',
      fix: 'Make a new read-only key at Kraken.',
    })
  })

  it('promises nothing about a refused connection, and says sign-in where the provider has no key', () => {
    const byKey = { name: 'Coinbase', connectionType: 'api_key' } as const
    const bySignIn = { name: 'Coinbase', connectionType: 'oauth2' } as const
    assert.deepEqual(describeRefusal({ fault: 'rate_limited' }, byKey), { fix: 'Try again in a few minutes.' })
    const fault = 'invalid_credentials'
    assert.equal(describeRefusal({ fault }, byKey).message, 'Coinbase does not accept this key.')
    assert.equal(
      describeFault(fault, 'Coinbase').message,
      'Coinbase no longer accepts the key.',
      'once it was accepted',
    )
    assert.equal(describeRefusal({ fault }, bySignIn).message, 'Coinbase did not accept this sign-in.')
    const lacking = { fault: 'missing_permission', rights: ['wallet:accounts:read'] } as const
    assert.deepEqual(describeRefusal(lacking, byKey), {})
    assert.deepEqual(describeRefusal(lacking, bySignIn), {
      message: 'This sign-in does not allow everything that is needed; missing: “wallet:accounts:read”.',
      fix: 'Sign in to Coinbase again and allow “wallet:accounts:read”.',
    })
    const excess = { fault: 'excess_permission', rights: ['wallet:buys:create'] } as const
    assert.deepEqual(describeRefusal(excess, byKey), {})
    assert.deepEqual(describeRefusal(excess, bySignIn), {
      message: 'This sign-in allows more than reading: “wallet:buys:create”.',
      fix: 'Sign in to Coinbase again and uncheck “wallet:buys:create”.',
    })
    const wallet = { name: 'Ethereum & EVM', connectionType: 'wallet' } as const
    assert.match(describeRefusal({ fault, reason: 'contract_address' }, wallet).message ?? '', /belongs to a contract/)
    const futures = { name: 'KuCoin Futures', connectionType: 'api_key' } as const
    const unified = describeRefusal({ fault, reason: 'unified_account' }, futures)
    assert.match(unified.message ?? '', /Connect KuCoin instead/)
    assert.equal(unified.cause, 'unsupported_connection_type', 'the person is not asked to enter the key again')
  })
})
