/**
 * Amounts as whole units of an asset's smallest step. The simulator does its own arithmetic, apart from core's
 * decimals, so that a mistake there cannot hide behind the same mistake here.
 */
const shape = /^(-?)(\d+)(?:\.(\d+))?$/

export function toUnits(text: string, decimals: number): bigint {
  const match = shape.exec(text)
  if (match === null) throw new RangeError(`not a decimal: ${JSON.stringify(text.slice(0, 40))}`)
  const [, sign = '', whole = '', fraction = ''] = match
  if (fraction.length > decimals) throw new RangeError(`${text} has more than ${decimals} decimals`)
  const units = BigInt(whole + fraction.padEnd(decimals, '0'))
  return sign === '-' ? -units : units
}

/** With every decimal, as exchanges print them: "0.1087194600". */
export function toFixedText(units: bigint, decimals: number): string {
  const negative = units < 0n
  const digits = (negative ? -units : units).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const text = decimals === 0 ? whole : `${whole}.${digits.slice(digits.length - decimals)}`
  return negative ? `-${text}` : text
}

/** Without trailing zeros: "0.10871946". */
export function toShortText(units: bigint, decimals: number): string {
  const text = toFixedText(units, decimals)
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

/** a × b rounded towards zero to `decimals`: what an exchange books as the cost of a trade. */
export function multiplyUnits(a: bigint, aDecimals: number, b: bigint, bDecimals: number, decimals: number): bigint {
  return rescale(a * b, aDecimals + bDecimals, decimals)
}

/** a ÷ b rounded towards zero to `decimals`. */
export function divideUnits(a: bigint, aDecimals: number, b: bigint, bDecimals: number, decimals: number): bigint {
  return rescale(a * 10n ** BigInt(bDecimals + decimals), aDecimals, 0) / b
}

function rescale(units: bigint, from: number, to: number): bigint {
  return to >= from ? units * 10n ** BigInt(to - from) : units / 10n ** BigInt(from - to)
}
