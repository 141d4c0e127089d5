/**
 * Money and quantities as decimal text, from the provider's first byte to our last.
 *
 * A Decimal is canonical: no exponent, no plus sign, no leading or trailing zeros, "0" and never "-0". Equal quantities
 * are equal texts. big.js does the arithmetic; addition, subtraction and multiplication are exact there. Division
 * cannot be, so whoever divides says how many decimals are kept.
 */
import Big from 'big.js'

declare const canonical: unique symbol
export type Decimal = string & { readonly [canonical]: true }

// Far out, so that toString never writes an exponent for anything that passes parseDecimal.
Big.NE = -1_000
Big.PE = 1_000
// Half to even: many quotients added up lean neither way.
Big.RM = Big.roundHalfEven

// Wide enough for a uint256 with 80 decimals; an exponent such as 1e999999999 must not become a gigabyte of zeros.
const digitsMax = 160
const shape = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/

export const zero = '0' as Decimal

/** Providers may send "1E-8", "+5", ".5" or "1.500": all are read, and written one way. Undefined when it is no number. */
export function findDecimal(text: string): Decimal | undefined {
  if (text.length > digitsMax || !shape.test(text)) return undefined
  // big.js knows no plus sign.
  const value = new Big(text.replace(/^\+/, ''))
  if (Math.abs(value.e) > digitsMax) return undefined
  return toText(value)
}

export function parseDecimal(text: string): Decimal {
  const value = findDecimal(text)
  if (value === undefined) throw new RangeError(`not a decimal number: ${JSON.stringify(text.slice(0, 40))}`)
  return value
}

export function add(a: Decimal, b: Decimal): Decimal {
  return toText(new Big(a).plus(b))
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  return toText(new Big(a).minus(b))
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return toText(new Big(a).times(b))
}

/** Rounded half to even at the last decimal kept; undefined when there is nothing to divide by. */
export function divide(a: Decimal, b: Decimal, decimals: number): Decimal | undefined {
  if (b === zero) return undefined
  // Not an argument in big.js, but a setting. Nothing else reads it, and nothing comes between.
  Big.DP = decimals
  return toText(new Big(a).div(b))
}

export function sum(values: Iterable<Decimal>): Decimal {
  let total = new Big(0)
  for (const value of values) total = total.plus(value)
  return toText(total)
}

export function negate(a: Decimal): Decimal {
  if (a === zero) return zero
  return (a.startsWith('-') ? a.slice(1) : `-${a}`) as Decimal
}

export function absolute(a: Decimal): Decimal {
  return (a.startsWith('-') ? a.slice(1) : a) as Decimal
}

export function compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
  return new Big(a).cmp(b)
}

export function isZero(a: Decimal): boolean {
  return a === zero
}

export function isNegative(a: Decimal): boolean {
  return a.startsWith('-')
}

export function isPositive(a: Decimal): boolean {
  return !isNegative(a) && !isZero(a)
}

function toText(value: Big): Decimal {
  // big.js keeps the sign of a zero; ours has none.
  return (value.eq(0) ? '0' : value.toString()) as Decimal
}
