/**
 * Bybit, read by the connector over ccxt, keeps the contract of a provider. Its lists are asked for in pieces of days,
 * about four hundred calls for a first read: the parts for strange records, keys and resuming are run by hand.
 */
import { bybitHeld, countedByList } from '../books/spot-books.ts'
import { describeContract } from '../suite.ts'

describeContract(
  {
    providerId: 'bybit',
    simulator: {
      providerId: 'bybit',
      toHeld: bybitHeld,
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
