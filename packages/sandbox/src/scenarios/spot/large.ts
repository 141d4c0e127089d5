/**
 * A trading robot's account: exactly 50,000 trades between January 2025 and October 2026, each of them two ledger entries
 * or more. It buys and sells again for a little less, so that fees never leave it short.
 */
import { pairs } from '../../spot/assets.ts'
import { buy, deposit, sell, transfer, type Story, type StoryEvent } from '../../spot/story.ts'

const tradesTotal = 50_000
const fromMs = Date.UTC(2025, 0, 2)
const toMs = Date.UTC(2026, 10, 1)

/** About half a day: the robot trades one pair, then the next, and begins again after the last. */
const tradesInARow = 40
const inDollars = pairs.filter(({ quote, base }) => quote === 'USDT' && base !== 'USDC').map(({ name }) => name)

export function largeStory(): Story {
  const events: StoryEvent[] = [
    deposit('2025-01-01 00:00:00.000', '100000 USDT', 'tron'),
    transfer('2025-01-01 00:30:00.000', '100000 USDT', 'trading'),
    // A store of each coin, because a price may fall between buying and selling.
    ...inDollars.map((pair, index) => buy(`2025-01-01 01:00:${10 + index}.000`, pair, { spend: '1000' })),
  ]
  for (let index = inDollars.length; index < tradesTotal; index += 1) {
    const pair = inDollars[Math.floor(index / tradesInARow) % inDollars.length] ?? ''
    const at = timeOf(index)
    events.push(index % 2 === 0 ? buy(at, pair, { spend: '100', maker: true }) : sell(at, pair, { spend: '99' }))
  }
  return { events }
}

/** The index-th of all moments, spread evenly over the months. */
function timeOf(index: number): string {
  const ms = fromMs + Math.floor(((toMs - fromMs) / tradesTotal) * index)
  return new Date(ms).toISOString().slice(0, 23).replace('T', ' ')
}
