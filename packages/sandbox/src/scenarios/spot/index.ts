/**
 * The scenarios of the simulated spot exchanges, in the words an integrator reads (`GET /sandbox/scenarios`). They are
 * the same for every exchange; an exchange brings the names of its permissions and the codes of its errors.
 */
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import { buy, deposit, sell, transfer, type Story, type StoryEvent } from '../../spot/story.ts'
import { boundStory, defaultStory, forgottenStory } from './default.ts'
import { bybitStory } from './bybit.ts'
import { okxStory } from './okx.ts'
import { flaky } from '../flaky.ts'
import { pairs } from '../../spot/assets.ts'

export interface SpotTerms {
  /** What happened on the account of most scenarios, and what it comes to. */
  story: () => Story
  told: string
  readOnly: readonly string[]
  /** The permissions of a key that may also trade and withdraw. */
  everything: readonly string[]
  /** The answer to an unknown key. */
  unknownKey: string
  /** The answer to a key that is used from another address; undefined where the documents do not say. */
  otherAddress: string | undefined
  tooManyCalls: string
  /** Calls of one endpoint in its window, for the scenario with a small limit. */
  fewCalls: number
  /** What the exchange drops, and after how long; undefined where it keeps everything. */
  forgets: string | undefined
}

const emptyStory = (): Story => ({ events: [] })

export function spotScenarios(terms: SpotTerms): readonly Scenario<Story>[] {
  const key: KeyTraits = { permissions: terms.readOnly }
  const calm = { key, limit: 'documented', weather: 'calm', story: terms.story } as const
  return [
    {
      ...calm,
      name: 'default',
      title: 'A lived-in account',
      description: terms.told,
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
      description:
        '50,000 trades of ten pairs, each two ledger entries, without a request limit. Built when first asked for.',
      expects: 'Connects; history arrives page by page, without growing memory.',
      limit: 'none',
      story: largeStory,
    },
    {
      ...calm,
      name: 'invalid_credentials',
      title: 'A key that does not exist',
      description: `Every signed call is answered with ${terms.unknownKey}.`,
      expects: 'Is not added: invalid_credentials.',
      key: { ...key, refused: true },
    },
    {
      ...calm,
      name: 'can_trade',
      title: 'A key with too many rights',
      description: 'May trade, transfer and withdraw, besides reading.',
      expects: 'Is not added: excess_permission, naming the rights to take away.',
      key: { permissions: terms.everything },
    },
    {
      ...calm,
      name: 'rate_limited',
      title: 'A small request limit',
      description: `A few calls of each endpoint in its window, so ${terms.tooManyCalls} does come up, and passes.`,
      expects: 'Connects; reading slows down and ends complete.',
      limit: { max: terms.fewCalls, decayPerSecond: terms.fewCalls },
    },
    ...troubled(calm, terms),
    ...ofTerms(calm, terms),
  ]
}

type Calm = Pick<Scenario<Story>, 'key' | 'limit' | 'weather' | 'story'>

function troubled(calm: Calm, terms: SpotTerms): Scenario<Story>[] {
  return [
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
      description: `Works for 12 calls or one hour after the first, whichever ends sooner; then ${terms.unknownKey}.`,
      expects: 'Connects and begins to read; then needs_reauth, and what was read stays.',
      key: { ...calm.key, revoked: { afterCalls: 12, afterMs: 3_600_000 } },
    },
    { ...calm, ...flaky('http_429_retry_after') },
  ]
}

function ofTerms(calm: Calm, { otherAddress, forgets }: SpotTerms): Scenario<Story>[] {
  const bound: Scenario<Story> = {
    ...calm,
    name: 'ip_not_allowed',
    title: 'A key that is bound to another address',
    description: `Every signed call is answered with ${otherAddress ?? ''}.`,
    expects: 'Is not added: ip_not_allowed.',
    story: boundStory,
  }
  const forgetful: Scenario<Story> = {
    ...calm,
    name: 'forgotten',
    title: 'An account older than what the exchange tells',
    description: `The default account, with the documented limits: ${forgets ?? ''}.`,
    expects: 'Connects; reading ends, and the beginning of the history is said to be missing.',
    story: forgottenStory,
  }
  return [...(otherAddress === undefined ? [] : [bound]), ...(forgets === undefined ? [] : [forgetful])]
}

