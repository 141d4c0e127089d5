/**
 * The part of Nora's account that repeats: money in, a savings plan into bitcoin and ether at that day's price, and
 * what the staked coins earn. From March 2021 to October 2026.
 */
import { buy, deposit, entries, every, leg, type StoryEvent } from '../../kraken/story.ts'

const monthly = { months: 1 }

export function savings(): StoryEvent[] {
  return [
    ...every(monthly, '2021-03-03', '2026-11-01', (date, index) =>
      deposit(`${date} 06:1${index % 6}:20.1${index % 10}`, 'ZEUR', '600.0000', 'SEPA'),
    ),
    ...every({ months: 6 }, '2021-03-10', '2026-11-01', (date) =>
      deposit(`${date} 14:45:00.75`, 'ZUSD', '1000.0000', 'SWIFT', { fee: '3.0000' }),
    ),
    ...every(monthly, '2021-03-05', '2026-11-01', (date, index) =>
      buy(`${date} 09:30:0${index % 10}.04${index % 10}7`, 'XXBTZEUR', { spend: '240' }),
    ),
    ...every(monthly, '2021-03-05', '2026-11-01', (date, index) =>
      buy(`${date} 09:31:0${index % 10}.0811`, 'XETHZEUR', { spend: '280', ...(index % 3 === 0 && { maker: true }) }),
    ),
    ...rewards(),
  ]
}

/**
 * Old system: type `staking`, nothing taken. New system: `earn`/`reward`, and the exchange keeps its share as a fee.
 */
function rewards(): StoryEvent[] {
  return [
    ...every({ days: 14 }, '2021-09-07', '2024-05-28', (date, index) =>
      entries(`${date} 03:03:1${index % 10}.3301`, 'staking', [leg(`0.56${pad(index * 37, 4)}0000 DOT.S`)]),
    ),
    ...every(monthly, '2021-11-02', '2023-04-01', (date, index) =>
      entries(`${date} 04:00:00.1102`, 'staking', [leg(`0.0041${pad(index * 13, 6)} ETH2.S`)]),
    ),
    ...every(monthly, '2022-03-25', '2024-05-20', (date, index) =>
      entries(`${date} 05:00:0${index % 10}.25`, 'staking', [leg(`0.1${pad(index * 7, 7)} ADA.S`)]),
    ),
    ...every(monthly, '2023-07-15', '2024-05-20', (date, index) =>
      entries(`${date} 05:30:00.715`, 'staking', [leg(`0.0${pad(index * 11 + 21, 9)} KSM.S`)]),
    ),
    ...every({ days: 14 }, '2024-06-17', '2026-11-01', (date, index) =>
      entries(
        `${date} 02:22:0${index % 10}.0617`,
        'earn',
        [leg(`0.4${pad(index * 31, 9)} DOT.B`, { fee: '0.0600000000' })],
        {
          subtype: 'reward',
        },
      ),
    ),
    ...every(monthly, '2024-06-18', '2026-11-01', (date, index) =>
      entries(`${date} 02:25:00.0618`, 'earn', [leg(`0.0008${pad(index * 17, 6)} ETH.B`, { fee: '0.0000800000' })], {
        subtype: 'reward',
      }),
    ),
    ...every({ days: 30 }, '2025-02-01', '2026-11-01', (date, index) =>
      entries(`${date} 02:30:00.0201`, 'earn', [leg(`0.07${pad(index * 19, 8)} SOL.B`, { fee: '0.0070000000' })], {
        subtype: 'reward',
      }),
    ),
    ...every(monthly, '2025-02-01', '2026-11-01', (date, index) =>
      entries(`${date} 02:35:00.0202`, 'earn', [leg(`1.9${pad(index, 7)} USDC.F`)], { subtype: 'reward' }),
    ),
    ...every({ months: 3 }, '2023-10-01', '2026-11-01', (date, index) =>
      entries(`${date} 02:40:00.1001`, 'earn', [leg(`0.0000${pad(index * 3 + 125, 6)} XBT.M`)], { subtype: 'reward' }),
    ),
  ]
}

function pad(number: number, length: number): string {
  return String(number).padStart(length, '0')
}
