import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toSafeText, withSafeText } from './text.ts'

describe('safe text', () => {
  it('has neither NUL nor half a surrogate pair', () => {
    assert.equal(toSafeText('a\0b\ud800c\udc00'), 'a\ufffdb\ufffdc\ufffd')
  })

  it('leaves every other text unchanged', () => {
    for (const text of ['', 'ordinary', '\u0001\u007f', 'ż 𝒳 🪙', String.raw`{"x":"\u0000\ud800"}`]) {
      assert.equal(toSafeText(text), text)
    }
  })

  it('replaces unsafe text at any depth of plain data, whose other members stay', () => {
    const given = { key: 'k\0', none: null, legs: [{ symbol: '\ud800', amount: 1, spam: false }] }
    assert.deepEqual(withSafeText(given), {
      key: 'k\ufffd',
      none: null,
      legs: [{ symbol: '\ufffd', amount: 1, spam: false }],
    })
  })
})
