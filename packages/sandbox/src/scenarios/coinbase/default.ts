/**
 * Nora's account at Coinbase: opened in January 2021, and over the years nearly everything that its transactions can
 * be. Amounts and times are the same in every account; ids differ. What happened once comes
 * first, then the part that repeats.
 */
import {
  bank,
  buy,
  convert,
  fill,
  move,
  offChain,
  receive,
  row,
  sell,
  send,
  single,
  every,
  type Story,
  type StoryEvent,
} from '../../coinbase/story.ts'
import { outsideTransfers } from './outside.ts'

const { bitcoinOut, etherIn, usdcOut } = outsideTransfers

const arrivals: StoryEvent[] = [
  receive('2021-01-17T12:41:05Z', '0.61250000 BTC'),
  receive('2021-06-30T19:03:44Z', '250.123456 ALGO'),
  receive(etherIn.at, `${etherIn.amount} ${etherIn.code}`, { hash: etherIn.hash, address: etherIn.address }),
  receive('2023-05-11T06:50:12Z', '142.5 SOL', { type: 'receive' }),
  receive('2023-09-14T15:45:59Z', '2500.000001 USDC', { type: 'receive' }),
  receive('2024-03-01T10:10:10Z', '180.5 DOT', { type: 'receive' }),
  // An unsolicited token.
  receive('2026-06-30T12:00:00Z', '8765432.109876543210123456 PEPE', { type: 'receive' }),
  receive('2025-11-02T12:12:12Z', '0.00000001 BTC', { type: 'receive' }),
]

const departures: StoryEvent[] = [
  send(bitcoinOut.at, `${bitcoinOut.amount} ${bitcoinOut.code}`, bitcoinOut),
  send('2022-11-12T23:59:59Z', '0.75 ETH', { fee: '0.0021' }),
  send(usdcOut.at, `${usdcOut.amount} ${usdcOut.code}`, usdcOut),
  send('2025-02-14T11:00:41Z', '3.25 SOL', { fee: '0.000005' }),
  bank('2022-05-09T03:12:48Z', 'fiat_withdrawal', '-400.00 EUR'),
  bank('2025-07-02T09:00:41Z', 'fiat_withdrawal', '-250.15 EUR'),
  // Canceled by her, rejected by the network, and given up by Coinbase: nothing moved.
  send('2023-02-02T10:05:00Z', '0.2 ETH', { fee: '0.0018' }, { status: 'canceled' }),
  send('2024-09-09T09:09:09Z', '0.01 BTC', { fee: '0.00009' }, { status: 'failed' }),
  single('2023-12-01T08:00:00Z', 'fiat_deposit', '300.00 EUR', { status: 'failed', detail: { kind: 'bank' } }),
]

/** Still under way when the sandbox is read today; each ends when the clock has been moved far enough. */
const underWay: StoryEvent[] = [
  send(
    '2026-10-30T21:15:09Z',
    '0.0125 BTC',
    { fee: '0.00004' },
    { settles: { at: '2030-01-01T00:00:00Z', status: 'completed' } },
  ),
  send(
    '2026-10-31T07:02:33Z',
    '0.05 ETH',
    { fee: '0.0009' },
    { settles: { at: '2030-01-02T00:00:00Z', status: 'canceled' } },
  ),
  single('2026-10-31T09:40:00Z', 'fiat_deposit', '120.00 EUR', {
    settles: { at: '2030-01-03T00:00:00Z', status: 'completed' },
    detail: { kind: 'bank' },
  }),
]

const trades: StoryEvent[] = [
  sell('2021-11-08T15:30:27Z', '0.02 BTC', 'EUR'),
  sell('2024-03-13T19:42:55Z', '0.35 ETH', 'USD'),
  buy('2021-08-15T20:20:20Z', '60 EUR', 'XLM', 'wallet'),
  // All of it again: a wallet without a balance that has a history.
  convert('2022-01-21T08:44:13Z', '150 EUR', 'LTC'),
  convert('2022-06-18T04:51:19Z', '0.8 LTC', 'USDC'),
  convert('2023-10-10T17:01:00Z', '0.1 ETH', 'BTC'),
  convert('2024-06-06T06:06:06Z', '200 USDC', 'SOL'),
  convert('2025-01-19T10:20:30Z', '5 DOT', 'USDC'),
  // One order in three parts; some parts do not give the side.
  fill('2023-11-20T13:00:01Z', 'SOL-USD', 'buy', ['2.5', '1.125', '0.75']),
  fill('2024-03-13T19:44:02Z', 'BTC-USD', 'sell', ['0.00431', '0.0011'], { withoutSide: true }),
  fill('2024-11-06T02:15:30Z', 'BTC-USD', 'buy', ['0.00137'], { withoutSide: true, isMaker: true }),
  fill('2025-08-01T02:28:03Z', 'ONDO-USDC', 'buy', ['26.77'], { price: '0.92209' }),
  fill('2025-08-14T12:34:56Z', 'ETH-BTC', 'sell', ['0.045'], { isMaker: true }),
  fill('2026-02-27T17:03:18Z', 'SOL-USDC', 'sell', ['1.5', '0.25']),
]

