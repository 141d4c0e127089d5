/**
 * Amounts at the edges: whole numbers beyond 2^53, 18 decimals, tokens without decimals, and a mint that taxes transfers; and
 * tokens that another program's call moves.
 */
import type { Story } from '../../solana/story.ts'

export function oddStory(): Story {
  return {
    steps: [
      // 2^53 + 1 is the first whole number that a double cannot hold.
      { at: '2026-01-05 10:00:00', deed: { kind: 'receive', asset: 'SOL', amount: '9007199.254740993' } },
      { at: '2026-01-06 10:00:00', deed: { kind: 'receive', asset: 'POINTS', amount: '9007199254740993' } },
      { at: '2026-01-07 10:00:00', deed: { kind: 'receive', asset: 'POINTS', amount: '1000000000000000007' } },
      { at: '2026-01-08 10:00:00', deed: { kind: 'send', asset: 'POINTS', amount: '1', to: 'friend' } },
      { at: '2026-01-09 10:00:00', deed: { kind: 'receive', asset: 'FINE', amount: '0.123456789012345678' } },
      {
        at: '2026-01-10 10:00:00',
        deed: { kind: 'send', asset: 'FINE', amount: '0.000000000000000001', to: 'friend' },
      },
      { at: '2026-01-11 10:00:00', deed: { kind: 'receive', asset: 'PICTURE', amount: '1' } },
      // One percent stays with the mint, so less arrives than was sent.
      { at: '2026-01-12 10:00:00', deed: { kind: 'receive', asset: 'TAXED', amount: '1000.000000009' } },
      { at: '2026-01-13 10:00:00', deed: { kind: 'send', asset: 'TAXED', amount: '99.5', to: 'friend' } },
      // Tokens that another program moves, without an instruction of the token program in the transaction itself.
      { at: '2026-01-13 12:00:00', deed: { kind: 'nest', asset: 'POINTS', amount: '9007199254740995' } },
      { at: '2026-01-13 13:00:00', deed: { kind: 'recover-nested', asset: 'POINTS' } },
      { at: '2026-01-14 10:00:00', deed: { kind: 'airdrop', asset: 'SPAM', amount: '5' } },
      { at: '2026-01-15 10:00:00', deed: { kind: 'burn', asset: 'SPAM', amount: '5' } },
      { at: '2026-01-15 10:00:01', deed: { kind: 'close', asset: 'SPAM' } },
    ],
  }
}
