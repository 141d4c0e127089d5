import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  toAmount,
  toDecimal,
  toDollars,
  toPercent,
  toScaled,
  toShare,
  toShortAmount,
  toThousandths,
  toValue,
} from './decimal-text.ts'

describe('amounts', () => {
  it('sums exactly where floats would not', () => {
    assert.equal(toDollars(toScaled('0.1') + toScaled('0.2')), '$0.30')
    assert.equal(toDollars(toScaled('123456789012.129999999999999999')), '$123,456,789,012.12')
    assert.equal(toDollars(toScaled('-5.019')), '−$5.01')
  })

  it('does not round a fraction of a cent to zero', () => {
    assert.equal(toValue(toScaled('0.0015')), 'under $0.01')
    assert.equal(toValue(toScaled('0.01')), '$0.01')
    assert.equal(toValue(0n), '$0.00')
  })

  it('writes a sum with exactly the digits it has', () => {
    assert.equal(toDecimal(toScaled('0.1') + toScaled('0.2')), '0.3')
    assert.equal(toDecimal(toScaled('-1000.000000000000000001')), '-1000.000000000000000001')
    assert.equal(toDecimal(0n), '0')
  })

  it('keeps every digit of a quantity', () => {
    assert.equal(toAmount('1234567.000000000000000001'), '1,234,567.000000000000000001')
    assert.equal(toAmount('-12'), '−12')
  })

  it('a share of zero is zero', () => {
    assert.equal(toShare(1n, 0n), 0)
    assert.equal(toShare(toScaled('1'), toScaled('4')), 0.25)
  })

  it('shares add up to the whole, where each rounded by itself would be above or below it', () => {
    const sumOf = (shares: readonly number[]): number => shares.reduce((sum, share) => sum + share, 0)
    // Rounded one by one these are 33.4 % three times, or 33.3 %: 100.2 or 99.9.
    assert.deepEqual(toThousandths(['1', '1', '1'].map(toScaled)), [334, 333, 333])
    const values = ['46100.5', '1250.55', '750.45', '120.25', '0.01', '0'].map(toScaled)
    const shares = toThousandths(values)
    assert.equal(sumOf(shares), 1_000)
    assert.deepEqual(shares.slice(-2), [0, 0])
    assert.deepEqual(toThousandths([toScaled('-5'), toScaled('10')]), [0, 1_000])
    assert.deepEqual(toThousandths([0n, 0n]), [0, 0])
  })

  it('a short amount keeps eight digits, or more where eight would show zero, or as many as requested', () => {
    assert.equal(toShortAmount('1234.567890123456'), '1,234.56789012')
    assert.equal(toShortAmount('18.500'), '18.5')
    assert.equal(toShortAmount('7'), '7')
    assert.equal(toShortAmount('0.000000000000123456'), '0.000000000000123')
    assert.equal(toShortAmount('-0.10'), '−0.1')
    assert.equal(toShortAmount('28328.9', 2), '28,328.90')
    assert.equal(toShortAmount('26343.1170178', 2), '26,343.11')
  })

  it('a change in percent is truncated to a tenth, and absent when the earlier value was zero', () => {
    assert.equal(toPercent(toScaled('30203.51'), toScaled('233266.21')), '+12.9%')
    assert.equal(toPercent(toScaled('-5'), toScaled('1000')), '−0.5%')
    assert.equal(toPercent(toScaled('1'), 0n), undefined)
  })
})
