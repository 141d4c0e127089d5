/**
 * The scenarios of the simulated Coinbase, in the words an integrator reads (`GET /sandbox/scenarios`) and the sign-in
 * page shows. They hold for a key and for a sign-in alike.
 */
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import type { Story } from '../../coinbase/story.ts'
import { defaultStory } from './default.ts'
import { largeStory } from './large.ts'
import { oddStory } from './odd.ts'
import { flaky } from '../flaky.ts'

const readOnly: KeyTraits = { permissions: ['view'] }

const emptyStory = (): Story => ({ events: [], unused: ['BTC', 'ETH', 'ETH2'], nativeCurrency: 'EUR' })

const calm = { key: readOnly, limit: 'documented', weather: 'calm', story: defaultStory } as const

export const coinbaseScenarios: readonly Scenario<Story>[] = [
  {
    ...calm,
    name: 'default',
    title: 'A lived-in account',
    description: 'Some 630 transactions of every type in 20 wallets from January 2021 to October 2026, with staking.',
    expects: 'Connects; the whole history is read within seconds; holdings equal the sum of the transactions.',
  },
  {
    ...calm,
    name: 'empty',
    title: 'A new account',
    description: 'Opened and never funded. Its wallets have a currency code for an id.',
    expects: 'Connects; no holdings, no transactions, and nothing missing.',
    story: emptyStory,
  },
  {
    ...calm,
    name: 'large',
    title: 'A trading robot',
    description: '100,000 transactions in 60 wallets, without a call limit. Built when first asked for.',
    expects: 'Connects; history arrives page by page, newest first, without growing memory.',
    limit: 'none',
    story: largeStory,
  },
  {
    ...calm,
    name: 'invalid_credentials',
    title: 'A key that does not exist',
    description: 'Every call with the key is answered with "Unauthorized", and a sign-in gets no tokens for its code.',
    expects: 'Is not added: invalid_credentials.',
    key: { ...readOnly, refused: true },
  },
  {
    ...calm,
    name: 'can_trade',
    title: 'Too many rights',
    description:
      'The key may trade and transfer, besides reading; a sign-in gets scopes that the client did not ask for.',
    expects: 'Is not added: excess_permission, naming the rights to take away.',
    key: { permissions: ['view', 'trade', 'transfer'] },
  },
  {
    ...calm,
    name: 'rate_limited',
    title: 'A small call limit',
    description:
      'Takes 5 calls at once and then one in three seconds, so "Too many requests" does come up, and passes.',
    expects: 'Connects; reading slows down and ends complete.',
    limit: { max: 5, decayPerSecond: 0.33 },
  },
  {
    ...calm,
    name: 'down',
    title: 'The exchange is away',
    description: 'Signing in works; every call afterwards, and every call with a key, is answered with HTTP 503.',
    expects: 'Is not added: venue_down.',
    weather: { always: 'down' },
  },
  {
    ...calm,
    name: 'revoked_later',
    title: 'Access that is taken back',
    description: 'Works for 12 calls, and with a key for one hour at most; then 401. Signing in again begins anew.',
    expects: 'Connects and begins to read; then needs_reauth, and what was read stays.',
    key: { ...readOnly, revoked: { afterCalls: 12, afterMs: 3_600_000 } },
  },
  { ...calm, ...flaky('rate_limited') },
  {
    ...calm,
    name: 'odd',
    title: 'Odd digits',
    description: 'The lived-in account with two tokens on top: one unknown, both with up to thirty digits.',
    expects: 'Connects; every digit is kept, and the unknown token has no price.',
    story: oddStory,
  },
]
