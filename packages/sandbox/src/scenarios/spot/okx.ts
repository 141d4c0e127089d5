/**
 * Remy's account at OKX, which shows bills and fills of the last three months only. So it goes on from day to day: a
 * grid of small trades, Auto Earn, a lead trader whose trades are copied, a structured product every month, and dust.
 * Whenever it is read, its last three months have some hundreds of transactions of every type.
 *
 * Everything happens before eleven in the morning, because the tests of days begin at noon.
 */
import { buy, charge, convert, every, product, reward, sell, type Story, type StoryEvent } from '../../spot/story.ts'
import { defaultStory } from './default.ts'

const from = '2026-06-01'
/** The sandbox shows no account later than this. */
const to = '2030-01-01'

/** Between `least` and `least + range`, another one each day, in units of 10^-8. */
function drawn(index: number, least: number, range: number): string {
  return `0.${String(least + ((index * 7_919) % range)).padStart(8, '0')}`
}

const earned: StoryEvent[] = [
  ...every({ days: 1 }, from, to, (date, index) =>
    reward(`${date} 00:20:00.000`, `${drawn(index, 9_000_000, 4_000_000)} USDT`, 'interest', { to: 'trading' }),
  ),
  ...every({ days: 1 }, from, to, (date, index) =>
    reward(`${date} 00:20:00.000`, `${drawn(index, 1_000, 900)} ETH`, 'interest', { to: 'trading' }),
  ),
]

/** Bought, and sold for a little less on another day, so that fees never leave the account short. */
const grid: StoryEvent[] = [
  ...every({ days: 2 }, from, to, (date, index) =>
    buy(`${date} 03:15:${10 + (index % 50)}.118`, 'SOL/USDT', { spend: '20', maker: true }),
  ),
  ...every({ days: 2 }, '2026-06-02', to, (date, index) =>
    sell(`${date} 09:45:${10 + (index % 50)}.904`, 'SOL/USDT', { spend: '19.9', maker: true }),
  ),
  ...every({ days: 3 }, from, to, (date, index) =>
    buy(`${date} 04:05:${10 + (index % 50)}.552`, 'XRP/USDT', { spend: '15' }),
  ),
  ...every({ days: 3 }, '2026-06-03', to, (date, index) =>
    sell(`${date} 10:30:${10 + (index % 50)}.207`, 'XRP/USDT', { spend: '14.9' }),
  ),
]

const products: StoryEvent[] = [
  ...every({ days: 7 }, '2026-06-07', to, (date, index) =>
    charge(`${date} 06:00:00.000`, `${drawn(index, 30_000_000, 60_000_000)} USDT`),
  ),
  ...every({ days: 30 }, '2026-06-05', to, (date) => product(`${date} 08:00:00.000`, '100 USDT', 'product')),
  ...every({ days: 30 }, '2026-06-12', to, (date, index) =>
    product(`${date} 08:00:00.000`, `100.${String(40 + ((index * 13) % 50))} USDT`, 'trading'),
  ),
]

const conversions: StoryEvent[] = [
  ...every({ days: 20 }, '2026-06-09', to, (date, index) =>
    convert(`${date} 07:12:45.300`, '30 USDT', `29.9${String(810 + ((index * 37) % 90))} USDC`),
  ),
  ...every({ days: 40 }, '2026-06-14', to, (date, index) =>
    convert(`${date} 07:40:00.000`, `${drawn(index, 100, 90)} BTC`, `${drawn(index, 6_000_000, 900_000)} USDT`, {
      dust: true,
    }),
  ),
]

export function okxStory(): Story {
  return { ...defaultStory(), continues: [...earned, ...grid, ...products, ...conversions] }
}
