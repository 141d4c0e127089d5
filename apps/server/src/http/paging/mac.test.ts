import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createMac } from './mac.ts'

test('RFC 2104: the code of any text under any key is the one of Node’s own HMAC', () => {
  const key = fc.uint8Array({ maxLength: 64 })
  fc.assert(
    fc.property(key, fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 }), (secret, texts) => {
      const mac = createMac(secret)
      // One after the other: a code must not depend on the one before.
      for (const text of texts) assert.equal(mac(text), createHmac('sha256', secret).update(text).digest('base64url'))
    }),
  )
})

test('a key longer than a block is refused', () => {
  assert.throws(() => createMac(new Uint8Array(65)), RangeError)
})
