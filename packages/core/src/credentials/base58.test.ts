import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sha256 } from '@noble/hashes/sha2.js'
import { createBase58check } from '@scure/base'
import { findBase58Check } from './base58.ts'
import { findDescriptor } from './descriptor.ts'
import { findExtendedPublicKey } from './extended-key.ts'

const { encode } = createBase58check(sha256)

describe('base58 with a checksum', () => {
  it('is decoded up to the length of an extended key, whatever its bytes are', () => {
    for (const byte of [0, 1, 255]) {
      const bytes = new Uint8Array(78).fill(byte)
      assert.deepEqual(findBase58Check(encode(bytes)), bytes)
    }
    assert.equal(findBase58Check(encode(new Uint8Array(21)))?.length, 21)
  })

  it('is not decoded when it is longer, because that takes the square of its length', () => {
    assert.equal(findBase58Check(encode(new Uint8Array(100).fill(255))), undefined)
    assert.equal(findExtendedPublicKey('z'.repeat(1_000_000)), undefined)
  })

  it('is not looked for in a text that is too long for a descriptor', () => {
    assert.equal(findDescriptor(`wpkh(${'x'.repeat(10_000)})`), undefined)
    assert.deepEqual(findDescriptor(`wpkh(xpub${'x'.repeat(300)})`), { mistake: 'checksum' })
  })
})
