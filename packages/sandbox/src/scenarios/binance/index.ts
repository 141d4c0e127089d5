/**
 * The scenarios of the simulated Binance, in the words an integrator reads (`GET /sandbox/scenarios`).
 * Permission names: https://developers.binance.com/docs/wallet/account/api-key-permission
 */
import type { Story } from '../../binance/story.ts'
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import { defaultStory } from './default.ts'
import { delistedStory } from './delisted.ts'
import { largeStory } from './large.ts'
import { flaky } from '../flaky.ts'

const readOnly: KeyTraits = { permissions: ['enableReading'] }

const emptyStory = (): Story => ({ events: [] })

const calm = { key: readOnly, limit: 'documented', weather: 'calm', story: defaultStory } as const

export const binanceScenarios: readonly Scenario<Story>[] = [
  {
    ...calm,
    name: 'default',
    title: 'A lived-in account',
    description:
      'Some 500 records of every kind from March 2021 to October 2026, with Simple Earn, dust, fiat and odd digits.',
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
    description: '100,000 trades of 40 symbols, without a request limit. Built when first asked for.',
    expects: 'Connects; history arrives symbol by symbol, without growing memory.',
    limit: 'none',
    story: largeStory,
  },
  {
    ...calm,
    name: 'invalid_credentials',
    title: 'A key that does not exist',
    description: 'Every signed call is answered with −2015 or −2008.',
    expects: 'Is not added: invalid_credentials.',
    key: { ...readOnly, refused: true },
  },
  {
    ...calm,
    name: 'can_trade',
    title: 'A key with too many rights',
    description: 'May trade, transfer and withdraw, besides reading.',
    expects: 'Is not added: excess_permission, naming the rights to take away.',
    key: {
      permissions: [
        ...readOnly.permissions,
        'enableSpotAndMarginTrading',
        'enableWithdrawals',
        'permitsUniversalTransfer',
      ],
    },
  },
  {
    ...calm,
    name: 'rate_limited',
    title: 'A small request limit',
    description: 'A sixth of the usual weight per minute, so 429 with Retry-After does come up, and passes.',
    expects: 'Connects; reading slows down and ends complete.',
    limit: { max: 1_000, decayPerSecond: 1_000 / 60 },
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
    description: 'Works for 12 calls or one hour after the first, whichever ends sooner; then −2015 or −2008.',
    expects: 'Connects and begins to read; then needs_reauth, and what was read stays.',
    key: { ...readOnly, revoked: { afterCalls: 12, afterMs: 3_600_000 } },
  },
  { ...calm, ...flaky('http_429_retry_after') },
  {
    ...calm,
    name: 'binance_us',
    title: 'A key of Binance.US',
    description: 'A key of the other exchange with a similar name: it is not known here.',
    expects: 'Is not added: invalid_credentials.',
    key: { ...readOnly, refused: true },
  },
  {
    ...calm,
    name: 'delisted',
    title: 'Trades of symbols that are gone',
    description: 'One symbol is no longer listed but still tells its trades; another answers −1121 to everything.',
    expects: 'Connects; reading ends, and what the lost symbol moved stays unexplained.',
    story: delistedStory,
  },
]
