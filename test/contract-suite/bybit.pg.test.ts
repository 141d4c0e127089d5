/**
 * Bybit, read by the connector over ccxt, keeps the contract of a provider. Its lists are asked for in pieces of days, about
 * four hundred calls for a first read: the parts for strange records, keys and resuming, and the scenarios forgotten and
 * flaky, are run by hand.
 */
import { msUntilNoon } from '../noon.ts'
import { describeContract } from './suite.ts'
import { countedByList, toSpotHeld, type SpotState } from './spot-books.ts'

const memoryMs = 730 * 24 * 3_600_000
const streams: Readonly<Record<string, string>> = { trade: 'trades', deposit: 'deposits', withdrawal: 'withdrawals' }

describeContract(
  {
    providerId: 'bybit',
    simulator: {
      providerId: 'bybit',
      toHeld: (state: SpotState) => {
        const nowMs = Date.now()
        const forgottenMs = nowMs + msUntilNoon(nowMs) - memoryMs
        return toSpotHeld(
          state,
          (kind) => streams[kind],
          // Interest and airdrops are booked in the funding wallet, which has its own list that ccxt does not read, and
          // so have deposits from other Bybit accounts. Trades are forgotten after two years.
          (kind, body) =>
            kind !== 'reward' &&
            !(kind === 'deposit' && body['internal'] === true) &&
            !(kind === 'trade' && Date.parse(body.at) < forgottenMs),
        )
      },
      permissions: {
        read_only: ['readOnly', 'SpotTrade', 'AccountTransfer', 'ExchangeHistory'],
        excess: ['SpotTrade', 'AccountTransfer', 'ExchangeHistory'],
        missing: ['readOnly'],
      },
    },
    symbolOf: (code) => code,
    identify: countedByList,
    unexplained: 'ccxt reads no list that shows credits to the funding wallet',
    forgets: true,
    deposit: (code, amount) => ({ type: 'deposit', code, amount }),
    codes: { known: 'BTC', unknown: 'ZQNT' },
    decimals: 8,
    untold: { type: 'airdrop', code: 'LINK', amount: '1.5' },
    faults: {
      'HTTP 503': { arm: { kind: 'http_5xx' }, expects: 'venue_down' },
      'HTTP 429 with Retry-After': { arm: { kind: 'http_429_retry_after' }, expects: 'rate_limited' },
      'a connection that is reset': { arm: { kind: 'reset' }, expects: 'venue_down' },
      'half of the JSON': { arm: { kind: 'truncated_json' }, expects: 'unreadable_answer' },
      'a page for browsers': { arm: { kind: 'html' }, expects: 'venue_down' },
      'a key that was revoked': { arm: { kind: 'revoked' }, expects: 'invalid_credentials' },
    },
    // Bybit does not say which right is missing.
    rights: { excess: 'Read-Write', missing: 'Bybit' },
  },
  ['reading', 'faults', 'withdrawn', 'scenarios'],
)
