/**
 * The scenarios of the simulated Kraken, in the words an integrator reads (`GET /sandbox/scenarios`).
 * Permission names: https://docs.kraken.com/api-reference/account-data/get-api-key-info
 */
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import type { Story } from '../../kraken/story.ts'
import { defaultStory } from './default.ts'
import { largeStory } from './large.ts'
import { oddStory } from './odd.ts'
import { realityStory } from './reality.ts'
import { flaky } from '../flaky.ts'

const readOnly: KeyTraits = { permissions: ['query-funds', 'query-closed-trades', 'query-ledger'] }

const emptyStory = (): Story => ({ events: [], strategies: [] })

const calm = { key: readOnly, limit: 'documented', weather: 'calm', story: defaultStory } as const

export const krakenScenarios: readonly Scenario<Story>[] = [
  {
    ...calm,
    name: 'default',
    title: 'A lived-in account',
    description:
      'Some 550 transactions of every kind from March 2021 to October 2026, with staking, dust and own transfers.',
    expects: 'Connects; the whole history is read within seconds; holdings equal the sum of the transactions.',
  },
  {
    ...calm,
    name: 'empty',
    title: 'A new account',
    description: 'Opened and never funded.',
    expects: 'Connects; no holdings, no transactions, and nothing missing.',
    story: emptyStory,
  },
  {
    ...calm,
    name: 'large',
    title: 'A trading robot',
    description: '100,000 ledger entries, without a call limit. Built when first asked for.',
    expects: 'Connects; history arrives page by page, newest first, without growing memory.',
    limit: 'none',
    story: largeStory,
  },
  {
    ...calm,
    name: 'invalid_credentials',
    title: 'A key that does not exist',
    description: 'Every call is answered with "EAPI:Invalid key".',
    expects: 'Is not added: invalid_credentials.',
    key: { ...readOnly, refused: true },
  },
  {
    ...calm,
    name: 'can_trade',
    title: 'A key with too many rights',
    description: 'May place orders and withdraw, besides reading.',
    expects: 'Is not added: excess_permission, naming the rights to take away.',
    key: { permissions: [...readOnly.permissions, 'modify-trades', 'close-trades', 'withdraw-funds'] },
  },
  {
    ...calm,
    name: 'rate_limited',
    title: 'A small call limit',
    description: 'The call counter holds 4 instead of 20, so "EAPI:Rate limit exceeded" does come up, and passes.',
    expects: 'Connects; reading slows down and ends complete.',
    limit: { max: 4, decayPerSecond: 0.33 },
  },
  {
    ...calm,
    name: 'down',
    title: 'The exchange is away',
    description: 'Every call with this key is answered with HTTP 503.',
    expects: 'Is not added: venue_down.',
    weather: { always: 'down' },
  },
  {
    ...calm,
    name: 'revoked_later',
    title: 'A key that is taken back',
    description: 'Works for 12 calls or one hour after the first, whichever ends sooner; then "EAPI:Invalid key".',
    expects: 'Connects and begins to read; then needs_reauth, and what was read stays.',
    key: { ...readOnly, revoked: { afterCalls: 12, afterMs: 3_600_000 } },
  },
  { ...calm, ...flaky('http_429') },
  {
    ...calm,
    name: 'odd',
    title: 'Odd digits',
    description: 'The lived-in account with two tokens on top: one unknown, both with up to thirty digits.',
    expects: 'Connects; every digit is kept, and the unknown token has no price.',
    story: oddStory,
  },
  {
    ...calm,
    name: 'reality',
    title: 'An account as readers of real ones describe it',
    description:
      'Lost and reused references, a count that is too low, airdrops and conversions under odd headings, odd codes, and withdrawals on hold.',
    expects:
      'Connects; every entry is read although the count promises fewer; holdings equal the sum of the transactions.',
    story: realityStory,
  },
]
