/** Prints amounts as Coinbase does: text with at least as many decimals as the currency's exponent says. */
import { toShortText } from '../../core/units.ts'
import { getCurrency, unitDecimals, type Currency } from '../assets.ts'
import { valueIn } from '../story.ts'

export interface Money {
  amount: string
  currency: string
}

export function toMoney(units: bigint, { code, exponent }: Currency): Money {
  return { amount: toPaddedText(units, exponent), currency: code }
}

/** Converts to the person's own currency at that day's price, to the cent. Without a price the amount is 0. */
export function toNativeMoney(units: bigint, { code }: Currency, native: string, atMs: number): Money {
  const { exponent } = getCurrency(native)
  const value = valueIn(units, code, native, atMs) ?? 0n
  return { amount: toPaddedText(value - (value % 10n ** BigInt(unitDecimals - exponent)), exponent), currency: native }
}

function toPaddedText(units: bigint, decimals: number): string {
  const [whole = '', fraction = ''] = toShortText(units, unitDecimals).split('.')
  const digits = fraction.padEnd(decimals, '0')
  return digits === '' ? whole : `${whole}.${digits}`
}
