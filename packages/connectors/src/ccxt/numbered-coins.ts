/**
 * Exchanges where anyone can list a coin under any name, and only its number tells it from the others (Hyperliquid: "no
 * uniqueness constraints"). ccxt goes by the name: it would take a coin that a stranger called BTC for bitcoin, add up
 * coins that share a name, and know one of their pairs. So it is given names that no other coin can have, such as
 * `BTC#900`, and core's codes.ts says which of them are known assets.
 */
import type { Exchange } from 'ccxt'
import type { Row } from './answers.ts'
import { findAbout } from './catalogue/abouts.ts'

/** Far more than there are. A list has as many places. */
const numberMax = 1_000_000

/** Writes the number of each coin behind its name. The answer itself is changed, because its rows are compared later. */
export function numberCoins(providerId: string, answer: unknown): unknown {
  const { numberedCoins } = findAbout(providerId)
  if (numberedCoins === undefined) return answer
  const parts = [answer].flat().filter((part) => typeof part === 'object' && part !== null) as Record<string, unknown>[]
  for (const part of parts) {
    for (const [list, members] of Object.entries(numberedCoins.lists)) {
      const rows = part[list]
      if (!Array.isArray(rows)) continue
      const coins = rows.filter((row) => typeof row === 'object' && row !== null) as Record<string, unknown>[]
      const numbers = coins.map((coin) => findNumber(coin[members.number]))
      for (const [index, coin] of coins.entries()) coin[members.name] = toName(coin[members.name], numbers[index])
      if (list === numberedCoins.all) part[list] = toPlaces(coins, numbers)
    }
  }
  return answer
}

function findNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= numberMax ? value : undefined
}

/** A coin without a number is no known coin, whatever it is called. */
function toName(name: unknown, number: number | undefined): string {
  return `${String(name)}#${number ?? ''}`
}

function toPlaces(coins: readonly Row[], numbers: readonly (number | undefined)[]): Row[] {
  const placed: Row[] = []
  for (const [index, number] of numbers.entries()) if (number !== undefined) placed[number] = coins[index] ?? {}
  return placed
}

/**
 * The coin of a trade's fee has a name alone. It is one of the two coins of the pair; the fee of a trade of which that is
 * not certain has no known coin.
 */
export function numberFees(exchange: Exchange, providerId: string): void {
  const { numberedCoins } = findAbout(providerId)
  if (numberedCoins === undefined) return
  const { name, number } = numberedCoins.ofContracts
  const safeTrade = exchange.safeTrade.bind(exchange)
  exchange.safeTrade = (trade, market) => {
    const { base, quote, spot, symbol } = (market ?? {}) as Row
    // Of a pair that is not listed ccxt knows the name alone. That of a contract has a colon in ccxt's words.
    const ofContract = String(symbol).includes(':') ? [toName(name, number)] : []
    const coins = spot === true ? [base, quote] : ofContract
    const { fee } = trade as { fee?: { currency?: unknown } }
    const paid = coins.filter((coin) => isCalled(coin, fee?.currency))
    return safeTrade({ ...trade, fee: { ...fee, currency: paid.length === 1 ? paid[0] : undefined } }, market)
  }
}

/** ccxt writes all names in capital letters. */
function isCalled(coin: unknown, name: unknown): boolean {
  if (typeof coin !== 'string' || typeof name !== 'string') return false
  return coin.slice(0, coin.lastIndexOf('#')) === name.toUpperCase()
}
