/**
 * Remy's account: opened in January 2025, dollars in and coins out of them every month since, and over the months
 * everything that these exchanges keep a list of. Amounts and times are the same in every account; ids differ.
 *
 * Every amount has at most fifteen significant digits: Bitfinex writes numbers, and a reader that takes them as binary
 * floats must still be able to get every digit right.
 */
import {
  buy,
  convert,
  deposit,
  every,
  reward,
  sell,
  transfer,
  withdrawal,
  type Story,
  type StoryEvent,
} from '../../spot/story.ts'

const monthly = { months: 1 }
const end = '2026-11-01'

/** What repeats. */
const savings: StoryEvent[] = [
  ...every(monthly, '2025-01-06', end, (date) => deposit(`${date} 08:15:20.000`, '1000 USDT', 'tron')),
  ...every(monthly, '2025-01-06', end, (date) => transfer(`${date} 08:40:00.512`, '900 USDT', 'trading')),
  ...every(monthly, '2025-01-07', end, (date, index) =>
    buy(`${date} 09:30:0${index % 10}.047`, 'BTC/USDT', { spend: '200' }),
  ),
  ...every(monthly, '2025-01-07', end, (date, index) =>
    buy(`${date} 09:31:0${index % 10}.811`, 'ETH/USDT', { spend: '150', ...(index % 3 === 0 && { maker: true }) }),
  ),
  ...every(monthly, '2025-01-08', end, (date) => buy(`${date} 10:00:00.500`, 'SOL/USDT', { spend: '100' })),
  ...every({ days: 7 }, '2025-01-10', end, (date) => buy(`${date} 18:45:12.300`, 'XRP/USDT', { spend: '25' })),
  ...every({ months: 3 }, '2025-02-12', end, (date, index) =>
    convert(`${date} 20:20:20.202`, '100 USDT', `99.${String(index * 37 + 911).padStart(4, '0')} USDC`),
  ),
  ...every(monthly, '2025-02-01', end, (date, index) =>
    reward(`${date} 01:00:00.000`, `0.${String(index * 31 + 80).padStart(4, '0')} USDT`, 'interest'),
  ),
]

/** Coins that came from a wallet of their own, and from friends. */
const arrivals: StoryEvent[] = [
  deposit('2025-01-19 07:41:05.000', '0.4125 BTC', 'bitcoin'),
  deposit('2025-02-22 19:03:44.000', '4.20000001 ETH', 'ethereum'),
  deposit('2025-03-02 11:20:09.000', '180.5 DOT', 'polkadot'),
  deposit('2025-04-14 22:15:31.000', '2500 XRP', 'ripple'),
  deposit('2025-05-01 10:00:00.000', '250 USDT', 'tron', { internal: true }),
  deposit('2025-06-08 06:50:12.000', '3000 USDC', 'ethereum'),
  deposit('2025-07-09 12:12:12.000', '8000 DOGE', 'dogecoin'),
  // Two deposits of one second, as a chain's block brings them.
  deposit('2025-08-30 15:45:59.000', '12.5 LTC', 'litecoin'),
  deposit('2025-08-30 15:45:59.000', '7.25 LTC', 'litecoin'),
  // With as many digits as it gets, and as small as it goes.
  deposit('2026-01-11 10:10:10.000', '987654321.098765 PEPE', 'ethereum'),
  deposit('2026-01-12 10:10:10.000', '0.00000001 BTC', 'bitcoin'),
  // One on its way, and one that failed.
  deposit('2026-10-30 22:00:00.000', '0.3 ETH', 'ethereum', { status: 'pending' }),
  deposit('2025-09-01 09:00:00.000', '12 SOL', 'solana', { status: 'failed' }),
]

const departures: StoryEvent[] = [
  withdrawal('2025-03-10 17:30:22.000', '0.15 BTC', '0.0002', 'bitcoin'),
  withdrawal('2025-05-12 23:59:59.000', '1.5 ETH', '0.0016', 'ethereum'),
  withdrawal('2025-08-21 12:00:00.000', '500 USDC', '4', 'ethereum'),
  withdrawal('2026-03-14 14:14:14.000', '100 USDT', '0', 'tron', { internal: true }),
  withdrawal('2026-05-05 05:05:05.000', '0.2 BTC', '0.0002', 'bitcoin', { status: 'cancelled' }),
  withdrawal('2026-07-07 07:07:07.000', '300 XRP', '0.25', 'ripple', { status: 'failed' }),
  withdrawal('2026-10-31 21:00:00.000', '0.02 BTC', '0.0002', 'bitcoin', { status: 'pending' }),
]

