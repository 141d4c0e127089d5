/**
 * Amounts as the service sends them, decimal text, made readable. Sums and shares are taken over scaled integers: a
 * portfolio that adds floats shows totals nobody can check.
 */
const scaleDigits = 30
const scale = 10n ** BigInt(scaleDigits)

export function toScaled(decimal: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? []
  const digits = fraction.slice(0, scaleDigits).padEnd(scaleDigits, '0')
  const value = BigInt(whole) * scale + BigInt(digits)
  return sign === '-' ? -value : value
}

/** The decimal text of a sum: every digit that is there. */
export function toDecimal(scaled: bigint): string {
  const absolute = String(scaled < 0n ? -scaled : scaled).padStart(scaleDigits + 1, '0')
  const fraction = absolute.slice(-scaleDigits).replace(/0+$/, '')
  return `${scaled < 0n ? '-' : ''}${absolute.slice(0, -scaleDigits)}${fraction === '' ? '' : `.${fraction}`}`
}

/** $48,213.44: cents cut, not rounded up to money that is not there. */
export function toDollars(scaled: bigint): string {
  const cents = scaled / (scale / 100n)
  const absolute = cents < 0n ? -cents : cents
  const rest = String(absolute % 100n).padStart(2, '0')
  return `${cents < 0n ? '−' : ''}$${group(String(absolute / 100n))}.${rest}`
}

/** 0…1, for the width of a bar only. */
export function toShare(part: bigint, whole: bigint): number {
  return whole <= 0n ? 0 : Number((part * 10_000n) / whole) / 10_000
}

/** Every digit, with the thousands grouped. */
export function toAmount(decimal: string): string {
  const [whole = '0', fraction] = decimal.split('.')
  const grouped = group(whole.replace('-', ''))
  return `${decimal.startsWith('-') ? '−' : ''}${grouped}${fraction === undefined ? '' : `.${fraction}`}`
}

function group(digits: string): string {
  return digits.replaceAll(/\B(?=(\d{3})+$)/g, ',')
}
