/**
 * The part of Nora's account that repeats: money in, a plan into bitcoin and ether, and what staked coins, stable coins
 * and a card bring. From January 2021 to October 2026.
 */
import { bank, buy, every, fill, single, type StoryEvent } from '../../coinbase/story.ts'

const end = '2026-11-01'
const monthly = { months: 1 }

export function plan(): StoryEvent[] {
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
