/** What accounts come to when some of them may be the same account, or were not read for a while. */
import { parseDecimal, sum, type Decimal } from '@assay/core'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OwnedAccount } from '../portfolio/index.ts'
import { count } from './count.ts'

const of = (name: string, amount: string, more: Partial<OwnedAccount> = {}): OwnedAccount => ({
  ...{ providerId: 'bank', fingerprint: name, fingerprintOf: 'account', grade: 'proved' },
  ...{ isFollowed: true, isKnown: true, amount: parseDecimal(amount), certain: parseDecimal(amount), ...more },
})
const byKey = { fingerprintOf: 'key' } as const
/** An exchange with unlisted movements. */
const unfollowed = { isFollowed: false } as const
const exchangeOf = (providerId: string): string => (providerId.startsWith('bank') ? 'bank' : providerId)

describe('the sum of a user’s accounts', () => {
  it('has every account that its exchange names and whose movements are all known', () => {
    const counted = count([of('a', '1'), of('b', '2'), of('c', '4', { providerId: 'other' })], exchangeOf)
    assert.deepEqual(counted, { least: '7', most: '7', grade: 'proved' })
  })

  it('has one of several keys whose accounts are not known, the one with the most', () => {
    const keys = [of('k1', '2', byKey), of('k2', '3', byKey), of('k3', '1', { ...byKey, grade: 'open' })]
    assert.deepEqual(count(keys, exchangeOf), { least: '3', most: '6', grade: 'proved' })
    const elsewhere = of('k4', '5', { ...byKey, providerId: 'other' })
    assert.deepEqual(count([...keys, elsewhere], exchangeOf), { least: '8', most: '11', grade: 'proved' })
  })

  it('has one of several accounts of an exchange between which coins may move unseen, the one with the most', () => {
    const named = [of('a', '2', unfollowed), of('b', '3', unfollowed), of('c', '1', { ...unfollowed, grade: 'open' })]
    assert.deepEqual(count(named, exchangeOf), { least: '3', most: '6', grade: 'proved' })
    const futures = of('d', '4', { ...unfollowed, providerId: 'bank_futures' })
    assert.deepEqual(count([...named, futures], exchangeOf), { least: '4', most: '10', grade: 'proved' })
    const elsewhere = of('e', '5', { ...unfollowed, providerId: 'other' })
    assert.deepEqual(count([...named, futures, elsewhere], exchangeOf), { least: '9', most: '15', grade: 'proved' })
  })

  it('has either the accounts whose movements are all known or another of the exchange', () => {
    const followed = [of('a', '1'), of('b', '2')]
    const less = of('c', '2', { ...unfollowed, providerId: 'bank_futures' })
    assert.deepEqual(count([...followed, less], exchangeOf), { least: '3', most: '5', grade: 'proved' })
    const more = of('d', '4', { ...unfollowed, providerId: 'bank_futures' })
    assert.deepEqual(count([...followed, more], exchangeOf), { least: '4', most: '7', grade: 'proved' })
  })

  it('lacks what any account owes, also one that does not count', () => {
    const debt = of('a', '-5', { ...unfollowed, grade: 'explained' })
    const counted = count([debt, of('b', '6', unfollowed), of('c', '4', unfollowed)], exchangeOf)
    assert.deepEqual(counted, { least: '1', most: '10', grade: 'explained' })
    assert.deepEqual(count([of('a', '-5', byKey), of('b', '6')], exchangeOf).least, '1')
    assert.deepEqual(count([of('a', '-5'), of('k', '6', byKey)], exchangeOf).least, '1')
  })

  it('has either the named accounts of an exchange or a key, which may be of one of them', () => {
    const named = [of('a', '1'), of('b', '2')]
    assert.deepEqual(count([...named, of('k', '2.5', byKey)], exchangeOf), { least: '3', most: '5.5', grade: 'proved' })
    assert.deepEqual(count([...named, of('k', '4', byKey)], exchangeOf), { least: '4', most: '7', grade: 'proved' })
  })

  it('has an account once that is connected under two brands of one exchange', () => {
    const both = [of('a', '2'), of('a', '2', { providerId: 'bank_eu' })]
    assert.deepEqual(count(both, exchangeOf), { least: '2', most: '2', grade: 'proved' })
    const keys = [of('k1', '2', byKey), of('k2', '2', { ...byKey, providerId: 'bank_eu' })]
    assert.deepEqual(count(keys, exchangeOf), { least: '2', most: '4', grade: 'proved' })
  })

  it('has no limit above while an account was not read, and takes no grade from it', () => {
    const stale = of('b', '0', { isKnown: false, grade: 'open' })
    assert.deepEqual(count([of('a', '1'), stale], exchangeOf), { least: '1', most: undefined, grade: 'proved' })
    assert.deepEqual(count([stale], exchangeOf), { least: '0', most: undefined, grade: 'unprovable' })
  })

  it('has no limit above while a record of an account is not settled, but what is certain of it', () => {
    const unsettled = of('b', '0', { amount: null, certain: parseDecimal('2') })
    assert.deepEqual(count([of('a', '1'), unsettled], exchangeOf), { least: '3', most: undefined, grade: 'proved' })
  })

  it('has what is certain, and above it what may be there', () => {
    const counted = count([of('a', '5', { certain: parseDecimal('2'), grade: 'explained' }), of('b', '1')], exchangeOf)
    assert.deepEqual(counted, { least: '3', most: '6', grade: 'explained' })
  })

  it('is never more than the true accounts hold, whichever of them the keys belong to', () => {
    const holding = fc.record({
      account: fc.nat(3),
      isKnown: fc.boolean(),
      providerId: fc.constantFrom('bank', 'bank_eu'),
    })
    fc.assert(
      fc.property(fc.array(holding, { maxLength: 8 }), fc.array(fc.nat(9), { minLength: 4 }), (connections, held) => {
        const amountOf = (account: number): Decimal => parseDecimal(String(held[account] ?? 0))
        const accounts = connections.map(({ account, isKnown, providerId }, key) =>
          of(isKnown ? `account ${account}` : `key ${key}`, amountOf(account), {
            ...{ providerId, fingerprintOf: isKnown ? 'account' : 'key' },
          }),
        )
        const truth = sum([...new Set(connections.map(({ account }) => account))].map(amountOf))
        const { least, most } = count(accounts, exchangeOf)
        assert.ok(Number(least) <= Number(truth), `${least} of ${truth}`)
        assert.ok(Number(most) >= Number(truth), `${most} of ${truth}`)
      }),
    )
  })

  it('is never more than there is, when coins move between accounts of an exchange while these are read', () => {
    const step = fc.record({ from: fc.nat(3), to: fc.nat(3), read: fc.nat(3) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const held = [1, 1, 1, 1]
        const found = [1, 1, 1, 1]
        for (const { from, to, read } of steps) {
          const moved = held[from] ?? 0
          held[from] = 0
          held[to] = (held[to] ?? 0) + moved
          found[read] = held[read] ?? 0
        }
        const accounts = found.map((amount, key) => of(`account ${key}`, String(amount), unfollowed))
        assert.ok(Number(count(accounts, exchangeOf).least) <= 4)
      }),
    )
  })
})
