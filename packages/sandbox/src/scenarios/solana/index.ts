/** The scenarios of a simulated Solana wallet, in the words an integrator reads (`GET /sandbox/scenarios`). */
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import type { Step, Story } from '../../solana/story.ts'
import { flaky } from '../flaky.ts'
import { defaultStory } from './default.ts'

// A wallet is a public address, so no key can be wrong or have too many permissions.
const noKey: KeyTraits = { permissions: [] }
const calm = { key: noKey, limit: 'documented', weather: 'calm', story: defaultStory } as const

export const solanaScenarios: readonly Scenario<Story>[] = [
  {
    ...calm,
    name: 'default',
    title: 'A lived-in wallet',
    description:
      'Some 140 transactions from March 2024 to October 2026: tokens of both programs, swaps, stake with its rewards, wrapped SOL, spam, closed accounts and failures.',
    expects: 'Connects; the whole history is read within seconds; holdings equal the sum of the transactions.',
  },
  {
    ...calm,
    name: 'empty',
    title: 'A new wallet',
    description: 'An address that the network has not seen.',
    expects: 'Connects; no holdings, no transactions, and nothing missing.',
    story: () => ({ steps: [] }),
  },
  {
    ...calm,
    name: 'large',
    title: "A shop's wallet",
    description:
      '2,500 token transfers that name only the token account, without a call limit. Built when first asked for.',
    expects: 'Connects; history arrives page by page and ends complete.',
    limit: 'none',
    story: largeStory,
  },
  {
    ...calm,
    name: 'odd',
    title: 'Odd amounts',
    description:
      'Tokens with 0 and with 18 decimals, amounts beyond 2^53, a token that keeps a part of each transfer, and tokens that another program moves.',
    expects: 'Connects; every amount is exact to its last digit.',
    story: oddStory,
  },
  {
    ...calm,
    name: 'handed_stake',
    title: 'Stake that changes hands',
    description:
      'Two stake accounts that others made, one of them with 5,000 SOL that were taken out again before, are handed over to the wallet; the wallet hands one of its own to another. A stranger who withdraws 1,000 SOL names the wallet in a place that the stake program does not look at.',
    expects:
      'Connects; a stake account counts from when it became the wallet’s, and until it was handed over. The stranger’s does not count.',
    story: handedStakeStory,
  },
  {
    ...calm,
    name: 'stray_sol',
    title: 'SOL in token accounts',
    description:
      'Strangers pay SOL to the wallet’s token accounts, open one with 990 SOL that only they can close, send an advertisement with SOL in its account, and close the mint of an account that they opened. The wallet wraps SOL in two steps and closes accounts.',
    expects:
      'Connects; SOL in token accounts counts only where it is wrapped, so the strangers change nothing, and every balance adds up.',
    story: straySolStory,
  },
  {
    ...calm,
    name: 'rate_limited',
    title: 'A small call limit',
    description: 'Takes 10 calls at once and then two a second, so HTTP 429 with Retry-After does come up, and passes.',
    expects: 'Connects; reading slows down and ends complete.',
    limit: { max: 10, decayPerSecond: 2 },
  },
  {
    ...calm,
    name: 'down',
    title: 'The node is away',
    description: 'Every call that names the wallet is answered with HTTP 503.',
    expects: 'Is not added: venue_down.',
    weather: { always: 'down' },
    story: () => ({ steps: [] }),
  },
  { ...calm, ...flaky('rate_limited') },
]

const transfers = 2_500
const fromMs = Date.UTC(2024, 10, 5)
const toMs = Date.UTC(2026, 9, 31)

/**
 * A shop that is paid in USDC: 2,500 transfers to its token account in two years. They name the account and not the
 * wallet, so a reader has to request the account's own history, which has three pages.
 */
function largeStory(): Story {
  const start: Step = { at: '2024-11-01 08:00:00', deed: { kind: 'receive', asset: 'SOL', amount: '2' } }
  const paid = Array.from({ length: transfers }, (_, index): Step => {
    const ms = fromMs + Math.floor(((toMs - fromMs) / transfers) * index)
    const at = new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
    const amount = `${1 + ((index * 37) % 300)}.${String(index).padStart(6, '0')}`
    if (index % 50 === 49) return { at, deed: { kind: 'send', asset: 'USDC', amount, to: 'exchange' } }
    return { at, deed: { kind: 'receive', asset: 'USDC', amount } }
  })
  return { steps: [start, ...paid] }
}

