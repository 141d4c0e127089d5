import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeNumber, encodeNumber } from './ids.ts'

describe('ids made from numbers', () => {
  it('can be read back by the account that made them, and by no other', () => {
    for (const number of [0, 1, 49, 99_999, 2 ** 30 - 1]) {
      const id = encodeNumber('a', 'L', number)
      assert.match(id, /^[A-Z2-7]{16}$/)
      assert.equal(decodeNumber('a', 'L', id), number)
      assert.equal(decodeNumber('b', 'L', id), undefined)
      assert.equal(decodeNumber('a', 'T', id), undefined)
    }
  })

  it('are refused with one character changed', () => {
    const id = encodeNumber('a', 'L', 7)
    for (let place = 0; place < id.length; place += 1) {
      const other = id[place] === 'A' ? 'B' : 'A'
      assert.equal(decodeNumber('a', 'L', id.slice(0, place) + other + id.slice(place + 1)), undefined)
    }
  })

  it('do not repeat', () => {
    const ids = new Set<string>()
    for (let number = 0; number < 20_000; number += 1) ids.add(encodeNumber('a', 'L', number))
    assert.equal(ids.size, 20_000)
  })
})
