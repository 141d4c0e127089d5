/**
 * Makes the decimal text of amounts readable. Sums and shares use scaled integers: a portfolio that adds floats shows
 * totals that cannot be checked.
 */
const scaleDigits = 30
const scale = 10n ** BigInt(scaleDigits)

export function toScaled(decimal: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? []
  const digits = fraction.slice(0, scaleDigits).padEnd(scaleDigits, '0')
  const value = BigInt(whole) * scale + BigInt(digits)
  return sign === '-' ? -value : value
}

/** The decimal text of a sum, with every digit. */
export function toDecimal(scaled: bigint): string {
  const absolute = String(scaled < 0n ? -scaled : scaled).padStart(scaleDigits + 1, '0')
  const fraction = absolute.slice(-scaleDigits).replace(/0+$/, '')
  return `${scaled < 0n ? '-' : ''}${absolute.slice(0, -scaleDigits)}${fraction === '' ? '' : `.${fraction}`}`
}

/** $48,213.44. Truncated, because rounding up would show money that does not exist. */
export function toDollars(scaled: bigint): string {
  const cents = scaled / (scale / 100n)
  const absolute = cents < 0n ? -cents : cents
  const rest = String(absolute % 100n).padStart(2, '0')
  return `${cents < 0n ? '−' : ''}$${group(String(absolute / 100n))}.${rest}`
}

/** The value of one holding. $0.00 would say that it is worth nothing. */
export function toValue(scaled: bigint): string {
  return scaled > 0n && scaled < scale / 100n ? 'under $0.01' : toDollars(scaled)
}

/** 0…1, for the height of a point only. */
export function toShare(part: bigint, whole: bigint): number {
  return whole <= 0n ? 0 : Number((part * 10_000n) / whole) / 10_000
}

/**
 * Shares of the whole in thousandths, which add up to 1,000 (largest remainder): rounded one by one, the percentages of
 * a list add up to 100.1 or 99.9. A debt has no share.
 */
export function toThousandths(values: readonly bigint[]): number[] {
  const parts = values.map((value) => (value > 0n ? value : 0n))
  const whole = parts.reduce((sum, part) => sum + part, 0n)
  if (whole === 0n) return parts.map(() => 0)
  const shares = parts.map((part) => Number((part * 1_000n) / whole))
  const missing = 1_000 - shares.reduce((sum, share) => sum + share, 0)
  const byRemainder = parts
    .map((part, index) => ({ index, remainder: (part * 1_000n) % whole }))
    .toSorted((a, b) => (a.remainder === b.remainder ? a.index - b.index : a.remainder < b.remainder ? 1 : -1))
  const raised = new Set(byRemainder.slice(0, missing).map(({ index }) => index))
  return shares.map((share, index) => (raised.has(index) ? share + 1 : share))
}

/** Every digit, with the thousands grouped. */
export function toAmount(decimal: string): string {
  const [whole = '0', fraction] = decimal.split('.')
  const grouped = group(whole.replace('-', ''))
  return `${decimal.startsWith('-') ? '−' : ''}${grouped}${fraction === undefined ? '' : `.${fraction}`}`
}

/**
 * 1,234.56789012: as many digits as a person reads, or as many as asked for. Further digits are cut off; the exact text
 * has them.
 */
export function toShortAmount(decimal: string, digits?: number): string {
  const [whole = '0', fraction = ''] = decimal.split('.')
  if (digits !== undefined) return toAmount(`${whole}.${fraction.slice(0, digits).padEnd(digits, '0')}`)
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0
  // A tiny amount keeps its significant digits.
  const kept = /^-?0$/.test(whole) ? Math.max(fractionDigitsMax, zeros + tinyDigits) : fractionDigitsMax
  const short = fraction.slice(0, kept).replace(/0+$/, '')
  return toAmount(short === '' ? whole : `${whole}.${short}`)
}

const fractionDigitsMax = 8
const tinyDigits = 3

/** +4.6 %, as text; undefined where there was nothing before. */
export function toPercent(difference: bigint, before: bigint): string | undefined {
  if (before <= 0n) return undefined
  const tenths = (difference * 1_000n) / before
  const absolute = tenths < 0n ? -tenths : tenths
  return `${difference < 0n ? '−' : '+'}${group(String(absolute / 10n))}.${String(absolute % 10n)}%`
}

function group(digits: string): string {
  return digits.replaceAll(/\B(?=(\d{3})+$)/g, ',')
}
