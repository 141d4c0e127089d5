/**
 * Daily prices: a straight line between the yearly levels of `coins.ts`, and a wobble around it. Whole numbers only, so
 * that every machine and every run gives the same digits.
 */
import { dayMs } from '@assay/core'
import { divideUnits, toShortText, toUnits } from '../core/units.ts'
import { coins, currencies, type Coin } from './coins.ts'

/** Prices are kept in US dollars with this many decimals. */
export const priceDecimals = 15
const firstYear = 2020
const million = 1_000_000
/** One, in millionths of a millionth: what a share of a wave amounts to. */
const whole = 10n ** 12n

/** Slow waves are wide and fast ones narrow, as markets are. Days, and share of a coin's swing in millionths. */
const waves = [
  { days: 64, share: 600_000 },
  { days: 16, share: 240_000 },
  { days: 4, share: 110_000 },
  { days: 1, share: 50_000 },
] as const

const byId = new Map([...coins, ...currencies].map((coin) => [coin.id, coin]))

/**
 * A cache by coin and day. A simulated account needs 2,000 days of a dozen coins, all accounts need the same ones, and
 * computing a price takes 9 µs.
 */
const computed = new Map<Coin, Map<number, bigint>>()

export const firstDay = dayOf(Date.UTC(firstYear, 0, 1))

export function findCoin(id: string): Coin | undefined {
  return byId.get(id)
}

export function dayOf(ms: number): number {
  return Math.floor(ms / dayMs)
}

/** US dollars for one unit, as whole units of 10^-15. */
export function priceInUsd(coin: Coin, day: number): bigint {
  const prices = computed.get(coin) ?? new Map<number, bigint>()
  computed.set(coin, prices)
  const price = prices.get(day) ?? computePrice(coin, day)
  prices.set(day, price)
  return price
}

function computePrice(coin: Coin, day: number): bigint {
  const wobble = waves.reduce((total, wave) => total + wave.share * noise(coin.follows ?? coin.id, day, wave.days), 0)
  const factor = whole + (BigInt(wobble) * BigInt(coin.swing)) / BigInt(million)
  return (levelOn(coin, day) * factor) / whole
}

/** The price in another currency or coin, with as many digits as a person would read. */
export function priceText(coin: Coin, quote: Coin, day: number): string {
  const price = divideUnits(priceInUsd(coin, day), priceDecimals, priceInUsd(quote, day), priceDecimals, priceDecimals)
  const shown = price >= 10n ** 18n ? 2 : price >= 10n ** 15n ? 4 : price >= 10n ** 13n ? 6 : 12
  const step = 10n ** BigInt(priceDecimals - shown)
  return toShortText(price - (price % step), priceDecimals)
}

function levelOn(coin: Coin, day: number): bigint {
  const year = Math.min(Math.max(new Date(day * dayMs).getUTCFullYear(), firstYear), firstYear + coin.yearly.length - 2)
  const start = dayOf(Date.UTC(year, 0, 1))
  const length = dayOf(Date.UTC(year + 1, 0, 1)) - start
  const passed = Math.min(Math.max(day - start, 0), length)
  const from = toUnits(coin.yearly[year - firstYear] ?? '0', priceDecimals)
  const to = toUnits(coin.yearly[year - firstYear + 1] ?? '0', priceDecimals)
  return from + ((to - from) * BigInt(passed)) / BigInt(length)
}

/** Value noise in millionths: a random number at every grid point, straight lines between. */
function noise(id: string, day: number, grid: number): number {
  const cell = Math.floor(day / grid)
  const inside = day - cell * grid
  const from = gridValue(id, grid, cell)
  const to = gridValue(id, grid, cell + 1)
  return from + Math.trunc(((to - from) * inside) / grid)
}

/** FNV-1a with a final mix (as in MurmurHash3): cheap, and the same on every machine. */
function gridValue(id: string, grid: number, cell: number): number {
  let bits = 0x811c9dc5
  for (const character of `${id}/${grid}/${cell}`) bits = Math.imul(bits ^ character.charCodeAt(0), 0x01000193)
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (((bits ^ (bits >>> 16)) >>> 0) % (2 * million + 1)) - million
}
