/**
 * A person's savings, from November 2024 to October 2026: bought at an exchange and withdrawn to the wallet every other
 * week, tips to an address that stands on a web page, a subscription, now and then a purchase, and coins joined when fees
 * were low.
 */
import { every, type Standard, type Story, type StoryEvent, type WalletKind } from '../../bitcoin/story.ts'

const savings = [
  '0.00512345',
  '0.00498',
  '0.00604411',
  '0.00587002',
  '0.0045',
  '0.00613339',
  '0.00529964',
  '0.00471808',
] as const

export function defaultStory(kind: WalletKind = 'extended_public_key', standard: Standard = 'bip84'): Story {
  return { kind, standard, events: defaultEvents() }
}

function defaultEvents(): StoryEvent[] {
  return [
    ...every({ days: 14 }, '2024-11-08', '2026-10-20', (date, index): StoryEvent => ({
      at: `${date} ${String(7 + (index % 13)).padStart(2, '0')}:${String((index * 17) % 60).padStart(2, '0')}:21`,
      kind: 'receive',
      amounts: [savings[index % savings.length] ?? '0.005'],
      // Exchanges pay many customers at once.
      strangers: index % 4,
    })),
    ...every({ days: 5 }, '2024-11-27', '2026-10-20', (date, index): StoryEvent => ({
      at: `${date} 22:${String((index * 11) % 60).padStart(2, '0')}:47`,
      kind: 'receive',
      amounts: [`0.0001${String(1_009 + index * 37).padStart(4, '0')}`],
      to: [0],
    })),
    ...every({ months: 1 }, '2025-01-21', '2026-10-20', (date, index): StoryEvent => ({
      at: `${date} 05:${String((index * 23) % 60).padStart(2, '0')}:12`,
      kind: 'send',
      amount: `0.0002${String(index * 13).padStart(3, '0')}`,
      payee: 'server rent',
    })),
    // A house was sold.
    { at: '2025-08-20 14:02:31', kind: 'receive', amounts: ['2.71828182'] },
    // Moved from an older wallet, in two coins at once.
    { at: '2024-12-24 18:30:05', kind: 'receive', amounts: ['0.05', '0.0250001'] },
    // A friend paid to an address that was used before.
    { at: '2025-02-03 11:02:47', kind: 'receive', amounts: ['0.0021'], to: [1] },
    { at: '2025-03-15 20:14:09', kind: 'send', amount: '0.0187', payee: 'bicycle shop' },
    { at: '2025-06-01 06:45:30', kind: 'consolidate', feeRate: 1 },
    { at: '2025-07-19 13:20:00', kind: 'send', amount: '0.04500001', payee: 'exchange deposit' },
    {
      at: '2025-09-09 09:09:09',
      kind: 'send',
      amount: '0.00075',
      payee: 'timestamp',
      data: 'Assay sandbox: a note on the chain',
    },
    // An unsolicited tiny amount, as spammers send to track wallets.
    { at: '2025-11-30 03:33:33', kind: 'receive', amounts: ['0.00000546'], to: [0] },
    { at: '2026-01-05 16:40:12', kind: 'send', amount: '0.102', payee: 'contractor' },
    { at: '2026-04-12 08:00:44', kind: 'consolidate', feeRate: 1 },
    { at: '2026-08-22 19:55:58', kind: 'send', amount: '0.00333333', payee: 'donation' },
  ]
}
