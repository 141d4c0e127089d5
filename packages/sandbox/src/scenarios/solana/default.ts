/**
 * A person's wallet from March 2024 to October 2026: pay in USDC, SOL from an exchange, purchases, swaps with a market
 * maker, staking with its rewards, wrapped SOL, a collectible, spam, and what goes wrong.
 */
import { every } from '../../core/scenario.ts'
import type { Deed, Step, Story } from '../../solana/story.ts'

const at = (moment: string, deed: Deed): Step => ({ at: moment, deed })

export function defaultStory(): Story {
  const steps = [...beginnings(), ...everyday(), ...staking(), ...oddities()]
  return { steps: steps.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)) }
}

function beginnings(): Step[] {
  return [
    at('2024-03-04 18:21:07', { kind: 'receive', asset: 'SOL', amount: '34.5' }),
    at('2024-03-04 19:02:44', { kind: 'receive', asset: 'USDC', amount: '1500', memo: 'welcome' }),
    at('2024-03-09 10:15:30', { kind: 'swap', give: 'USDC', amount: '420.5', take: 'SOL', taken: '3.1' }),
    at('2024-03-12 08:00:12', { kind: 'swap', give: 'SOL', amount: '1.25', take: 'JUP', taken: '162.337714' }),
    at('2024-04-02 21:40:55', { kind: 'receive', asset: 'BONK', amount: '212500000.12345', from: 'friend' }),
    at('2024-05-20 07:31:19', { kind: 'swap', give: 'BONK', amount: '5000000', take: 'USDC', taken: '118.4021' }),
  ]
}

function everyday(): Step[] {
  return [
    ...every({ months: 1 }, '2024-04-25', '2026-10-28', (date) =>
      at(`${date} 09:00:03`, { kind: 'receive', asset: 'USDC', amount: '350.25', from: 'employer', memo: 'salary' }),
    ),
    ...every({ days: 23 }, '2024-04-27', '2026-10-25', (date, index) =>
      at(`${date} ${String(8 + (index % 12)).padStart(2, '0')}:${String((index * 13) % 60).padStart(2, '0')}:41`, {
        ...{
          kind: 'send',
          asset: 'USDC',
          amount: `${35 + (index % 7) * 11}.${10 + ((index * 37) % 90)}`,
          to: 'friend',
        },
        ...(index % 3 === 0 && { priority: 10_000 + index * 731 }),
      }),
    ),
    ...every({ days: 61 }, '2024-06-11', '2026-10-20', (date, index) =>
      at(`${date} 17:45:28`, {
        kind: 'swap',
        give: 'USDC',
        amount: '200',
        take: 'SOL',
        taken: `1.${307 + index * 19}`,
      }),
    ),
    ...every({ days: 90 }, '2024-07-07', '2026-10-20', (date) =>
      at(`${date} 12:12:12`, { kind: 'send', asset: 'SOL', amount: '0.35', to: 'exchange', memo: 'customer 48151623' }),
    ),
    at('2025-01-15 11:00:00', { kind: 'receive', asset: 'PYUSD', amount: '4300' }),
    at('2025-11-03 08:30:15', { kind: 'receive', asset: 'USDT', amount: '2650.5' }),
    at('2025-02-11 16:20:31', { kind: 'send', asset: 'PYUSD', amount: '120.75', to: 'friend' }),
  ]
}

function staking(): Step[] {
  return [
    at('2024-06-01 09:30:00', { kind: 'stake', seed: 'savings', amount: '12' }),
    at('2025-03-03 09:30:00', { kind: 'stake', seed: 'short', amount: '2.5' }),
    at('2025-09-14 14:05:50', { kind: 'unstake', seed: 'short' }),
    at('2025-09-20 08:11:02', { kind: 'withdraw-stake', seed: 'short' }),
  ]
}

function oddities(): Step[] {
  return [
    // Wrapped for a purchase that did not happen.
    at('2024-08-08 20:00:01', { kind: 'wrap', amount: '2' }),
    at('2024-08-09 06:12:47', { kind: 'unwrap' }),
    // A second account of a token the wallet already has: moves between the two are not payments.
    at('2024-09-01 10:00:00', { kind: 'open-second', asset: 'USDC' }),
    at('2024-09-01 10:02:00', { kind: 'move-to-second', asset: 'USDC', amount: '250' }),
    at('2024-11-05 18:33:20', { kind: 'move-from-second', asset: 'USDC', amount: '100.5' }),
    at('2025-01-02 13:00:00', { kind: 'move-from-second', asset: 'USDC', amount: '149.5' }),
    at('2025-01-02 13:01:00', { kind: 'close', asset: 'USDC', second: true }),
    at('2024-10-10 22:10:10', { kind: 'receive', asset: 'PICTURE', amount: '1', from: 'friend' }),
    // Sold out of: the empty account is closed, and its rent comes back.
    at('2025-04-18 15:15:15', { kind: 'swap', give: 'JUP', amount: '162.337714', take: 'USDC', taken: '71.93' }),
    at('2025-04-18 15:20:40', { kind: 'close', asset: 'JUP' }),
    // Unsolicited: the sender opens the account and pays its rent.
    at('2025-05-05 03:33:33', { kind: 'airdrop', asset: 'SPAM', amount: '7777.77' }),
    at('2025-06-21 04:44:44', {
      kind: 'receive',
      asset: 'SOL',
      amount: '0.000001',
      from: 'spammer',
      memo: 'Claim now!',
    }),
    at('2025-07-30 12:00:00', { kind: 'approve', asset: 'USDC', amount: '500' }),
    // More than there is: both fail, and cost their fee.
    at('2025-08-13 19:05:06', { kind: 'send', asset: 'SOL', amount: '9000', to: 'exchange' }),
    at('2025-08-13 19:07:59', { kind: 'send', asset: 'USDC', amount: '999999.99', to: 'friend', priority: 50_000 }),
    at('2026-02-02 02:02:02', { kind: 'airdrop', asset: 'SPAM', amount: '0.000001' }),
  ]
}
