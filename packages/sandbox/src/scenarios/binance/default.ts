/**
 * Bea's account: opened in March 2021, euros in and coins out of them every month since, savings in Simple Earn, and
 * over the years everything that Binance keeps a list of. Amounts and times are the same in every account; ids differ.
 */
import {
  bonus,
  buy,
  convert,
  deposit,
  dividend,
  every,
  fiat,
  redeem,
  reward,
  sell,
  subscribe,
  withdrawal,
  type StoryEvent,
  type Story,
} from '../../binance/story.ts'

const monthly = { months: 1 }

/** What repeats. */
const savings: StoryEvent[] = [
  ...every(monthly, '2021-03-03', '2026-11-01', (date) =>
    fiat(`${date} 06:15:20.000`, 'deposit', '500.00 EUR', { fee: '0' }),
  ),
  ...every(monthly, '2021-03-05', '2026-11-01', (date, index) =>
    buy(`${date} 09:30:0${index % 10}.047`, 'BTCEUR', { spend: '150' }),
  ),
  ...every(monthly, '2021-03-05', '2026-11-01', (date, index) =>
    buy(`${date} 09:31:0${index % 10}.811`, 'ETHEUR', { spend: '110', ...(index % 3 === 0 && { maker: true }) }),
  ),
  ...every({ months: 2 }, '2021-03-06', '2026-11-01', (date) => buy(`${date} 10:00:00.500`, 'BNBEUR', { spend: '60' })),
  ...every({ months: 3 }, '2021-04-09', '2026-11-01', (date, index) =>
    convert(`${date} 20:20:20.202`, '120 EUR', `${132 + (index % 7)}.${String(index * 37 + 11).padStart(4, '0')} USDT`),
  ),
  ...every({ months: 4 }, '2021-06-12', '2026-11-01', (date) =>
    dividend(`${date} 00:00:00.000`, '1.25000000 LDO', 'Launchpool token distribution'),
  ),
]

/** Coins that came from a wallet of her own, and from friends. */
const arrivals: StoryEvent[] = [
  deposit('2021-03-19 07:41:05.000', '0.3125 BTC', 'BTC'),
  deposit('2021-04-22 19:03:44.000', '4.20000001 ETH', 'ETH'),
  deposit('2021-06-02 11:20:09.000', '180.5 DOT', 'DOT'),
  deposit('2021-07-14 22:15:31.000', '2500 XRP', 'XRP'),
  deposit('2021-08-01 10:00:00.000', '250 USDT', 'TRX', { internal: true }),
  deposit('2022-02-08 06:50:12.000', '3000 USDC', 'ETH'),
  deposit('2022-03-09 12:12:12.000', '800 MATIC', 'MATIC'),
  deposit('2023-05-30 15:45:59.000', '1250.25 USDT', 'TRX'),
  deposit('2024-04-19 20:09:10.000', '60 LDO', 'ETH'),
  // With as many digits as it gets, and as small as eight decimals go.
  deposit('2025-01-11 10:10:10.000', '987654321.87654321 PEPE', 'ETH'),
  deposit('2025-01-12 10:10:10.000', '0.00000001 BTC', 'BTC'),
  // Credited, but not yet to be withdrawn; one on its way; one for a wrong address.
  deposit('2026-10-30 08:00:00.000', '0.05 BTC', 'BTC', { status: 6 }),
  deposit('2026-10-31 22:00:00.000', '0.3 ETH', 'ETH', { status: 0 }),
  deposit('2025-09-01 09:00:00.000', '12 SOL', 'SOL', { status: 7 }),
]

