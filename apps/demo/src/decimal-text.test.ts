import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toAmount, toDecimal, toDollars, toScaled, toShare, toPercent, toShortAmount } from './decimal-text.ts'

describe('amounts', () => {
  it('sums exactly where floats would not', () => {
    assert.equal(toDollars(toScaled('0.1') + toScaled('0.2')), '$0.30')
    assert.equal(toDollars(toScaled('123456789012.129999999999999999')), '$123,456,789,012.12')
    assert.equal(toDollars(toScaled('-5.019')), '−$5.01')
  })

  it('writes a sum with every digit and no other', () => {
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

  it('a short amount keeps eight digits, more where it would be nothing, and as many as asked for', () => {
    assert.equal(toShortAmount('1234.567890123456'), '1,234.56789012')
    assert.equal(toShortAmount('18.500'), '18.5')
    assert.equal(toShortAmount('7'), '7')
    assert.equal(toShortAmount('0.000000000000123456'), '0.000000000000123')
    assert.equal(toShortAmount('-0.10'), '−0.1')
    assert.equal(toShortAmount('28328.9', 2), '28,328.90')
    assert.equal(toShortAmount('26343.1170178', 2), '26,343.11')
  })

  it('a change in percent is cut to a tenth, and absent where there was nothing before', () => {
    assert.equal(toPercent(toScaled('30203.51'), toScaled('233266.21')), '+12.9%')
    assert.equal(toPercent(toScaled('-5'), toScaled('1000')), '−0.5%')
    assert.equal(toPercent(toScaled('1'), 0n), undefined)
  })
})
