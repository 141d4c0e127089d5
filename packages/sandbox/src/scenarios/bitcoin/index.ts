/**
 * The scenarios of the simulated Bitcoin network, in the words an integrator reads (`GET /sandbox/scenarios`). A wallet
 * has no key, so nothing can be refused, have too many permissions or be revoked.
 */
import { calmStretch } from '../flaky.ts'
import type { Story, StoryEvent } from '../../bitcoin/story.ts'
import type { Scenario } from '../../core/scenario.ts'
import { defaultStory } from './default.ts'
import { addressStory, gapStory, minerStory, shortStory, unconfirmedStory } from './forms.ts'
import { savingsStory } from './savings.ts'

const calm = { key: { permissions: [] }, limit: 'documented', weather: 'calm', story: () => defaultStory() } as const

export const bitcoinScenarios: readonly Scenario<Story>[] = [
  {
    ...calm,
    name: 'default',
    title: 'A savings wallet',
    description:
      'A zpub (BIP-84) with some 220 transactions over two years: withdrawals from an exchange, tips, purchases, joined coins.',
    expects: 'Connects; the whole history is read within seconds; holdings equal the sum of the transactions.',
  },
  {
    ...calm,
    name: 'savings',
    title: 'Savings from Kraken',
    description: 'The same zpub for every user: what the lived-in Kraken account withdrew, and payments from a client.',
    expects: 'Connects; together with Kraken’s default, three withdrawals and deposits are matched by their hash.',
    story: savingsStory,
  },
  {
    ...calm,
    name: 'empty',
    title: 'A new wallet',
    description: 'A zpub that never received anything.',
    expects: 'Connects; no holdings, no transactions, and nothing missing.',
    story: () => ({ kind: 'extended_public_key', standard: 'bip84', events: [] }),
  },
  {
    ...calm,
    name: 'large',
    title: "A shop's wallet",
    description: 'A zpub with 2,000 transactions over 500 addresses, without a call limit. Built when first asked for.',
    expects: 'Connects; history arrives address by address and ends complete.',
    limit: 'none',
    story: largeStory,
  },
  {
    ...calm,
    name: 'single_address',
    title: 'One address',
    description: 'A SegWit address that was used sixty times and takes its own change.',
    expects: 'Connects; three pages of history; change is not taken for income.',
    story: addressStory,
  },
  {
    ...calm,
    name: 'legacy',
    title: 'A legacy wallet',
    description: 'An xpub (BIP-44): addresses that begin with 1.',
    expects: 'Connects; both chains are read.',
    story: () => shortStory('extended_public_key', 'bip44'),
  },
  {
    ...calm,
    name: 'nested_segwit',
    title: 'A nested SegWit wallet',
    description: 'A ypub (BIP-49): addresses that begin with 3.',
    expects: 'Connects; both chains are read.',
    story: () => shortStory('extended_public_key', 'bip49'),
  },
  {
    ...calm,
    name: 'taproot',
    title: 'A Taproot wallet',
    description: 'A descriptor (BIP-86) with its checksum and both chains: addresses that begin with bc1p.',
    expects: 'Connects; both chains are read.',
    story: () => shortStory('descriptor', 'bip86'),
  },
  {
    ...calm,
    name: 'gap',
    title: 'A wallet with a gap',
    description: 'A zpub whose used addresses lie 31 unused ones apart, more than the gap limit of 20.',
    expects: 'Connects; says what it may not have found, or finds it with a larger limit.',
    story: gapStory,
  },
  {
    ...calm,
    name: 'unconfirmed',
    title: 'Transactions that are not confirmed',
    description: 'A zpub with a payment that has not arrived and two that have not left, one spending from the other.',
    expects: 'Connects; unconfirmed transactions are marked as such, or left out until they are confirmed.',
    story: unconfirmedStory,
  },
  {
    ...calm,
    name: 'miner',
    title: 'A miner at home',
    description: 'An address that was paid the rewards of two blocks.',
    expects: 'Connects; rewards are income without a sender.',
    story: minerStory,
  },
  {
    ...calm,
    name: 'rate_limited',
    title: 'A small call limit',
    description: 'Takes 10 calls at once and then two a second, so HTTP 429 does come up, and passes.',
    expects: 'Connects; reading slows down and ends complete.',
    limit: { max: 10, decayPerSecond: 2 },
  },
  {
    ...calm,
    name: 'down',
    title: 'The network is away',
    description: 'Every call about an address of this wallet is answered with HTTP 503.',
    expects: 'Is not added: venue_down.',
    weather: { always: 'down' },
  },
  {
    ...calm,
    name: 'flaky',
    title: 'A bad connection',
    description:
      'After eight calls, every other one fails in another way (5xx, reset, broken JSON, HTML, repeated rows), with calm stretches between.',
    expects: 'Connects; reading retries and ends complete, nothing twice.',
    weather: {
      calmCalls: calmStretch.length,
      cycle: [
        'http_5xx',
        'calm',
        'reset',
        'calm',
        'duplicate_rows',
        'truncated_json',
        'calm',
        'html',
        'calm',
        'http_429',
        'calm',
        ...calmStretch,
      ],
    },
  },
]

const transactions = 2_000
const receiving = 400
const fromMs = Date.UTC(2024, 10, 5)
const toMs = Date.UTC(2026, 9, 31)

/**
 * A shop's wallet: exactly 2,000 transactions between November 2024 and October 2026 over 500 addresses. Customers pay
 * to 400 receiving addresses in turn; every fifth transaction pays a supplier, and its change goes to one of 100
 * addresses.
 */
function largeStory(): Story {
  const events = Array.from({ length: transactions }, (_, index): StoryEvent => {
    const ms = fromMs + Math.floor(((toMs - fromMs) / transactions) * index)
    const moment = { at: new Date(ms).toISOString().slice(0, 19).replace('T', ' '), feeRate: 2 }
    if (index % 5 === 4) {
      return { ...moment, kind: 'send', amount: `0.00${2_000 + (index % 977)}`, payee: `supplier ${index % 11}` }
    }
    const paid = index - Math.floor(index / 5)
    return { ...moment, kind: 'receive', amounts: [`0.00${1_000 + ((index * 37) % 4_999)}`], to: [paid % receiving] }
  })
  return { kind: 'extended_public_key', standard: 'bip84', changeAddresses: 100, events }
}
