/**
 * The scenarios of the simulated Binance, in the words an integrator reads (`GET /sandbox/scenarios`).
 * Permission names: https://developers.binance.com/docs/wallet/account/api-key-permission
 */
import { buy, deposit, sell, type Story, type StoryEvent } from '../../binance/story.ts'
import type { KeyTraits, Scenario } from '../../core/scenario.ts'
import { defaultStory } from './default.ts'
import { flaky } from '../flaky.ts'
import { symbols } from '../../binance/api/symbols.ts'

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
    description:
      'One symbol is no longer listed but its trades can still be read; another answers −1121 to everything.',
    expects: 'Connects; reading ends, and what the lost symbol moved stays unexplained.',
    story: delistedStory,
  },
]

const tradesTotal = 100_000
const symbolsTotal = 40
const months = 68
const fromMs = Date.UTC(2021, 2, 1)
const toMs = Date.UTC(2026, 10, 1)

/** About a day: the robot trades one symbol, then the next, and begins again after the last. */
const tradesInARow = 48
const inDollars = symbols
  .filter(({ quote, status }) => quote === 'USDT' && status === 'TRADING')
  .map(({ name }) => name)

/**
 * A trading robot's account: exactly 100,000 trades of forty symbols between 2021-03-01 and 2026-10-31, bought and sold
 * again in lots of the same size. Commissions are paid in BNB, so that what was bought can be sold whole.
 */
function largeStory(): Story {
  const chosen = [...inDollars, 'BTCEUR', 'ETHEUR', 'BNBEUR'].slice(0, symbolsTotal)
  const events: StoryEvent[] = [
    deposit('2021-03-01 00:00:00.500', '50 BNB', 'BSC'),
    deposit('2021-03-01 00:00:00.600', '500000 EUR', 'EUR'),
  ]
  for (let month = 0; month < months; month += 1) {
    const date = new Date(Date.UTC(2021, 2 + month, 1)).toISOString().slice(0, 10)
    events.push(deposit(`${date} 00:01:00.250`, '50000 USDT', 'TRX'))
  }
  for (let index = 0; index < tradesTotal; index += 1) {
    const symbol = chosen[Math.floor(index / tradesInARow) % chosen.length] ?? ''
    const qty = `0.0${String(1_000 + (((index >> 1) * 7_919) % 8_000))}`
    const how = { qty, commissionInBnb: '0.00001' }
    const at = timeOf(index)
    events.push(index % 2 === 0 ? buy(at, symbol, { ...how, maker: true }) : sell(at, symbol, how))
  }
  return { events }
}

/** The index-th of all moments, spread evenly over the years. */
function timeOf(index: number): string {
  const ms = fromMs + 3_600_000 + Math.floor(((toMs - fromMs - 7_200_000) / tradesTotal) * index)
  return new Date(ms).toISOString().slice(0, 23).replace('T', ' ')
}

/**
 * An account that traded delisted symbols. Binance still returns the trades of one of them. For the other it answers
 * −1121 to everything, so that no reader can explain all of the balances.
 */
function delistedStory(): Story {
  return {
    events: [
      deposit('2021-03-01 09:00:00.000', '1000 USDT', 'TRX'),
      buy('2021-03-02 09:00:00.000', 'LENDUSDT', { qty: '300', price: '0.35' }),
      sell('2021-03-09 09:00:00.000', 'LENDUSDT', { qty: '299', price: '0.41' }),
      buy('2021-04-02 09:00:00.000', 'BUSDUSDT', { qty: '200', price: '1.0001' }),
      sell('2023-11-30 09:00:00.000', 'BUSDUSDT', { qty: '150', price: '0.9995' }),
      buy('2022-01-05 09:00:00.000', 'MATICUSDT', { spend: '50' }),
    ],
  }
}
