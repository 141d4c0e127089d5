/** The scenarios of a simulated wallet, in the words an integrator reads (`GET /sandbox/scenarios`). */
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import type { Step, Story } from '../../evm/story.ts'
import { defaultStory } from './default.ts'
import { flaky } from '../flaky.ts'

// A wallet is a public address, so no key can be wrong or have too many permissions.
const noKey: KeyTraits = { permissions: [] }

const emptyStory = (): Story => ({ steps: [], prepared: 0 })

const calm = { key: noKey, limit: 'documented', weather: 'calm', story: defaultStory(1) } as const

export const evmScenarios: readonly Scenario<Story>[] = [
  {
    ...calm,
    name: 'default',
    title: 'A lived-in wallet',
    description:
      'Some 400 transactions on two networks from March 2021 to October 2026: tokens, swaps, NFTs, internal transfers, failures, spam and validator withdrawals.',
    expects: 'Connects; the whole history is read within seconds; holdings equal the sum of the transactions.',
    story: defaultStory(4),
  },
  {
    ...calm,
    name: 'empty',
    title: 'A new wallet',
    description: 'An address that no network has seen.',
    expects: 'Connects; no holdings, no transactions, and nothing missing.',
    story: emptyStory,
  },
  {
    ...calm,
    name: 'large',
    title: 'A wallet paid in small parts',
    description: '100,000 token transfers, without a call limit. Built when first asked for.',
    expects: 'Connects; history arrives page by page, without growing memory.',
    limit: 'none',
    story: largeStory,
  },
  {
    ...calm,
    name: 'rate_limited',
    title: 'A small call limit',
    description: 'Takes 2 calls of the account API at once and then one in two seconds, so the limit does come up.',
    expects: 'Connects; reading slows down and ends complete.',
    limit: { max: 2, decayPerSecond: 0.5 },
  },
  {
    ...calm,
    name: 'down',
    title: 'The index is away',
    description: 'Every call that names the wallet is answered with HTTP 503.',
    expects: 'Is not added: venue_down.',
    weather: { always: 'down' },
    story: emptyStory,
  },
  { ...calm, ...flaky('rate_limited') },
]

const transfersInATransaction = 1_000
const transactions = 100

/**
 * A wallet that a contract pays in small parts: 100,000 token transfers in 100 transactions, each in its own block.
 * Real indexes return at most 10,000 rows per request, so a reader has to continue from a block.
 */
function largeStory(): Story {
  const start: Step = {
    ...{ at: '2026-10-01 00:00:00', chainId: 1 },
    deed: { kind: 'receive', asset: 'ETH', amount: '1' },
  }
  const paid = Array.from({ length: transactions }, (_, index): Step => {
    const count = transfersInATransaction
    const at = new Date(Date.UTC(2026, 9, 1, 0, 1 + index)).toISOString().slice(0, 19).replace('T', ' ')
    return { at, chainId: 1, deed: { kind: 'multisend', asset: 'USDC', first: 1 + index * count, count } }
  })
  return { steps: [start, ...paid], prepared: 0 }
}
