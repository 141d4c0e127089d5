/**
 * Remy's account at Bybit: the shared story, and what only the transaction log of the unified account tells. Coins are
 * staked from there and come back, tokens are given out, and a small loan costs interest.
 */
import { charge, every, product, reward, type Story, type StoryEvent } from '../../spot/story.ts'
import { defaultStory } from './default.ts'

const end = '2026-11-01'

const staking: StoryEvent[] = [
  ...every({ months: 1 }, '2025-02-09', end, (date) => product(`${date} 12:10:00.331`, '0.3 SOL', 'product')),
  ...every({ months: 4 }, '2025-06-16', end, (date) => product(`${date} 16:45:09.080`, '0.9 SOL', 'trading')),
]

const interest: StoryEvent[] = every({ days: 14 }, '2025-02-20', end, (date, index) =>
  charge(`${date} 05:00:00.000`, `0.0${String(4_113 + index * 57)} USDT`),
)

const airdrops: StoryEvent[] = every({ months: 1 }, '2025-03-03', end, (date, index) =>
  reward(`${date} 11:30:00.000`, `${1 + (index % 4)}.${String(25 + index)} ADA`, 'airdrop', { to: 'trading' }),
)

export function bybitStory(): Story {
  const { events, ...rest } = defaultStory()
  return { ...rest, events: [...events, ...staking, ...interest, ...airdrops] }
}
