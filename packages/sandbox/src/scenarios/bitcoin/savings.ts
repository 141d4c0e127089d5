/**
 * Nora's own wallet: what she withdrew from Kraken to keep it herself, what a client paid her in bitcoin, and now and
 * then a purchase. It is the same wallet in every sandbox, so that Kraken's withdrawals can name its addresses and
 * hashes.
 *
 * The first payment decides all later hashes, through the coin that it is paid from, and that coin depends on the
 * height of a block. Blocks come at the start of a slot of ten minutes and at most nine minutes late, so a payment in
 * the last minute of a slot has the same height for every seed.
 */
import { every, type Story, type StoryEvent } from '../../bitcoin/story.ts'

/** Withdrawals from Kraken (`scenarios/kraken/default.ts`), as they reach the chain. */
export const fromKraken = [
  {
    at: '2024-12-12 09:39:30',
    amount: '0.02',
    hash: 'a57e5a3806cbd42afd2a332849e7ea4f0afd9aabdeeb7884897e8fd40ff891dd',
    address: 'bc1qds3ft23mwxzs4qpj6gzea9jwjzjv9lqav9e8vz',
  },
  {
    at: '2025-06-11 18:19:30',
    amount: '0.035',
    hash: 'f573327f5942050572a908ba4d3f298cc25666f68df584d1e4cbe7d89764d4e7',
    address: 'bc1qmwx9mxkf4n6tqn73w2jw7xhpdupcf579q97q3z',
  },
  {
    at: '2026-02-11 07:59:30',
    amount: '0.0275',
    hash: '598fcd1e4e225c55bfa47f4644929561873dda228e7cd8d2e9183f784b8bda1c',
    address: 'bc1qgud3f0gwmsx7mav0kakmqesdz0rr7zr9plhpvt',
  },
] as const

const fees = ['0.0025', '0.00310045', '0.0027', '0.00295512'] as const

export function savingsStory(): Story {
  return { kind: 'extended_public_key', standard: 'bip84', sharedKeys: 'savings', events: savingsEvents() }
}

function savingsEvents(): StoryEvent[] {
  return [
    ...fromKraken.map(({ at, amount }, index): StoryEvent => ({
      at,
      kind: 'receive',
      amounts: [amount],
      strangers: index,
    })),
    ...every({ days: 30 }, '2025-01-06', '2026-11-01', (date, index): StoryEvent => ({
      at: `${date} 10:${String(10 + ((index * 7) % 50))}:21`,
      kind: 'receive',
      amounts: [fees[index % fees.length] ?? '0.0025'],
    })),
    { at: '2025-03-15 20:14:09', kind: 'send', amount: '0.0087', payee: 'bicycle shop' },
    { at: '2025-10-12 08:00:44', kind: 'consolidate', feeRate: 1 },
    { at: '2026-05-05 16:40:12', kind: 'send', amount: '0.012', payee: 'contractor' },
    { at: '2026-08-22 19:55:58', kind: 'send', amount: '0.00333333', payee: 'donation' },
  ]
}