const departures: StoryEvent[] = [
  withdrawal('2021-11-10 17:30:22.000', '0.15 BTC', '0.0005', { network: 'BTC' }),
  // So old that Binance does not report the network.
  withdrawal('2021-04-30 12:00:00.000', '0.01 BTC', '0.0005'),
  withdrawal('2022-11-12 23:59:59.000', '1.5 ETH', '0.0016', { network: 'ETH' }),
  withdrawal('2023-08-21 12:00:00.000', '500 USDC', '4', { network: 'ETH', withoutTxId: true }),
  withdrawal('2024-03-14 14:14:14.000', '100 USDT', '0', { network: 'TRX', internal: true }),
  withdrawal('2024-05-05 05:05:05.000', '0.2 BTC', '0.0004', { network: 'BTC', status: 1 }),
  withdrawal('2024-06-06 06:06:06.000', '50 DOT', '0.1', { network: 'DOT', status: 3 }),
  withdrawal('2024-07-07 07:07:07.000', '300 XRP', '0.25', { network: 'XRP', status: 5 }),
  withdrawal('2026-10-31 23:00:00.000', '0.02 BTC', '0.0002', { network: 'BTC', status: 4 }),
]

const trades: StoryEvent[] = [
  buy('2021-05-19 13:00:01.117', 'ETHBTC', { qty: '0.5', maker: true }),
  sell('2021-11-08 15:30:27.884', 'BTCEUR', { qty: '0.02' }),
  sell('2021-11-08 15:30:27.884', 'BTCEUR', { qty: '0.00731' }),
  sell('2022-06-18 04:51:19.330', 'XRPUSDT', { qty: '1000', commissionInBnb: '0.00123' }),
  buy('2022-06-18 04:55:00.000', 'SOLUSDT', { spend: '200', commissionInBnb: '0.00071' }),
  buy('2022-09-01 10:00:00.100', 'BNBBTC', { qty: '0.1' }),
  // A symbol that no longer trades, but is still listed.
  sell('2023-03-03 03:03:03.303', 'MATICUSDT', { qty: '300' }),
  buy('2024-03-13 19:44:02.003', 'PEPEUSDT', { spend: '100', price: '0.00000811' }),
  buy('2024-04-20 08:00:00.000', 'LDOUSDT', { spend: '80' }),
  sell('2025-08-14 12:34:56.789', 'BTCUSDT', { qty: '0.01234', maker: true }),
  buy('2026-02-27 17:03:18.945', 'TRXUSDT', { spend: '60' }),
  sell('2026-03-01 11:00:00.000', 'LDOBTC', { qty: '10' }),
]

/** With a card, from the cash balance, and back to cash. */
const bought: StoryEvent[] = [
  {
    at: '2021-08-15 20:20:20.000',
    ...{
      kind: 'payment',
      direction: 'buy',
      fiat: 'EUR',
      sourceAmount: '100.00',
      crypto: 'BTC',
      obtainAmount: '0.00247',
    },
    ...{ fee: '2.00', price: '39676.11', method: 'Credit Card', status: 'Completed' },
  },
  {
    at: '2022-10-01 08:00:00.000',
    ...{ kind: 'payment', direction: 'buy', fiat: 'EUR', sourceAmount: '50.00', crypto: 'ADA', obtainAmount: '110.4' },
    ...{ fee: '0.90', price: '0.444746', method: 'Cash Balance', status: 'Completed' },
  },
  {
    at: '2022-10-02 08:00:00.000',
    ...{ kind: 'payment', direction: 'buy', fiat: 'EUR', sourceAmount: '75.00', crypto: 'BTC', obtainAmount: '0.0037' },
    ...{ fee: '1.50', price: '19864.86', method: 'Credit Card', status: 'Failed' },
  },
  {
    at: '2024-02-20 18:00:00.000',
    ...{
      kind: 'payment',
      direction: 'sell',
      fiat: 'EUR',
      sourceAmount: '196.00',
      crypto: 'ETH',
      obtainAmount: '0.075',
    },
    ...{ fee: '4.00', price: '2666.67', method: 'Bank Transfer', status: 'Completed' },
  },
]