/** Between the two wallets, in both directions. */
const moves: StoryEvent[] = [
  transfer('2025-01-19 08:00:00.001', '0.2 BTC', 'trading'),
  transfer('2025-02-22 19:30:00.000', '2 ETH', 'trading'),
  transfer('2025-03-02 11:45:00.000', '180.5 DOT', 'trading'),
  transfer('2025-04-15 06:00:00.250', '2000 XRP', 'trading'),
  transfer('2025-07-09 12:30:00.000', '8000 DOGE', 'trading'),
  transfer('2025-08-30 16:00:00.000', '19.75 LTC', 'trading'),
  transfer('2026-06-01 09:00:00.000', '0.05 BTC', 'funding'),
]

const trades: StoryEvent[] = [
  buy('2025-02-19 13:00:01.117', 'ETH/BTC', { qty: '0.5', maker: true }),
  // One order that was filled in two parts, at the same millisecond.
  sell('2025-03-08 15:30:27.884', 'BTC/USDT', { qty: '0.02' }),
  sell('2025-03-08 15:30:27.884', 'BTC/USDT', { qty: '0.00731' }),
  sell('2025-04-18 04:51:19.330', 'XRP/USDT', { qty: '1000' }),
  buy('2025-04-18 04:55:00.000', 'ADA/USDT', { spend: '200' }),
  sell('2025-03-13 03:03:03.303', 'DOT/USDT', { qty: '80' }),
  sell('2025-07-10 19:44:02.003', 'DOGE/USDT', { qty: '5000' }),
  sell('2025-09-14 12:34:56.789', 'LTC/USDT', { qty: '10.25', maker: true }),
  // The exchange pays for these.
  buy('2025-10-01 00:00:00.000', 'LINK/USDT', { spend: '120', maker: true, rebate: true }),
  sell('2025-10-02 23:59:59.999', 'LINK/USDT', { qty: '1.5', maker: true, rebate: true }),
  buy('2026-02-27 17:03:18.945', 'BTC/USDC', { spend: '90' }),
  buy('2026-03-01 11:00:00.000', 'PEPE/USDT', { qty: '1234567', price: '0.00000811' }),
  buy('2026-04-01 11:00:00.000', 'USDC/USDT', { qty: '50.25', price: '0.9998' }),
]

const gifts: StoryEvent[] = [
  reward('2025-06-20 00:00:00.000', '12.5 LINK', 'airdrop'),
  reward('2026-08-15 12:00:00.000', '0.00000007 ETH', 'airdrop'),
]

export function defaultStory(): Story {
  return {
    events: [...savings, ...arrivals, ...departures, ...moves, ...trades, ...gifts],
    inOrders: { USDT: '50', BTC: '0.001' },
  }
}

/** From the years before: more than two years ago, which is as far as any of these exchanges looks back. */
const earlier: StoryEvent[] = [
  deposit('2022-05-03 10:00:00.000', '5000 USDT', 'tron'),
  transfer('2022-05-03 10:30:00.000', '4500 USDT', 'trading'),
  ...every({ months: 2 }, '2022-06-01', '2024-11-01', (date) =>
    buy(`${date} 12:00:00.250`, 'BTC/USDT', { spend: '150' }),
  ),
  sell('2024-03-14 07:10:00.100', 'BTC/USDT', { qty: '0.01' }),
  withdrawal('2023-09-09 09:09:09.000', '200 USDT', '1', 'tron'),
]

/** The same account, opened earlier, at an exchange that drops old rows as its documents say. */
export function forgottenStory(): Story {
  const { events, ...rest } = defaultStory()
  return { ...rest, events: [...earlier, ...events], forgets: true }
}

/** The same account with a key that is bound to an address of the documentation range (RFC 5737). */
export function boundStory(): Story {
  return { ...defaultStory(), boundTo: ['203.0.113.7'] }
}