const tradesTotal = 50_000
const fromMs = Date.UTC(2025, 0, 2)
const toMs = Date.UTC(2026, 10, 1)

/** About half a day: the robot trades one pair, then the next, and begins again after the last. */
const tradesInARow = 40
const inDollars = pairs.filter(({ quote, base }) => quote === 'USDT' && base !== 'USDC').map(({ name }) => name)

/**
 * A trading robot's account: exactly 50,000 trades between January 2025 and October 2026, each of them two ledger
 * entries or more. It buys and sells again for a little less, so that fees never leave it short.
 */
function largeStory(): Story {
  const events: StoryEvent[] = [
    deposit('2025-01-01 00:00:00.000', '100000 USDT', 'tron'),
    transfer('2025-01-01 00:30:00.000', '100000 USDT', 'trading'),
    // A store of each coin, because a price may fall between buying and selling.
    ...inDollars.map((pair, index) => buy(`2025-01-01 01:00:${10 + index}.000`, pair, { spend: '1000' })),
  ]
  for (let index = inDollars.length; index < tradesTotal; index += 1) {
    const pair = inDollars[Math.floor(index / tradesInARow) % inDollars.length] ?? ''
    const at = timeOf(index)
    events.push(index % 2 === 0 ? buy(at, pair, { spend: '100', maker: true }) : sell(at, pair, { spend: '99' }))
  }
  return { events }
}

/** The index-th of all moments, spread evenly over the months. */
function timeOf(index: number): string {
  const ms = fromMs + Math.floor(((toMs - fromMs) / tradesTotal) * index)
  return new Date(ms).toISOString().slice(0, 23).replace('T', ' ')
}

// The scenarios of the simulated Bitfinex, Bybit and OKX: the shared spot stories in each exchange's own words.

/**
 * Permission names: https://docs.bitfinex.com/reference/key-permissions, with :read and :write for the two columns. The
 * documents do not say how a call from another IP address is answered, or that anything is forgotten.
 */
const plainly = 'Some 270 records of every kind from January 2025 to October 2026, in two wallets, with odd digits.'
const readable = ['account', 'history', 'orders', 'positions', 'funding', 'wallets'].map((scope) => `${scope}:read`)

export const bitfinexScenarios = spotScenarios({
  story: defaultStory,
  told: plainly,
  readOnly: readable,
  everything: [...readable, 'orders:write', 'funding:write', 'wallets:write', 'withdraw:write'],
  unknownKey: 'error 10100',
  otherAddress: undefined,
  tooManyCalls: 'HTTP 429 with error 11010',
  fewCalls: 2,
  forgets: undefined,
})

/**
 * Permission names: https://bybit-exchange.github.io/docs/v5/user/apikey-info; error codes: …/docs/v5/error. `readOnly`
 * is the switch that removes the right to write from all groups.
 */
const reading = ['SpotTrade', 'AccountTransfer', 'ExchangeHistory']

export const bybitScenarios = spotScenarios({
  story: bybitStory,
  told: 'Some 360 records since January 2025 with odd digits and staking, then small trades every week, in two wallets.',
  readOnly: ['readOnly', ...reading],
  everything: [...reading, 'SubMemberTransfer', 'Withdraw', 'DerivativesTrade'],
  unknownKey: 'retCode 10003',
  otherAddress: 'retCode 10010',
  tooManyCalls: 'retCode 10006',
  fewCalls: 2,
  forgets: 'trades and the transaction log are kept for two years',
})

/** Permission names: https://www.okx.com/docs-v5/en/#trading-account-rest-api-get-account-configuration (`perm`) */
export const okxScenarios = spotScenarios({
  story: okxStory,
  told: 'Some 270 records since January 2025, then trades, Auto Earn and products every week until today, in two wallets.',
  readOnly: ['read_only'],
  everything: ['read_only', 'withdraw', 'trade'],
  unknownKey: 'code 50119',
  otherAddress: 'code 50110',
  tooManyCalls: 'HTTP 429 with code 50011',
  fewCalls: 1,
  forgets: 'bills of seven days or three months, fills of three months, funding bills of one month',
})