/** Transfers between this account and other Coinbase products. Transfers to the exchange are booked twice. */
const products: StoryEvent[] = [
  {
    at: '2021-04-02T10:30:40Z',
    rows: [
      row('send', '-0.03 BTC', { detail: { kind: 'party', party: 'account' } }),
      row('exchange_deposit', '-0.03 BTC', { isEcho: true }),
    ],
  },
  {
    at: '2021-04-29T11:33:33Z',
    rows: [
      row('send', '0.0275 BTC', { detail: { kind: 'party', party: 'account' } }),
      row('exchange_withdrawal', '0.0275 BTC', { isEcho: true }),
    ],
  },
  single('2021-07-14T13:31:58Z', 'pro_deposit', '-0.05 BTC'),
  single('2022-10-03T19:41:58Z', 'pro_withdrawal', '0.0462 BTC'),
  single('2025-03-03T00:00:10Z', 'intx_deposit', '-100 USDC'),
  single('2025-05-03T00:00:10Z', 'intx_withdrawal', '97.5 USDC'),
  single('2025-04-15T21:00:00Z', 'derivatives_settlement', '3.44 USD'),
  move('2021-05-05T05:05:05Z', 'transfer', '0.05 BTC', 'BTC/vault'),
  move('2023-05-08T05:05:05Z', 'vault_withdrawal', '0.02 BTC/vault', 'BTC'),
]

const people: StoryEvent[] = [
  offChain('2021-09-05T20:11:54Z', 'send', '0.02762431 NMR', 'user'),
  offChain('2021-12-24T18:00:00Z', 'send', '-0.001 BTC', 'email'),
  offChain('2022-07-07T07:07:07Z', 'send', '-25 USDC', 'user'),
  // Asked for, and never paid; nothing moved.
  single('2022-07-01T18:32:35Z', 'request', '0.1 ETH', {
    status: 'pending',
    detail: { kind: 'party', party: 'email' },
  }),
  single('2022-07-20T09:00:00Z', 'request', '0.002 BTC', {
    status: 'canceled',
    detail: { kind: 'party', party: 'user' },
  }),
]

const staking: StoryEvent[] = [
  move('2022-05-20T09:30:00Z', 'staking_transfer', '1 ETH', 'ETH2'),
  move('2023-05-20T09:00:00Z', 'staking_transfer', '30 SOL', 'SOL/staked'),
  move('2024-03-05T16:00:00Z', 'staking_transfer', '100 DOT', 'DOT/staked'),
  move('2025-03-05T16:00:00Z', 'unstaking_transfer', '40 DOT/staked', 'DOT'),
  move('2026-01-09T11:00:00Z', 'unstaking_transfer', '10.5 SOL/staked', 'SOL'),
  single('2024-06-05T04:00:00Z', 'staking_reward', '0.8412345678 DOT/staked'),
  // Staked ether wrapped, and some of it unwrapped again, at what the wrapped one is worth.
  {
    at: '2024-10-10T12:00:00Z',
    rows: [row('wrap_asset', '-0.4 ETH2'), row('wrap_asset', '0.371234567890123456 CBETH')],
  },
  {
    at: '2025-10-10T12:00:00Z',
    rows: [row('unwrap_asset', '-0.1 CBETH'), row('unwrap_asset', '0.109876543210987654 ETH2')],
  },
]

