/**
 * A trading robot's account: exactly 100,000 trades of forty symbols between 2021-03-01 and 2026-10-31, bought and sold
 * again in lots of the same size. Commissions are paid in BNB, so that what was bought can be sold whole.
 */
import { buy, deposit, sell, type Story, type StoryEvent } from '../../binance/story.ts'
import { symbols } from '../../binance/api/symbols.ts'

const tradesTotal = 100_000
const symbolsTotal = 40
const months = 68
const fromMs = Date.UTC(2021, 2, 1)
const toMs = Date.UTC(2026, 10, 1)

/** About a day: the robot trades one symbol, then the next, and begins again after the last. */
const tradesInARow = 48
const inDollars = symbols
  .filter(({ quote, status }) => quote === 'USDT' && status === 'TRADING')
  .map(({ name }) => name)

export function largeStory(): Story {
  const chosen = [...inDollars, 'BTCEUR', 'ETHEUR', 'BNBEUR'].slice(0, symbolsTotal)
  const events: StoryEvent[] = [
    deposit('2021-03-01 00:00:00.500', '50 BNB', 'BSC'),
    deposit('2021-03-01 00:00:00.600', '500000 EUR', 'EUR'),
  ]
  for (let month = 0; month < months; month += 1) {
    const date = new Date(Date.UTC(2021, 2 + month, 1)).toISOString().slice(0, 10)
    events.push(deposit(`${date} 00:01:00.250`, '50000 USDT', 'TRX'))
  }
  for (let index = 0; index < tradesTotal; index += 1) {
    const symbol = chosen[Math.floor(index / tradesInARow) % chosen.length] ?? ''
    const qty = `0.0${String(1_000 + (((index >> 1) * 7_919) % 8_000))}`
    const how = { qty, commissionInBnb: '0.00001' }
    const at = timeOf(index)
    events.push(index % 2 === 0 ? buy(at, symbol, { ...how, maker: true }) : sell(at, symbol, how))
  }
  return { events }
}

/** The index-th of all moments, spread evenly over the years. */
function timeOf(index: number): string {
  const ms = fromMs + 3_600_000 + Math.floor(((toMs - fromMs - 7_200_000) / tradesTotal) * index)
  return new Date(ms).toISOString().slice(0, 23).replace('T', ' ')
}
