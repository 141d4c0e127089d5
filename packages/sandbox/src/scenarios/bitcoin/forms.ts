/** Wallets of every form, each with a short history: an address, and both chains of an extended key or a descriptor. */
import type { Standard, Story, StoryEvent, WalletKind } from '../../bitcoin/story.ts'

/** Receives, sends with change, consolidates, and sends everything that it has at that time. */
export function shortStory(kind: WalletKind, standard: Standard): Story {
  return {
    kind,
    standard,
    events: [
      { at: '2025-01-10 10:10:10', kind: 'receive', amounts: ['0.02'] },
      { at: '2025-02-11 11:11:11', kind: 'receive', amounts: ['0.013', '0.0070001'], strangers: 2 },
      { at: '2025-03-12 12:12:12', kind: 'send', amount: '0.0215', payee: 'landlord' },
      { at: '2025-05-13 13:13:13', kind: 'receive', amounts: ['0.005'] },
      { at: '2025-06-14 14:14:14', kind: 'consolidate' },
      { at: '2025-09-15 15:15:15', kind: 'send', amount: '0.001', payee: 'notary', data: 'proof of existence' },
      { at: '2026-02-16 16:16:16', kind: 'send', amount: 'all', payee: 'new wallet' },
      { at: '2026-06-17 17:17:17', kind: 'receive', amounts: ['0.00123456'] },
    ],
  }
}

/** One address, used more than two pages of 25 times. */
export function addressStory(): Story {
  const events = Array.from({ length: 60 }, (_, index): StoryEvent => {
    const at = new Date(Date.UTC(2025, 0, 2 + index * 9, 8 + (index % 11), (index * 7) % 60)).toISOString()
    const moment = { at: at.slice(0, 19).replace('T', ' ') }
    if (index % 10 === 9) return { ...moment, kind: 'send', amount: '0.0004', payee: `supplier ${index % 3}` }
    return { ...moment, kind: 'receive', amounts: [`0.00${String(101_234 + index)}`], strangers: index % 3 }
  })
  return { kind: 'address', standard: 'bip84', events }
}

/** 31 unused addresses between two that were used: more than the gap limit of 20. */
export function gapStory(): Story {
  return {
    kind: 'extended_public_key',
    standard: 'bip84',
    events: [
      { at: '2025-01-10 10:10:10', kind: 'receive', amounts: ['0.01'], to: [0] },
      { at: '2025-02-10 10:10:10', kind: 'receive', amounts: ['0.02'], to: [3] },
      { at: '2025-03-10 10:10:10', kind: 'receive', amounts: ['0.03'], to: [35] },
      { at: '2025-04-10 10:10:10', kind: 'send', amount: '0.025', payee: 'a neighbour' },
    ],
  }
}

/** Money that has not arrived yet, money on its way out, and a transaction that spends from an unconfirmed one. */
export function unconfirmedStory(): Story {
  return {
    kind: 'extended_public_key',
    standard: 'bip84',
    events: [
      { at: '2026-09-01 09:00:00', kind: 'receive', amounts: ['0.04'] },
      { at: '2026-09-02 09:00:00', kind: 'receive', amounts: ['0.01'] },
      { at: '2026-10-30 21:00:00', kind: 'send', amount: '0.045', payee: 'in a hurry', unconfirmed: true, feeRate: 1 },
      { at: '2026-10-30 21:05:00', kind: 'send', amount: '0.001', payee: 'a friend', unconfirmed: true, feeRate: 1 },
      { at: '2026-10-30 21:10:00', kind: 'receive', amounts: ['0.0025'], unconfirmed: true, feeRate: 1 },
    ],
  }
}

/** A miner at home who found two blocks. */
export function minerStory(): Story {
  return {
    kind: 'address',
    standard: 'bip84',
    events: [
      { at: '2025-05-05 05:05:05', kind: 'reward', amount: '3.13711042' },
      { at: '2025-08-08 08:08:08', kind: 'send', amount: '1.5', payee: 'exchange deposit' },
      { at: '2026-03-03 03:03:03', kind: 'reward', amount: '3.12933371' },
    ],
  }
}
