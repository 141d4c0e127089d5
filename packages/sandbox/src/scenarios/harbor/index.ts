/** The scenarios of the simulated Harbor, in the words that its page and `GET /sandbox/scenarios` show. */
import type { Scenario } from '../../core/scenario.ts'
import type { Story } from '../../harbor/story.ts'
import { defaultStory } from './default.ts'

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
    name: 'can_trade',
    title: 'Too many rights',
    description: 'Hands out the right to trade, whatever was asked for.',
    expects: 'Is not added: excess_permission, naming the right to take away.',
    key: { permissions: ['read', 'trade'] },
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
