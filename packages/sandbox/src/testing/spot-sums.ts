/** Sums by asset with the decimals of the product, which the simulators do not use. */
import { parseDecimal, subtract, sum, type Decimal } from '@assay/core'

const zero = parseDecimal('0')

export function decimalOf(value: unknown): Decimal {
  return parseDecimal(String(value))
}

export function totals(changes: readonly (readonly [asset: string, change: Decimal])[]): Record<string, Decimal> {
  const byAsset = new Map<string, Decimal[]>()
  for (const [asset, change] of changes) {
    const known = byAsset.get(asset)
    if (known === undefined) byAsset.set(asset, [change])
    else known.push(change)
  }
  return Object.fromEntries([...byAsset].map(([asset, list]) => [asset, sum(list)]))
}

/** A trade as ccxt returns it with `number: String`. */
export interface UnifiedTrade {
  symbol?: string | undefined
  side?: unknown
  amount?: unknown
  cost?: unknown
  fee?: { currency?: string | undefined; cost?: unknown } | undefined
}

/** What trades moved, by asset. */
export function movedBy(trades: readonly UnifiedTrade[]): Record<string, Decimal> {
  const minus = (value: unknown): Decimal => subtract(zero, decimalOf(value))
  return totals(
    trades.flatMap(({ symbol = '', side, amount, cost, fee }) => {
      const [base = '', quote = ''] = symbol.split('/')
      const moved: [string, Decimal][] =
        side === 'buy'
          ? [
              [base, decimalOf(amount)],
              [quote, minus(cost)],
            ]
          : [
              [base, minus(amount)],
              [quote, decimalOf(cost)],
            ]
      return [...moved, [fee?.currency ?? '', minus(fee?.cost)] as const]
    }),
  )
}
