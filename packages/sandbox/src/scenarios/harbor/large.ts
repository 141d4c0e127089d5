/**
 * A trading robot's account: exactly 100,000 entries between November 2024 and October 2026. A deposit a month, now and
 * then a reward, and bitcoin bought and sold around the clock for the rest.
 */
import { deposit, monthly, reward, trade, type Story, type StoryEvent } from '../../harbor/story.ts'

const entriesTotal = 100_000
const months = 24
const rewards = 976
/** Each is two entries. */
const trades = (entriesTotal - months - rewards) / 2

const fromMs = Date.UTC(2024, 10, 5)
const toMs = Date.UTC(2026, 9, 31)

export function largeStory(): Story {
  const events: StoryEvent[] = [
    // Enough for a month of buying, whatever selling brings in.
    ...monthly('2024-11-04', months, (date) => deposit(`${date}T00:01:00.250Z`, '60000 EUR')),
  ]
  for (let index = 0; index < rewards; index += 1) {
    events.push(reward(spread(index, rewards, 7), `0.00${String(1_000 + (index % 977))} ETH`))
  }
  for (let index = 0; index < trades; index += 1) {
    const at = spread(index, trades, 13)
    // A buy is always of more bitcoin than the sale after it gives away.
    events.push(index % 2 === 0 ? trade(at, `${50 + ((index >> 1) % 7)} EUR`, 'BTC') : trade(at, '0.0002 BTC', 'EUR'))
  }
  return { events }
}

/** The index-th of `count` moments spread evenly over the years. */
function spread(index: number, count: number, offsetS: number): string {
  const ms = fromMs + Math.floor(((toMs - fromMs) / count) * index) + offsetS * 1_000 + (index % 10)
  return new Date(ms).toISOString()
}
