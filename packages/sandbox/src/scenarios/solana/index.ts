/** The scenarios of a simulated Solana wallet, in the words an integrator reads (`GET /sandbox/scenarios`). */
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import type { Story } from '../../solana/story.ts'
import { flaky } from '../flaky.ts'
import { defaultStory } from './default.ts'
import { largeStory } from './large.ts'
import { oddStory } from './odd.ts'

// A wallet is an address: everyone may read it, and no key can be wrong or have too many rights.
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
