/**
 * Remy's account at Bybit: the shared story, and what only the transaction log of the unified account tells. Coins are
 * staked from there and come back, tokens are given out, and a small loan costs interest.
 *
 * Bybit shows trades and the log of the last two years only. So a part goes on: whenever the account is read, its last
 * two years have some hundreds of transactions of every type.
 */
import { buy, charge, every, product, reward, sell, type Story, type StoryEvent } from '../../spot/story.ts'
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

const from = '2026-11-23'
/** The sandbox shows no account later than this. */
const to = '2030-01-01'

const goingOn: StoryEvent[] = [
  // Sold for a little less than it was bought for, so that fees never leave the account short.
  ...every({ days: 7 }, from, to, (date) => buy(`${date} 10:45:12.300`, 'XRP/USDT', { spend: '25' })),
  ...every({ days: 7 }, '2026-11-26', to, (date) => sell(`${date} 10:05:33.140`, 'XRP/USDT', { spend: '24.9' })),
  ...every({ months: 3 }, '2026-12-09', to, (date) => product(`${date} 09:10:00.331`, '0.1 SOL', 'product')),
  ...every({ months: 3 }, '2027-01-16', to, (date) => product(`${date} 09:45:09.080`, '0.1 SOL', 'trading')),
  ...every({ months: 3 }, '2026-12-20', to, (date) => charge(`${date} 05:00:00.000`, '0.01211 USDT')),
  ...every({ months: 3 }, '2027-01-03', to, (date, index) =>
    reward(`${date} 08:30:00.000`, `1.${String(25 + index)} ADA`, 'airdrop', { to: 'trading' }),
  ),
]

export function bybitStory(): Story {
  const { events, ...rest } = defaultStory()
  return { ...rest, events: [...events, ...staking, ...interest, ...airdrops], continues: goingOn }
}