const money: StoryEvent[] = [
  fiat('2022-05-09 03:12:48.000', 'withdraw', '400.00 EUR', { fee: '1.00' }),
  fiat('2024-09-09 09:09:09.000', 'withdraw', '250.00 EUR', { fee: '1.00', status: 'Failed' }),
  fiat('2025-07-02 09:00:41.000', 'withdraw', '900.00 EUR', { fee: '1.00' }),
  fiat('2023-01-13 10:00:00.000', 'deposit', '80.00 EUR', { method: 'card', status: 'Expired' }),
]

/** What the exchange did by itself, and the dust it swept up. */
const house: StoryEvent[] = [
  dividend('2021-09-20 00:00:00.000', '377.32400000 SGB', 'SGB airdrop for XRP holders'),
  dividend('2023-01-10 00:00:00.000', '1500.50000000 FLR', 'FLR airdrop for XRP holders'),
  dividend('2023-02-10 00:00:00.000', '0.50000000 FLR', 'Correction of the FLR airdrop', -1),
  dividend('2024-09-18 12:00:00.000', '499.00000000 POL', 'MATIC to POL swap'),
  dividend('2024-09-18 12:00:00.000', '499.00000000 MATIC', 'MATIC to POL swap', -1),
  {
    at: '2024-12-31 23:30:00.000',
    kind: 'dust',
    details: [
      { asset: 'SOL', amount: '0.0000412', received: '0.00001118', charge: '0.00000022' },
      { asset: 'ADA', amount: '0.0193', received: '0.00002450', charge: '0.00000050' },
    ],
  },
  {
    at: '2025-12-31 23:30:00.000',
    kind: 'dust',
    details: [{ asset: 'XRP', amount: '0.00000007', received: '0', charge: '0' }],
  },
]

const first = { position: 100_001, days: 60 }
const second = { position: 100_002, days: 120 }

const earn: StoryEvent[] = [
  subscribe('2023-01-15 12:00:00.000', 'flexible', '300 USDT'),
  subscribe('2023-02-15 12:00:00.000', 'flexible', '0.05 BTC'),
  // Lido that earns is LDLDO, and Lido that does not is LDO.
  subscribe('2024-05-01 12:00:00.000', 'flexible', '25 LDO'),
  redeem('2024-08-01 12:00:00.000', 'flexible', '120.5 USDT'),
  ...every(monthly, '2023-02-01', '2026-11-01', (date, index) =>
    reward(`${date} 01:00:00.000`, `0.8${String(index * 31).padStart(7, '0')} USDT`, { type: 'REALTIME' }),
  ),
  ...every(monthly, '2023-03-01', '2026-11-01', (date, index) =>
    reward(`${date} 01:05:00.000`, `0.0000${String(index * 3 + 125).padStart(4, '0')} BTC`, { type: 'REALTIME' }),
  ),
  ...every(monthly, '2023-02-01', '2024-02-01', (date) =>
    bonus(`${date} 01:10:00.000`, `${date} 03:10:00.000`, '0.10000000 USDT'),
  ).flat(),
  reward('2023-02-02 01:15:00.000', '0.02000000 USDT', { type: 'REWARDS' }),
  subscribe('2024-10-01 12:00:00.000', 'locked', '60 DOT', first),
  ...every({ days: 1 }, '2024-10-02', '2024-12-01', (date, index) =>
    reward(`${date} 02:00:00.000`, `0.01${String(index * 17).padStart(6, '0')} DOT`, { product: 'locked', ...first }),
  ),
  redeem('2024-12-01 12:00:00.000', 'locked', '60 DOT', first),
  subscribe('2026-09-01 12:00:00.000', 'locked', '40 DOT', second),
  ...every({ days: 7 }, '2026-09-08', '2026-11-01', (date) =>
    reward(`${date} 02:00:00.000`, '0.05000000 DOT', { product: 'locked', ...second }),
  ),
]

export function defaultStory(): Story {
  return {
    events: [...savings, ...arrivals, ...departures, ...trades, ...bought, ...money, ...house, ...earn],
    inOrders: { USDT: '50', BTC: '0.001' },
  }
}
