import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SourceError } from '@assay/core'
import { parseJsonVerbatim } from '../kit/json.ts'
import { toAccount } from './account.ts'

// docs.kraken.com, get-api-key-info, with rights that only read.
const info = {
  apiKeyName: 'my-api-key',
  apiKey: '4/SDrDBcOOPnm3nPlNfEMMJDeRcIVqPz+QhRxIodyZbI9po/aVRiHsgX',
  nonce: '1772627060997',
  nonceWindow: '0',
  permissions: ['query-funds', 'query-ledger'],
  iban: 'AA88 N84G WOAK NMOI',
  validUntil: '0',
  queryFrom: '0',
  queryTo: '0',
  createdTime: '1772542900',
  modifiedTime: '1772543095',
  ipAllowlist: [],
  lastUsed: '1772627061',
}

describe('the account behind a key', () => {
  it('a key with the two reading rights has neither missing nor excessive rights', () => {
    const { excess, missing, keyExpiresAtMs } = toAccount('key', info)
    assert.deepEqual([excess, missing, keyExpiresAtMs], [[], [], null])
  })

  it('rights that trade, withdraw or change anything are named in the words of the page where keys are made', () => {
    const permissions = [...info.permissions, 'withdraw-funds', 'modify-trades', 'query-open-trades', 'earn-funds']
    assert.deepEqual(toAccount('key', { ...info, permissions }).excess, [
      'Funds permissions - Withdraw',
      'Orders and trades - Create & modify orders',
      'Funds permissions - Earn',
    ])
  })

  it('an unknown right is excessive', () => {
    const permissions = [...info.permissions, 'move-mountains']
    assert.deepEqual(toAccount('key', { ...info, permissions }).excess, ['move-mountains'])
  })

  it('reading rights that are not there are named', () => {
    assert.deepEqual(toAccount('key', { ...info, permissions: ['query-funds'] }).missing, [
      'Data - Query ledger entries',
    ])
    assert.deepEqual(toAccount('key', { ...info, permissions: [] }).missing.length, 2)
  })

  it('a key that is limited to some dates is refused, because it would silently truncate the history', () => {
    assert.deepEqual(toAccount('key', { ...info, queryFrom: '1700000000' }).missing, [
      'Query start date/time: must be empty',
    ])
  })

  it('times may come as numbers', () => {
    const answer = parseJsonVerbatim(
      '{"permissions":["query-funds","query-ledger"],"validUntil":1772627061,"queryFrom":0}',
    )
    assert.equal(toAccount('key', answer).keyExpiresAtMs, 1_772_627_061_000)
  })

  it('the expiry of a key is in milliseconds', () => {
    assert.equal(toAccount('key', { ...info, validUntil: '1772627061' }).keyExpiresAtMs, 1_772_627_061_000)
  })

  it('two keys of one account have one fingerprint, two accounts have two, and it does not show the account', () => {
    const { fingerprint, fingerprintOf } = toAccount('key one', info)
    assert.equal(fingerprintOf, 'account')
    assert.equal(toAccount('key two', info).fingerprint, fingerprint)
    assert.notEqual(toAccount('key one', { ...info, iban: 'AA88 N84G WOAK NMOJ' }).fingerprint, fingerprint)
    assert.match(fingerprint, /^[0-9a-f]{64}$/)
  })

  it('without the account number the key stands for the account', () => {
    const { fingerprint, fingerprintOf } = toAccount('key one', { ...info, iban: null })
    assert.equal(fingerprintOf, 'key')
    assert.equal(toAccount('key one', { ...info, iban: '' }).fingerprint, fingerprint)
    assert.notEqual(toAccount('key two', { ...info, iban: null }).fingerprint, fingerprint)
  })

  it('an answer without rights is not read as a key without rights', () => {
    assert.throws(
      () => toAccount('key', undefined),
      (error: SourceError) => error.fault === 'unreadable_answer',
    )
    assert.throws(
      () => toAccount('key', {}),
      (error: SourceError) => error.fault === 'unreadable_answer',
    )
  })
})
