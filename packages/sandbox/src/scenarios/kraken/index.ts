/**
 * The scenarios of the simulated Kraken, in the words an integrator reads (`GET /sandbox/scenarios`).
 * Permission names: https://docs.kraken.com/api-reference/account-data/get-api-key-info
 */
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import { buy, deposit, entries, leg, sell, type Story, type StoryEvent } from '../../kraken/story.ts'
import { defaultStory } from './default.ts'
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

const entriesTotal = 100_000
const months = 68
const rewards = 5_931
/** The DOT that earns them: one deposit, and a move of two entries. */
const staked = 3
/** Each is two entries. */
const trades = (entriesTotal - months - rewards - staked) / 2

const fromMs = Date.UTC(2021, 2, 1)
const toMs = Date.UTC(2026, 10, 1)

/**
 * A trading robot's account: exactly 100,000 ledger entries between 2021-03-01 and 2026-10-31. One deposit a month, a
 * staking reward every eight hours, and bitcoin bought and sold around the clock for the rest.
 */
function largeStory(): Story {
  const events: StoryEvent[] = [
    deposit('2021-03-01 00:00:00.5', 'DOT', '2500', 'Polkadot', { network: 'Polkadot' }),
    entries('2021-03-01 00:00:30.5', 'transfer', [
      leg('-2500 DOT', { subtype: 'spottostaking' }),
      leg('2500 DOT.S', { subtype: 'stakingfromspot' }),
    ]),
  ]
  for (let month = 0; month < months; month += 1) {
    const date = new Date(Date.UTC(2021, 2 + month, 1, 0, 1)).toISOString().slice(0, 10)
    events.push(deposit(`${date} 00:01:00.25`, 'ZUSD', '50000.0000', 'Synapse (US Wire)'))
  }
  for (let index = 0; index < rewards; index += 1) {
    events.push(
      entries(spread(index, rewards, 7), 'staking', [
        leg(`0.${String(1_000_000 + (index % 977)).padStart(10, '0')} DOT.S`),
      ]),
    )
  }
  for (let index = 0; index < trades; index += 1) {
    // Bought and sold again in lots of the same size, so that the account never runs out of either side.
    const volume = `0.0${String(10_000 + (((index >> 1) * 7_919) % 80_000))}`
    const at = spread(index, trades, 13)
    events.push(index % 2 === 0 ? buy(at, 'XXBTZUSD', { volume, maker: true }) : sell(at, 'XXBTZUSD', { volume }))
  }
  return { events, strategies: [] }
}

/** The index-th of `count` moments spread evenly over the years, never on a round second. */
function spread(index: number, count: number, offsetS: number): string {
  const ms = fromMs + 3_600_000 + Math.floor(((toMs - fromMs - 7_200_000) / count) * index) + offsetS * 1000
  const text = new Date(ms).toISOString()
  return `${text.slice(0, 10)} ${text.slice(11, 23)}${index % 10}`
}

const airdrops: StoryEvent[] = [
  airdrop('2026-04-01 00:00:00.4010', '123456789012.123456789012345678 ZQNT'),
  airdrop('2026-04-02 00:00:00.4020', '0.000000000000000001 ZQNT'),
  airdrop('2026-06-30 18:00:00.6300', '98765432109.8765432101 PEPE'),
]

function airdrop(at: string, gained: string): StoryEvent {
  return entries(at, 'transfer', [leg(gained)], { subtype: 'airdrop' })
}

/**
 * Nora's account after an unsolicited airdrop of two tokens: one has a code that no list contains, and the amounts use
 * all eighteen decimals. They are not in `default.ts`, because they are worth more than everything else she has.
 */
function oddStory(): Story {
  const story = defaultStory()
  return { ...story, events: [...story.events, ...airdrops] }
}