/** What Coinbase did by itself, and rows that no reader can know yet. */
const house: StoryEvent[] = [
  single('2021-10-01T12:00:00Z', 'earn_payout', '3.5 XLM'),
  single('2022-02-14T12:00:00Z', 'incentives_rewards_payout', '0.00021 BTC'),
  single('2022-03-14T12:00:00Z', 'incentives_shared_clawback', '-0.00004 BTC'),
  single('2022-09-20T00:00:00Z', 'clawback', '-1.25 EUR'),
  single('2023-11-02T18:21:07Z', 'cardspend', '-18.4 USDC'),
  single('2023-11-05T18:21:07Z', 'cardbuyback', '0.276 USDC'),
  single('2023-11-19T08:02:31Z', 'cardspend', '-54.99 USDC'),
  single('2024-04-16T10:00:00Z', 'subscription_rebate', '10 USD'),
  single('2024-05-05T05:05:05Z', 'unsupported_asset_recovery', '12.345678 LINK'),
  single('2024-12-22T10:00:00Z', 'tx', '0.000123 BTC'),
  {
    at: '2024-12-22T23:30:00Z',
    rows: [
      row('retail_simple_dust', '-0.02762431 NMR'),
      row('retail_simple_dust', '-0.000012 ALGO'),
      row('retail_simple_dust', '0.41 USD'),
    ],
  },
  single('2026-03-03T03:03:03Z', 'quantum_settlement', '1.23 USD'),
]

/** Spent to the last digit, so that the wallets are empty and their history is not. */
const emptied: StoryEvent[] = [
  convert('2025-06-01T08:00:00Z', '12.345678 LINK', 'USDC'),
  fill('2025-09-30T08:00:00Z', 'ONDO-USDC', 'sell', ['26.77'], { price: '1.1' }),
]

export function defaultStory(): Story {
  return {
    events: [
      ...plan(),
      ...arrivals,
      ...departures,
      ...underWay,
      ...trades,
      ...products,
      ...people,
      ...staking,
      ...house,
      ...emptied,
    ],
    unused: ['BCH', 'ETC', 'XRP'],
    nativeCurrency: 'EUR',
  }
}

/**
 * The part of Nora's account that repeats: money in, a plan into bitcoin and ether, and what staked coins, stable coins
 * and a card bring. From January 2021 to October 2026.
 */
const end = '2026-11-01'
const monthly = { months: 1 }

function plan(): StoryEvent[] {
  return [
    ...every(monthly, '2021-01-04', end, (date, index) =>
      bank(`${date}T08:1${index % 6}:20Z`, 'fiat_deposit', '450.00 EUR'),
    ),
    ...every({ months: 3 }, '2021-01-20', end, (date) => bank(`${date}T14:45:00Z`, 'fiat_deposit', '600.00 USD')),
    ...every(monthly, '2021-01-05', end, (date, index) =>
      buy(`${date}T09:30:0${index % 10}Z`, '120 EUR', 'BTC', 'wallet'),
    ),
    ...every({ months: 2 }, '2021-02-06', end, (date) => buy(`${date}T18:04:41Z`, '250 EUR', 'ETH', 'card')),
    ...every({ months: 2 }, '2023-03-09', end, (date, index) =>
      fill(`${date}T20:11:0${index % 10}Z`, 'ETH-EUR', 'buy', ['0.013', '0.0071'], { isMaker: index % 2 === 0 }),
    ),
    ...rewards(),
  ]
}

function rewards(): StoryEvent[] {
  return [
    ...every({ days: 30 }, '2022-06-14', end, (date, index) =>
      single(`${date}T03:03:1${index % 10}Z`, 'staking_reward', `0.0012${pad(index * 37, 14)} ETH2`),
    ),
    ...every({ days: 30 }, '2023-06-02', end, (date, index) =>
      single(`${date}T05:12:0${index % 10}Z`, 'staking_reward', `0.05${pad(index * 7_919, 7)} SOL/staked`),
    ),
    ...every({ days: 30 }, '2021-09-07', '2023-05-01', (date, index) =>
      single(`${date}T04:00:00Z`, 'inflation_reward', `0.00${pad(index * 13 + 76, 4)} ALGO`, {
        detail: { kind: 'party', party: 'user' },
      }),
    ),
    ...every(monthly, '2023-10-01', end, (date, index) =>
      single(`${date}T02:35:00Z`, 'interest', `1.${pad(index * 3 + 12, 6)} USDC`),
    ),
    ...every({ months: 3 }, '2024-01-15', end, (date) => single(`${date}T10:00:00Z`, 'subscription', '-29.99 USD')),
  ]
}

function pad(number: number, length: number): string {
  return String(number).padStart(length, '0')
}
