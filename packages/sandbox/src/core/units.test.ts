import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { add, multiply, parseDecimal } from '@assay/core'
import { divideUnits, multiplyUnits, toFixedText, toShortText, toUnits } from './units.ts'

const amount = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n })

describe('units', () => {
  it('print every decimal, and read it back', () => {
    assert.equal(toFixedText(toUnits('0.10871946', 10), 10), '0.1087194600')
    assert.equal(toFixedText(-1n, 18), '-0.000000000000000001')
    assert.equal(toFixedText(5n, 0), '5')
    assert.equal(toShortText(1_500n, 3), '1.5')
    assert.equal(toShortText(0n, 4), '0')
    assert.equal(toShortText(100n, 0), '100')
    fc.assert(
      fc.property(amount, fc.nat(20), (units, decimals) => toUnits(toFixedText(units, decimals), decimals) === units),
    )
  })

  it('refuse values that would have to be rounded or are not numbers', () => {
    for (const text of ['1.00001', '1e3', '', '.5', '1.', '+1', 'NaN', ' 1'])
      assert.throws(() => toUnits(text, 4), RangeError)
  })

  it('add and multiply like the decimals of the product, which share no code with them', () => {
    fc.assert(
      fc.property(amount, amount, (a, b) => {
        const [left, right] = [parseDecimal(toFixedText(a, 10)), parseDecimal(toFixedText(b, 10))]
        assert.equal(toShortText(a + b, 10), add(left, right))
        assert.equal(toShortText(multiplyUnits(a, 10, b, 10, 20), 20), multiply(left, right))
      }),
    )
  })

  it('round a quotient towards zero', () => {
    assert.equal(toFixedText(divideUnits(toUnits('150', 4), 4, toUnits('41000.5', 1), 1, 8), 8), '0.00365849')
  })
})