/** The new owner of a stake account does not sign, so a stranger can choose any wallet. */
function handedStakeStory(): Story {
  return {
    steps: [
      { at: '2026-05-04 10:00:00', deed: { kind: 'receive', asset: 'SOL', amount: '20' } },
      { at: '2026-05-05 10:00:00', deed: { kind: 'stake', seed: 'bait', amount: '5000', by: 'spammer' } },
      { at: '2026-05-06 10:00:00', deed: { kind: 'stake', seed: 'gift', amount: '3', by: 'friend' } },
      // Most of the bait is gone when the wallet gets it.
      { at: '2026-06-02 10:00:00', deed: { kind: 'unstake', seed: 'bait', by: 'spammer' } },
      { at: '2026-06-12 10:00:00', deed: { kind: 'withdraw-stake', seed: 'bait', amount: '4999', by: 'spammer' } },
      { at: '2026-06-12 10:05:00', deed: { kind: 'hand-over-stake', seed: 'bait', by: 'spammer' } },
      // This one is never the wallet's. Nodes show the wallet as the one who withdraws.
      { at: '2026-06-13 10:00:00', deed: { kind: 'stake', seed: 'source', amount: '3000', by: 'spammer' } },
      {
        at: '2026-06-16 10:00:00',
        deed: { kind: 'split-stake', seed: 'source', into: 'lure', amount: '1000', by: 'spammer' },
      },
      { at: '2026-06-24 10:00:00', deed: { kind: 'unstake', seed: 'lure', by: 'spammer' } },
      { at: '2026-06-30 10:00:00', deed: { kind: 'withdraw-stake', seed: 'lure', by: 'spammer', isForged: true } },
      // The gift goes on earning.
      { at: '2026-07-01 10:00:00', deed: { kind: 'hand-over-stake', seed: 'gift', by: 'friend' } },
      { at: '2026-07-05 10:00:00', deed: { kind: 'stake', seed: 'sold', amount: '4' } },
      { at: '2026-08-20 10:00:00', deed: { kind: 'hand-over-stake', seed: 'sold', to: 'employer' } },
    ],
  }
}

/** Nothing that a stranger does here needs a signature of the wallet. */
function straySolStory(): Story {
  return {
    steps: [
      { at: '2026-03-02 10:00:00', deed: { kind: 'receive', asset: 'SOL', amount: '12' } },
      { at: '2026-03-03 10:00:00', deed: { kind: 'receive', asset: 'USDC', amount: '80' } },
      { at: '2026-03-04 10:00:00', deed: { kind: 'pay-account', asset: 'USDC', amount: '0.000000001', by: 'spammer' } },
      { at: '2026-03-05 10:00:00', deed: { kind: 'bait', asset: 'USDC', amount: '990', by: 'spammer' } },
      { at: '2026-03-06 10:00:00', deed: { kind: 'airdrop', asset: 'SPAM', amount: '31' } },
      { at: '2026-03-06 10:00:05', deed: { kind: 'pay-account', asset: 'SPAM', amount: '50', by: 'spammer' } },
      // One mint is closed while the wallet has an account of it, which the wallet then closes.
      { at: '2026-03-07 10:00:00', deed: { kind: 'bring-mint', by: 'spammer' } },
      { at: '2026-03-08 10:00:00', deed: { kind: 'close-mint', by: 'spammer' } },
      { at: '2026-03-09 10:00:00', deed: { kind: 'bring-mint', by: 'friend' } },
      { at: '2026-03-10 10:00:00', deed: { kind: 'close-mint', by: 'friend' } },
      { at: '2026-03-11 10:00:00', deed: { kind: 'close-of-mint', by: 'friend' } },
      // The bait of another stranger is gone again.
      { at: '2026-03-12 10:00:00', deed: { kind: 'bait', asset: 'JUP', amount: '700', by: 'friend' } },
      { at: '2026-03-13 10:00:00', deed: { kind: 'take-bait', asset: 'JUP', by: 'friend' } },
      { at: '2026-03-14 10:00:00', deed: { kind: 'wrap', amount: '1' } },
      { at: '2026-03-15 10:00:00', deed: { kind: 'pay-account', asset: 'WSOL', amount: '2.5' } },
      { at: '2026-03-15 10:01:00', deed: { kind: 'sync-wrapped' } },
      // This SOL is wrapped by the stranger's payment and the wallet's next step, so it is income.
      { at: '2026-03-16 10:00:00', deed: { kind: 'pay-account', asset: 'WSOL', amount: '0.25', by: 'friend' } },
      { at: '2026-03-17 10:00:00', deed: { kind: 'sync-wrapped' } },
      { at: '2026-03-18 10:00:00', deed: { kind: 'unwrap' } },
      // Wrapped and not turned into tokens.
      { at: '2026-03-19 10:00:00', deed: { kind: 'wrap', amount: '0.5' } },
      { at: '2026-03-20 10:00:00', deed: { kind: 'pay-account', asset: 'WSOL', amount: '0.75' } },
      { at: '2026-03-21 10:00:00', deed: { kind: 'send-all', asset: 'USDC', amount: '80', to: 'exchange' } },
    ],
  }
}

/**
 * Amounts at the edges: whole numbers beyond 2^53, 18 decimals, tokens without decimals, and a mint that taxes
 * transfers.
 */
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
