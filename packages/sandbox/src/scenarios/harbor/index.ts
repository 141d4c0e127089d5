/** The scenarios of the simulated Harbor, in the words that its page and `GET /sandbox/scenarios` show. */
import type { Scenario } from '../../core/scenario.ts'
import type { Story } from '../../harbor/story.ts'
import { defaultStory } from './default.ts'
import { largeStory } from './large.ts'

// No scopes of its own: it hands out what was asked for.
const calm = { key: { permissions: [] }, limit: 'documented', weather: 'calm', story: defaultStory } as const

export const harborScenarios: readonly Scenario<Story>[] = [
  {
    ...calm,
    name: 'default',
    title: 'A lived-in account',
    description: 'Two years of deposits, trades, rewards and withdrawals, some ether staked.',
    expects: 'Connects; the whole history is read within seconds; holdings equal the sum of the transactions.',
  },
  {
    ...calm,
    name: 'empty',
    title: 'A new account',
    description: 'Opened and never funded.',
    expects: 'Connects; no holdings, no transactions, and nothing missing.',
    story: () => ({ events: [] }),
  },
  {
    ...calm,
    name: 'large',
    title: 'A trading robot',
    description: '100,000 entries, without a call limit. Built when first asked for.',
    expects: 'Connects; history arrives page by page, newest first, without growing memory.',
    limit: 'none',
    story: largeStory,
  },
  {
    ...calm,
    name: 'invalid_credentials',
    title: 'A sign-in that is not accepted',
    description: 'One comes back with a code, but no tokens are given for it: "invalid_grant".',
    expects: 'Is not added: invalid_credentials.',
    key: { permissions: [], refused: true },
  },
  {
    ...calm,
    name: 'can_trade',
    title: 'Too many rights',
    description: 'Hands out the right to trade, whatever was asked for.',
    expects: 'Is not added: excess_permission, naming the right to take away.',
    key: { permissions: ['read', 'trade'] },
  },
  {
    ...calm,
    name: 'rate_limited',
    title: 'A small call limit',
    description:
      'Takes 2 calls at once instead of 10 and then one in three seconds, so "slow down" does come up, and passes.',
    expects: 'Connects; reading slows down and ends complete.',
    limit: { max: 2, decayPerSecond: 0.33 },
  },
  {
    ...calm,
    name: 'down',
    title: 'The exchange is away',
    description: 'Signing in works; every call afterwards is answered with 503.',
    expects: 'Is not added: venue_down.',
    weather: { always: 'service_unavailable' },
  },
  {
    ...calm,
    name: 'revoked_later',
    title: 'Access that is taken back',
    description: 'Ends as soon as 50 entries were read; signing in again begins anew.',
    expects: 'Connects and begins to read; then needs_reauth, and what was read stays.',
    story: () => ({ ...defaultStory(), endsAfterEntries: 50 }),
  },
  {
    ...calm,
    name: 'flaky',
    title: 'A bad connection',
    description: 'Answers now and then with an error or "slow down", from the third call on.',
    expects: 'Connects; reading retries and ends complete, nothing twice.',
    weather: {
      calmCalls: 2,
      cycle: [{ kind: 'http_5xx', status: 500 }, 'calm', 'rate_limited', 'calm', 'calm'],
    },
  },
]
