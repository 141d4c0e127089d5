/**
 * Money and quantities as decimal text, from the provider's first byte to our last.
 *
 * A Decimal is canonical: no exponent, no plus sign, no leading or trailing zeros, "0" and never "-0". Equal quantities
 * are equal texts. Arithmetic is done on whole numbers (BigInt) of units of 10^-scale, so addition, subtraction and
 * multiplication are exact. Division is not, so its caller says how many decimals to keep. big.js reads rare spellings;
 * it once did the arithmetic too, at several times the cost, and deriving a history is mostly arithmetic.
 */
import Big from 'big.js'

declare const canonical: unique symbol
export type Decimal = string & { readonly [canonical]: true }

// Far out, so that toString never writes an exponent for anything that passes parseDecimal.
Big.NE = -1_000
Big.PE = 1_000

// This is wide enough for a uint256 with 80 decimals; an exponent such as 1e999999999 must not become a gigabyte of
// zeros.
const digitsMax = 160
const shape = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/

// Nearly all providers write nearly all numbers like this: only trailing zeros may keep it from being canonical.
const plainShape = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

export const zero = '0' as Decimal

/** Reads "1E-8", "+5", ".5" and "1.500", which providers send, and writes them one way. Undefined for other text. */
export function findDecimal(text: string): Decimal | undefined {
  if (text.length > digitsMax) return undefined
  if (plainShape.test(text)) return withoutZeros(text)
  if (!shape.test(text)) return undefined
  // big.js does not accept a plus sign.
  const value = new Big(text.replace(/^\+/, ''))
  if (Math.abs(value.e) > digitsMax) return undefined
  // big.js keeps the sign of a zero; ours has none.
  return (value.eq(0) ? '0' : value.toString()) as Decimal
}

export function parseDecimal(text: string): Decimal {
  const value = findDecimal(text)
  if (value === undefined) throw new RangeError(`not a decimal number: ${JSON.stringify(text.slice(0, 40))}`)
  return value
}

export function add(a: Decimal, b: Decimal): Decimal {
  if (a === zero) return b
  if (b === zero) return a
  const scale = Math.max(scaleOf(a), scaleOf(b))
  return toDecimal(toUnits(a, scale) + toUnits(b, scale), scale)
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  if (b === zero) return a
  const scale = Math.max(scaleOf(a), scaleOf(b))
  return toDecimal(toUnits(a, scale) - toUnits(b, scale), scale)
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  if (b === one) return a
  if (a === one) return b
  const [scaleA, scaleB] = [scaleOf(a), scaleOf(b)]
  return toDecimal(toUnits(a, scaleA) * toUnits(b, scaleB), scaleA + scaleB)
}

/** Rounded half to even at the last decimal kept; undefined for a division by zero. */
export function divide(a: Decimal, b: Decimal, decimals: number): Decimal | undefined {
  if (b === zero) return undefined
  const scale = Math.max(scaleOf(a), scaleOf(b))
  const dividend = toUnits(a, scale + decimals)
  const divisor = toUnits(b, scale)
  const quotient = dividend / divisor
  const rest = dividend % divisor
  // Half to even, so that sums of many quotients have no bias.
  const twice = 2n * magnitudeOf(rest)
  const isUp = twice > magnitudeOf(divisor) || (twice === magnitudeOf(divisor) && quotient % 2n !== 0n)
  const step = rest < 0n === divisor < 0n ? 1n : -1n
  return toDecimal(isUp ? quotient + step : quotient, decimals)
}

export function sum(values: Iterable<Decimal>): Decimal {
  let total = zero
  for (const value of values) total = add(total, value)
  return total
}

export function negate(a: Decimal): Decimal {
  if (a === zero) return zero
  return (a.startsWith('-') ? a.slice(1) : `-${a}`) as Decimal
}

export function absolute(a: Decimal): Decimal {
  return (a.startsWith('-') ? a.slice(1) : a) as Decimal
}

export function compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
  if (a === b) return 0
  const scale = Math.max(scaleOf(a), scaleOf(b))
  return toUnits(a, scale) < toUnits(b, scale) ? -1 : 1
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

const one = '1' as Decimal

/** How many decimals it has. */
function scaleOf(value: Decimal): number {
  const dot = value.indexOf('.')
  return dot === -1 ? 0 : value.length - dot - 1
}

/** The value in units of 10^-scale; `scale` is at least the value's own. */
function toUnits(value: Decimal, scale: number): bigint {
  const dot = value.indexOf('.')
  if (dot === -1) return BigInt(scale === 0 ? value : value + '0'.repeat(scale))
  const missing = scale - (value.length - dot - 1)
  return BigInt(value.slice(0, dot) + value.slice(dot + 1) + '0'.repeat(missing))
}

function toDecimal(units: bigint, scale: number): Decimal {
  if (scale === 0) return units.toString() as Decimal
  const isBelowZero = units < 0n
  const digits = magnitudeOf(units)
    .toString()
    .padStart(scale + 1, '0')
  const whole = digits.length - scale
  return withoutZeros(`${isBelowZero ? '-' : ''}${digits.slice(0, whole)}.${digits.slice(whole)}`)
}

function magnitudeOf(value: bigint): bigint {
  return value < 0n ? -value : value
}

const [dotCode, zeroCode] = [46, 48]

/** Removes trailing zeros after the point of a plain number, and the sign of a zero. */
function withoutZeros(text: string): Decimal {
  let end = text.length
  if (text.includes('.')) {
    while (text.charCodeAt(end - 1) === zeroCode) end -= 1
    if (text.charCodeAt(end - 1) === dotCode) end -= 1
  }
  const trimmed = end === text.length ? text : text.slice(0, end)
  return (trimmed === '-0' ? '0' : trimmed) as Decimal
}
