import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  absolute,
  add,
  compare,
  divide,
  findDecimal,
  isNegative,
  isPositive,
  isZero,
  multiply,
  negate,
  parseDecimal,
  subtract,
  sum,
  type Decimal,
} from './decimal.ts'

// BigInt is the reference: a decimal is a whole number of units of 10^-scale.
const scale = 20
const units = fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n })

function fromUnits(value: bigint, decimals: number): Decimal {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0')
  const text = `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '')
  return (value < 0n && text !== '0' && text !== '' ? `-${text}` : text || '0') as Decimal
}

describe('reading decimals', () => {
  const readings: [string, string][] = [
    ['1e-18', '0.000000000000000001'],
    ['1E-8', '0.00000001'],
    ['0.000000000000000001', '0.000000000000000001'],
    ['123456789012.123456789012345678', '123456789012.123456789012345678'],
    ['1e+15', '1000000000000000'],
    ['+5', '5'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['007.500', '7.5'],
    ['-24.5000', '-24.5'],
    ['0.0000000000', '0'],
    ['-0', '0'],
    ['-0.00', '0'],
    ['-0e-5', '0'],
  ]
  for (const [text, decimal] of readings) {
    it(`${text} is ${decimal}`, () => assert.equal(parseDecimal(text), decimal))
  }

  const junk = ['', ' ', '1 ', ' 1', 'abc', '1,5', '1.2.3', '--1', '0x10', '1_000', 'NaN', 'Infinity', '1e', 'e5', '.']
  for (const text of [...junk, '1e999', '1e-999', '1e1000000000', '9'.repeat(161), '٣', '1\n']) {
    it(`${JSON.stringify(text.slice(0, 20))} is not a decimal`, () => {
      assert.equal(findDecimal(text), undefined)
      assert.throws(() => parseDecimal(text), RangeError)
    })
  }

  it('a refusal quotes at most 40 characters of the input', () => {
    assert.throws(
      () => parseDecimal('x'.repeat(10_000)),
      (error: Error) => error.message.length < 100,
    )
  })

  it('canonical text stays as it is', () => {
    fc.assert(
      fc.property(units, (value) => {
        const text = fromUnits(value, scale)
        assert.equal(parseDecimal(text), text)
      }),
    )
  })
})

describe('arithmetic agrees with whole numbers, digit for digit', () => {
  it('addition and subtraction', () => {
    fc.assert(
      fc.property(units, units, (a, b) => {
        assert.equal(add(fromUnits(a, scale), fromUnits(b, scale)), fromUnits(a + b, scale))
        assert.equal(subtract(fromUnits(a, scale), fromUnits(b, scale)), fromUnits(a - b, scale))
      }),
    )
  })

  it('multiplication', () => {
    fc.assert(
      fc.property(units, units, (a, b) => {
        assert.equal(multiply(fromUnits(a, scale), fromUnits(b, scale)), fromUnits(a * b, 2 * scale))
      }),
    )
  })

  it('division, rounded half to even at the last decimal kept', () => {
    fc.assert(
      fc.property(units, units, fc.integer({ min: 0, max: 18 }), (a, b, decimals) => {
        fc.pre(b !== 0n)
        const [dividend, divisor] = b < 0n ? [-a, -b] : [a, b]
        const scaled = dividend * 10n ** BigInt(decimals)
        const floor = scaled / divisor - (scaled % divisor < 0n ? 1n : 0n)
        const twice = 2n * (scaled - floor * divisor)
        const up = twice > divisor || (twice === divisor && floor % 2n !== 0n)
        const expected = floor + (up ? 1n : 0n)
        const text = decimals === 0 ? expected.toString() : fromUnits(expected, decimals)
        assert.equal(divide(fromUnits(a, scale), fromUnits(b, scale), decimals), text)
      }),
    )
    const halves = ['0.5', '1.5', '2.5', '-0.5'].map((text) => divide(parseDecimal(text), parseDecimal('1'), 0))
    assert.deepEqual(halves, ['0', '2', '2', '0'])
    assert.equal(divide(parseDecimal('1'), parseDecimal('0'), 12), undefined)
  })

  it('sums of many numbers', () => {
    fc.assert(
      fc.property(fc.array(units, { maxLength: 30 }), (values) => {
        const total = values.reduce((a, b) => a + b, 0n)
        assert.equal(sum(values.map((value) => fromUnits(value, scale))), fromUnits(total, scale))
      }),
    )
  })

  it('order and sign', () => {
    fc.assert(
      fc.property(units, units, (a, b) => {
        const [x, y] = [fromUnits(a, scale), fromUnits(b, scale)]
        assert.equal(compare(x, y), a < b ? -1 : a > b ? 1 : 0)
        assert.deepEqual([isNegative(x), isZero(x), isPositive(x)], [a < 0n, a === 0n, a > 0n])
        assert.equal(negate(x), fromUnits(-a, scale))
        assert.equal(absolute(x), fromUnits(a < 0n ? -a : a, scale))
      }),
    )
  })

  it('zero has no sign', () => {
    assert.equal(negate(parseDecimal('0')), '0')
    assert.equal(subtract(parseDecimal('1.5'), parseDecimal('1.50')), '0')
    assert.equal(multiply(parseDecimal('-1'), parseDecimal('0')), '0')
  })

  it('no result ever has an exponent', () => {
    const tiny = parseDecimal('1e-80')
    const huge = parseDecimal('1e80')
    for (const value of [multiply(tiny, tiny), multiply(huge, huge), add(huge, tiny)]) assert.match(value, /^[\d.]+$/)
  })
})
