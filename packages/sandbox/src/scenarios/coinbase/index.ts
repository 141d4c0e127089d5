/**
 * The scenarios of the simulated Coinbase, in the words an integrator reads (`GET /sandbox/scenarios`) and the sign-in
 * page shows. They hold for a key and for a sign-in alike.
 */
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import { bank, fill, receive, single, type Story, type StoryEvent } from '../../coinbase/story.ts'
import { defaultStory } from './default.ts'
import { flaky } from '../flaky.ts'
import { currencies } from '../../coinbase/assets.ts'

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

const transactionsTotal = 100_000
const walletsTotal = 60
const staked = ['SOL/staked', 'DOT/staked']
/** Each coin is bought in small lots and sold again; each fill is two rows. */
const fillsPerCoin = 800
const deposits = 70
const fromMs = Date.UTC(2021, 0, 4)
const toMs = Date.UTC(2026, 9, 31)

/**
 * A trading robot's account: exactly 100,000 transactions in 60 wallets between January 2021 and October 2026. Most of
 * them are fills of Advanced Trade around the clock; every wallet has some hundred rows, and money has tens of
 * thousands.
 */
function largeStory(): Story {
  const coins = currencies.filter(({ isFiat, listed }) => !isFiat && listed).slice(0, walletsTotal - staked.length - 1)
  const events: StoryEvent[] = []
  for (let index = 0; index < deposits; index += 1) {
    events.push(bank(spread(index, deposits, 1), 'fiat_deposit', '25000.00 USD'))
  }
  for (const [place, { code }] of coins.entries()) {
    for (let index = 0; index < fillsPerCoin; index += 1) {
      const at = spread(index, fillsPerCoin, 3_600 + place * 97)
      // Now and then less is sold than was bought, so that something is left.
      const size = index % 40 === 39 ? '0.005' : `0.0${1_000 + (((index >> 1) * 7_919 + place) % 9_000)}`
      // A fixed price for each coin: some of them have none in the sandbox's market.
      const price = `${1 + place * 3}.25`
      events.push(
        fill(at, `${code}-USD`, index % 2 === 0 ? 'buy' : 'sell', [size], { price, isMaker: index % 3 === 0 }),
      )
    }
  }
  const left = transactionsTotal - deposits - coins.length * fillsPerCoin * 2
  for (let index = 0; index < left; index += 1) {
    const amount = `0.000${1_000 + (index % 977)} ${staked[index % staked.length] ?? ''}`
    events.push(single(spread(index, left, 7), 'staking_reward', amount))
  }
  return { events, unused: ['ZQNT'], nativeCurrency: 'USD' }
}

/** The index-th of `count` moments spread evenly over the years. */
function spread(index: number, count: number, offsetS: number): string {
  const ms = fromMs + Math.floor(((toMs - fromMs) / count) * index) + offsetS * 1_000
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

const unasked = { type: 'receive' } as const

/**
 * Nora's account after an unsolicited airdrop of two tokens: one has a code that no list contains, and the amounts use
 * all eighteen decimals. They are not in `default.ts`, because they are worth more than everything else she has.
 */
function oddStory(): Story {
  const story = defaultStory()
  return {
    ...story,
    events: [
      ...story.events,
      receive('2026-04-01T00:00:00Z', '123456789012.123456789012345678 ZQNT', unasked),
      receive('2026-04-02T00:00:00Z', '0.000000000000000001 ZQNT', unasked),
      receive('2026-06-30T18:00:00Z', '98765432109.876543210123456789 PEPE', unasked),
    ],
  }
}
